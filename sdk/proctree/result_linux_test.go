//go:build !proctree_group

package proctree

import (
	"testing"

	"github.com/toolhost/toolhost/sdk/proctree/internal/launcher"
)

// resultOf is what Run returns when the launcher says so.
func resultOf(text string) (Exit, error) {
	t := &tree{name: "tool", done: make(chan struct{}), report: launcher.ParseReport(text)}
	close(t.done)
	return t.result()
}

func TestResultOfReport(t *testing.T) {
	tests := []struct {
		name, text string
		code       int
		err        string
	}{
		{"ended", "started 12\nended 256 7 3\n", 1, ""},
		{"processes left", "started 12\nended 0 7 0\nleft 2 processes: 34,56\n", 0,
			`"tool": processes could not be killed: 2 after 2s (pid 34,56)`},
		{"the program left", "started 12\nleft 1 processes: 12\n", -1,
			`"tool": processes could not be killed: 1 after 2s (pid 12)`},
		{"no /proc", "failed proc 13\n", 0,
			`exec: "tool": the launcher cannot read /proc: permission denied`},
		{"another step", "failed prctl 1\n", 0,
			`exec: "tool": prctl: operation not permitted`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			exit, err := resultOf(test.text)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != test.err || exit.Code != test.code {
				t.Errorf("exit code %d, error %q, want %d, %q", exit.Code, got, test.code, test.err)
			}
		})
	}
}

func TestLauncherReportsBeforeRunGivesUp(t *testing.T) {
	if killLimit <= launcher.SweepLimit {
		t.Errorf("Run waits %v, the launcher takes up to %v", killLimit, launcher.SweepLimit)
	}
}
