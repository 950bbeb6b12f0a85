package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A template is a text with places for arguments: {{NAME}}, and {{{{ for the two braces themselves.
type template []part

// A part is a text that stays, or the argument of a name.
type part struct{ text, name string }

var argumentName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// parseTemplate reads a template; which names there may be is for the caller to say.
func parseTemplate(text string) (t template, err error) {
	literal := ""
	for {
		before, after, found := strings.Cut(text, "{{")
		literal += before
		if !found {
			return t.literal(literal), nil
		}
		if rest, ok := strings.CutPrefix(after, "{{"); ok {
			literal, text = literal+"{{", rest
			continue
		}
		name, rest, closed := strings.Cut(after, "}}")
		if name = strings.TrimSpace(name); !closed || !argumentName.MatchString(name) {
			return nil, fmt.Errorf("{{%s is not {{NAME}} with the name of an argument; to mean the two braces themselves write {{{{", clip(after, 40))
		}
		t = append(t.literal(literal), part{name: name})
		literal, text = "", rest
	}
}

// literal is the template with a text behind it, unless that is empty.
func (t template) literal(text string) template {
	if text == "" {
		return t
	}
	return append(t, part{text: text})
}

// names are the arguments that the template needs, each once.
func (t template) names() (out []string) {
	for _, p := range t {
		if p.name != "" && !slices.Contains(out, p.name) {
			out = append(out, p.name)
		}
	}
	return out
}

// only is the argument that is all of the template, or "".
func (t template) only() string {
	if len(t) != 1 {
		return ""
	}
	return t[0].name
}

// beginsWithArgument says whether it is up to the caller how the text begins.
func (t template) beginsWithArgument() bool { return len(t) > 0 && t[0].name != "" }

// text is the template without places, which it must not have.
func (t template) text() (string, bool) {
	if len(t) == 0 {
		return "", true
	}
	return t[0].text, len(t) == 1 && t[0].name == ""
}

// templates parses each word of a command, whose program must be without arguments.
func templates(words []string) (out []template, err error) {
	for i, word := range words {
		t, err := parseTemplate(word)
		if err != nil {
			return nil, err
		}
		if i == 0 && len(t.names()) > 0 {
			return nil, errors.New("the program itself cannot be an argument, since a caller could run anything then")
		}
		out = append(out, t)
	}
	return out, noCode(out)
}

var (
	interpreter = regexp.MustCompile(`^([a-z]*sh|python[0-9.]*|node|nodejs|bun|deno|perl|ruby|php|lua|R|Rscript|osascript)$`)
	codeOption  = regexp.MustCompile(`^(-[A-Za-z]*[ceprER]|--eval|--print|--command|-[Cc]ommand|eval)(=|$)`)
	// valueOption is an interpreter and one of its options that take the next word, which is no script therefore.
	valueOption = regexp.MustCompile(`^(\S+ ([-+][A-Za-z]*[oO]|-[WXIC]|--rcfile|--init-file|--require|--import|--loader)|(ruby|node|nodejs|bun) -r)$`)
)

// noCode refuses arguments inside of what an interpreter takes for its program, as in sh -c "ls {{path}}": callers could
// write any code there.
func noCode(words []template) error {
	of, option := "", "" // the interpreter, as long as its options go on, and the one that says that code comes
	value := false       // the word belongs to the option before it
	for _, t := range words {
		word, fixed := t.text() // of one with arguments, what is before them
		base := word[strings.LastIndexByte(word, '/')+1:]
		code := of != "" && codeOption.MatchString(word)
		if code {
			option = word
		}
		if names := t.names(); option != "" && len(names) > 0 {
			return codeError(names[0], of, option)
		}
		switch {
		case fixed && interpreter.MatchString(base):
			of, option = base, ""
		case !code && !value && !strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "+"):
			of, option = "", ""
		}
		value = fixed && valueOption.MatchString(of+" "+word)
	}
	return nil
}

func codeError(name, of, option string) error {
	return fmt.Errorf("{{%s}} stands in the program text of %s %s, where callers could write code of their own; have the text take it as an argument, such as \"$1\", and put \"{{%[1]s}}\" behind it as a word of its own",
		name, of, option)
}
