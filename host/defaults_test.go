package host_test

import (
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// Calls of a catalog have its caller, session and work folder unless they name others: for rules, limits, the plugin and
// the record.
func TestCatalogWithDefaults(t *testing.T) {
	t.Parallel()
	w, log := newWitness(tool("a"), tool("b")), &records{}
	h := single(t, w, host.Options{Audit: log, Workdir: "/host", Policy: must(policy.New(policy.Layer{Name: "user",
		Rules: []policy.Rule{{Name: "strangers", Callers: []string{"stranger"}, Effect: policy.Deny}}}))})
	plain := must(h.Catalog(host.Filter{}))
	sub := plain.WithDefaults(host.CallDefaults{Caller: "sub", SessionID: "s", Workdir: "/sub"})
	narrow := must(sub.Narrow(host.Filter{Tools: []string{"test__a"}}))
	cases := map[string]struct {
		catalog *host.Catalog
		call    host.Call
		want    [3]string
	}{
		"none":              {plain, host.Call{}, [3]string{"", "", "/host"}},
		"all":               {sub, host.Call{}, [3]string{"sub", "s", "/sub"}},
		"narrowed":          {narrow, host.Call{}, [3]string{"sub", "s", "/sub"}},
		"the call's caller": {sub, host.Call{Caller: "own"}, [3]string{"own", "s", "/sub"}},
		"the call's own":    {narrow, host.Call{Caller: "own", SessionID: "own", Workdir: "/own"}, [3]string{"own", "own", "/own"}},
		"one more":          {sub.WithDefaults(host.CallDefaults{SessionID: "s2"}), host.Call{}, [3]string{"sub", "s2", "/sub"}},
	}
	for name, c := range cases {
		c.call.Tool = "test__a"
		for _, r := range []*host.Result{c.catalog.Call(t.Context(), c.call), c.catalog.CallAll(t.Context(), []host.Call{c.call}, host.BatchOptions{})[0]} {
			succeeded(t, r)
			last, got := log.all[len(log.all)-1], w.got[len(w.got)-1]
			if ran := [3]string{last.Caller, got.SessionID, got.Workdir}; ran != c.want || last.SessionID != got.SessionID || last.Workdir != got.Workdir {
				t.Errorf("%s: ran as %q, want %q; record %+v", name, ran, c.want, last)
			}
		}
	}
	failed(t, narrow.Call(t.Context(), call("test__b", "")), sdk.CodeNotInCatalog)
	stranger := plain.WithDefaults(host.CallDefaults{Caller: "stranger"})
	failed(t, stranger.Call(t.Context(), call("test__a", "")), sdk.CodeDenied)
	if d, err := stranger.Explain(t.Context(), call("test__a", "")); err != nil || d.Effect != policy.Deny {
		t.Errorf("decision %+v, %v", d, err)
	}
	nowhere := plain.WithDefaults(host.CallDefaults{Workdir: "relative"})
	if e := failed(t, nowhere.Call(t.Context(), call("test__a", "")), sdk.CodeInvalidArgs); e.Name != "BadWorkdir" {
		t.Errorf("error %+v", e)
	}
}
