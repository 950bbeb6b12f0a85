package corpus_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/plugins/edit/internal/match"
)

// looks are lines of real files that look like a slip of a model: dots, fences, words for what stays.
var looks = regexp.MustCompile("^\\W*(\\.\\.\\.|…|```|~~~)|(?i)^\\W+(the )?(rest|existing|unchanged|remaining|omitted|same as|previous|other)\\b")

// Real files have such lines, and somebody put them there: the edit that adds one to a file is not refused.
func TestLinesThatAreMeantAreNotRefused(t *testing.T) {
	files, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	tried, refused := 0, 0
	for _, f := range files {
		lines := strings.SplitAfter(string(f.Data), "\n")
		for i := 3; i+3 < len(lines); i++ {
			if !looks.MatchString(strings.TrimSpace(lines[i])) {
				continue
			}
			data := strings.Join(lines[:i], "") + strings.Join(lines[i+1:], "")
			before, after := strings.Join(lines[i-3:i], ""), strings.Join(lines[i+1:i+3], "")
			if strings.TrimSpace(before+after) == "" || strings.Count(data, before+after) != 1 {
				continue
			}
			tried++
			_, err := match.NewText(f.Name, []byte(data)).Plan(match.Change{Old: before + after, New: before + lines[i] + after})
			if r, ok := errors.AsType[*match.Refusal](err); ok {
				refused++
				t.Logf("%s:%d: %q is refused: %s", f.Name, i+1, lines[i], r.Message)
			}
		}
	}
	t.Logf("%d of %d refused", refused, tried)
	if tried < 40 || refused*100 > tried {
		t.Errorf("%d of %d edits of real files are refused, at most 1 %% may be", refused, tried)
	}
}
