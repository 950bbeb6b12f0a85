//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/internal/testutil"
	"github.com/toolhost/toolhost/sdk"
)

// A project is a configuration that a session reloads when it changes.
type project struct {
	t      *testing.T
	g      *options
	dir    string
	plugin *versioned
	now    *bootstrap.Instance
}

func newProject(t *testing.T, choose func(*bootstrap.Options)) *project {
	t.Helper()
	dir := t.TempDir()
	p := &project{t: t, dir: dir, plugin: newVersioned(t, dir, "tell")}
	p.g = &options{terminal: &terminal{in: strings.NewReader(""), out: &stdoutWriter{w: io.Discard}, err: io.Discard},
		config: filepath.Join(dir, "config.hcl"), workdir: dir}
	p.configure("profile \"a\" {\n  tools = [\"*\"]\n}\n")
	o := p.g.bootstrapOptions()
	choose(&o)
	s, err := p.g.open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	p.now = s
	t.Cleanup(func() { p.g.close(s) })
	return p
}

// configure writes the configuration, with more than the plugin.
func (p *project) configure(format string, a ...any) {
	p.t.Helper()
	text := fmt.Sprintf("plugin \"versioned\" {\n  command = [%q, %q]\n}\n", p.plugin.path, p.plugin.ran) +
		fmt.Sprintf(format, a...)
	writeText(p.t, p.g.config, "%s", text)
}

func (p *project) reload() {
	p.t.Helper()
	done, err := p.now.Reload(p.t.Context())
	if err != nil || len(done.Failed) > 0 {
		p.t.Fatalf("%v %v", err, done)
	}
}

// call returns the text of the result, or the code of the error.
func (p *project) call(tool string) string {
	p.t.Helper()
	r := p.now.Catalog().Call(p.t.Context(), host.Call{Tool: tool})
	if r.Error != nil {
		return string(r.Error.Code)
	}
	return r.Text()
}

func (p *project) check(tool, want string) {
	p.t.Helper()
	if got := p.call(tool); got != want {
		p.t.Errorf("%s: %s, want %s", tool, got, want)
	}
}

// no profile
func nothing(*bootstrap.Options) {}

const denyTell = `
policy "project" {
  rule "no" {
    tools  = ["versioned__tell"]
    effect = "deny"
  }
}
`

// A changed configuration and changed programs are used after a reload, and only then.
func TestReloadSession(t *testing.T) {
	t.Parallel()
	p := newProject(t, nothing)
	p.check("versioned__tell", "1")
	p.configure(denyTell)
	p.check("versioned__tell", "1")
	p.reload()
	p.check("versioned__tell", string(sdk.CodeDenied))
	p.plugin.rename("2 tell")
	p.configure("plugin_dirs = [%q]\n", bin)
	p.reload()
	p.check("versioned__tell", "2")
	if got := p.call("readfile__list"); !strings.Contains(got, "config.hcl") {
		t.Errorf("a plugin that was added: %s", got)
	}
	p.configure("")
	p.reload()
	p.check("readfile__list", string(sdk.CodeToolNotFound))
	p.check("versioned__tell", "2")
	if n := len(p.now.Processes()); n != 1 {
		t.Errorf("%d plugins are supervised", n)
	}
}

// Every file that a reload reads is watched: also the lock file, which is written at another terminal.
func TestWatchedFiles(t *testing.T) {
	t.Parallel()
	p := newProject(t, nothing)
	changes := p.now.Changes(t.Context())
	for _, file := range []string{p.g.config, filepath.Join(p.dir, "toolhost.lock.hcl"), p.plugin.path} {
		text, _ := os.ReadFile(file)
		writeText(t, file, "%s\n", text)
		select {
		case <-changes:
		case <-time.After(time.Minute):
			t.Errorf("a change of %s calls for no reload", file)
		}
	}
}

// With any mistake everything stays in use, the old rules too.
func TestReloadSessionRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		o      func(*bootstrap.Options)
		change func(p *project)
		words  string
	}{
		"a mistake": {nothing, func(p *project) { p.configure("plugin {") }, "config.hcl"},
		"no file":   {nothing, func(p *project) { remove(p.t, p.g.config) }, "does not exist"},
		"another record": {nothing, func(p *project) {
			p.configure("audit {\n  path = %q\n}\n",
				filepath.Join(p.dir, "log"))
		}, "needs a restart"},
		"no such profile": {func(o *bootstrap.Options) { o.Profile = "a" }, func(p *project) { p.configure("") },
			`no profile "a"`},
		"the plugin is gone": {func(o *bootstrap.Options) { o.Plugins = []string{"versioned"} },
			func(p *project) { writeText(p.t, p.g.config, "") }, `no plugin "versioned" any more`},
		"a mistake of a regex": {nothing, func(p *project) { p.configure("policy \"project\" {\n  rule \"a\" {\n  }\n}\n") },
			"config.hcl"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, c.o)
			p.plugin.rename("2 tell")
			c.change(p)
			if _, err := p.now.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("error %v", err)
			}
			if n := p.now.Processes()[0].Status().Generation; n != 0 {
				t.Errorf("the plugin was started: generation %d", n)
			}
			p.check("versioned__tell", "2") // it was never started before
		})
	}
}

// A program that cannot be run is reported: the old one stays in use, also under new rules.
func TestReloadSessionWithABrokenBuild(t *testing.T) {
	t.Parallel()
	p := newProject(t, nothing)
	p.check("versioned__tell", "1")
	for name, text := range map[string]string{"it fails": "#!/bin/sh\necho no luck >&2\nexit 3\n", "no program": "garbage",
		"empty": "", "garbage": "#!/bin/sh\necho 1\n"} {
		p.plugin.renameText([]byte(text))
		done, err := p.now.Reload(t.Context())
		if err != nil || len(done.Failed) != 1 {
			t.Fatalf("%s: %v, %+v", name, err, done)
		}
		p.check("versioned__tell", "1")
	}
	p.plugin.rename("2 tell")
	p.reload()
	p.check("versioned__tell", "2")
}

