package host_test

import (
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

func TestAddressesOfTools(t *testing.T) {
	t.Parallel()
	plugins := map[string]host.Plugin{
		"everything": echoing(tool("echo"),
			toolWith("get_issue", func(d *sdk.Tool) { d.OriginalName = "get.issue/v2 ü" }),
			toolWith("get_issue_ab12cd", func(d *sdk.Tool) { d.OriginalName = "get_issue" }),
			toolWith("bad", func(d *sdk.Tool) { d.Description, d.OriginalName = " ", "bad one" })),
		"other": echoing(tool("echo")),
	}
	h := newHost(t, plugins, host.Options{})
	all, only := catalog(t, h, host.Filter{}), catalog(t, h, host.Filter{Tools: []string{"everything__*"}})
	for address, want := range map[string]string{
		"everything__echo":                         "everything__echo",
		"nothing":                                  "nothing",
		"mcp://everything/echo":                    "everything__echo",
		"MCP://everything/echo":                    "everything__echo",
		"mcp://everything/%65cho":                  "everything__echo",
		"mcp://other/echo":                         "other__echo",
		"mcp://everything/get.issue%2Fv2%20%C3%BC": "everything__get_issue",
		"mcp://everything/get_issue":               "everything__get_issue_ab12cd", // named as its server knows it
		"mcp://everything/get_issue_ab12cd":        "everything__get_issue_ab12cd",
		"mcp://everything/bad%20one":               "everything__bad",
	} {
		got, err := all.Resolve(t.Context(), address)
		if err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", address, got, err, want)
		}
	}
	for address, want := range map[string]string{
		"http://everything/echo":      `only mcp:// is known, not "http://"`,
		"mcp://":                      "is not the address of a tool",
		"mcp://everything":            "is not the address of a tool",
		"mcp://everything/":           "is not the address of a tool",
		"mcp:///echo":                 "is not the address of a tool",
		"mcp://everything/echo/more":  "is not the address of a tool",
		"mcp://everything/echo?x=1":   "is not the address of a tool",
		"mcp://everything/%zz":        "is not the address of a tool",
		"mcp://everythin/echo":        `there is no plugin "everythin"; did you mean "everything"?`,
		"mcp://everything/echoo":      `no tool that its source calls "echoo"; did you mean "echo"?`,
		"mcp://everything/get.issue/": "is not the address of a tool",
	} {
		got, err := all.Resolve(t.Context(), address)
		if err == nil || sdk.CodeOf(err) != sdk.CodeToolNotFound || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %q, %v; want an error with %q", address, got, err, want)
		}
	}
	if _, err := only.Resolve(t.Context(), "mcp://other/echo"); sdk.CodeOf(err) != sdk.CodeNotInCatalog {
		t.Error(err)
	}
}

// Whatever a server calls its tool, its address resolves to it and to no other.
func TestAnyNameHasAnAddress(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringN(1, 20, 60), 1, 4, rapid.ID).Draw(t, "names")
		var tools []sdk.Tool
		for i, original := range names {
			tools = append(tools, toolWith("t"+string(rune('a'+i)), func(d *sdk.Tool) { d.OriginalName = original }))
		}
		h, err := host.New(map[string]host.Plugin{"test": echoing(tools...)}, host.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		c, err := h.Catalog(host.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		for i, original := range names {
			got, err := c.Resolve(t.Context(), "mcp://test/"+url.PathEscape(original))
			if want := "test__t" + string(rune('a'+i)); err != nil || got != want {
				t.Fatalf("%q is %q, %v; want %q", original, got, err, want)
			}
		}
	})
}
