package host_test

import (
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// refusedAs is the name of the error that a tool's call gets, "" when it ran.
func refusedAs(t *testing.T, h *host.Host, tool string) string {
	t.Helper()
	if r := h.Call(t.Context(), call(tool, "")); r.Error != nil {
		return r.Error.Name
	}
	return ""
}

// What a plugin changes while it runs is held against what was locked, and what is locked anew holds at once.
func TestPinsHoldWhileToolsChange(t *testing.T) {
	t.Parallel()
	same, old := tool("same"), tool("edited")
	edited, told := old, make(chan string, 8)
	edited.Description = "Does more than it did."
	p := newChanging(same, old)
	pinned := func(tools ...sdk.Tool) host.Options {
		hashes := map[string]string{}
		for _, t := range tools {
			_, hashes[t.Name] = host.Definition(t)
		}
		return host.Options{Pins: map[string]map[string]string{"test": hashes}, OnToolsChanged: func(plugin string) { told <- plugin }}
	}
	h := single(t, p, pinned(same, old))
	wants := func(when, sameName, editedName, addedName string) {
		t.Helper()
		for name, want := range map[string]string{"same": sameName, "edited": editedName, "added": addedName} {
			if got := refusedAs(t, h, "test__"+name); got != want {
				t.Errorf("%s: %s is refused as %q, want %q", when, name, got, want)
			}
		}
	}
	if got := refusedAs(t, h, "test__edited"); got != "" {
		t.Errorf("as it was locked: %s", got)
	}
	p.tools.Store([]sdk.Tool{same, edited, tool("added")})
	p.changes <- struct{}{}
	await(t, 10*time.Second, "the callback", told)
	wants("changed", "", "DefinitionChanged", "NewTool")

	if err := h.Reload(map[string]host.Plugin{"test": p}, pinned(same, edited, tool("added"))); err != nil {
		t.Fatal(err)
	}
	wants("locked anew", "", "", "")
	if err := h.Reload(map[string]host.Plugin{"test": p}, pinned(old)); err != nil {
		t.Fatal(err)
	}
	wants("locked to less", "NewTool", "DefinitionChanged", "NewTool")
}
