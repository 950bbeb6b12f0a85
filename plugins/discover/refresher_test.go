//go:build unix

package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

// onToolsChanged calls changed whenever the plugin says that its tools did, until the test ends.
func onToolsChanged(t *testing.T, c *sdktest.Plugin) <-chan struct{} {
	t.Helper()
	changes := make(chan struct{}, 100)
	go func() { _ = c.Watch(t.Context(), func() { changes <- struct{}{} }) }()
	await(t, changes) // the watch stands
	return changes
}

func await(t *testing.T, changes <-chan struct{}) {
	t.Helper()
	select {
	case <-changes:
	case <-time.After(time.Minute):
		t.Fatal("no word of a change")
	}
}

// saying is the plugin as it describes itself in short: its tools, then its notices.
func saying(t *testing.T, c *sdktest.Plugin) (out []string) {
	t.Helper()
	d := describe(t, c)
	for _, tool := range d.Tools {
		out = append(out, tool.Name)
	}
	for _, n := range d.Notices {
		out = append(out, n.Text)
	}
	return out
}

func TestDiscoveryRunsAgain(t *testing.T) {
	p := newProject(t)
	p.prints(t, `[{"name":"one"}]`)
	p.script(t, "bin/call_tool", `echo "$1"`)
	c, _ := configured(t, `{"discovery_command":"bin/get_tools","call_command":"bin/call_tool","watch":["tools.json"]}`)
	changes := onToolsChanged(t, c)
	for _, step := range []struct {
		name   string
		change func()
		want   []string
	}{
		{"a watched file", func() { p.file(t, "tools.json", `[{"name":"one"},{"name":"two"}]`, 0o644) },
			[]string{"one", "two"}},
		{"the command", func() { p.script(t, "bin/get_tools", `echo '[{"name":"three"}]'`) }, []string{"three"}},
		{"a mistake", func() { p.script(t, "bin/get_tools", `echo oops >&2; exit 3`) },
			[]string{"three", "the tools are those of before: discovery_command bin/get_tools: it failed with exit code 3; " +
				"stderr: oops"}},
		{"another mistake", func() { p.file(t, "bin/get_tools", "#!/bin/sh\n", 0o755) },
			[]string{"three", "the tools are those of before: discovery_command bin/get_tools: it printed nothing; it must " +
				"print a JSON array of tools"}},
		{"mended", func() { p.script(t, "bin/get_tools", `echo '[{"name":"three"}]'`) }, []string{"three"}},
		{"no tools any more", func() { p.script(t, "bin/get_tools", `echo '[]'`) },
			[]string{"no tools: discovery_command bin/get_tools printed an empty list"}},
		{"gone", func() { _ = os.RemoveAll(filepath.Join(p.dir, "bin")) },
			[]string{"the tools are those of before: discovery_command bin/get_tools: " + p.dir +
				"/bin/get_tools cannot be run: no such file",
				"no tools: discovery_command bin/get_tools printed an empty list"}},
		{"there again", func() { p.script(t, "bin/get_tools", `echo '[{"name":"four"}]'`) }, []string{"four"}},
	} {
		step.change()
		for got := []string(nil); !cmp.Equal(got, step.want); got = saying(t, c) {
			if got != nil {
				t.Logf("%s: meanwhile %q", step.name, got)
			}
			await(t, changes)
		}
	}
	p.script(t, "bin/call_tool", `echo "new $1"`)
	if got := contentOf(t, c.Run(t, "four", `{}`)); got != "new four\n" {
		t.Errorf("the new tool gives %q", got)
	}
}

// A project that is fixed while its host runs has its tools without a restart.
func TestFirstDiscoveryFails(t *testing.T) {
	p := newProject(t)
	c, d := configured(t, usual)
	if len(d.Tools) != 0 || len(d.Notices) != 1 {
		t.Fatalf("%+v", d)
	}
	changes := onToolsChanged(t, c)
	p.prints(t, `[{"name":"one"}]`)
	for !cmp.Equal(saying(t, c), []string{"one"}) {
		await(t, changes)
	}
}

// So has one whose discovery fails for a reason that no file shows.
func TestFirstDiscoveryFailsForAWhile(t *testing.T) {
	p := newProject(t)
	p.script(t, "bin/get_tools", `[ -e up ] || exit 3; echo '[{"name":"one"}]'`)
	p.script(t, "bin/call_tool", `echo "$1"`)
	c, d := configured(t, usual)
	if len(d.Tools) != 0 || d.Missing == "" {
		t.Fatalf("%+v", d)
	}
	changes := onToolsChanged(t, c)
	p.file(t, "up", "", 0o644)
	for !cmp.Equal(saying(t, c), []string{"one"}) {
		await(t, changes)
	}
}

