package configured

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/apiv1/apiv1connect"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/sdk"
)

const (
	// playVar makes the test binary the plugin demo.
	playVar = "TEST_PLAY_DEMO"
	// secret is a value of the environment that the configuration uses.
	secret = "ghp_0123456789abcdefghijABCDEFGHIJ"
	// patience is how long a test waits for what should be there soon.
	patience = time.Minute
)

// TestMain gives the tests their own user folders.
func TestMain(m *testing.M) {
	if os.Getenv(playVar) != "" {
		serveDemo()
	}
	dir, err := os.MkdirTemp("", "configured-test")
	for _, name := range []string{"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "HOME"} {
		folder := filepath.Join(dir, name)
		err = errors.Join(err, os.MkdirAll(folder, 0o700), os.Setenv(name, folder))
	}
	if err = errors.Join(err, os.Setenv("TEST_TOKEN", secret)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func serveDemo() {
	p := sdk.New("demo", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "say", Description: "Prints a line.", Hints: sdk.Hints{ReadOnly: sdk.Yes}},
		func(_ context.Context, _ *sdk.Request, in struct {
			Line string `json:"line"`
		}) (*sdk.Result, error) {
			fmt.Fprintln(os.Stderr, in.Line)
			return sdk.Text("said"), nil
		})
	sdk.AddTool(p, sdk.Tool{Name: "crash", Description: "Ends the plugin.", Hints: sdk.Hints{ReadOnly: sdk.Yes}},
		func(context.Context, *sdk.Request, struct{}) (*sdk.Result, error) {
			fmt.Fprintln(os.Stderr, "cannot go on with", os.Getenv("TOKEN"))
			os.Exit(7)
			return nil, nil
		})
	sdk.Serve(p)
	os.Exit(0)
}

// pluginBlock is a plugin whose program is the test binary.
func pluginBlock(name string) string {
	return fmt.Sprintf("plugin %q {\n  command = [%q]\n  env     = { %s = \"yes\", TOKEN = env.TEST_TOKEN }\n}\n", name,
		os.Args[0], playVar)
}

// A setup is an instance with its services.
type setup struct {
	t        *testing.T
	path     string // of the configuration
	services *Services
	instance *bootstrap.Instance
	plugins  apiv1connect.PluginServiceClient
	policy   apiv1connect.PolicyServiceClient
	config   apiv1connect.ConfigurationServiceClient
}

// start opens the configuration; early happens to plugins meanwhile.
func start(t *testing.T, text string, early ...supervise.Status) *setup {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state")) // where the logs of plugins are
	s := &setup{t: t, path: filepath.Join(dir, "config.hcl")}
	s.write(text)
	o := bootstrap.Options{Config: s.path, TrustNamed: true, Workdir: dir}
	s.services = New(Options{Load: o, Usage: func(int) (int64, time.Duration) { return 1 << 20, time.Second }})
	o.OnState = s.services.OnState
	var err error
	if s.instance, err = bootstrap.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.instance.Close() })
	for _, status := range early {
		s.services.OnState(status)
	}
	s.services.Use(s.instance)
	mux := http.NewServeMux()
	mux.Handle(apiv1connect.NewPluginServiceHandler(s.services.Plugins()))
	mux.Handle(apiv1connect.NewPolicyServiceHandler(s.services.Policy()))
	mux.Handle(apiv1connect.NewConfigurationServiceHandler(s.services.Configuration()))
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	s.plugins = apiv1connect.NewPluginServiceClient(web.Client(), web.URL)
	s.policy = apiv1connect.NewPolicyServiceClient(web.Client(), web.URL)
	s.config = apiv1connect.NewConfigurationServiceClient(web.Client(), web.URL)
	return s
}

func (s *setup) write(text string) {
	s.t.Helper()
	if err := os.WriteFile(s.path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *setup) call(tool, arguments string) *host.Result {
	return s.instance.Host().Call(s.t.Context(), host.Call{Tool: tool, Arguments: []byte(arguments)})
}

// plugin is the one named demo in the list.
func (s *setup) plugin() *apiv1.Plugin {
	s.t.Helper()
	list, err := s.plugins.List(s.t.Context(), connect.NewRequest(&apiv1.ListPluginsRequest{}))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, p := range list.Msg.Plugins {
		if p.Name == "demo" {
			return p
		}
	}
	s.t.Fatalf("demo is not among %v", list.Msg.Plugins)
	return nil
}

// watch watches the plugins.
func (s *setup) watch() *connect.ServerStreamForClient[apiv1.WatchPluginsResponse] {
	s.t.Helper()
	stream, err := s.plugins.Watch(s.t.Context(), connect.NewRequest(&apiv1.WatchPluginsRequest{}))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = stream.Close() })
	return stream
}

