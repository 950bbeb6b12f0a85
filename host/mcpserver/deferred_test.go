package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// many are tools with descriptions and schemas of the usual size.
func many(n int) (tools []sdk.Tool) {
	for i := range n {
		tool := readOnly(fmt.Sprintf("tool%d", i))
		tool.Description = fmt.Sprintf("Handles records of kind %d. ", i) + strings.Repeat("It says more about itself. ", 10)
		tool.InputSchema = json.RawMessage(`{"type":"object","properties":{"record":{"type":"string"},` +
			`"n":{"type":"integer"}}}`)
		tools = append(tools, tool)
	}
	return tools
}

// 500 tools cost a client less than 2,000 tokens at first.
func TestDeferredListIsSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a slow machine takes as long as it needs
		plugins := map[string]*fake{}
		for i := range 5 {
			plugins[fmt.Sprintf("p%d", i)] = &fake{tools: many(100)}
		}
		w := (&setup{plugins: plugins, options: Options{Deferred: true}}).stdio(t)
		w.handshake("2025-11-25", "{}")
		r := w.request("tools/list", "")
		if got := names(t, r); !slices.Equal(got, []string{"toolhost__call", "toolhost__search"}) {
			t.Errorf("listed %q", got)
		}
		if tokens := len(r.Result) / 3; tokens > 2000 { // a token has about four characters
			t.Errorf("about %d tokens: %s", tokens, r.Result)
		}
		found := w.request("tools/call", `{"name":"toolhost__search","arguments":{"query":"p3__tool77"}}`)
		var result struct {
			StructuredContent struct{ Tools []struct{ Name string } }
		}
		if err := json.Unmarshal(found.Result, &result); err != nil || len(result.StructuredContent.Tools) == 0 ||
			result.StructuredContent.Tools[0].Name != "p3__tool77" {
			t.Errorf("found %s", found.Result)
		}
		got := w.request("tools/call",
			`{"name":"toolhost__call","arguments":{"tool":"p3__tool77","arguments":{"n":9007199254740993}}}`)
		if !strings.Contains(string(got.Result), `tool77 {\"n\":9007199254740993}`) {
			t.Errorf("got %s", got.Result)
		}
		if r := w.request("tools/call", `{"name":"p3__tool77"}`); r.Error == nil ||
			!strings.Contains(r.Error.Message, "toolhost__call") {
			t.Errorf("a tool that is not listed was called: %s", r.Result)
		}
		for _, wrong := range []string{`{}`, `{"tool":5}`, `{"tool":"p3__tool77","arguments":[]}`, `{"tool":"p3__tool7777"}`,
			`{"tool":"toolhost__call"}`, `{"tool":"p3__tool77","arguments":{"n":"x"}}`} {
			got := string(w.request("tools/call", `{"name":"toolhost__call","arguments":`+wrong+`}`).Result)
			if !strings.Contains(got, `"isError":true`) {
				t.Errorf("%s: got %s", wrong, got)
			}
		}
	})
}

// A search waits for plugins that start, and says which it left out.
func TestDeferredSearchSaysWhatWasNotSearched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &fake{hold: make(chan struct{})}
		w := (&setup{plugins: map[string]*fake{"slow": slow, "p": {tools: []sdk.Tool{readOnly("t"), readOnly("unserved")}},
			"q": {tools: []sdk.Tool{readOnly("Unserved")}}}, options: Options{Deferred: true, PlainNames: true}}).stdio(t)
		w.handshake("2025-11-25", "{}")
		for query, want := range map[string]string{"t": `"not_searched":["plugin \"slow\" did not list`,
			"unserved":   `"tools":[],"not_searched":["plugin \"slow\" did not list`,
			"xyzzyqwert": `Not searched: plugin \"slow\" did not list`} {
			r := w.request("tools/call", `{"name":"toolhost__search","arguments":{"query":"`+query+`"}}`)
			if !strings.Contains(string(r.Result), want) {
				t.Errorf("%s: found %s, %+v", query, r.Result, r.Error)
			}
		}
		close(slow.hold)
	})
}

// Approval is about the tool that is called, not about the call tool.
func TestDeferredCallIsApprovedAsItsTool(t *testing.T) {
	write := changing("write")
	write.Previews = true
	p := &fake{tools: []sdk.Tool{write, readOnly("read")},
		preview: func() *sdk.Preview { return &sdk.Preview{Content: sdk.Text("the diff of x").Content} },
		call: func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
			return sdk.Text("did " + r.Tool), nil
		}}
	w := (&setup{plugins: map[string]*fake{"p": p}, options: Options{Deferred: true, List: []string{"p__r*"}}}).stdio(t)
	w.handshake("2025-11-25", canElicit)
	if got := names(t, w.request("tools/list", "")); !slices.Equal(got,
		[]string{"p__read", "toolhost__call", "toolhost__search"}) {
		t.Errorf("listed %q", got)
	}
	if got := string(w.request("tools/call", `{"name":"p__read"}`).Result); !strings.Contains(got, "did read") {
		t.Errorf("got %s", got)
	}
	const call = `"name":"toolhost__call","arguments":{"tool":"p__write","arguments":{"path":"x"}}`
	id := w.begin("tools/call", "{"+call+"}")
	if asked := string(w.answerNext("elicitation/create", yes)); !strings.Contains(asked, "p__write") ||
		!strings.Contains(asked, `{\"path\":\"x\"}`) || !strings.Contains(asked, "the diff of x") {
		t.Errorf("asked %s", asked)
	}
	if got := string(w.await(id).Result); !strings.Contains(got, "did write") {
		t.Errorf("got %s", got)
	}
	_, state := required(t, w.request("tools/call", modernParams("{"+call+"}", canElicit)))
	r := w.request("tools/call", modernParams(answered(call, approvalKey, yes, state), canElicit))
	if !strings.Contains(string(r.Result), "did write") {
		t.Errorf("got %s", r.Result)
	}
}

