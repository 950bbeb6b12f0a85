//go:build unix

package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// hostileConfig has a fakeServer as the plugin bad, and the fixture beside it.
func hostileConfig(t testing.TB, mode string, more ...string) string {
	return fakeConfig(t, "bad", mode, more...) + fixtureConfig(t)
}

// lists waits until the server lists a tool.
func (c *client) lists(tool string) {
	c.t.Helper()
	until(c.t, tool+" is listed", func() bool { return slices.Contains(c.tools(), tool) })
}

// fine checks that the other plugin is not affected.
func (c *client) fine() {
	c.t.Helper()
	if text := c.text("fixture__echo", `{"message":"hi"}`); text != `{"message":"hi"}` {
		c.t.Errorf("the other plugin answers %q", text)
	}
}

// Whatever a server does in a call costs that call at most: while it runs and after it, the other plugin's calls work,
// and the server's next call does too.
func TestHostileCalls(t *testing.T) {
	long(t)
	for _, era := range []string{"old", "new"} {
		t.Run(era, func(t *testing.T) {
			c := newBed(t, hostileConfig(t, era, `idle_timeout = "10s"`)).mcp(handshake)
			c.lists("bad__echo")
			for _, call := range []struct {
				tool string
				want []string // one of these is in the result
			}{
				{"long_line", []string{"bytes are left out here"}}, // 10 MiB
				{"junk", []string{`"ok"`}},
				{"storm", []string{`"ok"`}},
				{"exit", []string{"the disk is on fire"}},
				{"hang", []string{"E_TIMEOUT"}},
				{"child", []string{`"ok"`}},
				{"null_result", []string{`{"content":[]`}}, // what servers send that return nothing
				{"odd_result", []string{`"isError":true`}},
				{"failure", []string{"it broke"}},
				{"asks", []string{`"isError":true`}},
				{"gigabyte", []string{`"isError":true`}},
			} {
				p := c.start("tools/call", fmt.Sprintf(`{"name":"bad__%s","arguments":{}}`, call.tool))
				c.fine()
				m := p.wait()
				got := string(m.Result) + string(m.Error)
				found := false
				for _, want := range call.want {
					found = found || strings.Contains(got, want)
				}
				if !found {
					t.Errorf("%s gives %.2000s", call.tool, got)
				}
				if len(got) > 1<<20 {
					t.Errorf("%s gives %d bytes", call.tool, len(got))
				}
				c.fine()
				if text := c.text("bad__echo", `{"after":"`+call.tool+`"}`); text != `{"after":"`+call.tool+`"}` {
					t.Errorf("after %s, echo gives %.2000s", call.tool, text)
				}
			}
			if most := peakMemory(t); most > 600<<20 {
				t.Errorf("a process below toolhost used %d MiB", most>>20)
			}
		})
	}
}

// A hostile list costs the tools that cannot be called at most, and never those of another plugin.
func TestHostileLists(t *testing.T) {
	long(t)
	for kind := range lists {
		t.Run(kind, func(t *testing.T) {
			b := newBed(t, hostileConfig(t, "list "+kind))
			c := b.mcp(handshake)
			c.fine()
			var names []string
			unusable := slices.Contains([]string{"many", "endless", "samecursor", "deep"}, kind)
			until(t, "the list of bad", func() bool {
				names = c.tools()
				return unusable || slices.Contains(names, "bad__echo")
			})
			if !unusable {
				if text := c.text("bad__echo", `{"a":"b"}`); text != `{"a":"b"}` {
					t.Errorf("bad__echo gives %.2000s", text)
				}
			}
			if text := c.text("fixture__echo", `{"mine":true}`); text != `{"mine":true}` {
				t.Errorf("fixture__echo gives %.2000s", text)
			}
			checkNames(t, names)
			printed := b.run("discover")
			if text := printed.out + printed.errs; strings.ContainsAny(text, "\x1b\x07\x08\x00\u202e") {
				t.Errorf("discover prints control characters: %.3000q", text)
			}
			if printed.code != 0 && !strings.Contains(printed.errs, "bad") || !strings.Contains(printed.out, "fixture__echo") {
				t.Errorf("exit code %d\n%s\n%s", printed.code, tail(printed.out), tail(printed.errs))
			}
		})
	}
}

// checkNames holds for whatever is listed to a client: names that vendors take, at most 64 characters with the prefix
// that clients put in front, and no two alike.
func checkNames(t *testing.T, names []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, name := range names {
		if len("mcp__toolhost__"+name) > 64 || strings.Trim(name, nameCharacters) != "" || seen[strings.ToLower(name)] {
			t.Errorf("%q is listed", name)
		}
		seen[strings.ToLower(name)] = true
	}
}

const nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// A server that never answers costs its own tools.
func TestSilentServer(t *testing.T) {
	b := newBed(t, hostileConfig(t, "silent", `connect_timeout = "2s"`))
	c := b.mcp(modern)
	c.fine()
	if m := c.start("tools/call", `{"name":"bad__echo","arguments":{}}`).wait(); m.Error == nil &&
		!strings.Contains(string(m.Result), `"isError":true`) {
		t.Errorf("bad__echo gives %s", m.Result)
	}
	c.fine()
}

// Variables of the host's environment that are not on the small list of harmless ones reach no server.
func TestNoSecretReachesAServer(t *testing.T) {
	b := newBed(t, hostileConfig(t, "old"))
	c := b.mcp(handshake)
	c.lists("bad__environment")
	for _, tool := range []string{"bad__environment", "fixture__environment"} {
		text := c.text(tool, "{}")
		if !strings.Contains(text, "PATH=") || strings.Contains(text, canary) || strings.Contains(text, "SECRET_CANARY") {
			t.Errorf("%s: %s", tool, text)
		}
	}
	checkEnvironments(t, c.cmd.Process.Pid)
}

// SIGKILL of toolhost itself leaves no process.
func TestKilledHost(t *testing.T) {
	b := newBed(t, hostileConfig(t, "old"))
	c := b.mcp(handshake)
	c.lists("bad__child")
	if text := c.text("bad__child", "{}"); text != "ok" {
		t.Fatal(text)
	}
	c.start("tools/call", `{"name":"bad__hang","arguments":{}}`)
	c.fine()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.ended:
	case <-time.After(time.Minute):
		t.Error("its output goes on")
	}
}
