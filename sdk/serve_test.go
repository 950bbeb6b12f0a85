package sdk_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

func TestServeByHand(t *testing.T) {
	cmd := as(t.Context(), "greet")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	exit, ok := errors.AsType[*exec.ExitError](cmd.Run())
	if !ok || exit.ExitCode() != 2 {
		t.Errorf("exit is %v, want code 2", exit)
	}
	if stdout.Len() > 0 || strings.Count(stderr.String(), "\n") != 1 ||
		!strings.Contains(stderr.String(), "tools: hello") {
		t.Errorf("stdout is %q and stderr %q; want one line on stderr that names the tools", &stdout, &stderr)
	}
}

func TestServe(t *testing.T) {
	p := start(t, "greet", nil, lifelineEnv()...)
	d, err := p.Describe(t.Context())
	if err != nil || d.Name != "greet" || len(d.Tools) != 1 || d.Tools[0].Name != "hello" {
		t.Fatalf("it describes itself as %+v, %v", d, err)
	}
	result, err := p.Call(t.Context(), &sdk.Request{Tool: "hello", Arguments: json.RawMessage(`{"name":"Ada"}`)})
	if err != nil || result.Content[0].Text != "Hello, Ada." {
		t.Errorf("the call gives %+v, %v", result, err)
	}
}

func TestServeUnderGoPlugin(t *testing.T) {
	c := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig: client.Handshake, VersionedPlugins: map[int]goplugin.PluginSet{1: client.PluginSet()},
		Cmd: as(t.Context(), "greet", socketDir(t)), AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		GRPCDialOptions: wire.DialOptions(0), Logger: hclog.NewNullLogger(),
	})
	defer c.Kill()
	plugin := must(must(c.Client()).Dispense("plugin")).(*client.Client)
	d, err := plugin.Describe(t.Context())
	if err != nil || len(d.Tools) != 1 {
		t.Errorf("the tools are %+v, %v", d, err)
	}
}

func TestServeKnowsItsPeer(t *testing.T) {
	t.Run("the plugin is another process than the client expects", func(t *testing.T) {
		p := start(t, "greet", nil, lifelineEnv()...)
		_, err := client.New(p.dial(t, os.Getpid())).Describe(t.Context())
		if err == nil || !strings.Contains(err.Error(), "is process") {
			t.Errorf("error is %v, want one that tells the process", err)
		}
	})
	t.Run("the host is another process than the plugin expects", func(t *testing.T) {
		p := start(t, "greet", nil, wire.EnvHostPID+"=1")
		_, err := p.Describe(t.Context())
		if broken, ok := errors.AsType[*client.BrokenError](err); !ok || broken.Delivered {
			t.Errorf("error is %v, want one that says it was not delivered", err)
		}
	})
}

func TestLifeline(t *testing.T) {
	t.Run("ends an idle plugin", func(t *testing.T) {
		p := start(t, "greet", nil, lifelineEnv()...)
		_ = p.lifeline.Close()
		p.awaitExit(t)
	})
	t.Run("is cut from the start", func(t *testing.T) {
		cmd := as(t.Context(), "greet", append(lifelineEnv(), cookie, socketDir(t))...)
		ended := make(chan error, 1)
		go func() { ended <- cmd.Run() }()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("it ended with %v", err)
			}
		case <-time.After(soon):
			t.Errorf("it still runs after %v", soon)
		}
	})
	t.Run("gives handlers time to clean up", func(t *testing.T) {
		p, dir := start(t, "slow", nil, lifelineEnv()...), t.TempDir()
		ended := p.begin(t, "tidy", dir)
		_ = p.lifeline.Close()
		p.awaitExit(t)
		if _, err := os.Stat(filepath.Join(dir, "tidied")); err != nil {
			t.Errorf("the handler did not clean up: %v", err)
		}
		<-ended
	})
	t.Run("runs what is for the end, beside a handler that ignores it, and with nobody to hear of it", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "ended")
		p := start(t, "slow", withoutStderrReader, append(lifelineEnv(), atEndVar+"="+path)...)
		ended := p.begin(t, "stubborn", t.TempDir())
		_ = p.lifeline.Close()
		p.awaitExit(t)
		if _, err := os.Stat(path); err != nil {
			t.Errorf("it did not run: %v", err)
		}
		<-ended
	})
	t.Run("does not wait for a handler that ignores it", func(t *testing.T) {
		p := start(t, "slow", nil, lifelineEnv()...)
		ended := p.begin(t, "stubborn", t.TempDir())
		_ = p.lifeline.Close()
		p.awaitExit(t)
		if _, ok := errors.AsType[*client.BrokenError](<-ended); !ok {
			t.Error("the call did not end with a BrokenError")
		}
	})
	t.Run("is not held", func(t *testing.T) {
		p := start(t, "greet", nil)
		_ = p.lifeline.Close()
		if d, err := p.Describe(t.Context()); err != nil || !slices.ContainsFunc(d.Tools,
			func(t sdk.Tool) bool { return t.Name == "hello" }) {
			t.Errorf("without %s the plugin is %+v, %v", wire.EnvLifeline, d, err)
		}
	})
}

// withoutStderrReader gives cmd a standard error without a reader, as when the host was killed.
func withoutStderrReader(cmd *exec.Cmd) {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	_ = r.Close()
	cmd.Stderr = w
}