// A plugin that fails keeps no other from its changes, and its own are tried again.
func TestReloadSessionWithOneBrokenPlugin(t *testing.T) {
	t.Parallel()
	p := newProject(t, nothing)
	script := filepath.Join(p.dir, "script.sh")
	edit := func(comment string) {
		writeText(t, script, "# %s\nexec %s/toolhost-plugin-readfile\n", comment, bin)
	}
	edit("first")
	p.configure("plugin \"script\" {\n  command = [\"sh\", %q]\n}\n", script)
	p.reload()
	p.check("versioned__tell", "1")
	if got := p.call("script__list"); !strings.Contains(got, "config.hcl") {
		t.Fatal(got)
	}
	for _, comment := range []string{"second", "the third"} {
		p.plugin.renameText([]byte("garbage"))
		edit(comment)
		done, err := p.now.Reload(t.Context())
		if err != nil || len(done.Failed) != 1 || !slices.Equal(done.Restarted, []string{"script"}) {
			t.Fatalf("%s: %v, %+v", comment, err, done)
		}
	}
	writeText(t, script, "exit 1\n")
	if done, err := p.now.Reload(t.Context()); err != nil || len(done.Failed) != 2 {
		t.Fatalf("%v, %+v", err, done)
	}
	if done, err := p.now.Reload(t.Context()); err != nil || len(done.Failed) != 2 {
		t.Fatalf("a script that failed is not tried again: %v, %+v", err, done)
	}
}

// A folder of plugins that is temporarily unreadable ends none of its plugins.
func TestReloadSessionKeepsPluginsOfAFailedSource(t *testing.T) {
	t.Parallel()
	p := newProject(t, nothing)
	plugins := filepath.Join(p.dir, "plugins")
	makeFolder(t, plugins)
	link(t, filepath.Join(bin, "toolhost-plugin-readfile"), filepath.Join(plugins, "toolhost-plugin-readfile"))
	p.configure("plugin_dirs = [%q]\n", plugins)
	p.reload()
	for _, name := range []string{"plugins", "gone", "gone", "plugins"} {
		if name == "gone" {
			_ = os.Rename(plugins, filepath.Join(p.dir, "gone")) // the second time it is already gone
		} else {
			_ = os.Rename(filepath.Join(p.dir, "gone"), plugins)
		}
		_, err := p.now.Reload(t.Context())
		if err != nil || name == "gone" && len(p.now.Plugins().Problems) == 0 {
			t.Fatalf("%s: %v", name, err)
		}
		if got := p.call("readfile__list"); !strings.Contains(got, "config.hcl") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A file that was found here, trusted, and then changed is not used until it is trusted again.
func TestReloadSessionAsksForTrust(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	g, dir := &options{terminal: &terminal{out: &stdoutWriter{w: io.Discard}, err: io.Discard}}, t.TempDir()
	t.Chdir(dir)
	v := newVersioned(t, dir, "tell")
	write := func(more string) {
		writeText(t, "config.hcl", "plugin \"versioned\" {\n  command = [%q]\n}\n%s", v.path, more)
	}
	trust := func() {
		if code := run([]string{"trust"}, strings.NewReader(""), io.Discard, io.Discard); code != 0 {
			t.Fatal("exit code", code)
		}
	}
	write("")
	trust()
	s, err := g.open(t.Context(), g.bootstrapOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer g.close(s)
	write(denyTell)
	if _, err := s.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "toolhost trust") {
		t.Errorf("error %v", err)
	}
	trust()
	if _, err = s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := s.Catalog().Call(t.Context(), host.Call{Tool: "versioned__tell"}); r.Error == nil ||
		r.Error.Code != sdk.CodeDenied {
		t.Errorf("%+v", r)
	}
}

// During 100 reloads of program and configuration under load, each call is answered once and has run once, and no
// process is left.
func TestReloadSessionUnderLoad(t *testing.T) {
	t.Parallel()
	testutil.Long(t)
	p := newProject(t, nothing)
	catalog, stop := p.now.Catalog(), make(chan struct{})
	var mu sync.Mutex
	made := map[string]bool{}
	var callers sync.WaitGroup
	for caller := range 8 {
		callers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprintf("%d/%d", caller, i)
				arguments, _ := json.Marshal(map[string]string{"id": id})
				if r := catalog.Call(t.Context(), host.Call{Tool: "versioned__tell", Arguments: arguments}); r.Error != nil {
					t.Errorf("call %s: %+v", id, r.Error)
				}
				mu.Lock()
				made[id] = true
				mu.Unlock()
			}
		})
	}
	for i := range 100 {
		p.plugin.rename(fmt.Sprintf("%d tell", i+2))
		p.configure("profile \"p%d\" {\n  read_only = true\n}\n", i)
		p.reload()
		p.check("versioned__tell", fmt.Sprint(i+2))
	}
	close(stop)
	callers.Wait()
	p.counted(made)
}

// counted checks that each call that was made ran once, and no other.
func (p *project) counted(made map[string]bool) {
	p.t.Helper()
	runs := p.plugin.runs()
	for id := range made {
		if runs[id] != 1 {
			p.t.Errorf("call %s ran %d times", id, runs[id])
		}
	}
	if len(runs) != len(made) {
		p.t.Errorf("%d calls were made, and %d ran", len(made), len(runs))
	}
	process := p.now.Processes()[0]
	eventually(p.t, "the old processes are gone", func() bool { return process.Status().Draining == 0 })
	p.t.Logf("%d calls", len(made))
}
