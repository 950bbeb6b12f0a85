package host_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// A checkCachePlugin keeps what was checked, as a tool cache does.
type checkCachePlugin struct {
	*fake
	mu      sync.Mutex
	checked [][]sdk.Tool
}

func (r *checkCachePlugin) Checked(tools []sdk.Tool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, known := range r.checked {
		if reflect.DeepEqual(known, tools) {
			return true
		}
	}
	return false
}

func (r *checkCachePlugin) SetChecked(tools []sdk.Tool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checked = append(r.checked, tools)
}

// Definitions that were checked are listed without a look at their schemas, and calls are checked all the same.
func TestCheckedDefinitionsAreCompiledByTheFirstCall(t *testing.T) {
	fits, wrong := tool("fits"), tool("wrong")
	fits.InputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
	wrong.InputSchema = json.RawMessage(`{"type":"objekt"}`)
	p := &checkCachePlugin{fake: answering(&sdk.Result{}, nil, fits, wrong)}
	p.SetChecked([]sdk.Tool{fits, wrong}) // as after a fault of the memory
	h := single(t, p, host.Options{})
	tools, problems := h.Tools(t.Context())
	if len(tools) != 2 || len(problems) > 0 {
		t.Fatalf("listed %d tools, with the problems %v", len(tools), problems)
	}
	for call, want := range map[string]string{
		`test__fits {"n":1}`: "", `test__fits {"n":"x"}`: "must be an integer",
		`test__wrong {}`: "its input schema cannot be used",
	} {
		name, text, _ := strings.Cut(call, " ")
		got := h.Call(t.Context(), host.Call{Tool: name, Arguments: json.RawMessage(text)})
		switch {
		case want == "" && got.Error != nil, want != "" && (got.Error == nil || !strings.Contains(got.Error.Message, want)):
			t.Errorf("%s: %v, want %q", call, got.Error, want)
		}
	}
	if n := p.called.Load(); n != 1 {
		t.Errorf("%d calls reached the plugin", n)
	}
}

// Only tools without any flaw are remembered: what is wrong with others is found by each listing.
func TestFlawedDefinitionsAreNotRemembered(t *testing.T) {
	good := tool("good")
	for name, second := range map[string]struct {
		change func(*sdk.Tool)
		keep   bool
	}{
		"good":                  {func(*sdk.Tool) {}, true},
		"a wrong schema":        {func(d *sdk.Tool) { d.InputSchema = json.RawMessage(`{"type":"objekt"}`) }, false},
		"a wrong output schema": {func(d *sdk.Tool) { d.OutputSchema = json.RawMessage(`{"type":"objekt"}`) }, false},
		"a part not checked": {func(d *sdk.Tool) {
			d.InputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"pattern":"(a)\\1"}}}`)
		}, false},
		"no description":            {func(d *sdk.Tool) { d.Description = "" }, false},
		"a name that is not a name": {func(d *sdk.Tool) { d.Name = "a b" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := tool("second")
			second.change(&d)
			p := &checkCachePlugin{fake: answering(&sdk.Result{}, nil, good, d)}
			var before []string
			for range 2 {
				tools, problems := single(t, p, host.Options{}).Tools(t.Context())
				var now []string
				for _, listed := range tools {
					now = append(now, listed.Name, strings.Join(listed.Unchecked, "; "))
				}
				for _, problem := range problems {
					now = append(now, problem.Error())
				}
				if before != nil && !reflect.DeepEqual(before, now) {
					t.Errorf("listed as %q, then as %q", before, now)
				}
				before = now
			}
			if kept := len(p.checked) > 0; kept != second.keep {
				t.Errorf("remembered: %t", kept)
			}
		})
	}
}
