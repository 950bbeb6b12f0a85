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

// BenchmarkCall measures the whole route: a configuration with ten rules, some with conditions, the record on, a
// plugin in its own process.
func BenchmarkCall(b *testing.B) {
	rules := ""
	for i := range 10 {
		rules += fmt.Sprintf("rule \"r%d\" {\n tools = [\"greet__*\"]\n when = args.name == \"bad%d\" || contains([\"x\"], "+
			"args.name)\n"+
			" effect = \"deny\"\n}\n", i, i)
	}
	path := filepath.Join(b.TempDir(), "config.hcl")
	text := fmt.Sprintf(exampleConfig, os.Args[0], roleVar) + "policy \"project\" {\n" + rules + "}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	i, err := Open(b.Context(), Options{Config: path, TrustNamed: true, Approve: ApproveAlways})
	if err != nil {
		b.Fatal(err)
	}
	defer i.Close()
	arguments := json.RawMessage(`{"name":"` + strings.Repeat("x", 80) + `"}`)
	for _, tool := range []string{"greet__hello", "greet__send"} {
		for _, callers := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/callers=%d", tool, callers), func(b *testing.B) {
				b.ReportAllocs()
				b.SetParallelism(callers)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if r := i.Catalog().Call(b.Context(), host.Call{Tool: tool, Arguments: arguments}); r.Error != nil {
							b.Error(r.Error)
							return
						}
					}
				})
			})
		}
	}
}
