//go:build unix

package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Of 50 configured servers none starts for a list that is known.
func TestFiftyServers(t *testing.T) {
	long(t)
	config := strings.Builder{}
	for n := range 50 {
		config.WriteString(fakeConfig(t, fmt.Sprintf("server-%d", n), fmt.Sprintf("mark started-%d", n)))
	}
	b := newBed(t, config.String())
	starts := func() (n int) {
		files, _ := filepath.Glob(filepath.Join(b.work, "started-*"))
		for _, file := range files {
			text, _ := os.ReadFile(file)
			n += strings.Count(string(text), "\n")
		}
		return n
	}
	first := b.run("discover", "--format", "json")
	if n := strings.Count(first.out, "__echo\""); n != 50 || starts() != 50 {
		t.Fatalf("%d servers listed, %d started\n%s", n, starts(), tail(first.errs))
	}
	second := b.run("discover", "--format", "json")
	if second.out != first.out || starts() != 50 {
		t.Errorf("%d servers were started again\n%s", starts()-50, tail(second.errs))
	}
	// One call starts the one that it needs.
	if o := b.run("call", "server-7__echo", `{"a":1}`, "--approve", "always"); !strings.Contains(o.out, `{"a":1}`) ||
		starts() != 51 {
		t.Errorf("%d started for a call: %s%s", starts()-50, o.out, o.errs)
	}
}

// One server of 20 that never answers delays no other: from its second start on, the list is there at once, and calls
// of the others work.
func TestOneHangingOfTwenty(t *testing.T) {
	long(t)
	config := strings.Builder{}
	for n := range 19 {
		config.WriteString(fakeConfig(t, fmt.Sprintf("server-%d", n), "old"))
	}
	b := newBed(t, config.String()+fakeConfig(t, "hanging", "silent"))
	warm := b.mcp(handshake)
	if got := warm.text("server-3__echo", `{"cold":1}`); got != `{"cold":1}` {
		t.Errorf("before any list: %s", got)
	}
	until(t, "19 servers are listed", func() bool { return strings.Count(strings.Join(warm.tools(), " "), "__echo") == 19 })
	warm.close()
	begin := time.Now()
	c := b.mcp(handshake)
	names := strings.Join(c.tools(), " ")
	took := time.Since(begin)
	if n := strings.Count(names, "__echo"); n != 19 {
		t.Errorf("%d servers are listed: %s", n, names)
	}
	if took > 10*time.Second { // a second or two on a machine with nothing else to do
		t.Errorf("the list took %s", took)
	}
	if got := c.text("server-11__echo", `{"a":1}`); got != `{"a":1}` {
		t.Errorf("server-11__echo: %s", got)
	}
}
