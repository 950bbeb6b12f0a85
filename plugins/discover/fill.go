package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/sdk"
)

// arguments are a call's, by name. Those that are null count as absent.
type arguments map[string]json.RawMessage

func readArguments(raw json.RawMessage) arguments {
	a := arguments(object(raw))
	for name, value := range a {
		if kind(value) == "null" {
			delete(a, name)
		}
	}
	return a
}

// A filler makes the words of a command from their templates and a call's arguments.
type filler struct {
	arguments
	dashes bool // words may begin with a dash that comes from an argument
	plain  bool // a -- was there: programs take no word behind it for an option
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
	if name := t.only(); name != "" && kind(f.arguments[name]) == "an array" {
		return f.fillEach(t, f.arguments[name])
	}
	text, err := f.text(t)
	if err != nil {
		return err
	}
	return f.add(t, text)
}

// fillEach adds a word for each item of a list but those that are null.
func (f *filler) fillEach(t template, list json.RawMessage) error {
	for _, item := range items(list) {
		if kind(item) == "null" {
			continue
		}
		if err := f.add(t, plainText(item)); err != nil {
			return err
		}
	}
	return nil
}

// present says whether the arguments of a word are there. Of several, all are or none is.
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
		return false, refused("MissingArgument", fmt.Sprintf("%s is missing: it goes into one word with %s", absent[0], there[0]),
			"Pass both, or neither of them.")
	}
	return len(absent) == 0, nil
}

// text is a template with its arguments filled in; absent ones are empty.
func (f *filler) text(t template) (string, error) {
	var b strings.Builder
	for _, p := range t {
		value := f.arguments[p.name]
		if kind(value) == "an array" {
			return "", refused("ListInsideWord", p.name+" is a list, and it goes into the middle of a text", "Pass one value in place of the list.")
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
		return refused("NulInArgument", t.names()[0]+" has a NUL character, which no program can be given", "Leave the NUL character out.")
	case strings.HasPrefix(word, "-") && t.beginsWithArgument() && !f.plain && !f.dashes:
		return refused("LooksLikeAnOption", fmt.Sprintf("%s gives the word %q, which begins with - and could be taken for an option", t.names()[0], clip(word, 60)),
			"Pass a value that does not begin with -; for a file write ./ in front of its name. (The operator may allow it: with a -- before the word in command, or with allow_dash.)")
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
	return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: name, Message: message + "; nothing was run", Suggestion: suggestion}
}
