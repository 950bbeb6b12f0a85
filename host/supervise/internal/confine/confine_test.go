package confine

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var anyOrders = rapid.Custom(func(t *rapid.T) *Orders {
	path := rapid.StringN(1, 20, -1)
	o := &Orders{Program: path.Draw(t, "program"), ABI: rapid.IntRange(0, 20).Draw(t, "abi"),
		Write: rapid.SliceOf(path).Draw(t, "write"), Read: rapid.SliceOf(path).Draw(t, "read")}
	for name, on := range o.flags() {
		*on = rapid.Bool().Draw(t, name)
	}
	for name, n := range o.limits() {
		*n = rapid.Uint64().Draw(t, name)
	}
	return o
})

// Whatever orders are given, with whatever bytes in their paths, are those that arrive.
func TestOrdersArrive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := anyOrders.Draw(t, "orders")
		text, _, found := takeOrders([]string{"A=1", variable + "=older", o.Variable(), "B=2"})
		if !found {
			t.Fatal("not found")
		}
		got, err := parse(text)
		if diff := cmp.Diff(o, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("error %v (-sent +arrived):\n%s", err, diff)
		}
	})
}

func TestOrdersAreFollowedWholeOrNotAtAll(t *testing.T) {
	o := &Orders{Program: "/bin/true", Umask: true, Write: []string{"/a"}, Read: []string{"/b\nwrite \"/\""}}
	text := strings.TrimPrefix(o.Variable(), variable+"=")
	for n := range len(text) {
		if got, err := parse(text[:n]); err == nil {
			t.Errorf("%d of %d bytes make %+v", n, len(text), got)
		}
	}
	for _, wrong := range []string{"", "end", "newer 1\n" + text, "umask maybe\n" + text, "files -1\n" + text, "write /a\n" + text, "\n" + text} {
		if got, err := parse(wrong); err == nil {
			t.Errorf("%q makes %+v", wrong, got)
		}
	}
}

func TestFailuresArrive(t *testing.T) {
	for _, f := range []*Failure{{"landlock_restrict_self", syscall.ENOSYS}, {`opening "/a b"`, syscall.EACCES}, {"execve", syscall.ENOENT}} {
		got := ParseFailure(strings.TrimSuffix(f.line(), "\n"))
		if diff := cmp.Diff(f, got); diff != "" || !errors.Is(got, f.Errno) {
			t.Errorf("(-sent +arrived):\n%s", diff)
		}
	}
	for _, line := range []string{"", "1|1|unix|/x|grpc|", word, word + "x y", word + "-1 y", word + "99999999 y", "a " + word + "2 execve"} {
		if got := ParseFailure(line); got != nil {
			t.Errorf("%q is taken for %v", line, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(strings.TrimPrefix((&Orders{Program: "/bin/true", Write: []string{"/a"}}).Variable(), variable+"="))
	f.Add("program \"\nend")
	f.Fuzz(func(t *testing.T, text string) {
		if o, err := parse(text); err == nil && o.Program == "" {
			t.Errorf("%q gives orders without a program", text)
		}
	})
}
