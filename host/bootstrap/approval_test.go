package bootstrap

import (
	"context"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
)

// An approval that is revoked elsewhere holds no more once the change is reported and the host reloads, also when the
// configuration cannot be used just then.
func TestRevokedElsewhere(t *testing.T) {
	for name, config := range map[string]string{"reloaded": "", "not reloaded": "plugin {\n"} {
		t.Run(name, func(t *testing.T) {
			trusting(t)
			asked := 0
			i := withServices(t, "", Options{Approver: host.ApproverFunc(
				func(context.Context, *host.ApprovalRequest) (host.Answer, error) {
					asked++
					return host.Answer{Approved: true, Scope: host.ScopeTool, Saved: true}, nil
				})})
			changes := i.Changes(t.Context())
			call := func(want int) {
				t.Helper()
				r := i.Catalog().Call(t.Context(), host.Call{Tool: "greet__send", Arguments: []byte(`{"name":"Ann"}`)})
				if r.Error != nil || asked != want {
					t.Fatalf("%q %v; asked %d times, want %d", r.Text(), r.Error, asked, want)
				}
			}
			reload := func(works bool) {
				t.Helper()
				select {
				case <-changes:
				case <-time.After(time.Minute):
					t.Fatal("a change of the remembered approvals is not reported")
				}
				if _, err := i.Reload(t.Context()); (err == nil) != works {
					t.Fatal(err)
				}
			}
			call(1)
			reload(true)
			call(1)
			saved, err := Answers()
			if err != nil || len(saved) != 1 {
				t.Fatal(saved, err)
			}
			if config != "" {
				writeConfig(t, i.Config().Path, config)
				reload(false)
			}
			if found, err := RevokeAnswer(saved[0].ID); err != nil || !found {
				t.Fatal(found, err)
			}
			reload(config == "")
			call(2)
		})
	}
}
