package host_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// hostOf is a host with so many tools, twenty a plugin, already listed.
func hostOf(t testing.TB, n int) *host.Host {
	t.Helper()
	plugins := map[string]host.Plugin{}
	for i := range n / 20 {
		var tools []sdk.Tool
		for j := range 20 {
			tools = append(tools, toolWith(fmt.Sprintf("tool_%d", j), func(d *sdk.Tool) {
				d.Description = "Reads a text file and gives its lines with their numbers. Use start_line and end_line for a part of a long file."
				d.InputSchema = json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"The file, relative to the work folder"},
					"start_line":{"type":"integer","description":"First line, from 1"}}}`)
				if j%2 == 0 {
					reads(d)
				}
			}))
		}
		plugins[fmt.Sprintf("plugin-%d", i)] = answering(sdk.Text("done"), nil, tools...)
	}
	h := newHost(t, plugins, host.Options{})
	if tools, problems := h.Tools(t.Context()); len(tools) != n || len(problems) > 0 {
		t.Fatalf("%d tools, problems %v", len(tools), problems)
	}
	return h
}

func BenchmarkCatalog(b *testing.B) {
	h := hostOf(b, 500)
	f := host.Filter{Tools: []string{"plugin-1*__*", "plugin-2*__tool_1*", "plugin-3__*"}, Exclude: []string{"*__tool_7"}, ReadOnly: true}
	c := catalog(b, h, f)
	b.Run("make", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := h.Catalog(f); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Tools", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.Tools(b.Context())
		}
	})
	b.Run("make and Tools", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			catalog(b, h, f).Tools(b.Context())
		}
	})
	b.Run("Call", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if r := c.Call(b.Context(), call("plugin-1__tool_2", "{}")); r.Error != nil {
				b.Fatal(r.Error)
			}
		}
	})
	b.Run("host Call", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if r := h.Call(b.Context(), call("plugin-1__tool_2", "{}")); r.Error != nil {
				b.Fatal(r.Error)
			}
		}
	})
}
