package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// endings gives the text to show and a note about its line endings. CRLF becomes LF when every line has it: models copy
// what they read, and LF is what they write. Mixed endings stay, or what is shown could not be told apart.
func (e *excerpt) endings() ([]byte, string) {
	crlf := bytes.Count(e.text, []byte("\r\n"))
	lf := bytes.Count(e.text, []byte("\n")) - len(e.long) // whose newlines are ours
	switch {
	case crlf == 0:
		return e.text, ""
	case crlf >= lf:
		return bytes.ReplaceAll(e.text, []byte("\r\n"), []byte("\n")), "line endings are CRLF, shown as LF"
	}
	return e.text, fmt.Sprintf("mixed line endings, shown as they are: %d of these %s with CRLF", crlf, count(lf, "line")+" end")
}

// notes are for the model: what the text is not, and how to get the rest.
func (e *excerpt) notes(d *decoded) []string {
	all := []string{e.rangeNote(), d.note}
	if len(e.long) > 0 {
		all = append(all, e.longNote())
	}
	if len(e.invalid) > 0 {
		all = append(all, "not UTF-8, invalid bytes shown as U+FFFD: "+numbered(e.invalid))
	}
	if len(e.replaced) > 0 && d.legacy() {
		all = append(all, "bytes that are not "+d.name+" are shown as U+FFFD: "+numbered(e.replaced))
	}
	if e.numbers && e.first < 0 {
		all = append(all, "line numbers are not known in a file this large, so none are shown")
	}
	return all
}

// bracketed writes notes one a line, those that are empty left out.
func bracketed(notes ...string) string {
	var out strings.Builder
	for _, note := range notes {
		if note != "" {
			fmt.Fprintf(&out, "[%s]\n", note)
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func (e *excerpt) longNote() string {
	note := fmt.Sprintf("cut at %d characters: %s (%d bytes)", e.chars, numbered(e.long), e.longSize)
	if e.first < 0 {
		return strings.Replace(note, numbered(e.long), count(len(e.long), "line"), 1)
	}
	return note + fmt.Sprintf("; for the whole of it read it alone: start_line=%d, end_line=%d", e.long[0], e.long[0])
}

// rangeNote says which lines are shown, unless it is all of them in full.
func (e *excerpt) rangeNote() string {
	note := fmt.Sprintf("lines %d-%d of %s", e.first, e.lastShown(), e.ofTotal())
	switch {
	case e.total == 0:
		return "the file is empty"
	case e.tail > 0:
		return e.tailNote()
	case e.cut > 0:
		note = fmt.Sprintf("line %d of %s has %d bytes, the first %d are shown; %s", e.first, e.ofTotal(), e.cut, e.cutAt, e.raise())
	case e.full:
		note += fmt.Sprintf(", cut at %d bytes", e.bytes)
	case e.first == 1 && !e.more:
		return ""
	}
	if e.more {
		note += fmt.Sprintf("; continue with start_line=%d", e.lastShown()+1)
	}
	return note
}

// tailNote is rangeNote for the last lines.
func (e *excerpt) tailNote() string {
	note := fmt.Sprintf("lines %d-%d of %s", e.first, e.lastShown(), e.ofTotal())
	switch {
	case e.shown == 0:
		return fmt.Sprintf("the last line is longer than %d bytes; no part of it is shown", tailBytes)
	case e.first == 1 && !e.full:
		return ""
	case e.cut > 0:
		return fmt.Sprintf("the last line has %d bytes, the first %d are shown; %s", e.cut, e.cutAt, e.raise())
	case e.first < 0:
		note = fmt.Sprintf("the last %s of %s", count(e.shown, "line"), e.ofTotal())
	}
	switch {
	case e.far:
		note += fmt.Sprintf("; %d were asked for, and only the last %d MiB are looked at", e.tail, tailBytes>>20)
	case e.full:
		note += fmt.Sprintf(", cut at %d bytes; %d lines were asked for", e.bytes, e.tail)
	}
	if e.first > 1 {
		note += fmt.Sprintf("; for those before use start_line and end_line=%d", e.first-1)
	}
	return note
}

func (e *excerpt) ofTotal() string {
	if e.total < 0 {
		return "a file too large to count"
	}
	return strconv.Itoa(e.total)
}

// raise says how to see more of a line that is longer than max_bytes.
func (e *excerpt) raise() string {
	if e.bytes < maxBytes {
		return fmt.Sprintf("raise max_bytes (up to %d)", maxBytes)
	}
	return "the rest cannot be read with this tool"
}

// numbered names some lines, and says how many more there are.
func numbered(lines []int) string {
	const most = 5
	var out []string
	for _, n := range lines[:min(len(lines), most)] {
		out = append(out, strconv.Itoa(n))
	}
	text := "line " + strings.Join(out, ", ")
	if len(lines) > 1 {
		text = "lines " + strings.Join(out, ", ")
	}
	if len(lines) > most {
		text += fmt.Sprintf(" and %d more", len(lines)-most)
	}
	return text
}

// count is n with its unit, in the plural where it must be.
func count(n int, unit string) string {
	if n != 1 {
		unit += "s"
	}
	return strconv.Itoa(n) + " " + unit
}
