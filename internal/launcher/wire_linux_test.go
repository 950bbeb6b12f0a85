package launcher

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var anyProgram = rapid.Custom(func(t *rapid.T) Program {
	text, number := rapid.StringN(0, 20, -1), rapid.IntRange(0, 1<<40)
	texts := rapid.SliceOf(text)
	return Program{
		Path: text.Draw(t, "path"), Dir: text.Draw(t, "dir"), Argv: texts.Draw(t, "argv"), Env: texts.Draw(t, "env"),
		Terminal: rapid.Bool().Draw(t, "terminal"),
		Sandbox: Sandbox{
			ReadOnlyRoot: rapid.Bool().Draw(t, "root"), Writable: texts.Draw(t, "writable"),
			Mounts: rapid.SliceOf(rapid.Custom(func(t *rapid.T) Mount {
				return Mount{text.Draw(t, "on"), text.Draw(t, "source"), rapid.Bool().Draw(t, "ro"), rapid.Bool().Draw(t, "link")}
			})).Draw(t, "mounts"),
			OOMScoreAdj: rapid.IntRange(0, 1000).Draw(t, "score"), Umask: rapid.Bool().Draw(t, "umask"),
			NoNewPrivileges: rapid.Bool().Draw(t, "privileges"),
			Rlimits: rapid.SliceOf(rapid.Custom(func(t *rapid.T) Rlimit {
				return Rlimit{text.Draw(t, "name"), number.Draw(t, "resource"), rapid.Uint64().Draw(t, "max")}
			})).Draw(t, "limits"),
			DropCapabilities: rapid.Bool().Draw(t, "drop"), KeepCapabilities: rapid.Uint32().Draw(t, "keep"),
			Landlock: [3]uint64{rapid.Uint64().Draw(t, "files"), rapid.Uint64().Draw(t, "net"),
				rapid.Uint64().Draw(t, "scopes")},
			LandlockRules: rapid.SliceOf(rapid.Custom(func(t *rapid.T) LandlockRule {
				return LandlockRule{text.Draw(t, "rule"), rapid.Uint64().Draw(t, "rights")}
			})).Draw(t, "rules"),
			Seccomp: rapid.SliceOf(rapid.Custom(func(t *rapid.T) syscall.SockFilter {
				return syscall.SockFilter{Code: rapid.Uint16().Draw(t, "code"), Jt: rapid.Uint8().Draw(t, "yes"),
					Jf: rapid.Uint8().Draw(t, "no"), K: rapid.Uint32().Draw(t, "k")}
			})).Draw(t, "filter"),
		},
	}
})

// Any program, with any bytes in its paths, is received unchanged.
func TestProgramArrives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyProgram.Draw(t, "program")
		got, err := decodeProgram(bytes.NewReader(append(p.Encode(), TerminateCommand)))
		if diff := cmp.Diff(p, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("error %v (-sent +received):\n%s", err, diff)
		}
	})
}

// A program that is incomplete, or followed by more, is not run.
func TestProgramsThatAreMalformed(t *testing.T) {
	text := Program{Path: "/bin/true", Argv: []string{"true", "x"}, Env: []string{"A=1"}, Sandbox: Sandbox{Umask: true,
		Rlimits: []Rlimit{files(4)}, LandlockRules: []LandlockRule{{"/a", 1}, {"/b", 1}}}}.Encode()
	sized := func(text []byte) []byte {
		binary.LittleEndian.PutUint32(text, uint32(len(text)-4))
		return text
	}
	for n := range len(text) {
		if p, err := decodeProgram(bytes.NewReader(text[:n])); err == nil {
			t.Errorf("%d of %d bytes make %+v", n, len(text), p)
		}
		if n < 4 {
			continue
		}
		if p, err := decodeProgram(bytes.NewReader(sized(slices.Clone(text[:n])))); err == nil {
			t.Errorf("%d of %d bytes, said to be all, make %+v", n, len(text), p)
		}
	}
	for name, wrong := range map[string][]byte{
		"a byte more":           append(slices.Clone(text), 0),
		"a flag of 2":           append(Program{}.Encode()[:8], append([]byte{2}, Program{}.Encode()[9:]...)...),
		"a length past the end": {0, 0, 0, 0, 5, 'a'},
		"an endless number":     append(make([]byte, 4), bytes.Repeat([]byte{0xff}, 20)...),
	} {
		if p, err := decodeProgram(bytes.NewReader(sized(wrong))); err == nil {
			t.Errorf("%s makes %+v", name, p)
		}
	}
}

func FuzzDecodeProgram(f *testing.F) {
	f.Add(Program{Path: "/bin/true", Argv: []string{"true"}, Env: []string{"A=1"}, Sandbox: Sandbox{
		Rlimits: []Rlimit{core}, LandlockRules: []LandlockRule{{"/a", 1}}, Seccomp: make([]syscall.SockFilter, 2)}}.Encode())
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

func TestFailuresArrive(t *testing.T) {
	for _, f := range []*Failure{{"landlock_restrict_self", syscall.ENOSYS}, {`opening "/a b"`, syscall.EACCES}} {
		var line strings.Builder
		reportFailure(&line, "restrict", f)
		want := Report{Failed: "restrict", Errno: f.Errno, Call: f.Call}
		if got := ParseReport(line.String()); got != want || !errors.Is(f, f.Errno) {
			t.Errorf("%q arrives as %+v", line.String(), got)
		}
	}
}

func TestParseReport(t *testing.T) {
	tests := []struct {
		name, text string
		want       Report
	}{
		{"nothing", "", Report{}},
		{"not started", "failed exec 2\n", Report{Failed: "exec", Errno: syscall.ENOENT}},
		{"not restricted", "failed restrict 20 opening \"/a b\"\n",
			Report{Failed: "restrict", Errno: syscall.ENOTDIR, Call: `opening "/a b"`}},
		{"lost on the way", "started 12\n", Report{PID: 12}},
		{"ended", "started 12\nended 256 1500000 3\n",
			Report{PID: 12, Ended: true, Status: 256, Took: 1500 * time.Microsecond, Killed: 3}},
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
