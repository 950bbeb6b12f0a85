package supervise

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

// A tool that fails with what a sandbox says is told of the sandbox, and of how to allow more.
func TestAdviceAboutTheSandbox(t *testing.T) {
	t.Parallel()
	s := supervisor(t)
	for name, c := range map[string]struct {
		level  sandbox.Level
		said   string
		advice []string
	}{
		"denied":             {sandbox.Confined, "open /etc/x: permission denied", []string{"sandbox of the plugin", `sandbox level "confined"`, `write = ["FOLDER"]`}},
		"read only":          {sandbox.Confined, "open .git/config: read-only file system", []string{"sandbox of the plugin"}},
		"something else":     {sandbox.Confined, "no such file", nil},
		"nothing is kept":    {sandbox.Supervised, "open /etc/x: permission denied", nil},
		"isolated, no reads": {sandbox.Isolated, "open /etc/x: permission denied", []string{`read = ["FOLDER"]`, "network = true"}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := playing(strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), ",", ""), "good")
			spec.Sandbox.Level = c.level
			result, err := add(t, s, spec).Call(t.Context(), request("fail", c.said))
			if err != nil || result.Error == nil {
				t.Fatalf("it gave %+v, %v", result, err)
			}
			if sandbox.Machine().Landlock == 0 {
				c.advice = nil // then nothing is kept from it
			}
			if got := result.Error.Suggestion; (got == "") != (c.advice == nil) {
				t.Errorf("the advice is %q", got)
			}
			for _, words := range c.advice {
				if !strings.Contains(result.Error.Suggestion, words) {
					t.Errorf("%q does not say %q", result.Error.Suggestion, words)
				}
			}
		})
	}
}
