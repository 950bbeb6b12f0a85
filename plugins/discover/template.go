package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
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
			return nil, fmt.Errorf("{{%s is not {{NAME}} with the name of an argument; to mean the two braces themselves "+
				"write {{{{", textutil.Cut(after, 40))
		}
		t = append(t.literal(literal), part{name: name})
		literal, text = "", rest
	}
}

// literal is the template with a text after it, unless that is empty.
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

// noCode refuses arguments inside of what an interpreter takes for its program, as in sh -c "ls {{path}}": callers
// could write any code there.
func noCode(words []template) error {
	of, option := "", "" // the interpreter, as long as its options continue, and the one that says that code comes
	value := false       // the word belongs to the option before it
	for _, t := range words {
		word, fixed := t.text() // of one with arguments, what is before them
		base := word[strings.LastIndexByte(word, '/')+1:]
		code := of != "" && codeOption.MatchString(word)
		if code {
			option = word
		}
		if names := t.names(); option != "" && len(names) > 0 {
			return fmt.Errorf("{{%s}} stands in the program text of %s %s, where callers could write code of their own; "+
				"have the text take it as an argument, such as \"$1\", and put \"{{%[1]s}}\" behind it as a word of its own",
				names[0], of, option)
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

// arguments are a call's, by name. Those that are null count as absent.
type arguments map[string]json.RawMessage

func readArguments(raw json.RawMessage) arguments {
	a := arguments(object(raw))
	for name, value := range a {
		if rawjson.Kind(value) == "null" {
			delete(a, name)
		}
	}
	return a
}

// A filler makes the words of a command from their templates and a call's arguments.
type filler struct {
	arguments
	dashes bool // words may begin with a dash that comes from an argument
	plain  bool // a -- was there: programs take no word after it for an option
	words  []string
}

// fill adds the words of one template: none when its argument is absent, several when it is a list.
func (f *filler) fill(t template) error {
	if text, fixed := t.text(); fixed {
		f.plain = f.plain || text == "--"
		f.words = append(f.words, text)
		return nil
	}
	if there, err := f.present(t); err != nil || !there {
		return err
	}
	name := t.only()
	list := f.arguments[name]
	if name == "" || rawjson.Kind(list) != "an array" {
		text, err := f.text(t)
		if err != nil {
			return err
		}
		return f.add(t, text)
	}
	for _, item := range items(list) {
		if rawjson.Kind(item) == "null" {
			continue
		}
		if err := f.add(t, plainText(item)); err != nil {
			return err
		}
	}
	return nil
}

// present reports whether the arguments of a word are there. Of several, all are or none is.
func (f *filler) present(t template) (bool, error) {
	var absent, there []string
	for _, name := range t.names() {
		if _, ok := f.arguments[name]; ok {
			there = append(there, name)
		} else {
			absent = append(absent, name)
		}
	}
	if len(absent) > 0 && len(there) > 0 {
		return false, refused("MissingArgument",
			fmt.Sprintf("%s is missing: it goes into one word with %s", absent[0], there[0]),
			"Pass both, or neither of them.")
	}
	return len(absent) == 0, nil
}

// text is a template with its arguments filled in; absent ones are empty.
func (f *filler) text(t template) (string, error) {
	var b strings.Builder
	for _, p := range t {
		value := f.arguments[p.name]
		if rawjson.Kind(value) == "an array" {
			return "", refused("ListInsideWord", p.name+" is a list, and it goes into the middle of a text",
				"Pass one value in place of the list.")
		}
		b.WriteString(p.text)
		b.WriteString(plainText(value))
	}
	return b.String(), nil
}

// add adds a word, unless a program could take it for something else than the caller's value.
func (f *filler) add(t template, word string) error {
	switch {
	case strings.ContainsRune(word, 0):
		return refused("NulInArgument", t.names()[0]+" has a NUL character, which no program can be given",
			"Leave the NUL character out.")
	case strings.HasPrefix(word, "-") && t[0].name != "" && !f.plain && !f.dashes:
		return refused("LooksLikeAnOption",
			fmt.Sprintf("%s gives the word %q, which begins with - and could be taken for an option", t.names()[0],
				textutil.Cut(word, 60)),
			"Pass a value that does not begin with -; for a file write ./ in front of its name. (The operator may allow it: "+
				"with a -- before the word in command, or with allow_dash.)")
	}
	f.words = append(f.words, word)
	return nil
}

// plainText is a string itself, and any other value as JSON.
func plainText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

func refused(name, message, suggestion string) error {
	return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: name, Message: message + "; nothing was run",
		Suggestion: suggestion}
}
