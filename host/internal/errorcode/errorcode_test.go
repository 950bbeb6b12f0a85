package errorcode

import (
	"os"
	"regexp"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

// A code of the sdk that is not known would be counted as _OTHER, and filters of the history would refuse it until the
// record has it.
func TestEachCodeIsKnown(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../../sdk/error.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[sdk.Code]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\tCode\w+\s+Code = "(\w+)"`).FindAllSubmatch(source, -1) {
		declared[sdk.Code(m[1])] = true
		if !Known(sdk.Code(m[1])) {
			t.Errorf("%s is not known", m[1])
		}
	}
	for code := range all {
		if !declared[code] {
			t.Errorf("%s is known, and sdk/error.go does not have it", code)
		}
	}
}