// demo holds for messages with a plugin demo that is so.
func demo(holds func(*apiv1.Plugin) bool) func(*apiv1.WatchPluginsResponse) bool {
	return func(m *apiv1.WatchPluginsResponse) bool {
		return slices.ContainsFunc(m.Plugins, func(p *apiv1.Plugin) bool { return p.Name == "demo" && holds(p) })
	}
}

// code fails the test unless an RPC failed with this code and these words.
func (s *setup) code(err error, want connect.Code, words ...string) {
	s.t.Helper()
	if connect.CodeOf(err) != want || slices.ContainsFunc(words, func(w string) bool {
		return !strings.Contains(err.Error(), w)
	}) {
		s.t.Errorf("want %v with %q, not: %v", want, words, err)
	}
}

// receive reads messages until one holds, at most for as long as patience.
func receive[M any](t *testing.T, stream *connect.ServerStreamForClient[M], what string, holds func(*M) bool) {
	t.Helper()
	timer := time.AfterFunc(patience, func() { _ = stream.Close() })
	defer timer.Stop()
	for stream.Receive() {
		if holds(stream.Msg()) {
			return
		}
	}
	t.Fatalf("%s does not come: %v", what, stream.Err())
}

func TestPluginsAreWatched(t *testing.T) {
	s := start(t, pluginBlock("demo")+pluginBlock("other"))
	watch := s.watch()
	receive(t, watch, "the list", func(m *apiv1.WatchPluginsResponse) bool { return m.Snapshot && len(m.Plugins) == 2 })
	until := func(what string, holds func(*apiv1.Plugin) bool) {
		t.Helper()
		receive(t, watch, what, demo(holds))
	}
	if r := s.call("demo__say", `{"line": "hello"}`); r.Error != nil {
		t.Fatal(r.Error)
	}
	until("a plugin that is ready", func(p *apiv1.Plugin) bool {
		return p.State == "ready" && p.Pid != 0 && p.MemoryBytes == 1<<20 && p.Cpu.AsDuration() == time.Second
	})
	if r := s.call("demo__crash", `{}`); r.Error == nil {
		t.Fatal("a crash is no error")
	}
	var crash *apiv1.Crash
	until("the crash", func(p *apiv1.Plugin) bool { crash = p.LastCrash; return crash != nil })
	stderr := strings.Join(crash.Stderr, "\n")
	if crash.Generation != 1 || !strings.Contains(crash.Error, "7") || !strings.Contains(stderr, "cannot go on with") ||
		strings.Contains(stderr, secret) {
		t.Errorf("the crash is %v", crash)
	}
	s.write(pluginBlock("demo"))
	if _, err := s.config.Reload(t.Context(), connect.NewRequest(&apiv1.ReloadConfigurationRequest{})); err != nil {
		t.Fatal(err)
	}
	receive(t, watch, "the removal", func(m *apiv1.WatchPluginsResponse) bool {
		return slices.Equal(m.Removed, []string{"other"}) && len(m.Plugins) == 1
	})
	if crash := s.plugin().LastCrash; crash == nil {
		t.Error("the crash is forgotten with a reload")
	}
}

// A plugin may crash while the instance is opened, before the services have it.
func TestCrashBeforeUse(t *testing.T) {
	s := start(t, pluginBlock("demo"), supervise.Status{Name: "demo", State: supervise.Crashed, Generation: 1,
		LastError: "no use for " + secret})
	crash := s.plugin().LastCrash
	if crash == nil || !strings.HasPrefix(crash.Error, "no use for ") || strings.Contains(crash.Error, secret) {
		t.Errorf("the crash is %v", crash)
	}
}

