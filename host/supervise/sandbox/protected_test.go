package sandbox

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk/filenames"
)

// What is kept from plugins is not edited without a question either.
func TestProtectedNamesAreAutoExecuted(t *testing.T) {
	for _, name := range slices.Concat(heldNames, guardedNames, homeNames) {
		if name != "bin" && !filenames.AutoExecuted(name) {
			t.Errorf("%s is not", name)
		}
	}
}

// A program that hangs when it is looked at is not said to be protected.
func TestProgramsThatHangAreNotProtected(t *testing.T) {
	dir := t.TempDir()
	program := dir + "/bin/hung"
	looks := Sights{under: map[string]*sight{program: {}}} // as one who looks and waits
	s := Plan{Means: Means{Stage: true, NoNewPrivs: true, Landlock: 7, Seccomp: true, Namespaces: true}, Folders: Folders{Work: dir},
		Own: func() []Sighted { return looks.Places([]Place{{program, Found}}) }}
	got, err := s.Confine()
	if err != nil || got.Got != Supervised || !strings.Contains(strings.Join(got.Missing, "\n"), program) {
		t.Errorf("it has %+v, %v", got, err)
	}
	s.Box.Require = Confined
	if _, err := s.Confine(); err == nil || !strings.Contains(err.Error(), program) {
		t.Errorf("required: %v", err)
	}
}
