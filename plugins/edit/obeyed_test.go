package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

// An edit of what others run or obey is asked about, whatever the host thinks of edits.
func TestObeyedFilesAreAskedAbout(t *testing.T) {
	f := start(t, "main.go", "true\n", ".git/hooks/pre-commit", "true\n")
	check(t, os.Symlink(".git/hooks", filepath.Join(f.dir, "inner")))
	for path, asks := range map[string]bool{"main.go": false, ".git/hooks/pre-commit": true, "inner/pre-commit": true} {
		for tool, a := range map[string]args{
			"write":   {"path": path, "content": "new\n", "overwrite": true},
			"replace": {"path": path, "old_string": "true", "new_string": "false"},
			"multi":   {"edits": []args{{"path": path, "old_string": "true", "new_string": "false"}}},
		} {
			p, err := f.Preview(t.Context(), &sdk.Request{CallID: "1", Tool: tool, Arguments: a.json(), Workdir: f.dir})
			check(t, err)
			if asks != (p.Effect == "ask") || asks != strings.Contains(p.Reason, path) {
				t.Errorf("%s %s: effect %q, reason %q", tool, path, p.Effect, p.Reason)
			}
		}
	}
}
