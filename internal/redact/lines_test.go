package redact

import (
	"strings"
	"testing"
)

func TestKeysOverSeveralLines(t *testing.T) {
	begin, end := "-----BEGIN OPENSSH PRIVATE"+" KEY-----", "-----END OPENSSH PRIVATE"+" KEY-----"
	for in, want := range map[string]string{
		"a\n" + begin + "\nAAAA\nBBBB\n" + end +
			"\nb": "a\n[redacted]\nb",
		"key: " + begin + "\nAAAA\n" + end + "\nb\n" + begin + "\nCC\n" +
			end: "key: [redacted]\nb\n[redacted]",
		"x " + begin + " AAAA " + end +
			" y\nb": "x [redacted] y\nb",
		`{"@message":"` + begin + `"}` + "\n" + `{"@message":"AAAA"}` + "\n" + `{"@message":"` + end + `"}` + "\nb": `{"@message":"[redacted]` + "\nb",
		"no BEGIN of a PRIVATE thing\nb":                   "no BEGIN of a PRIVATE thing\nb",
		"Private-Lines: 2\nAAAA\nBBBB\nPrivate-MAC: 00\nb": "Private-Lines: 2\nb",
		begin + strings.Repeat("\nAAAA", maxBlock) + "\nb": "[redacted]\nb",
	} {
		var blocks Blocks
		var out []string
		for line := range strings.SplitSeq(in, "\n") {
			quiet := blocks.Quiet([]byte(line))
			if inside := blocks.Inside([]byte(line)); !inside {
				out = append(out, New().Text(line))
			} else if quiet {
				t.Errorf("%q is called quiet", line)
			}
		}
		if got := strings.Join(out, "\n"); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
