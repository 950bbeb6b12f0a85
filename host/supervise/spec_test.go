package supervise

import (
	"reflect"
	"testing"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

// What is done to a spec after it was given changes nothing.
func TestSpecsAreCopied(t *testing.T) {
	t.Parallel()
	no := false
	make1 := func() Spec {
		return Spec{Name: "a", Command: []string{"run", "x"}, Env: map[string]string{"A": "1"}, Config: []byte(`{"a":1}`), Idempotent: []string{"get"},
			Sandbox: sandbox.Spec{Write: []string{"/w"}, Read: []string{"/r"}, Wrapper: []string{"bwrap"}, Network: &no}}
	}
	given := make1()
	taken := given.complete("/")
	given.Command[1], given.Env["A"], given.Idempotent[0] = "y", "2", "set"
	copy(given.Config, "??????")
	given.Sandbox.Write[0], given.Sandbox.Read[0], given.Sandbox.Wrapper[0], *given.Sandbox.Network = "/", "/", "sh", true
	no = false
	if want := make1().complete("/"); !reflect.DeepEqual(taken, want) {
		t.Errorf("%+v, want %+v", taken, want)
	}
	if *taken.Sandbox.Network {
		t.Error("the network is allowed")
	}
}
