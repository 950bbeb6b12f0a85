package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func plainOf(text string, step int) string {
	var p terminalText
	var out []byte
	for piece := range pieces(text, step) {
		out = append(out, p.write([]byte(piece))...)
	}
	return string(append(out, p.flush()...))
}

func TestPlain(t *testing.T) {
	for _, test := range []struct{ name, printed, want string }{
		{"text", "a\nb\tc\n", "a\nb\tc\n"},
		{"line ends of a terminal", "a\r\nb\r\n", "a\nb\n"},
		{"colours", "\x1b[1;31mred\x1b[0m and \x1b[38;5;12mblue\x1b[m\r\n", "red and blue\n"},
		{"a title", "\x1b]0;title\x07text\x1b]2;other\x1b\\ more\n", "text more\n"},
		{"character sets and modes", "\x1b(B\x1b[?25l\x1b=a\x1b>\n", "a\n"},
		{"a progress bar", "  1%\r 50%\r100%\r\ndone\r\n", "100%\ndone\n"},
		{"a line that is erased", "working...\r\x1b[Kdone\n", "done\n"},
		{"a line that is erased at the end", "done\nworking...\r\x1b[K", "done\n"},
		{"a line that is erased from a place on", "working...\x1b[K done\n", "working... done\n"},
		{"a spinner", "\x1b[?25l\x1b[1G\x1b[0K⠋ one\x1b[2K\x1b[1G⠙ of two\x1b[2K\x1b[G✔ done\x1b[?25h\r\n", "✔ done\n"},
		{"a spinner that leaves nothing", "⠙\x1b[1G\x1b[0Ktext\r\n⠹\x1b[1G\x1b[0K", "text\n"},
		{"a part that is written over", "[....] Starting\r[ ok \r\n", "[ ok ] Starting\n"},
		{"a line that blanks erase", "loading\r       \rok\r\n", "ok\n"},
		{"blanks at the end", "a  \r\n", "a  \n"},
		{"a prompt that is drawn again", "> x\x1b[1G\x1b[0J> xy\x1b[4G\x1b[1Dz\r\n", "> zy\n"},
		{"to the left", "abc\x1b[2DX\x1b[CY\r\n", "aXcY\n"},
		{"to a column", "name\x1b[40Gvalue\x1b[9999999C!\r\n", "name value !\n"},
		{"the beginning of a line that is erased", "abc: def\x1b[4D\x1b[1Kxy\r\n", "    xyef\n"},
		{"sequences of other forms", "ab\x1b[?2K\x1b[-1D\x1b[1;1Kc\n", "abc\n"},
		{"backspace", "passs\b\x20\b\bx\n", "pasx\n"},
		{"backspace over a wide character", "aä\bx\n", "ax\n"},
		{"backspace at the start", "\b\ba\n", "a\n"},
		{"bell and other controls", "a\x07\x00\x0eb\x7f\n", "ab\n"},
		{"a string without an end", "\x1b]0;title\ntext\n", "\ntext\n"},
		{"a sequence that is cancelled", "\x1b[12\x18text\n", "text\n"},
		{"a sequence within one", "\x1b[1\x1b[31mred\n", "red\n"},
		{"no line break at the end", "prompt> ", "prompt> "},
		{"a return at the end", "prompt\r", "prompt"},
		{"a long line", strings.Repeat("ä", longLine), strings.Repeat("ä", longLine)},
	} {
		for _, step := range []int{1, 2, 7, 1 << 20} {
			if got := plainOf(test.printed, step); got != test.want {
				t.Errorf("%s by %d: %.200q, want %.200q", test.name, step, got, test.want)
			}
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add("\x1b[1mbold\x1b[0m\r\n50%\r60%\n", uint8(1))
	f.Add("\x1b]0;t\x07\x1bPq\x1b\\\b\b\x18", uint8(2))
	f.Fuzz(func(t *testing.T, printed string, step uint8) {
		got := plainOf(printed, int(step)+1)
		if whole := plainOf(printed, len(printed)+1); got != whole {
			t.Errorf("by %d %q, at once %q", step, got, whole)
		}
		if len(got) > len(printed) {
			t.Errorf("%d bytes of %d", len(got), len(printed))
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' || r == 0x7f }); i >= 0 {
			t.Errorf("it holds the control character %q", got[i])
		}
		if strings.Count(got, "\n") != strings.Count(printed, "\n") {
			t.Errorf("%q has other lines than %q", got, printed)
		}
	})
}

type closable struct {
	bytes.Buffer
	closed bool
}

func (c *closable) Close() error {
	c.closed = true
	return nil
}

func TestLive(t *testing.T) {
	var out closable
	now := time.Now()
	l := newLiveOutput(&out)
	l.now = func() time.Time { return now }
	write := func(n int, text string) {
		t.Helper()
		if got, err := l.Write([]byte(strings.Repeat(text, n))); got != n*len(text) || err != nil {
			t.Fatalf("%d, %v", got, err)
		}
	}
	write(liveBurst, "a") // as much as the burst allows
	write(100, "b")
	write(50, "c")
	if out.Len() != liveBurst {
		t.Errorf("%d bytes were passed on, want %d", out.Len(), liveBurst)
	}
	out.Reset()
	now = now.Add(time.Second / 1024)
	write(1, "\xa4\nlater\n")
	if want := "\n[... 151 bytes not shown while it runs ...]\n\nlater\n"; out.String() != want ||
		!utf8.Valid(out.Bytes()) {
		t.Errorf("passed on %q, want %q", out.String(), want)
	}
	out.Reset()
	write(8<<10, "d")
	if err := l.Close(); err != nil || out.String() != "\n[... 8192 bytes not shown while it runs ...]\n" || !out.closed {
		t.Errorf("at the end %q, %v", out.String(), err)
	}
	write(10, "after the end")
}
