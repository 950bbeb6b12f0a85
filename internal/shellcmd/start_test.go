package shellcmd

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/toolhost/toolhost/internal/testutil"
)

// Every start of the host initializes the tables here: expressions are compiled where they are used. One of the longer
// ones takes 300 allocations.
func TestInitializingAllocatesLittle(t *testing.T) {
	line := regexp.MustCompile(`(?m)^init github\.com/toolhost/toolhost/internal/shellcmd @.* (\d+) allocs$`)
	out := testutil.InitTrace(t)
	m := line.FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("it is not initialized:\n%s", out)
	}
	if n, _ := strconv.Atoi(m[1]); n > 600 {
		t.Errorf("it makes %d allocations when it is initialized; the limit is 600", n)
	}
}
