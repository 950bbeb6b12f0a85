package supervise

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

// A call that was decided on before a reload is not made of a tool that is another since, whether the plugin ran or not.
func TestACallIsOfTheToolThatWasListed(t *testing.T) {
	t.Parallel()
	for name, runs := range map[string]bool{"runs": true, "does not run": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran := t.TempDir()
			p := add(t, supervisor(t), counting("1", "TOOLS=gone"))
			listed := map[string]sdk.Tool{}
			for _, tool := range must(p.Tools(t.Context())) {
				listed[tool.Name] = tool
			}
			if !runs {
				p.Reset()
				_ = mustStop(t, p)
			}
			mustReload(t, p, counting("2", "DIR="+ran))
			ask := func(name string, was sdk.Tool) error {
				r := request(name, "")
				r.CallID, r.Listed = name, &was
				_, err := p.Call(t.Context(), r)
				return err
			}
			if err := ask("count", listed["count"]); err != nil {
				t.Error(err)
			}
			err := ask("gone", listed["gone"])
			checkError(t, err, sdk.CodeToolNotFound, "nothing was run")
			checkOutcome(t, err, sdk.OutcomeNotSent)
			other := listed["count"]
			other.Hints.Destructive = sdk.Yes
			err = ask("count", other)
			checkError(t, err, sdk.CodePluginUnavailable, "another now")
			checkOutcome(t, err, sdk.OutcomeNotSent)
			if text, _ := os.ReadFile(filepath.Join(ran, "count")); string(text) != "x" {
				t.Errorf("runs: %q", text)
			}
		})
	}
}

// mustStop kills the plugin's process, and waits until that is known.
func mustStop(t *testing.T, p *Process) error {
	t.Helper()
	g, err := p.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g.child.kill()
	soon(t, "its end is known", patience, func() bool { return p.Status().State == Crashed })
	return err
}

// Whatever differs makes another definition.
func TestSameDefinition(t *testing.T) {
	full := func() *sdk.Tool {
		return &sdk.Tool{Name: "n", InputSchema: []byte("{}"), OutputSchema: []byte("{}"), Hints: sdk.Hints{ReadOnly: new(true)}}
	}
	if !sameDefinition(full(), full()) || sameDefinition(full(), nil) || !sameDefinition(nil, nil) {
		t.Error("equal definitions are not the same, or others are")
	}
	fields := reflect.TypeFor[sdk.Tool]()
	for i := range fields.NumField() {
		other := full()
		change(t, reflect.ValueOf(other).Elem().Field(i))
		if sameDefinition(full(), other) {
			t.Errorf("another %s is not seen", fields.Field(i).Name)
		}
	}
	hints := reflect.TypeFor[sdk.Hints]()
	for i := range hints.NumField() {
		other := full()
		reflect.ValueOf(&other.Hints).Elem().Field(i).Set(reflect.ValueOf(new(false)))
		if sameDefinition(full(), other) {
			t.Errorf("another hint %s is not seen", hints.Field(i).Name)
		}
	}
}

// change gives a field another value.
func change(t *testing.T, f reflect.Value) {
	t.Helper()
	switch f.Kind() {
	case reflect.String:
		f.SetString("other")
	case reflect.Int64:
		f.SetInt(7)
	case reflect.Bool:
		f.SetBool(true)
	case reflect.Slice:
		f.SetBytes([]byte("[]"))
	case reflect.Struct:
		f.SetZero()
	default:
		t.Fatalf("a field of kind %s is not known here", f.Kind())
	}
}

// What the end of a process's time makes of a call depends on what the call has come to.
func TestCutVisits(t *testing.T) {
	for name, c := range map[string]struct {
		err       error
		broken    bool
		delivered bool
	}{
		"not sent":         {&sdk.Error{Code: sdk.CodeCanceled, Outcome: sdk.OutcomeNotSent}, true, false},
		"sent":             {&sdk.Error{Code: sdk.CodeCanceled, Outcome: sdk.OutcomeUnknown}, true, true},
		"answered":         {&sdk.Error{Code: sdk.CodeResultTooLarge, Outcome: sdk.OutcomeFailed}, false, false},
		"broken before":    {&sdk.BrokenError{Err: errors.New("no stream")}, true, false},
		"broken in it":     {&sdk.BrokenError{Delivered: true, Err: errors.New("no answer")}, true, true},
		"of a preview":     {&sdk.Error{Code: sdk.CodeCanceled}, true, true},
		"ended by success": {nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := &visit{}
			v.ctx, v.cancel = context.WithCancelCause(t.Context())
			v.cancel(errCut)
			b, ok := v.broken(c.err)
			if ok != c.broken || ok && b.Delivered != c.delivered {
				t.Errorf("broken %t, %+v", ok, b)
			}
		})
	}
}

// What was looked up for a spec is not kept when the plugin has been given another meanwhile.
func TestRecalledForAnotherSpec(t *testing.T) {
	p := add(t, supervisor(t), counting("1"))
	p.recall = func(context.Context, Spec) *sdk.Description {
		p.recall = nil
		mustReload(t, p, counting("2", "TOOLS=new"))
		return &sdk.Description{Tools: []sdk.Tool{{Name: "old"}}}
	}
	if got := toolNames(t, p); len(got) != 4 || got[3] != "new" {
		t.Errorf("the tools are %v", got)
	}
}
