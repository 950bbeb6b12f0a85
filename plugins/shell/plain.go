package main

import (
	"slices"
	"unicode/utf8"

	"github.com/toolhost/toolhost/sdk"
)

// plain makes text of what a program writes to a terminal: colours, titles and moves of the cursor are dropped, and of a
// line that was written over only the last state stays, so that a progress bar is one line.
type plain struct {
	state   plainState
	line    []byte // what the cursor's line holds
	rewound bool   // the cursor is at its start
}

type plainState uint8

const (
	plainText    plainState = iota
	plainEscape             // after ESC
	plainMarked             // after ESC and a mark such as (, which one more character follows
	plainControl            // in a control sequence, which a letter ends
	plainString             // in a string for the terminal, such as a title
	plainStringEscape
)

// longLine is how much of a line can still be written over.
const longLine = 8 << 10

// write gives the text that stands: whole lines, and of longer ones what came first.
func (t *plain) write(p []byte) (out []byte) {
	for _, b := range p {
		switch {
		case b == '\n':
			t.state = plainText // nothing spans lines; a string without an end must not swallow the rest
			out = append(append(out, t.line...), '\n')
			t.line, t.rewound = t.line[:0], false
		case t.state != plainText:
			t.state = t.state.after(b)
		default:
			t.put(b)
		}
		if len(t.line) >= longLine {
			n := len(sdk.WholeEnd(t.line))
			out = append(out, t.line[:n]...)
			t.line = append(t.line[:0], t.line[n:]...)
		}
	}
	return out
}

func (t *plain) put(b byte) {
	switch {
	case b == 0x1b:
		t.state = plainEscape
	case b == '\r':
		t.rewound = true
	case b == '\b':
		_, n := utf8.DecodeLastRune(t.line)
		t.line = t.line[:len(t.line)-n]
	case b < 0x20 && b != '\t' || b == 0x7f:
	default:
		if t.rewound {
			t.line, t.rewound = t.line[:0], false
		}
		t.line = append(t.line, b)
	}
}

// after is the state after one more byte of something that is no text.
func (s plainState) after(b byte) plainState {
	switch {
	case b == 0x18 || b == 0x1a: // cancels any sequence
		return plainText
	case s == plainString && b == 0x1b:
		return plainStringEscape
	case s == plainString && b != 0x07:
		return plainString
	case s == plainString, s == plainStringEscape, s == plainMarked:
		return plainText
	case b == 0x1b:
		return plainEscape
	case s == plainControl && (b < 0x40 || b > 0x7e):
		return plainControl
	case s == plainControl:
		return plainText
	}
	return afterEscape(b)
}

func afterEscape(b byte) plainState {
	switch {
	case b == '[':
		return plainControl
	case slices.Contains([]byte("]PX^_"), b):
		return plainString
	case b >= 0x20 && b <= 0x2f:
		return plainMarked
	}
	return plainText
}

// flush gives the line that the terminal is at.
func (t *plain) flush() []byte {
	line := slices.Clone(t.line)
	t.line = t.line[:0]
	return line
}
