//go:build unix

package supervise

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/sdk"
)

// A caching is a cache folder, and plugins that record each start.
type caching struct {
	t      testing.TB
	folder string
	starts string
}

func newCaching(t testing.TB) *caching {
	t.Helper()
	dir := t.TempDir()
	return &caching{t, filepath.Join(dir, "cache"), filepath.Join(dir, "starts")}
}

// fixture is the spec of a plugin that records its starts.
func (c *caching) fixture(name, role string) Spec {
	s := fixture(name, role)
	s.Env["STARTS"] = c.starts
	return s
}

// list makes a host with the plugins, lists the tools of each, and closes it.
func (c *caching) list(o Options, specs ...Spec) (all [][]sdk.Tool) {
	c.t.Helper()
	err := c.with(o, func(s *Supervisor) error {
		for _, spec := range specs {
			tools, err := add(c.t, s, spec).Tools(c.t.Context())
			if err != nil {
				return err
			}
			all = append(all, tools)
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return all
}

// with calls f with a new host.
func (c *caching) with(o Options, f func(*Supervisor) error) error {
	c.t.Helper()
	o.RunDir, o.CacheDir = shortDir(c.t), c.folder
	s, err := New(o)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	return f(s)
}

// started returns how many plugins were started since its last call.
func (c *caching) started() int {
	c.t.Helper()
	text, err := os.ReadFile(c.starts)
	if err != nil {
		return 0
	}
	if err := os.Remove(c.starts); err != nil {
		c.t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

func (c *caching) wantStarts(n int, when string) {
	c.t.Helper()
	if got := c.started(); got != n {
		c.t.Errorf("%s: %d starts, want %d", when, got, n)
	}
}

// entries are the stored descriptions.
func (c *caching) entries() []string {
	c.t.Helper()
	found, err := filepath.Glob(filepath.Join(c.folder, "description-*"))
	if err != nil {
		c.t.Fatal(err)
	}
	return found
}

// linked returns n plugins with n programs, which are links to the test binary.
func (c *caching) linked(n int) (specs []Spec) {
	c.t.Helper()
	dir := c.t.TempDir()
	for i := range n {
		name := fmt.Sprintf("p%d", i)
		path := filepath.Join(dir, toolname.ProgramPrefix+name)
		if err := os.Symlink(must(filepath.Abs(os.Args[0])), path); err != nil {
			c.t.Fatal(err)
		}
		s := c.fixture(name, "noted")
		s.Command = []string{path, "-number", name}
		specs = append(specs, s)
	}
	return specs
}

// settle waits until the test binary is old enough not to be hashed each time.
func settleProgram(t testing.TB) {
	t.Helper()
	soon(t, "the test binary to have some age", patience, func() bool {
		return identify(Spec{Command: os.Args[:1]}).Settled(time.Now())
	})
}

// Many plugins are listed again without a start, with the same descriptions byte for byte.
func TestListingAgainStartsNothing(t *testing.T) {
	t.Parallel()
	c := newCaching(t)
	const plugins = 30
	specs := c.linked(plugins)
	settleProgram(t)
	first := c.list(Options{}, specs...)
	c.wantStarts(plugins, "first")
	second := c.list(Options{}, specs...)
	c.wantStarts(0, "second")
	if diff := gocmp.Diff(first, second); diff != "" || len(first[0]) < 3 {
		t.Errorf("-started +listed:\n%s", diff)
	}
	c.list(Options{Refresh: true}, specs[:3]...)
	c.wantStarts(3, "refreshed")
}

// A call starts a plugin that was listed from the cache.
func TestCallAfterACachedListing(t *testing.T) {
	t.Parallel()
	c := newCaching(t)
	c.list(Options{}, c.fixture("p", "noted"))
	c.wantStarts(1, "first")
	err := c.with(Options{}, func(s *Supervisor) error {
		p := add(t, s, c.fixture("p", "noted"))
		if tools, err := p.Tools(t.Context()); err != nil || len(tools) == 0 {
			return fmt.Errorf("%v, %w", tools, err)
		}
		if got := p.Status(); got.State != Known || got.Tools == 0 || got.Version == "" {
			t.Errorf("listed, it is %+v", got)
		}
		if got := mustCall(t, p, "echo", "hello"); got != "hello" {
			t.Errorf("it says %q", got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	c.wantStarts(1, "the call")
}

// The description of a started plugin replaces the cached one: watchers are notified, calls based on the old one are
// refused, and the next host has the new one.
func TestCacheIsCorrectedByTheStart(t *testing.T) {
	c := newCaching(t)
	spec := c.fixture("p", "changing")
	tools := filepath.Join(t.TempDir(), "tools")
	spec.Env["TOOLS_FILE"] = tools
	rewrite(t, tools, []byte("stays as it is\nchanges from this\ngoes away\n"))
	c.list(Options{}, spec)
	rewrite(t, tools, []byte("stays as it is\nchanges to that\ncomes new\n"))
	for tool, want := range map[string]sdk.Code{"stays": "", "changes": sdk.CodePluginUnavailable,
		"goes": sdk.CodeToolNotFound} {
		t.Run(tool, func(t *testing.T) {
			mine := *c
			mine.folder = t.TempDir()
			check(t, os.Chmod(mine.folder, 0o700))
			check(t, os.CopyFS(mine.folder, os.DirFS(c.folder)))
			for _, e := range mine.entries() {
				check(t, os.Chmod(e, 0o600)) // the copy has wider permissions
			}
			check(t, mine.with(Options{}, func(s *Supervisor) error {
				checkCorrected(t, add(t, s, spec), tool, want)
				return nil
			}))
			mine.started()
			if got := mine.list(Options{}, spec)[0]; len(got) != 3 || got[2].Name != "comes" {
				t.Errorf("the next host lists %v", got)
			}
			mine.wantStarts(0, "the next host")
		})
	}
}

func checkCorrected(t *testing.T, p *Process, tool string, want sdk.Code) {
	t.Helper()
	if listed := must(p.Tools(t.Context())); len(listed) != 3 || listed[2].Name != "goes" {
		t.Fatalf("listed are %v", listed)
	}
	reported := make(chan struct{}, 1)
	watching, stop := context.WithCancel(t.Context())
	var watcher sync.WaitGroup
	defer watcher.Wait()
	defer stop()
	watcher.Go(func() { _ = p.Watch(watching, func() { reported <- struct{}{} }) })
	soon(t, "somebody to watch", patience, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.watchers) == 1
	})
	_, err := call(t, p, tool, "")
	if want == "" && err != nil {
		t.Error(err)
	} else if want != "" {
		checkError(t, err, want, "nothing was run")
	}
	select {
	case <-reported:
	case <-time.After(patience):
		t.Error("watchers are not notified")
	}
	if got := must(p.Tools(t.Context())); len(got) != 3 || got[2].Name != "comes" {
		t.Errorf("now the tools are %v", got)
	}
	if tool == "changes" { // a caller that has listed again may call it
		mustCall(t, p, tool, "")
	}
}

// Offline, nothing is started: cached tools are listed, with a notice of what may have changed; the rest fails.
func TestOffline(t *testing.T) {
	t.Parallel()
	c := newCaching(t)
	known, dynamic, unknown := c.fixture("known", "noted"), c.fixture("dynamic", "dynamic"), c.fixture("unknown", "noted")
	dynamic.Config = json.RawMessage(`{"tools":["a"]}`)
	unknown.Command, unknown.Eager = append(unknown.Command, "-x"), true
	c.list(Options{}, known, dynamic)
	c.wantStarts(2, "first")
	check(t, c.with(Options{Offline: true}, func(s *Supervisor) error {
		for spec, notice := range map[string]string{"known": "", "dynamic": "its tools are those of an earlier start"} {
			p := add(t, s, map[string]Spec{"known": known, "dynamic": dynamic}[spec])
			tools, err := p.Tools(t.Context())
			if err != nil || len(tools) == 0 {
				t.Errorf("%s: %v, %v", spec, tools, err)
			}
			if reported := fmt.Sprint(p.Status().Notices); !strings.Contains(reported, notice) || notice == "" &&
				reported != "[]" {
				t.Errorf("%s: the notices are %q", spec, reported)
			}
			_, err = call(t, p, tools[0].Name, "")
			checkError(t, err, sdk.CodePluginUnavailable, "offline: plugins are not started")
		}
		_, err := add(t, s, unknown).Tools(t.Context())
		checkError(t, err, sdk.CodePluginUnavailable, "the cache does not have its tools")
		return nil
	}))
	c.wantStarts(0, "offline")
	elsewhere := Options{Offline: true, Workdir: t.TempDir()}
	check(t, c.with(elsewhere, func(s *Supervisor) error {
		_, err := add(t, s, dynamic).Tools(t.Context())
		checkError(t, err, sdk.CodePluginUnavailable, "the cache does not have") // its description in another folder
		return nil
	}))
}

// A checksum is also checked for cached tools.
func TestCacheAndChecksum(t *testing.T) {
	c := newCaching(t)
	spec := c.fixture("p", "noted")
	spec.SHA256 = must(spec.Inspect()).SHA256
	c.list(Options{}, spec)
	c.list(Options{}, spec)
	c.wantStarts(1, "with the right checksum")
	spec.SHA256 = strings.Repeat("0", 64)
	check(t, c.with(Options{}, func(s *Supervisor) error {
		_, err := add(t, s, spec).Tools(t.Context())
		checkError(t, err, sdk.CodePluginUnavailable, "sha256")
		return nil
	}))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func rewrite(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func chtimes(t testing.TB, path string, at time.Time) {
	t.Helper()
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// A change of anything that the description may depend on lists the plugin again.
func TestWhatIsListedAgain(t *testing.T) {
	copied := func(t *testing.T, s Spec) Spec {
		s.Command = []string{filepath.Join(t.TempDir(), "plugin")}
		copyFile(t, os.Args[0], s.Command[0])
		return s
	}
	sh := func(t *testing.T, s Spec) Spec {
		s.Command = []string{script(t, t.TempDir(), "plugin", "exec '"+must(filepath.Abs(os.Args[0]))+"'")}
		return s
	}
	for name, c := range map[string]struct {
		role   string
		make   func(*testing.T, Spec) Spec
		change func(*testing.T, *Spec)
		starts int
	}{
		"nothing":                {change: func(*testing.T, *Spec) {}},
		"arguments":              {change: func(_ *testing.T, s *Spec) { s.Command = append(s.Command, "-x") }, starts: 1},
		"environment":            {change: func(_ *testing.T, s *Spec) { s.Env["X"] = "1" }, starts: 1},
		"the host's environment": {change: func(t *testing.T, _ *Spec) { t.Setenv("LC_TEST", "1") }, starts: 1},
		"the terminal":           {change: func(t *testing.T, _ *Spec) { t.Setenv("TERM", "other") }},
		"the shell": {make: func(_ *testing.T, s Spec) Spec { s.InheritEnv = new(true); return s },
			change: func(t *testing.T, _ *Spec) { t.Setenv("_", "/other"); t.Setenv("SHLVL", "7") }},
		"configuration": {role: "dynamic",
			change: func(_ *testing.T, s *Spec) { s.Config = json.RawMessage(`{"tools":["a"]}`) }, starts: 1},
		"dynamic": {role: "dynamic", change: func(*testing.T, *Spec) {}, starts: 1},
		"times": {make: copied,
			change: func(t *testing.T, s *Spec) { chtimes(t, s.Command[0], time.Now()) }},
		"the same, copied": {make: copied,
			change: func(t *testing.T, s *Spec) { replace(t, s.Command[0], os.Args[0]) }},
		"another program": {make: copied,
			change: func(t *testing.T, s *Spec) { replace(t, s.Command[0], os.Args[0]); appendTo(t, s.Command[0]) }, starts: 1},
		"a program in place": {make: copied, change: func(t *testing.T, s *Spec) { appendTo(t, s.Command[0]) },
			starts: 1},
		"another folder": {make: copied, change: func(t *testing.T, s *Spec) { *s = copied(t, *s) }, starts: 1},
		"a script":       {make: sh, change: func(*testing.T, *Spec) {}, starts: 1},
		"a program that runs it": {make: func(_ *testing.T, s Spec) Spec {
			s.Command = []string{"sh", "-c", "exec '" + must(filepath.Abs(os.Args[0])) + "'"}
			return s
		}, change: func(*testing.T, *Spec) {}, starts: 1},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCaching(t)
			spec := k.fixture("p", cmp.Or(c.role, "noted"))
			if c.role == "dynamic" {
				spec.Config = json.RawMessage(`{"tools":["b"]}`)
			}
			if c.make != nil {
				spec = c.make(t, spec)
			}
			k.list(Options{}, spec)
			k.wantStarts(1, "at first")
			c.change(t, &spec)
			k.list(Options{}, spec)
			k.wantStarts(c.starts, "after the change")
		})
	}
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	in := must(os.Open(from))
	defer in.Close()
	out := must(os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755))
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// replace replaces a program with a copy, as builds do.
func replace(t testing.TB, path, by string) {
	t.Helper()
	copyFile(t, by, path+".new")
	check(t, os.Rename(path+".new", path))
}

// appendTo changes a program's bytes but not its behavior.
func appendTo(t testing.TB, path string) {
	t.Helper()
	f := must(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))
	if _, err := f.WriteString("more"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// A cache folder that others can write to is not used; plugins work without it.
func TestUnusableCacheFolders(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"others may look": func(path string) error { return os.Mkdir(path, 0o755) },
		"a file":          func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a link":          func(path string) error { return os.Symlink(os.TempDir(), path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCaching(t)
			if err := spoil(c.folder); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				c.list(Options{}, c.fixture("p", "noted"))
				c.wantStarts(1, "each time")
			}
		})
	}
}

// Several hosts can fill the same folder concurrently.
func TestManyHostsAtOnce(t *testing.T) {
	t.Parallel()
	c := newCaching(t)
	var all sync.WaitGroup
	for range 4 {
		dir := shortDir(t)
		all.Go(func() {
			s := must(New(Options{RunDir: dir, CacheDir: c.folder}))
			defer func() { _ = s.Close() }()
			for i := range 5 {
				p := must(s.Add(c.fixture(fmt.Sprintf("p%d", i), "noted")))
				if _, err := p.Tools(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	c.started()
	c.list(Options{}, c.fixture("p0", "noted"), c.fixture("p4", "noted"))
	c.wantStarts(0, "afterwards")
	if left := must(filepath.Glob(filepath.Join(c.folder, ".new-*"))); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

// stored reports whether a tool is in a stored description.
func (c *caching) stored(tool string) bool {
	return slices.ContainsFunc(c.entries(), func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "\x02"+tool+"\x00") // its name, and no title
	})
}

// A plugin with a cacheable list is not started to show it, receives it with its configuration, and changes it while
// it runs.
func TestCacheableTools(t *testing.T) {
	settleProgram(t)
	c := newCaching(t)
	spec := c.fixture("dynamic", "dynamic")
	spec.Config = json.RawMessage(`{"tools":["a"],"recall":true}`)
	names := func(o Options) (out []string) {
		for _, tool := range c.list(o, spec)[0] {
			out = append(out, tool.Name)
		}
		return out
	}
	want := func(when string, starts int, got []string, want ...string) {
		t.Helper()
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s: tools (-want +got):\n%s", when, diff)
		}
		c.wantStarts(starts, when)
	}
	want("nothing is known", 1, names(Options{}), "a")
	want("known", 0, names(Options{}), "a")
	call := func(tool, adds string) {
		t.Helper()
		err := c.with(Options{}, func(s *Supervisor) error {
			p := add(t, s, spec)
			if _, err := p.Tools(t.Context()); err != nil {
				return err
			}
			arguments := json.RawMessage(fmt.Sprintf(`{"text":%q}`, adds))
			r, err := p.Call(t.Context(), &sdk.Request{CallID: tool, Tool: tool, Arguments: arguments})
			if err != nil || r.Error != nil {
				return cmp.Or(err, error(r.Error))
			}
			for !c.stored(adds) && t.Context().Err() == nil {
				time.Sleep(time.Millisecond)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	call("a", "b")
	c.wantStarts(1, "a call")
	want("changed while it ran", 0, names(Options{}), "a", "b")
	call("b", "c") // not in the configuration alone
	c.wantStarts(1, "a call of a known tool")
	want("refreshed", 1, names(Options{Refresh: true}), "a")
}

// Of a server that cannot be reached any more the tools are still listed without a start, with the reason, until a
// start reaches it again. A call says the reason too, and waits for a server that is starting.
func TestCacheOfAServerThatIsDown(t *testing.T) {
	settleProgram(t)
	c := newCaching(t)
	server := filepath.Join(t.TempDir(), "server")
	check(t, syscall.Mkfifo(server+".pipe", 0o600))
	spec := c.fixture("bridge", "bridge")
	spec.Config = sdk.Encode(serverConfig{server})
	set := func(state string) {
		if state == "" {
			check(t, os.Remove(server))
			return
		}
		rewrite(t, server, []byte(state))
	}
	listed := func(when string, o Options, starts int, tools string, notices ...string) {
		t.Helper()
		check(t, c.with(o, func(s *Supervisor) error {
			p := add(t, s, spec)
			if got := strings.Join(toolNames(t, p), " "); got != tools {
				t.Errorf("%s: the tools are %q", when, got)
			}
			got := p.Status().Notices
			if len(got) != len(notices) {
				t.Errorf("%s: the notices are %+v", when, got)
				return nil
			}
			for i, text := range notices {
				if got[i].Kind != sdk.Problem || !strings.Contains(got[i].Text, text) {
					t.Errorf("%s: it says %+v", when, got[i])
				}
			}
			return nil
		}))
		c.wantStarts(starts, when)
	}
	called := func(when string, use func(*Process)) {
		t.Helper()
		check(t, c.with(Options{}, func(s *Supervisor) error {
			p := add(t, s, spec)
			if len(toolNames(t, p)) != 1 {
				t.Errorf("%s: it is not listed", when)
			}
			use(p)
			return nil
		}))
		c.wantStarts(1, when)
	}
	answered := func(p *Process) {
		if got := mustCall(t, p, "ask", ""); got != "answer" {
			t.Errorf("it says %q", got)
		}
	}
	const down = "its tools are those of an earlier start; the last one did not find them: its server is down"

	set("up")
	listed("first", Options{}, 1, "ask")
	set("")
	listed("not asked", Options{}, 0, "ask")
	listed("asked", Options{Refresh: true}, 1, "", "its server is down")
	listed("known to be down", Options{}, 0, "ask", down)
	listed("offline", Options{Offline: true}, 0, "ask", down)
	called("down", func(p *Process) {
		_, err := call(t, p, "ask", "")
		checkError(t, err, sdk.CodePluginUnavailable, "its server is down")
	})
	listed("still down", Options{}, 0, "ask", down)

	set("starting")
	called("not done in time", func(p *Process) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := p.Call(ctx, &sdk.Request{CallID: "c", Tool: "ask"})
			ended <- err
		}()
		soon(t, "the start", patience, func() bool { return p.Status().State == Ready })
		cancel()
		checkError(t, <-ended, sdk.CodeCanceled, "nothing was run")
	})
	called("starting", func(p *Process) {
		go func() { _ = os.WriteFile(server+".pipe", []byte("up"), 0o600) }()
		answered(p)
	})
	listed("reached", Options{}, 0, "ask")

	set("")
	called("down in a call", func(p *Process) {
		r, err := p.Call(t.Context(), &sdk.Request{CallID: "c", Tool: "ask"})
		if err != nil || r.Error == nil || !strings.Contains(r.Error.Message, "it is down") {
			t.Errorf("%+v, %v", r, err)
		}
	})
	listed("down in a call", Options{}, 0, "ask", "it was down in a call")
	set("up")
	called("up", answered)
	listed("reached again", Options{}, 0, "ask")

	set("starting")
	check(t, c.with(Options{Refresh: true}, func(s *Supervisor) error {
		p := add(t, s, spec)
		if names := toolNames(t, p); len(names) > 0 {
			t.Errorf("it starts, and has the tools %q", names)
		}
		err := p.AwaitTools(t.Context(), func(string) {
			check(t, os.WriteFile(server+".pipe", []byte("down"), 0o600))
		})
		checkError(t, err, sdk.CodePluginUnavailable, "its server does not start")
		return nil
	}))
	c.wantStarts(1, "failed late")
	listed("failed late", Options{}, 0, "ask", "its server does not start")

	set("up")
	listed("up again", Options{Refresh: true}, 1, "ask")
	set("starting")
	called("none any more", func(p *Process) {
		if got := mustCall(t, p, "ask", ""); got != "none" {
			t.Errorf("it says %q", got)
		}
	})
	listed("none any more", Options{}, 1, "", "its server is starting")
}