func TestPluginsAreReloadedAndReset(t *testing.T) {
	s := start(t, pluginBlock("demo"))
	if r := s.call("demo__say", `{"line": "hello"}`); r.Error != nil {
		t.Fatal(r.Error)
	}
	before := s.plugin()
	reload := func(names ...string) error {
		_, err := s.plugins.Reload(t.Context(), connect.NewRequest(&apiv1.ReloadPluginsRequest{Plugins: names}))
		return err
	}
	if err := reload("demo"); err != nil {
		t.Fatal(err)
	}
	if r := s.call("demo__say", `{"line": "hello"}`); r.Error != nil {
		t.Fatal(r.Error)
	}
	if after := s.plugin(); after.Pid == before.Pid || after.Generation <= before.Generation {
		t.Errorf("it is not started again: %v, before %v", after, before)
	}
	s.code(reload(), connect.CodeInvalidArgument, "no plugin is named")
	s.code(reload("demo", "dmo"), connect.CodeNotFound, `no plugin "dmo"`, `"demo"?`)

	reset := func(name string) error {
		_, err := s.plugins.Reset(t.Context(), connect.NewRequest(&apiv1.ResetPluginRequest{Plugin: name}))
		return err
	}
	s.code(reset("dmo"), connect.CodeNotFound, `no plugin "dmo"`)
	watch := s.watch()
	if s.call("demo__crash", `{}`).Error == nil {
		t.Fatal("a crash is no error")
	}
	receive(t, watch, "the crash", demo(func(p *apiv1.Plugin) bool { return p.Crashes == 1 }))
	if err := reset("demo"); err != nil || s.plugin().Crashes != 0 {
		t.Errorf("a reset leaves %v, %v", s.plugin(), err)
	}
}

func TestLogsAreFollowed(t *testing.T) {
	s := start(t, pluginBlock("demo"))
	say := func(line string) {
		t.Helper()
		if r := s.call("demo__say", fmt.Sprintf(`{"line": %q}`, line)); r.Error != nil {
			t.Fatal(r.Error)
		}
	}
	say("the first line, with " + secret)
	follow, err := s.plugins.Logs(t.Context(), connect.NewRequest(&apiv1.LogsRequest{Plugin: "demo", Follow: true}))
	if err != nil {
		t.Fatal(err)
	}
	defer follow.Close()
	seen := ""
	until := func(want string) {
		t.Helper()
		receive(t, follow, want, func(m *apiv1.LogsResponse) bool {
			seen += strings.Join(m.Lines, "\n") + "\n"
			return strings.Contains(seen, want)
		})
	}
	until("the first line, with ")
	say("the second line")
	until("the second line")
	if strings.Contains(seen, secret) || strings.Count(seen, "the first line") != 1 {
		t.Errorf("the log is\n%s", seen)
	}
	for _, r := range []*apiv1.LogsRequest{{Plugin: "demo", Lines: -1}, {Plugin: "demo", Lines: 10_001}} {
		wrong, err := s.plugins.Logs(t.Context(), connect.NewRequest(r))
		if err == nil {
			wrong.Receive()
			err = wrong.Err()
		}
		s.code(err, connect.CodeInvalidArgument, "from 0 to 10,000")
	}
}

