//go:build unix

package conformance

import (
	"slices"
	"strings"
	"testing"
)

// Clients and servers of both eras meet in all combinations: lists, calls, exact results, questions, failures.
func TestEras(t *testing.T) {
	for _, server := range []string{"old", "new"} {
		for _, revision := range []string{handshake, modern} {
			t.Run(server+" server, client of "+revision, func(t *testing.T) {
				c := newBed(t, fakeConfig(t, "up", server)).mcp(revision)
				c.lists("up__ask")
				if text := c.text("up__echo", `{"b":1,"a":9007199254740993}`); text != `{"b":1,"a":9007199254740993}` {
					t.Errorf("echo: %s", text)
				}
				if text := c.text("up__ask", `{}`); text != "accept Ada" {
					t.Errorf("ask: %s", text)
				}
				if !slices.Equal(c.questions, []string{"elicitation/create"}) {
					t.Errorf("asked: %q", c.questions)
				}
				if text := string(c.call("up__failure", `{}`)); !strings.Contains(text, "it broke") ||
					!strings.Contains(text, `"isError":true`) {
					t.Errorf("failure: %s", text)
				}
				sameMembers(t, "exact", []byte(exactServed), c.call("up__exact", `{}`))
			})
		}
	}
}
