//go:build !race

package bootstrap

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
)

// A call costs what it allocates, in the host alone: the plugin is another process. Alone on the machine it is 21. A
// record at a path that the configuration names costs no more: looking for links in a path takes three allocations, and
// a system call, for each of its folders. The race detector allocates too.
func TestAllocationsOfACall(t *testing.T) {
	config, err := os.ReadFile("config.hcl")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	named := filepath.Join(dir, "config.hcl")
	audit := fmt.Sprintf("audit {\npath = %q\n", filepath.Join(dir, "a/b/c/d/e/f/record.jsonl"))
	writeConfig(t, named, strings.Replace(string(config), "audit {\n", audit, 1))
	for _, path := range []string{"config.hcl", named} {
		i, err := Open(t.Context(), Options{Config: path, TrustNamed: true, Approve: ApproveAlways})
		if err != nil {
			t.Fatal(err)
		}
		defer i.Close()
		call := host.Call{Tool: "greet__hello", Arguments: json.RawMessage(`{"name":"` + strings.Repeat("x", 80) + `"}`)}
		once := func() {
			if r := i.Catalog().Call(t.Context(), call); r.Error != nil {
				t.Fatal(r.Error)
			}
		}
		once()
		least := testing.AllocsPerRun(300, once)
		for range 9 { // on a busy machine groups of records are smaller, and pools are emptied in between: up to 30
			least = min(least, testing.AllocsPerRun(300, once))
		}
		if least > 32 {
			t.Errorf("%s: %v allocations a call", path, least)
		}
	}
}
