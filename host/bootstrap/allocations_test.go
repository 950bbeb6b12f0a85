//go:build !race

package bootstrap

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
)

// A call costs what it allocates, in the host alone: the plugin is another process. Alone on the machine it is 30.
// The race detector allocates too.
func TestAllocationsOfACall(t *testing.T) {
	i, err := Open(t.Context(), Options{Config: "config.hcl", TrustNamed: true, Approve: ApproveAlways})
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
	for range 9 { // on a busy machine groups of records are smaller, and pools are emptied in between: up to 39
		least = min(least, testing.AllocsPerRun(300, once))
	}
	if least > 41 {
		t.Errorf("%v allocations a call", least)
	}
}
