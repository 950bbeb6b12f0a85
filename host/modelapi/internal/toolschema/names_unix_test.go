//go:build unix

package toolschema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/testutil"
)

// A list of 30,000 names takes a time of its length, not of its square.
func TestManyNamesAreFewSteps(t *testing.T) {
	list := func(names int) json.RawMessage {
		var out []string
		for i := range names {
			out = append(out, fmt.Sprintf(`"%d"`, i))
		}
		return json.RawMessage(`{"type":"object","required":[` + strings.Join(out, ",") + `]}`)
	}
	took := func(schema json.RawMessage) time.Duration {
		return testutil.CPUTime(t, func() { _, _ = Gemini(schema) })
	}
	few, many := took(list(3000)), took(list(30_000))
	if many > 40*max(few, time.Millisecond) {
		t.Errorf("3,000 names take %s, 30,000 take %s", few, many)
	}
}
