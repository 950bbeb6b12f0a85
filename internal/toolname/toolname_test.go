package toolname_test

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/toolname"
)

func TestFullNamesHave64Characters(t *testing.T) {
	for instance, want := range map[string]int{"": 40, "a": 61, "github": 56, strings.Repeat("p", 31): 31} {
		if got := toolname.Limit(instance); got != want || instance != "" && len(instance)+2+got > 64 {
			t.Errorf("%q leaves %d", instance, got)
		}
	}
}
