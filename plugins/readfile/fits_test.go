package main

import (
	"path"
	"strings"
	"testing"
)

// The longest names there are, as many as may be asked for, still make a result that comes through.
func TestResultsFitTheWire(t *testing.T) {
	f := start(t)
	deep := path.Join(strings.Repeat("\x01", 250), strings.Repeat("\x02", 250), strings.Repeat("\x03", 250), strings.Repeat("\x04", 250))
	for i := range 400 {
		f.put(t, path.Join(deep, strings.Repeat(string(rune('a'+i%26)), 1+i/26)+strings.Repeat("\x05", 200)), "x\n")
	}
	tests := []struct{ tool, arguments, note string }{
		{"glob", `{"pattern":"*","limit":2000}`, "of 400 that match; narrow the pattern"},
		{"grep", `{"pattern":"x","mode":"files","limit":1000}`, "there are more"},
		{"grep", `{"pattern":"x","mode":"count","limit":1000}`, "files not shown"},
		{"grep", `{"pattern":"x","limit":1000}`, "cut at 64 KiB of lines"},
		{"list", `{"depth":10}`, "cut at"},
	}
	for _, test := range tests {
		result := f.run(t, test.tool, "%s", test.arguments)
		contains(t, result.Content[0].Text, test.note)
		if !result.Truncated || len(result.Content[0].Text) > 2<<20 {
			t.Errorf("%s %s: %d bytes, truncated %v", test.tool, test.arguments, len(result.Content[0].Text), result.Truncated)
		}
	}
}
