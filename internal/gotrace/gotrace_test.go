package gotrace

import (
	"strings"
	"testing"
)

// The place of a panic is the innermost line that the author wrote.
func TestPlaceOfAPanic(t *testing.T) {
	for name, c := range map[string]struct{ trace, want string }{
		"of a tool, with a path": {"panic: boom\n\ngoroutine 7 [running]:\nruntime.gopanic()\n\t/usr/local/go/src/runtime/panic.go:8 " +
			"+0x1\nmain.forecast(...)\n\t/home/a/weather/main.go:31\nmain.main()\n\t/home/a/weather/main.go:9 +0x1", "main.go:31"},
		"of a package, trimmed": {"fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [select (no cases)]:\n" +
			"example.com/weather/city.Find(0x1)\n\texample.com/weather/city/city.go:5 +0x1", "city.go:5"},
		"through the sdk": {"panic: sdk: no\n\ngoroutine 1 [running]:\ngithub.com/toolhost/toolhost/sdk.must[...](...)\n" +
			"\tgithub.com/toolhost/toolhost/sdk/plugin.go:70\nmain.main()\n\tmain.go:12 +0x1", "main.go:12"},
		"in a package of the sdk": {"panic: no\n\ngoroutine 1 [running]:\n" +
			"github.com/toolhost/toolhost/sdk/workspace.(*Folder).Open(...)\n" +
			"\tgithub.com/toolhost/toolhost/sdk/workspace/open.go:70\nmain.main()\n\tmain.go:12 +0x1", "main.go:12"},
		"of the standard library": {"panic: strings: negative Repeat count\n\ngoroutine 1 [running]:\nstrings.Repeat({0x1, 0x1}, " +
			"0xff)\n\t/usr/local/go/src/strings/strings.go:624 +0x5\nmain.pad()\n\t./pad.go:3 +0x1", "pad.go:3"},
		"in no file": {"panic: boom\n\ngoroutine 1 [running]:\nmain.main()\n\tat home", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var f Finder
			for line := range strings.SplitSeq("before\n"+c.trace, "\n") {
				f.Add([]byte(line))
			}
			first, _, _ := strings.Cut(c.trace, "\n")
			if string(f.First()) != first || f.Place() != c.want || !f.InTrace() {
				t.Errorf("%q (%s), want %q (%s)", f.First(), f.Place(), first, c.want)
			}
		})
	}
}

func TestBegins(t *testing.T) {
	for line, want := range map[string]bool{"panic: boom": true, "fatal error: stack overflow": true,
		"SIGSEGV: segmentation violation": true, "SIGNAL lost": false, "Signal: x": false, "a panic: no": false, "": false} {
		if got := begins([]byte(line)); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
	if !MayBegin([]byte("x\npanic: y\n")) || MayBegin([]byte("all is well\n")) {
		t.Error("MayBegin")
	}
}

// Lines that come long after a panic that was recovered are no trace.
func TestTraceIsForgotten(t *testing.T) {
	var f Finder
	f.Add([]byte("panic: recovered"))
	for range gap + 1 {
		f.Add([]byte("business as usual"))
	}
	if f.InTrace() {
		t.Errorf("%q is still the end", f.First())
	}
}
