package server

import (
	"os"
	"testing"

	"github.com/toolhost/toolhost/host/api/local"
)

// The plugins of a host that has handed over are not served either, until their numbers belong to others.
func TestDescendantsOfPredecessors(t *testing.T) {
	parent, _, err := local.Process(os.Getppid())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		pid          int
		predecessors []string
		served       bool
	}{
		"of this process":                  {os.Getpid(), nil, false},
		"of nobody":                        {os.Getppid(), nil, true},
		"of a predecessor":                 {os.Getppid(), []string{"1/1", parent}, false},
		"of a new process with its number": {os.Getppid(), []string{parent + "0"}, true},
	} {
		if err := notDescendant(c.pid, c.predecessors); c.served != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if self, _, err := local.Process(os.Getpid()); err != nil || self == "" || self == parent {
		t.Errorf("this process is %q, its parent %q, %v", self, parent, err)
	}
}
