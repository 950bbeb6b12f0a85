package launcher

import (
	"bytes"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var anyOrders = rapid.Custom(func(t *rapid.T) *Orders {
	name := rapid.StringN(1, 20, -1)
	return &Orders{
		Umask: rapid.Bool().Draw(t, "umask"), NoNewPrivileges: rapid.Bool().Draw(t, "privileges"),
		Drop: rapid.Bool().Draw(t, "drop"), Score: rapid.IntRange(0, 1000).Draw(t, "score"), Keep: rapid.Uint32().Draw(t, "keep"),
		Limits: rapid.SliceOf(rapid.Custom(func(t *rapid.T) Limit {
			return Limit{name.Draw(t, "name"), rapid.IntRange(0, 99).Draw(t, "number"), rapid.Uint64().Draw(t, "most")}
		})).Draw(t, "limits"),
		Ruleset: [3]uint64{rapid.Uint64().Draw(t, "files"), rapid.Uint64().Draw(t, "net"), rapid.Uint64().Draw(t, "scopes")},
		Rules:   rapid.SliceOf(rapid.Custom(func(t *rapid.T) Rule { return Rule{name.Draw(t, "path"), rapid.Uint64().Draw(t, "rights")} })).Draw(t, "rules"),
		Filter: rapid.SliceOf(rapid.Custom(func(t *rapid.T) syscall.SockFilter {
			return syscall.SockFilter{Code: rapid.Uint16().Draw(t, "code"), Jt: rapid.Uint8().Draw(t, "yes"), Jf: rapid.Uint8().Draw(t, "no"), K: rapid.Uint32().Draw(t, "k")}
		})).Draw(t, "filter"),
	}
})

// Whatever orders are given, with whatever bytes in their paths, are those that arrive.
func TestOrdersArrive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := anyOrders.Draw(t, "orders")
		p, err := decodeProgram(bytes.NewReader(Program{Path: "x", Argv: []string{"x"}, Orders: *o}.Encode()))
		if diff := cmp.Diff(*o, p.Orders, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("error %v (-sent +arrived):\n%s", err, diff)
		}
	})
}

func TestOrdersAreFollowedWholeOrNotAtAll(t *testing.T) {
	text := string((&Orders{Umask: true, Limits: []Limit{files(4)}, Rules: []Rule{{"/a", 1}, {"/b\nrule \"/\" 1", 1}}}).encode())
	for n := range len(text) {
		if got, err := decodeOrders([]byte(text[:n])); err == nil {
			t.Errorf("%d of %d bytes make %+v", n, len(text), got)
		}
	}
	for _, wrong := range []string{"newer 1\n", "umask maybe\n", "limit \"x\" -1 2\n", "limit 1 2\n", "rule /a 1\n", "rule \"/a\"\n", "ruleset 1 2\n", "keep\n", "filter x\n", "\n"} {
		if got, err := decodeOrders([]byte(wrong + text)); err == nil {
			t.Errorf("%q makes %+v", wrong, got)
		}
	}
}

// What the launcher would not survive, or what would put its program on a level with it, is for a stage.
func TestWhoFollowsOrders(t *testing.T) {
	for name, c := range map[string]struct {
		orders      Orders
		tree, first bool // whether a stage has to, in a tree and as the first process of a namespace
	}{
		"none":           {Orders{}, false, false},
		"supervised":     {Orders{Umask: true, NoNewPrivileges: true, Limits: []Limit{core, files(leastFiles), {"RLIMIT_FSIZE", syscall.RLIMIT_FSIZE, 0}}}, false, false},
		"few files":      {Orders{Limits: []Limit{files(leastFiles - 1)}}, true, true},
		"memory":         {Orders{Limits: []Limit{{"RLIMIT_DATA", syscall.RLIMIT_DATA, 1 << 40}}}, true, true},
		"processes":      {Orders{Limits: []Limit{{"RLIMIT_NPROC", 6, 1 << 20}}}, true, true},
		"capabilities":   {Orders{Drop: true}, true, false},
		"folders":        {Orders{Ruleset: [3]uint64{1}}, true, false},
		"no TCP":         {Orders{Ruleset: [3]uint64{0, 1}}, true, false},
		"scopes":         {Orders{Ruleset: [3]uint64{0, 0, 1}}, true, false},
		"a filter":       {Orders{Filter: make([]syscall.SockFilter, 1)}, true, false},
		"memory as well": {Orders{Drop: true, Limits: []Limit{{"RLIMIT_DATA", syscall.RLIMIT_DATA, 1}}}, true, true},
	} {
		if tree, first := c.orders.apart(false), c.orders.apart(true); tree != c.tree || first != c.first {
			t.Errorf("%s: %t in a tree, %t in a namespace", name, tree, first)
		}
	}
}

func TestFailuresArrive(t *testing.T) {
	for _, f := range []*Failure{{"landlock_restrict_self", syscall.ENOSYS}, {`opening "/a b"`, syscall.EACCES}} {
		var line strings.Builder
		tellFailure(&line, "restrict", f)
		want := Report{Failed: "restrict", Errno: f.Errno, Call: f.Call}
		if got := ParseReport(line.String()); got != want || !errors.Is(f, f.Errno) {
			t.Errorf("%q arrives as %+v", line.String(), got)
		}
	}
}

func FuzzDecodeOrders(f *testing.F) {
	f.Add(string((&Orders{Limits: []Limit{core}, Rules: []Rule{{"/a", 1}}, Filter: make([]syscall.SockFilter, 2)}).encode()))
	f.Add("rule \"\nend")
	f.Fuzz(func(t *testing.T, text string) {
		o, err := decodeOrders([]byte(text))
		if err != nil {
			return
		}
		again, err := decodeOrders(o.encode())
		if diff := cmp.Diff(o, again, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%v, %s", err, diff)
		}
	})
}
