package launcher

import (
	"bytes"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProgramOnTheWire(t *testing.T) {
	tests := []Program{
		{Path: "/bin/true", Argv: []string{"true"}},
		{Path: "x", Dir: "/a dir", Argv: []string{"", "", "two words", "new\nline"}, Env: []string{"A=1", "", "B="}},
		{Path: "/bin/sh", Argv: []string{"sh"}, Terminal: true},
		{Path: "x", Argv: []string{"x"}, Env: []string{strings.Repeat("long", 100000)}},
	}
	for _, p := range tests {
		text := p.Encode()
		got, err := decodeProgram(bytes.NewReader(append(slices.Clone(text), TerminateOrder)))
		if diff := cmp.Diff(p, got, cmp.Transformer("list", nonNil)); err != nil || diff != "" {
			t.Errorf("error %v (-sent +received):\n%s", err, diff)
		}
	}
}

func nonNil(list []string) []string { return append([]string{}, list...) }

func TestProgramCutShort(t *testing.T) {
	text := Program{Path: "/bin/true", Argv: []string{"true", "x"}, Env: []string{"A=1"}}.Encode()
	for n := range len(text) {
		if p, err := decodeProgram(bytes.NewReader(text[:n])); err == nil {
			t.Errorf("%d of %d bytes make %+v", n, len(text), p)
		}
	}
}

func FuzzDecodeProgram(f *testing.F) {
	f.Add(Program{Path: "/bin/true", Argv: []string{"true"}, Env: []string{"A=1"}}.Encode())
	f.Add([]byte("\x10\x00\x00\x00a\x00b\x00end\x00true\x00-1\x00"))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := decodeProgram(bytes.NewReader(text))
		if err != nil {
			return
		}
		again, err := decodeProgram(bytes.NewReader(p.Encode()))
		if diff := cmp.Diff(p, again); err != nil || diff != "" {
			t.Errorf("%v, %s", err, diff)
		}
	})
}

func TestParseReport(t *testing.T) {
	tests := []struct {
		name, text string
		want       Report
	}{
		{"nothing", "", Report{}},
		{"not started", "failed exec 2\n", Report{Failed: "exec", Errno: syscall.ENOENT}},
		{"not restricted", "failed restrict 20 opening \"/a b\"\n", Report{Failed: "restrict", Errno: syscall.ENOTDIR, Call: `opening "/a b"`}},
		{"lost on the way", "started 12\n", Report{PID: 12}},
		{"ended", "started 12\nended 256 1500000 3\n", Report{PID: 12, Ended: true, Status: 256, Took: 1500 * time.Microsecond, Killed: 3}},
		{"processes left", "started 12\nended 9 7 0\nleft 2 processes: 34,56\n",
			Report{PID: 12, Ended: true, Status: 9, Took: 7, Left: 2, PIDs: "34,56"}},
		{"the program left", "started 12\nleft 1 processes: 12\n", Report{PID: 12, Left: 1, PIDs: "12"}},
		{"half a line", "started 12\nended 256 15", Report{PID: 12, Status: 256, Took: 15}},
		{"garbage", "hello\n\nended x\n", Report{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, ParseReport(test.text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
