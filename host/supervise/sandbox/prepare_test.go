package sandbox

import (
	"testing"
)

// A wrapper that cannot be run is told once.
func TestWrapperThatIsNotThere(t *testing.T) {
	for wrapper, want := range map[string]string{
		"/proc/nowhere/bwrap": "its wrapper /proc/nowhere/bwrap cannot be run: no such file or directory",
		"/":                   "its wrapper / cannot be run: is a directory",
		"no-such-bwrap":       "its wrapper no-such-bwrap cannot be run: executable file not found in $PATH",
	} {
		s := Plan{Box: Spec{Wrapper: []string{wrapper}}, Folders: Folders{Work: t.TempDir()}}
		if _, err := s.Build(Program{Path: "/bin/true", Argv: []string{"true"}}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
