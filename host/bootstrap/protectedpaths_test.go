package bootstrap

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/lockfile"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// Only toolhost's own plugins, beside toolhost itself, are trusted like it.
func TestOwnPlugins(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	for _, program := range []string{dir + "/toolhost-plugin-edit", dir + "/toolhost-plugin-lint", other +
		"/toolhost-plugin-edit"} {
		if err := os.WriteFile(program, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(other+"/toolhost-plugin-edit", dir+"/toolhost-plugin-shell"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir+"/toolhost-plugin-edit", other+"/tools"); err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		program string
		own     bool
	}{
		"ours":              {dir + "/toolhost-plugin-edit", true},
		"another name":      {dir + "/toolhost-plugin-lint", false},
		"another folder":    {other + "/toolhost-plugin-edit", false},
		"a link to another": {dir + "/toolhost-plugin-shell", false},
		"a link to ours":    {other + "/tools", true},
		"not there":         {dir + "/toolhost-plugin-http", false},
		"in PATH":           {"toolhost-plugin-edit", false},
	} {
		if got := isOwn(supervise.Spec{Command: []string{c.program}}, folder); got != c.own {
			t.Errorf("%s: %t, want %t", name, got, c.own)
		}
	}
}

// A plugin that another toolhost locked as confined is not refused because this one would run it at a lower level.
func TestOwnPluginsKeepTheLevelOfTheLock(t *testing.T) {
	program := filepath.Join(resolvedFolder(), "toolhost-plugin-edit")
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(program)
	for level, want := range map[sandbox.Level]sandbox.Level{"": sandbox.Supervised,
		sandbox.Supervised: sandbox.Supervised, sandbox.Confined: ""} {
		var lock *lockfile.File
		if level != "" {
			lock = &lockfile.File{Plugins: []lockfile.Plugin{{Name: "edit", Level: level}}}
		}
		got := superviseShipped([]supervise.Spec{{Name: "edit", Command: []string{program}}}, lock)
		if got[0].Sandbox.Level != want {
			t.Errorf("locked as %q: %q, want %q", level, got[0].Sandbox.Level, want)
		}
	}
}

// Discovery commands that hang are waited for where the sandbox of the called plugin protects the programs that they
// name, or it may call their plugins.
func TestDiscoveryIsAwaitedForConfinedPlugins(t *testing.T) {
	for level, want := range map[sandbox.Level]bool{sandbox.Supervised: true, "": false, sandbox.Confined: false,
		sandbox.Isolated: false} {
		known := map[string]supervise.Spec{"p": {Name: "p", Command: []string{"/p"}, Sandbox: sandbox.Spec{Level: level}}}
		c := Configuration{Config: &config.Config{}, options: Options{Tool: "p__tool"}}
		if got := c.enough(known); got != want {
			t.Errorf("enough for a plugin at level %q: %t", level, got)
		}
		if c.options.Tool = "other__tool"; c.enough(known) {
			t.Error("enough for a plugin that is not known")
		}
		c.options.Tool, c.Host.Plugins = "p__tool", map[string]host.PluginOptions{"p": {MayCall: []string{"*"}}}
		if c.enough(known) {
			t.Error("enough for a plugin that may call others")
		}
	}
}

// The floor knows the variables that a plugin inherits from the host; others are given what their block says.
func TestFloorKnowsInheritedVariables(t *testing.T) {
	t.Setenv("BUILD_FOLDER", "/srv/build")
	t.Setenv("TOOLHOST_BUILD", "/srv/own") // no plugin gets these
	given := map[string]host.PluginOptions{"plain": {Env: map[string]string{"A": "1"}}, "inherits": {MayCall: []string{"x"}}}
	specs := []supervise.Spec{{Name: "plain", InheritEnv: new(false)},
		{Name: "inherits", InheritEnv: new(true), Env: map[string]string{"BUILD_FOLDER": "/srv/other", "A": "1"}},
		{Name: "unnamed", InheritEnv: new(true)}}
	got := withSpecs(given, specs)
	for plugin, want := range map[string]string{"plain": "", "inherits": "/srv/other", "unnamed": "/srv/build"} {
		env := got[plugin].Env
		if env["BUILD_FOLDER"] != want || env["TOOLHOST_BUILD"] != "" || (env["A"] == "1") == (plugin == "unnamed") {
			t.Errorf("the floor has for %s: %q", plugin, env)
		}
	}
	if len(got["inherits"].MayCall) != 1 || len(given) != 2 {
		t.Errorf("other options are %+v, of %+v", got["inherits"], given)
	}
}

// The host's program is not a plugin's to replace, nor are those of toolhost beside it, wherever they are installed.
func TestOwnProgramsAreProtected(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	own = fsutil.Resolved(own)
	beside := filepath.Join(filepath.Dir(own), "toolhost-server")
	if err := os.WriteFile(beside, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(beside)
	elsewhere := &Configuration{Config: &config.Config{}, options: Options{Workdir: t.TempDir()}}
	there := supervise.Spec{Name: "p", Command: []string{"p"}, Sandbox: sandbox.Spec{Write: []string{filepath.Dir(own)}}}
	for who, protected := range map[string][]string{
		"in the work folder": (&Configuration{Config: &config.Config{},
			options: Options{Workdir: filepath.Dir(filepath.Dir(own))}}).executed(nil),
		"where a plugin may write": elsewhere.executed([]supervise.Spec{there}),
	} {
		for _, path := range []string{own, beside} {
			if !slices.Contains(protected, path) {
				t.Errorf("%s: %s is not protected: %q", who, path, protected)
			}
		}
	}
	if got := elsewhere.executed(nil); len(got) > 0 {
		t.Errorf("what no plugin may write to needs no protection: %q", got)
	}
}

// What the configuration has run is not a plugin's to write, wherever it is named: it may run without a sandbox.
func TestFilesThatAreRunAreProtected(t *testing.T) {
	trusting(t)
	dir, workdir := fsutil.Resolved(t.TempDir()), fsutil.Resolved(t.TempDir())
	path := filepath.Join(dir, "config.hcl")
	writeConfig(t, path, `
plugin "script" {
  command = ["/bin/sh", "-e", "plugin.sh"]
  sandbox { wrapper = ["./wrap", "--"] }
}
plugin "server" {
  command = ["/bin/true"]
  config {
    command = ["python3", "-u", "tools/server.py"]
  }
}
plugin "tools" {
  command = ["/bin/true"]
  config {
    discovery_command = "tools/list all"
    call_command      = "tools/call it"
    sub {
      refresh_command = ["./tools/refresh"]
      commands        = ["tools/data"]
    }
  }
}
plugin_discovery "team" {
  command = ["/bin/sh", "./team.sh"]
}
approval {
  notify "desk" {
    command = ["./notify", "now"]
  }
  notify "script" {
    command = ["sh", "./notify.sh"]
  }
}
`)
	c, err := Load(Options{Config: path, Workdir: workdir})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{workdir + "/tools/server.py", workdir + "/tools/list", workdir + "/tools/call it",
		workdir + "/tools/refresh", dir + "/plugin.sh", dir + "/wrap", dir + "/team.sh", dir + "/notify", dir + "/notify.sh"}
	p := c.FindOffline(t.Context())
	for who, protected := range map[string][]string{"plugins": p.superviseOptions().ReadOnly,
		"discovery": c.Discoveries()[0].ReadOnly} {
		for _, file := range want {
			if !slices.Contains(protected, file) {
				t.Errorf("%s: %s is not protected: %q", who, file, protected)
			}
		}
		if slices.Contains(protected, workdir+"/tools/data") {
			t.Errorf("%s: what is no command is protected", who)
		}
	}
}

// Scripts are found in the folder that a command starts in or names, whatever program runs or loads them.
func TestScriptsOfCommandsAreProtected(t *testing.T) {
	workdir := fsutil.Resolved(t.TempDir())
	for _, file := range []string{"server.py", "tools/server.py", "tools/hooks.mjs", "tools/data.db", "tools/index.js"} {
		path := filepath.Join(workdir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ settings, want string }{
		{`"command":["uv","run","tools/server.py"]`, "tools/server.py"},
		{`"command":["uv","--directory","tools","run","server.py"]`, "server.py tools/server.py"},
		{`"command":["uv","--directory=WORK/tools","run","server.py"]`, "server.py tools/server.py"},
		{`"command":["fastmcp","run","server.py:app"]`, ""},
		{`"command":["fastmcp","run","./tools/server.py"]`, "tools/server.py"},
		{`"command":["node","--import","./tools/hooks.mjs","tools/index.js"]`, "tools/hooks.mjs tools/index.js"},
		{`"command":["node","--import=./tools/hooks.mjs","tools/index.js"]`, "tools/hooks.mjs tools/index.js"},
		{`"command":["node","WORK/tools/index.js"]`, "tools/index.js"},
		{`"command":["node","index.js"],"cwd":"tools"`, "index.js tools/index.js"},
		{`"command":["node","index.js"],"cwd":"WORK/tools"`, "index.js tools/index.js"},
		{`"command":["npx","-y","some-server","--db","tools/data.db"]`, ""},
		{`"x_command":"uv run tools/server.py"`, "tools/server.py uv run tools/server.py"},
		{`"args":["uv","run","tools/server.py"]`, ""},
	} {
		spec := supervise.Spec{Name: "p", Command: []string{"p"},
			Config: []byte("{" + strings.ReplaceAll(c.settings, "WORK", workdir) + "}")}
		got := (&Configuration{Config: &config.Config{}, options: Options{Workdir: workdir}}).executed([]supervise.Spec{spec})
		for i, file := range got {
			got[i], _ = filepath.Rel(workdir, file)
		}
		slices.Sort(got)
		if text := strings.Join(slices.Compact(got), " "); text != c.want {
			t.Errorf("%s: %q, want %q", c.settings, text, c.want)
		}
	}
}

// A ".." behind a link is that of the link's target, also for an interpreter.
func TestScriptsBehindLinksAreProtected(t *testing.T) {
	workdir := fsutil.Resolved(t.TempDir())
	script := filepath.Join(workdir, "lib", "x.py")
	if err := errors.Join(os.MkdirAll(filepath.Join(workdir, "lib", "deep"), 0o700), os.WriteFile(script, nil, 0o600),
		os.Symlink("lib/deep", filepath.Join(workdir, "link"))); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"python3", workdir + "/link/../x.py"}, {"python3", "link/../x.py"},
		{"uv", "run", "link/../x.py"}, {"link/../x.py"}} {
		files := executedBy(workdir, command)
		if !slices.ContainsFunc(files, func(file string) bool { return fsutil.Resolved(file) == script }) {
			t.Errorf("%q: %q", command, files)
		}
	}
	if got := absolute("", "../x.py"); filepath.Clean(got) != "../x.py" { // in the current folder
		t.Errorf("without a folder the path is %s", got)
	}
}

// What a sandbox may reach is not changed by a link in the configuration's folder, or where another plugin may write.
func TestSandboxesKeepToTheFolder(t *testing.T) {
	trusting(t)
	dir, cache, elsewhere := t.TempDir(), t.TempDir(), t.TempDir()
	if err := errors.Join(os.Symlink(elsewhere, filepath.Join(dir, "reports")), os.Symlink(elsewhere, cache+"/lint"),
		os.Mkdir(filepath.Join(dir, "src"), 0o700)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config.hcl")
	writeConfig(t, path, strings.ReplaceAll(`
plugin "a-cache" {
  command = ["/bin/true"]
  sandbox { write = ["CACHE", "./src"] }
}
plugin "b-reports" {
  command = ["/bin/true"]
  sandbox { write = ["./reports"] }
}
plugin "c-reads" {
  command = ["/bin/true"]
  sandbox {
    level = "isolated"
    read  = ["./reports"]
  }
}
plugin "d-lint" {
  command = ["/bin/true"]
  sandbox { write = ["CACHE/lint"] }
}
plugin_discovery "team" {
  command = ["/bin/true"]
  sandbox {
    level = "confined"
    write = ["./reports"]
  }
}
`, "CACHE", cache))
	c, err := Load(Options{Config: path, Workdir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	p := c.FindOffline(t.Context())
	checked, err := c.Check(t.Context(), false)
	if err != nil || len(checked.Problems) < 3 {
		t.Errorf("validate finds %v, %v", checked, err)
	}
	refused := func(name, link string, err error) {
		t.Helper()
		if (err != nil) != (link != "") || err != nil && !strings.Contains(err.Error(), "by a link in "+link+",") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i, link := range []string{"", dir, dir, cache} {
		_, err := p.Confinement(p.Specs[i], proctree.Capabilities{})
		refused(p.Specs[i].Name, link, err)
	}
	_, err = c.Discoveries()[0].Confine(proctree.Capabilities{})
	refused("the discovery", dir, err)
}

// The index of the record has its words. It is not made for a plugin's sake, as the record is.
func TestTheIndexOfTheRecordIsHiddenWhereThereIsOne(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	record := filepath.Join(t.TempDir(), "audit.jsonl")
	c := &Configuration{Config: &config.Config{Audit: &config.Audit{Path: record}}}
	if got := c.masked(); !slices.Equal(got, []string{record}) {
		t.Errorf("without an index: %q", got)
	}
	files := audit.IndexFiles(record)
	for _, path := range files {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(c.protected(), path) {
			t.Errorf("%s is not protected", path)
		}
	}
	if got := c.masked(); !slices.Equal(got, append([]string{record}, files...)) {
		t.Errorf("with an index: %q", got)
	}
}

// With the key of MCP clients' approvals, and with the token of a running host, a plugin could approve its own calls.
func TestTheKeyOfApprovalsIsHidden(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_RUNTIME_DIR", filepath.Join(t.TempDir(), "a[b*"))
	token := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "toolhost", "host.token")
	if err := errors.Join(os.MkdirAll(filepath.Dir(token), 0o700), os.WriteFile(token, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := MCPStateKey(); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(os.Getenv("XDG_STATE_HOME"), "toolhost", mcpKeyName)
	c := &Configuration{Config: &config.Config{}}
	if masked := c.masked(); !slices.Contains(masked, token) || !slices.Contains(masked, key) ||
		!slices.Contains(c.protected(), key) {
		t.Errorf("masked: %q, protected: %q", c.masked(), c.protected())
	}
}