// Without a call command a tool cannot be offered; once a host runs, that is a notice.
func TestToolsThatCannotBeCalledAppear(t *testing.T) {
	p := newProject(t)
	p.prints(t, `[]`)
	c, _ := configured(t, `{"discovery_command":"bin/get_tools","watch":["tools.json"]}`)
	changes := onToolsChanged(t, c)
	p.file(t, "tools.json", `[{"name":"one"}]`, 0o644)
	await(t, changes)
	want := []string{"the tools are those of before: discovery_command bin/get_tools: call_command is missing: " +
		"discovery_command found 1 tools, and there is nothing to call them with",
		"no tools: discovery_command bin/get_tools printed an empty list"}
	if diff := cmp.Diff(want, saying(t, c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSameToolsAreNoChange(t *testing.T) {
	p := newProject(t)
	p.prints(t, `[{"name":"one","parameters":{"type":"object"}}]`)
	s, err := (&config{DiscoveryCommand: json.RawMessage(`"bin/get_tools"`),
		CallCommand: json.RawMessage(`"x"`)}).settings(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	f := &discoveryState{settings: s, plugin: sdk.New("p", "1")}
	if err := f.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		printed string
		changed bool
	}{
		{`[{"name":"one","parameters":{"type":"object"}}]`, false},
		{` [ {"parameters":{"type":"object"}, "name":"one"} ]`, false},
		{`[{"name":"one","parameters":{"type":"object","title":"t"}}]`, true},
		{`nothing`, true},
		{`nothing`, false},
		{`[{"name":"one","parameters":{"type":"object","title":"t"}}]`, true},
		{`[{"name":"one","parameters":{"type":"object","title":"t"}},5]`, true},
		{`[{"name":"one","parameters":{"type":"object","title":"t"}},5]`, false},
	}
	for i, step := range steps {
		p.file(t, "tools.json", step.printed, 0o644)
		if changed := f.retry(t.Context()); changed != step.changed {
			t.Errorf("step %d: changed is %v", i, changed)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if f.retry(ended) {
		t.Error("the end of the context changes something")
	}
}

func TestConfiguredAgain(t *testing.T) {
	p := newProject(t)
	p.prints(t, `[{"name":"one"}]`)
	p.script(t, "bin/more", `echo '[{"name":"more"}]'`)
	c, _ := configured(t, usual)
	configureHere(t, c, `{"discovery_command":"bin/more","call_command":"x"}`)
	if diff := cmp.Diff([]string{"more"}, saying(t, c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	changes := onToolsChanged(t, c)
	p.file(t, "bin/get_tools", "#!/bin/sh\necho '[]'\n", 0o755) // is not watched any more
	p.script(t, "bin/more", `echo '[{"name":"most"}]'`)
	for !cmp.Equal(saying(t, c), []string{"most"}) {
		await(t, changes)
	}
	configureHere(t, c, `{}`)
	if got := saying(t, c); len(got) != 0 {
		t.Errorf("without configuration there is %q", got)
	}
}

// Closing ends the goroutines, the system's watch, and a discovery that is under way.
func TestCloseLeavesNothing(t *testing.T) {
	p := newProject(t)
	p.prints(t, `[]`)
	l := newLifeline(t)
	before := runtime.NumGoroutine()
	for range 20 {
		k := newRefresher()
		c := config{DiscoveryCommand: json.RawMessage(`"bin/get_tools"`), Watch: []string{"sub"}}
		if err := k.configure(t.Context(), p.dir, c); err != nil {
			t.Fatal(err)
		}
		k.close()
		k.close()
	}
	k := newRefresher()
	if err := k.configure(t.Context(), p.dir, config{DiscoveryCommand: json.RawMessage(`"bin/get_tools"`)}); err != nil {
		t.Fatal(err)
	}
	up := filepath.Join(p.dir, "up")
	p.script(t, "bin/get_tools", l.leftBehind()+`exec 8>"`+l.path+`"; echo up > "`+up+`"; sleep 600`)
	awaitTrue(t, "the discovery runs", func() bool { _, err := os.Stat(up); return err == nil })
	k.close()
	l.wantEnd(t)
	awaitTrue(t, "the goroutines end", func() bool { return runtime.NumGoroutine() <= before })
}

func awaitTrue(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not so after a minute: %s", what)
		}
	}
}

func TestMistakesInWatch(t *testing.T) {
	p := newProject(t)
	for config, want := range map[string]string{
		`{"watch":["x"]}`: "watch says when to run discovery_command again, which is missing; add " +
			"it or remove watch",
		`{"discovery_command":"x","watch":[""]}`: `watch has the path ""; name a file or a folder`,
		`{"discovery_command":"x","watch":["a",` + strings.Repeat(`"a",`, 63) +
			`"a"]}`: "watch has 65 paths, at most 64 are allowed; name a folder instead of its files",
	} {
		err := started(t).Configure(t.Context(), json.RawMessage(config), p.dir)
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// A string that names a file to run is that file, whatever characters it has.
func TestCommandThatIsOnePath(t *testing.T) {
	p := newProject(t)
	p.script(t, "my (own) tools/get & list", `echo '[{"name":"one"}]'`)
	p.script(t, "my (own) tools/call it", `echo "called $1"`)
	p.file(t, "my (own) tools/plain", "", 0o644)
	c, d := configured(t, `{"discovery_command":"my (own) tools/get & list","call_command":"`+p.dir+
		`/my (own) tools/call it"}`)
	if len(d.Tools) != 1 {
		t.Fatal(d.Notices)
	}
	if got := contentOf(t, c.Run(t, "one", `{}`)); got != "called one\n" {
		t.Errorf("got %q", got)
	}
	for _, other := range []string{"my (own) tools/plain", "my (own) tools/gone", "my (own) tools"} {
		err := started(t).Configure(t.Context(), json.RawMessage(`{"discovery_command":"`+other+`"}`), p.dir)
		if err == nil || !strings.Contains(err.Error(), `'(' at character 4 means something to a shell`) {
			t.Errorf("%s: %v", other, err)
		}
	}
}
