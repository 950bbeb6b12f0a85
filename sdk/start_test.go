package sdk

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/testutil"
)

// Every start of a plugin initializes these packages: expressions and tables are compiled where they are used. Go's own
// packages and gRPC's are not counted; a package of theirs that is new here is a matter of the imports.
func TestInitializingAPluginAllocatesLittle(t *testing.T) {
	out := testutil.InitTrace(t)
	const module = "github.com/toolhost/toolhost/"
	onlyInTests := []string{"internal/schema", "internal/redact"}
	line := regexp.MustCompile(`(?m)^init ` + module + `(\S+) @.* (\d+) allocs$`)
	seen := line.FindAllStringSubmatch(out, -1)
	for _, m := range seen {
		if n, _ := strconv.Atoi(m[2]); n > 40 && !slices.Contains(onlyInTests, m[1]) {
			t.Errorf("package %s makes %d allocations when it is initialized; the limit is 40", m[1], n)
		}
	}
	if len(seen) == 0 || strings.Contains(out, "init runtime/metrics ") {
		t.Errorf("nothing of ours is initialized, or runtime/metrics, which prepares for 95 allocations:\n%s", out)
	}
}
