package shellcmd

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/toolhost/toolhost/internal/testutil"
)

// Whatever is allowed as reading beside a git command, the settings of the repository are turned off for that one.
func TestReadingNeverTurnsGitSettingsOn(t *testing.T) {
	testutil.Long(t)
	t.Parallel()
	rules := Rules{ReadOnly: true}
	var texts []string
	for _, row := range versioned {
		for name := range row[1].All() {
			for option := range row[0].All() {
				texts = append(texts, name+" "+option)
			}
		}
	}
	r := rand.New(rand.NewPCG(3, 1))
	for _, key := range slices.Sorted(maps.Keys(readingSpecs())) {
		texts = append(texts, key)
		for range 40 {
			texts = append(texts, drawCommand(r, key, readingSpecs()[key]))
		}
	}
	tried := 0
	for _, text := range texts {
		for _, both := range []string{text + "; git status", "git status && " + text, text + " | git log",
			"(" + text + "); git diff"} {
			if rules.Judge(both, workspaceHere).Effect != allow {
				continue
			}
			tried++
			if !slices.Contains(GitFolders(both, workspaceHere), "/ws") {
				t.Errorf("%s is allowed, and git follows the settings of the repository", both)
			}
		}
	}
	if tried < 500 {
		t.Errorf("only %d commands were tried", tried)
	}
}
