package host_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// A call over a limit is refused before anything that takes time: no preview, no question, no decision in the record. Its
// end is recorded, for later.
func TestOverALimitNothingIsDone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, a := &records{}, &asked{answers: []host.Answer{host.Yes()}}
		o := onPlugin(host.Limits{Concurrency: 1, Queue: -1})
		o.Audit, o.Approver = log, a
		o.Policy = must(policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{{Name: "all", Effect: policy.Ask}}}))
		w := newWorker("run")
		q := queue{host: single(t, w, o)}
		q.add(t.Context(), taking("first", "run", time.Minute))
		asked, recorded := len(a.questions), len(log.soFar())
		r := q.host.Call(t.Context(), taking("second", "run", 0))
		if e := failed(t, r, sdk.CodeLimit); e.Outcome != sdk.OutcomeNotSent || r.Plugin != "test" {
			t.Errorf("error %+v of plugin %q", e, r.Plugin)
		}
		if len(a.questions) != asked || len(log.soFar()) != recorded+1 {
			t.Fatalf("%d questions, %d records", len(a.questions), len(log.soFar()))
		}
		last := log.soFar()[recorded]
		if last.Kind != audit.KindCall || last.Code != "E_LIMIT" || !last.Later || last.Sync || last.Tool != "test__run" || last.Plugin != "test" || len(last.Arguments) == 0 {
			t.Errorf("record %+v", last)
		}
		q.all()
		if last := log.soFar()[len(log.soFar())-1]; last.CallID != "first" || last.Later {
			t.Errorf("record %+v", last)
		}
	})
}

// One plugin without limits of its own does not take all that the host can run: others go on beside its flood.
func TestFloodLeavesRoomForOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newHost(t, map[string]host.Plugin{"test": newWorker("run"), "other": newWorker("run")}, host.Options{MaxConcurrency: 16})
		q := queue{host: h}
		for i := range 200 {
			c := taking(fmt.Sprint(i), "run", time.Minute)
			c.SessionID = fmt.Sprint(i)
			q.add(t.Context(), c)
		}
		began := time.Now()
		c := taking("other", "run", time.Second)
		c.Tool = "other__run"
		succeeded(t, h.Call(t.Context(), c))
		if took := time.Since(began); took != time.Second {
			t.Errorf("the other plugin's call took %s", took)
		}
		ran, refused := 0, 0
		synctest.Wait()
		for _, r := range q.all() {
			switch {
			case r.Error == nil:
				ran++
			case r.Error.Code == sdk.CodeLimit:
				refused++
			}
		}
		if ran != 12+48 || ran+refused != 200 { // three quarters of 16, and of 64 in line
			t.Errorf("%d ran, %d were refused", ran, refused)
		}
	})
}
