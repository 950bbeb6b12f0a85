package shellcmd_test

import (
	"os"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/shellcmd"
)

// Commands that agents run every day to explore run without a question.
func TestEverydayCommands(t *testing.T) {
	text, err := os.ReadFile("testdata/everyday.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	var asked []string
	for _, line := range lines {
		if v := (shellcmd.Rules{ReadOnly: true}).Judge(line, here); v.Effect != "allow" {
			asked = append(asked, line+": "+v.Reasons[0].Why)
		}
	}
	if len(asked)*20 > len(lines) {
		t.Errorf("%d of %d commands are asked about, at most 5 %% may be:\n%s", len(asked), len(lines),
			strings.Join(asked, "\n"))
	}
}
