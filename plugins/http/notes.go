package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/sdk"
)

// heading says where the text is from: whoever reads it must know that it is a stranger's.
func (a *answer) heading(out report, converted bool) string {
	text := fmt.Sprintf("[%s answered %s: %s", shownURL(a.url), a.statusLine(), a.typed())
	if out.Charset != "utf-8" {
		text += " in " + out.Charset
	}
	if converted {
		text += " shown as Markdown"
	}
	if out.Title != "" {
		text += fmt.Sprintf("; title %q", out.Title)
	}
	if len(a.body) == 0 {
		text += "; the body is empty"
	}
	return text + a.journey() + "]"
}

// journey tells of redirects.
func (a *answer) journey() string {
	if len(a.hops) == 0 {
		return ""
	}
	var from []string
	for _, h := range a.hops {
		from = append(from, h.URL)
	}
	return "; redirected from " + strings.Join(from, ", then ")
}

// notes say what is left out, and how to get it.
func (a *answer) notes(out report, v view) string {
	var lines []string
	if out.Start > 0 || out.End < out.TextBytes {
		line := fmt.Sprintf("[bytes %d to %d of %d", out.Start, out.End, out.TextBytes)
		if out.End < out.TextBytes && v.paged {
			line += fmt.Sprintf("; continue with start=%d", out.End)
		}
		lines = append(lines, line+"]")
	}
	if a.cut {
		line := fmt.Sprintf("[only the first %d bytes of the body were read; ", len(a.body))
		switch {
		case v.maxBytes < maxBytes:
			line += fmt.Sprintf("raise max_bytes (up to %d) for more]", maxBytes)
		default:
			line += "the rest cannot be read with this tool]"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// window gives the part of a text from start that has at most size bytes, of whole characters, and of whole lines where
// that costs little.
func window(text string, start, size int) (int, int) {
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	if len(text)-start <= size {
		return start, len(text)
	}
	end := start + size
	for end > start && !utf8.RuneStart(text[end]) {
		end--
	}
	if i := strings.LastIndexByte(text[start:end], '\n'); i >= 0 && i > (end-start)*9/10 {
		end = start + i + 1
	}
	return start, end
}

func pastEnd(a *answer, start, size int) error {
	e := &sdk.Error{Name: "StartOutOfRange", Message: fmt.Sprintf("start %d is past the end of the text of %s, which has %d bytes", start, shownURL(a.url), size),
		Suggestion: fmt.Sprintf("Use a start below %d.", size), Details: sdk.Details(map[string]int{"text_bytes": size})}
	if a.cut {
		e.Suggestion += fmt.Sprintf(" Only %d bytes of the body were read; raise max_bytes (up to %d) for more.", len(a.body), maxBytes)
	}
	return e
}
