package supervise

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
)

func dynamic(t *testing.T, config string) *Process {
	t.Helper()
	spec := playing("dynamic", "dynamic")
	spec.Source = "config.hcl:3"
	if config != "" {
		spec.Config = []byte(config)
	}
	return add(t, supervisor(t), spec)
}

func toolNames(t *testing.T, p *Process) []string {
	t.Helper()
	tools, err := p.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return names
}

func TestToolsComeFromTheConfiguration(t *testing.T) {
	p := dynamic(t, `{"tools":["a","b"]}`)
	if diff := cmp.Diff([]string{"a", "b"}, toolNames(t, p)); diff != "" {
		t.Error(diff)
	}
	if got := p.Status().Notices; !cmp.Equal(got, []string{"there are 2 now"}) {
		t.Errorf("notices: %q", got)
	}
}

func TestWrongConfiguration(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config string
		words  []string
	}{
		"missing":     {"", []string{"configuration is wrong", "tools"}},
		"wrong type":  {`{"tools":[1]}`, []string{"configuration is wrong", "tools[0]", "string"}},
		"unknown key": {`{"tools":[],"tols":1}`, []string{"configuration is wrong", "tols"}},
		"refused":     {`{"tools":[],"refuse":"today"}`, []string{"refused its configuration", "I refuse: today"}},
		"bad tool":    {`{"tools":["bad tool"]}`, []string{"refused its configuration", "bad tool"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := dynamic(t, c.config)
			_, err := p.Tools(t.Context())
			checkError(t, err, sdk.CodePluginUnavailable, c.words...)
			if got := p.Status().State; got != Invalid {
				t.Errorf("state %s", got)
			}
		})
	}
}

func TestChangedToolsAreTold(t *testing.T) {
	p := dynamic(t, `{"tools":["a"]}`)
	told := make(chan struct{}, 10)
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan error, 1)
	watching := make(chan struct{})
	go func() {
		close(watching)
		watched <- p.Watch(ctx, func() { told <- struct{}{} })
	}()
	<-watching
	soon(t, "the watch stands", patience, func() bool { p.mu.Lock(); defer p.mu.Unlock(); return len(p.watchers) == 1 })
	mustCall(t, p, "a", "zz")
	select {
	case <-told:
	case <-time.After(patience):
		t.Fatal("nobody told of the new tool")
	}
	if diff := cmp.Diff([]string{"a", "zz"}, toolNames(t, p)); diff != "" {
		t.Error(diff)
	}
	if got := p.Status(); got.Tools != 2 || !cmp.Equal(got.Notices, []string{"there are 2 now"}) {
		t.Errorf("status: %+v", got)
	}
	cancel()
	if err := <-watched; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
