package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/sdk"
)

// maxCompared bounds the work of finding what comes closest: bytes of the file, and lines compared.
const maxCompared = 2 << 20

// notFound says that old is nowhere in the text, and what comes closest to it.
func (m *match) notFound() error {
	why, line := m.closest()
	e := &sdk.Error{Name: "MatchNotFound", Message: fmt.Sprintf("old_string is not in %q; nothing was changed. %s", m.path, why),
		Suggestion: "Read the file and copy old_string from it, exactly."}
	if line > 0 {
		e.Suggestion = fmt.Sprintf("Read the file from line %d on and copy old_string from it, exactly.", line)
		e.Details = sdk.Details(map[string]int{"closest_line": line})
	}
	return e
}

// closest says in a sentence where something like old is, and how it differs. The line is 0 when nothing is.
func (m *match) closest() (why string, line int) {
	if i := bytes.Index(toLF(m.text), toLF(m.old)); i >= 0 {
		line = lineOf(toLF(m.text), i)
		return fmt.Sprintf("The text is there at line %d with other line endings: %s.", line, m.endingsDiffer()), line
	}
	if with := bytes.TrimSpace(m.with); len(with) >= 8 {
		if i := bytes.Index(m.text, with); i >= 0 {
			line = lineOf(m.text, i)
			return fmt.Sprintf("But new_string is there already, at line %d; this edit may have been made before.", line), line
		}
	}
	if bytes.ContainsRune(m.old, utf8.RuneError) {
		return "It holds U+FFFD, which stands for bytes that are not UTF-8; choose a part without such bytes.", 0
	}
	return m.closestLines()
}

func (m *match) endingsDiffer() string {
	if !bytes.Contains(m.text, crlf) {
		return "the file has LF, old_string has CRLF"
	}
	return `the file mixes LF and CRLF, so old_string must have "\r\n" where the file has it`
}

// closestLines compares line by line. Of all lines like the first of old it takes the one with the most equal lines
// after it.
func (m *match) closestLines() (why string, line int) {
	if len(m.text) > maxCompared {
		return "The file is too large to look for what comes close.", 0
	}
	old, text := splitLines(bytes.TrimLeft(m.old, "\r\n")), splitLines(m.text)
	for len(old) > 1 && strings.TrimSpace(old[0]) == "" {
		old = old[1:]
	}
	wanted := plain(old[0])
	if wanted == "" {
		return "It is nothing but white space.", 0
	}
	equal, compared := -1, 0
	for i, l := range text {
		if compared < maxCompared && strings.Contains(plain(l), wanted) {
			n := equalLines(text[i:], old)
			if compared += n + 1; n > equal {
				equal, line = n, i+1
			}
		}
	}
	if line == 0 {
		return fmt.Sprintf("No line is like its first, %s.", short(old[0])), 0
	}
	return describe(text[line-1:], old, equal, line), line
}

// describe says how the lines of old differ from those of the text that start at a line; the first equal of them do so
// in white space at most.
func describe(text, old []string, equal, line int) string {
	if equal < len(old) {
		if equal >= len(text) {
			return fmt.Sprintf("Its first %d lines are at line %d, where the file ends.", equal, line)
		}
		return fmt.Sprintf("It is most like line %d on, but line %d is %s where old_string has %s.", line, line+equal, short(text[equal]), short(old[equal]))
	}
	for i := range old {
		if !fits(text[i], old[i], i, len(old)) {
			return fmt.Sprintf("The text is there at line %d with other white space: line %d is %s, old_string has %s.", line, line+i, short(text[i]), short(old[i]))
		}
	}
	return fmt.Sprintf("The text is there at line %d, but not with the line breaks around it that old_string has.", line)
}

// equalLines counts how many lines of old the text starts with, white space at their ends aside.
func equalLines(text, old []string) int {
	n := 0
	for n < min(len(text), len(old)) && fits(strings.TrimSpace(text[n]), strings.TrimSpace(old[n]), n, len(old)) {
		n++
	}
	return n
}

// fits compares line i of n: the first may be the end of a line of the text only, the last the start.
func fits(text, old string, i, n int) bool {
	first, last := i == 0, i == n-1
	switch {
	case first && last:
		return strings.Contains(text, old)
	case first:
		return strings.HasSuffix(text, old)
	case last:
		return strings.HasPrefix(text, old)
	}
	return text == old
}

func splitLines(b []byte) []string {
	return strings.Split(strings.TrimSuffix(string(toLF(b)), "\n"), "\n")
}

// plain is a line without regard to case and white space.
func plain(line string) string { return strings.ToLower(strings.Join(strings.Fields(line), " ")) }

// short quotes a line, cut so that it fits into a sentence. A tab shows as \t.
func short(line string) string {
	if r := []rune(line); len(r) > 80 {
		return strconv.Quote(string(r[:80])) + "..."
	}
	return strconv.Quote(line)
}
