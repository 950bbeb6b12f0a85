package textutil

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"old_string", "new_string", "path", "timeout", strings.Repeat("x", 65)}
	for name, want := range map[string]string{
		"oldString": "old_string", "OLD-STRING": "old_string", "new_strnig": "new_string", "pth": "path",
		"timeuot": "timeout",
		"path":    "", "command": "", "": "", "p": "", strings.Repeat("x", 64): "", strings.Repeat("x", 66): "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("Nearest(%q) is %q, want %q", name, got, want)
		}
	}
	if got := DidYouMean("pth", names); got != `; did you mean "path"?` {
		t.Error(got)
	}
}

func TestCut(t *testing.T) {
	for n, want := range []string{"", "a", "a", "aé", "aé"} {
		if got := Cut("aé", n); got != want {
			t.Errorf("Cut at %d is %q, want %q", n, got, want)
		}
	}
	for n, want := range []string{"…", "a…", "aé", "aé"} {
		if got := CutRunes("aé", n, "…"); got != want {
			t.Errorf("CutRunes at %d is %q, want %q", n, got, want)
		}
	}
}
