package host

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"

	"github.com/toolhost/toolhost/sdk"
)

// isOdd is false for names, in their quotes, that cannot be the same as another one in other letters.
func isOdd(name jsontext.Value) bool {
	for _, b := range name {
		if 'A' <= b && b <= 'Z' || b == '\\' || b >= 0x80 {
			return true
		}
	}
	return false
}

// twins refuses two names in one object that differ only by letter case or Unicode normal form. Plugins in Go take
// "Path" for "path", so a rule and a plugin would read different arguments. Only odd names can have twins.
func twins(arguments json.RawMessage, odd bool) *sdk.Error {
	if !odd {
		return nil
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(arguments))
	var seen []map[string]string                                                    // for each open object or array, folded name to name
	for kind, raw, err := readToken(d); err == nil; kind, raw, err = readToken(d) { // it was all read once before
		switch {
		case kind == '{' || kind == '[':
			seen = append(seen, map[string]string{})
		case kind == '}' || kind == ']':
			seen = seen[:len(seen)-1]
		case raw != nil:
			name := unquoted(raw)
			names, folded := seen[len(seen)-1], fold(name)
			if twin, ok := names[folded]; ok {
				return badAt(d.InputOffset()-int64(len(raw)), arguments,
					"have two properties in one object, %q and %q, that differ only by letter case or the like", twin, name)
			}
			names[folded] = name
		}
	}
	return nil
}

func unquoted(raw jsontext.Value) string {
	name, _ := jsontext.AppendUnquote(nil, raw)
	return string(name)
}

// fold gives all spellings of a name that differ only by letter case or normal form one form.
func fold(name string) string { return norm.NFD.String(strings.Map(foldLetter, norm.NFD.String(name))) }

// foldLetter is the smallest of the letters that differ only by case, as package encoding/json has it.
func foldLetter(r rune) rune {
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
}