// So are rules, of which a denied tool is not there, and limits.
func TestDeferredCallKeepsToTheRulesOfItsTool(t *testing.T) {
	rules, err := policy.New(policy.Layer{Name: "project", Rules: []policy.Rule{{Name: "no deletion",
		Tools: []string{"p__delete"}, Effect: policy.Deny, Reason: "not here"}}})
	if err != nil {
		t.Fatal(err)
	}
	p := &fake{tools: []sdk.Tool{readOnly("read"), readOnly("delete")}}
	w := (&setup{plugins: map[string]*fake{"p": p}, options: Options{Deferred: true}, host: host.Options{Policy: rules,
		Tools: map[string]host.ToolOptions{"p__read": {Limits: host.Limits{MaxCalls: 2}}}}}).stdio(t)
	w.handshake("2025-11-25", "{}")
	for _, call := range []struct{ tool, code string }{
		{"p__read", ""}, {"p__delete", "E_TOOL_NOT_FOUND"}, {"p__read", ""}, {"p__read", "E_LIMIT"},
	} {
		r := w.request("tools/call", `{"name":"toolhost__call","arguments":{"tool":"`+call.tool+`","arguments":{}}}`)
		if got := string(r.Result); strings.Contains(got, `"isError":true`) != (call.code != "") ||
			!strings.Contains(got, call.code) {
			t.Errorf("%s: got %s, want %q", call.tool, got, call.code)
		}
	}
	if p.made() != 2 {
		t.Errorf("%d calls ran", p.made())
	}
}

// records is a record of calls in memory.
type records struct {
	mu  sync.Mutex
	all []audit.Record
}

func (r *records) Append(record audit.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, record)
	return nil
}

// last is the last call in the record: tool, code and caller.
func (r *records) last() (calls int, last string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, record := range r.all {
		if record.Kind == audit.KindCall {
			calls++
			last = fmt.Sprintf("%s %s %s", record.Tool, cmp.Or(record.Code, record.Status), record.Caller)
		}
	}
	return calls, last
}

// Every call is in the record, once: those of the search too, and those of names that are not served, which the host
// may know and does not run.
func TestEveryCallIsRecorded(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		calls   [][2]string // params, and the record
	}{
		"deferred": {Options{Deferred: true}, [][2]string{
			{`{"name":"toolhost__search","arguments":{"query":"do a"}}`, "toolhost__search ok mcp"},
			{`{"name":"toolhost__search","arguments":{"query":5}}`, "toolhost__search E_TOOL_INVALID_ARGS mcp"},
			{`{"name":"p__a"}`, "p__a E_TOOL_NOT_IN_CATALOG mcp"},
			{`{"name":"nothing"}`, "nothing E_TOOL_NOT_FOUND mcp"},
			{`{"name":"toolhost__call","arguments":{"tool":"p__zzz"}}`, "p__zzz E_TOOL_NOT_FOUND mcp"},
			{`{"name":"toolhost__call","arguments":[]}`, "toolhost__call E_TOOL_NOT_FOUND mcp"},
			{`{"name":"toolhost__call","arguments":{"tool":"p__a"}}`, "p__a ok mcp"},
		}},
		"plain names": {Options{PlainNames: true}, [][2]string{
			{`{"name":"a"}`, "p__a ok mcp"},
			{`{"name":"p__a"}`, "p__a E_TOOL_NOT_IN_CATALOG mcp"},
			{`{"name":"toolhost__search","arguments":{"query":"a"}}`, "toolhost__search E_TOOL_INVALID_ARGS mcp"},
			{`{"name":"mcp://p/a"}`, "mcp://p/a E_TOOL_NOT_FOUND mcp"},
			{`{}`, " E_TOOL_NOT_FOUND mcp"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			kept := &records{}
			p := &fake{tools: []sdk.Tool{readOnly("a")}}
			w := (&setup{plugins: map[string]*fake{"p": p}, options: test.options, host: host.Options{Audit: kept}}).stdio(t)
			w.handshake("2025-11-25", "{}")
			names(t, w.request("tools/list", ""))
			for i, call := range test.calls {
				w.request("tools/call", call[0])
				if n, last := kept.last(); n != i+1 || last != call[1] {
					t.Errorf("%s: %d calls are recorded, the last is %q; want %d, %q", call[0], n, last, i+1, call[1])
				}
			}
			if p.made() != 1 {
				t.Errorf("%d calls ran", p.made())
			}
		})
	}
}

// Rules are about the search too.
func TestSearchIsDeniedByARule(t *testing.T) {
	rules, err := policy.New(policy.Layer{Name: "project", Rules: []policy.Rule{{Name: "no search",
		Tools: []string{"toolhost__search"}, Effect: policy.Deny, Reason: "not here"}}})
	if err != nil {
		t.Fatal(err)
	}
	s := &setup{plugins: map[string]*fake{"p": {tools: many(3)}}, options: Options{Deferred: true},
		host: host.Options{Policy: rules}}
	w := s.stdio(t)
	w.handshake("2025-11-25", "{}")
	got := w.request("tools/call", `{"name":"toolhost__search","arguments":{"query":"records"}}`)
	if !strings.Contains(string(got.Result), "E_DENIED") || strings.Contains(string(got.Result), "p__tool") {
		t.Errorf("got %s", got.Result)
	}
}