func TestPolicyIsExplained(t *testing.T) {
	s := start(t, pluginBlock("demo")+`
policy "project" {
  rule "ask-about-say" {
    tools  = ["demo__say"]
    effect = "ask"
    reason = "it is loud"
  }
}
`)
	layers, err := s.policy.Layers(t.Context(), connect.NewRequest(&apiv1.LayersRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, l := range layers.Msg.Layers {
		for _, r := range l.Rules {
			found = found || r.Name == "ask-about-say" && r.Effect == "ask" && strings.Contains(r.Source, "config.hcl:")
		}
	}
	if !found || layers.Msg.Mode != "ask" || !layers.Msg.Floor {
		t.Errorf("the rules are %v", layers.Msg)
	}
	explain := func(tool, arguments string) (*apiv1.ExplainResponse, error) {
		r, err := s.policy.Explain(t.Context(), connect.NewRequest(&apiv1.ExplainRequest{Tool: tool, Arguments: arguments}))
		if err != nil {
			return nil, err
		}
		return r.Msg, nil
	}
	got, err := explain("demo__say", `{"line": "hello"}`)
	if err != nil || got.Decision.GetEffect() != "ask" || got.Decision.GetReason() != "it is loud" || len(got.OtherModes) != 3 {
		t.Errorf("the explanation is %v, %v", got, err)
	}
	if got, err = explain("demo__say", `{}`); err != nil || got.Error.GetCode() != string(sdk.CodeInvalidArgs) {
		t.Errorf("without its argument: %v, %v", got, err)
	}
	if got, err = explain("demo__sya", `{}`); err != nil || got.Error.GetCode() != string(sdk.CodeToolNotFound) ||
		!strings.Contains(got.Error.String(), "demo__say") {
		t.Errorf("of an unknown tool: %v, %v", got, err)
	}
}

// The defaults that are shown are those of the reference.
func TestDefaultsAreThoseOfTheReference(t *testing.T) {
	page, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	documented, block := map[string]string{}, ""
	for line := range strings.Lines(string(page)) {
		if name, is := strings.CutPrefix(line, "## "); is {
			block = strings.TrimPrefix(strings.TrimSpace(name), "Top level")
		}
		if cells := strings.Split(line, "|"); len(cells) > 4 {
			documented[block+"."+strings.Trim(cells[1], " `")] = strings.Trim(cells[3], " `")
		}
	}
	c, err := config.Parse("config.hcl", []byte("audit {}\nserve {}\ntelemetry {}\nfloor = false\n"))
	if err != nil {
		t.Fatal(err)
	}
	written, _ := c.Settings()
	all := defaults(c, written)
	for _, d := range all {
		if want := documented[d.Block+"."+d.Key]; strings.Trim(d.Value, `"`) != want {
			t.Errorf("%s.%s is shown as %s, the reference has %s", d.Block, d.Key, d.Value, want)
		}
	}
	if len(all) != len(defaultSettings)-1 { // floor is written
		t.Errorf("%d defaults", len(all))
	}
	without := defaults(&config.Config{}, nil)
	if !slices.ContainsFunc(without, func(d *apiv1.Setting) bool { return d.Block == "audit" && d.Value == "no record is kept" }) {
		t.Errorf("%v", without)
	}
}

func TestConfigurationIsCheckedAndReloaded(t *testing.T) {
	s := start(t, pluginBlock("demo"))
	watch, err := s.config.Watch(t.Context(), connect.NewRequest(&apiv1.WatchConfigurationRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	until := func(what string, holds func(*apiv1.Configuration) bool) {
		t.Helper()
		receive(t, watch, what, func(m *apiv1.WatchConfigurationResponse) bool { return holds(m.Configuration) })
	}
	until("the configuration in use", func(c *apiv1.Configuration) bool {
		hasCommand := slices.ContainsFunc(c.Settings, func(s *apiv1.Setting) bool {
			return s.Key == "command" && strings.Contains(s.Value, os.Args[0]) && s.Place == "config.hcl:2"
		})
		hasDefault := slices.ContainsFunc(c.Settings, func(s *apiv1.Setting) bool {
			return s.Block == "approval" && s.Key == "mode" && s.Place == ""
		})
		if !hasCommand || !hasDefault || strings.Contains(c.String(), secret) {
			t.Errorf("the configuration is %v", c)
		}
		return c.Path == s.path && c.Trusted && c.Failed == nil
	})
	check := func() *apiv1.CheckConfigurationResponse {
		t.Helper()
		r, err := s.config.Check(t.Context(), connect.NewRequest(&apiv1.CheckConfigurationRequest{}))
		if err != nil {
			t.Fatal(err)
		}
		return r.Msg
	}
	reload := func() error {
		_, err := s.config.Reload(t.Context(), connect.NewRequest(&apiv1.ReloadConfigurationRequest{}))
		return err
	}
	if got := check(); got.Changed || len(got.Mistakes) > 0 {
		t.Errorf("the same file: %v", got)
	}
	s.write(pluginBlock("demo") + "default_timeuot = \"1m\"\n")
	if got := check(); !got.Changed || len(got.Mistakes) != 1 || got.Mistakes[0].Place != "config.hcl:5:1" ||
		!strings.Contains(got.Mistakes[0].Message, "default_timeout") {
		t.Errorf("a mistake: %v", got)
	}
	s.code(reload(), connect.CodeFailedPrecondition, "default_timeuot")
	until("the mistake", func(c *apiv1.Configuration) bool { return c.Failed != nil && len(c.Mistakes) == 1 })
	if why := s.services.ReloadFailure(); !strings.Contains(why, "default_timeuot") {
		t.Errorf("the failure is %q", why)
	}
	if r := s.call("demo__say", `{"line": "hello"}`); r.Error != nil {
		t.Errorf("the old configuration is not in use: %v", r.Error)
	}
	s.write(pluginBlock("demo") + "default_timeout = \"1m\"\n")
	if err := reload(); err != nil {
		t.Fatal(err)
	}
	until("the repaired configuration", func(c *apiv1.Configuration) bool {
		return c.Failed == nil && strings.Contains(c.Text, "default_timeout")
	})
	if why := s.services.ReloadFailure(); why != "" {
		t.Errorf("after the repair the failure is %q", why)
	}
}
