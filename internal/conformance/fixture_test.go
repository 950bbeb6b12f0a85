//go:build unix

package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// fixtureConfig has the fixture plugin alone.
func fixtureConfig(t testing.TB) string {
	return fmt.Sprintf("plugin \"fixture\" {\n  command = [%q]\n}\n", bin(t, "mcpfixture"))
}

// All tools of the fixture have definitions that the host takes, and none needs approval.
func TestFixture(t *testing.T) {
	b := newBed(t, fixtureConfig(t))
	listed := b.run("discover", "--format", "json")
	var tools []struct{ Name string }
	if err := json.Unmarshal([]byte(listed.out), &tools); err != nil || len(tools) < 30 || listed.errs != "" {
		t.Fatalf("%v: %d tools\n%s", err, len(tools), listed.errs)
	}
	for _, c := range []struct{ tool, arguments, want string }{
		{"test_simple_text", `{}`, `"This is a simple text response for testing."`},
		{"test_error_handling", `{}`, "This tool intentionally returns an error for testing"},
		{"echo", `{"message":"hi"}`, `{"message":"hi"}`},
		{"odd_result", `{}`, oddUnknownPart},
	} {
		if o := b.run("call", "fixture__"+c.tool, c.arguments, "--format", "json"); !strings.Contains(o.out, c.want) {
			t.Errorf("%s lacks %s: %s%s", c.tool, c.want, o.out, o.errs)
		}
	}
	if o := b.run("call", "fixture__environment", "{}"); !strings.Contains(o.out, "PATH=") {
		t.Errorf("%+v", o)
	}
}

const oddUnknownPart = `{"type":"example.org/chart","values":[9007199254740993,2],"axis":{"y":1,"x":2}}`
