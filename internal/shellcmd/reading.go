package shellcmd

import (
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// A text that Parse refuses is never allowed, but a person may approve it, and then a shell runs it. What is denied is
// looked for in all the ways in which it may be read.

// readings calls see with each way to read a text, until one is done: without what people cannot see, and with a letter
// in its place; and where the parser does not read all of it, the parts between separators. Of a text that is cut it
// leaves out what mentions reports false for.
func readings(text string, mentions func(string) bool, see func(*Script) (done bool)) {
	seen := map[string]bool{}
	skip := func(piece string) bool {
		if seen[piece] {
			return true
		}
		seen[piece] = true
		return !mentions(piece)
	}
	for _, reading := range visible(text) {
		for piece := range pieces(reading) {
			if len(piece) < len(reading) && skip(piece) {
				continue
			}
			s, err := walk(piece)
			if see(s) {
				return
			}
			if e, ok := errors.AsType[*RefusedError](err); !ok || e.whole {
				continue
			}
			for part := range parts(piece) {
				if skip(part) {
					continue
				}
				if s, _ := walk(part); see(s) {
					return
				}
			}
		}
	}
}

// visible are the texts that a text with characters that people cannot see may stand for. To bash such a character is a
// letter of a word; other shells and the person who reads the text ignore it, or end the line at a carriage return.
func visible(text string) []string {
	without := strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case hasHiddenChars(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	const letter = 'é' // which bash allows in a word, and not in the name of a variable
	with := strings.Map(func(r rune) rune {
		if hasHiddenChars(r) {
			return letter
		}
		return r
	}, strings.ToValidUTF8(text, string(letter)))
	out := []string{without, with}
	for _, s := range out[:2] {
		out = append(out, joinLines(s), blanks().ReplaceAllString(s, " "))
	}
	return slices.Compact(slices.Sorted(slices.Values(out)))
}

// blanks is an expansion in place of a blank: rm${IFS}-rf.
var blanks = lazy.Regexp(`\$\{IFS[^{}]*\}|\$IFS\b`)

// joinLines joins the lines that bash joins, and ends a comment where bash ends it.
func joinLines(text string) string {
	if !strings.Contains(text, "\\\n") {
		return text
	}
	text = longComment().ReplaceAllStringFunc(text, func(s string) string { return s[:len(s)-2] + "\n" })
	return escaped().ReplaceAllStringFunc(text, func(s string) string { return strings.TrimPrefix(s, "\\\n") })
}

var escaped = lazy.Regexp(`(?s)\\.`)

const (
	maxLong  = 64 << 10 // the longest piece of a refused text, in bytes
	maxMarks = 4 << 10  // of separators in one of over maxText bytes: they cost the parser time and stack
)

const separators = ";&|(){}`\n"

// pieces cuts a long text, so that parsing takes a bounded time: at the ends of lines and, where that is not enough, at
// separators, in quotes or not.
func pieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) { cut(text, yield) }
}

func cut(text string, yield func(string) bool) (more bool) {
	if len(text) <= maxText {
		return yield(text)
	}
	smaller := parts(text)
	switch {
	case len(text) <= maxLong && marksIn(text) <= maxMarks:
		return yield(text)
	case strings.Contains(text, "\n"):
		smaller = strings.SplitSeq(text, "\n")
	case !strings.ContainsAny(text, separators):
		return yield(strings.ToValidUTF8(text[:maxLong/2]+text[len(text)-maxLong/2:], "")) // one command with many words
	}
	for part := range smaller {
		if !cut(part, yield) {
			return false
		}
	}
	return true
}

func marksIn(text string) (n int) {
	for _, mark := range separators + "[" {
		n += strings.Count(text, string(mark))
	}
	return n
}

// parts are what is between the separators of a text, without the keywords before it: once with quotes as a part of
// words, and once as separators, since the text in them may be for another shell.
func parts(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, marks := range []string{separators, separators + `'"`} {
			for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(marks, r) }) {
				if !yield(part[len(keywords().FindString(part)):]) {
					return
				}
			}
		}
	}
}

var keywords = lazy.Regexp(`^([ \t]*(if|then|elif|else|while|until|do|!)[ \t]+)*`)
