package mcpserver

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

// A call belongs to the trace that its request's _meta names, otherwise to that of the request's headers.
func TestTraceOfAClient(t *testing.T) {
	const (
		inMeta   = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		inHeader = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		params   = `{"name":"p__t","arguments":{}`
		meta     = `,"_meta":{"traceparent":"` + inMeta + `","tracestate":"a=1"}`
	)
	p := &fake{tools: []sdk.Tool{readOnly("t")}}
	p.call = func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		return sdk.Text("<" + r.TraceParent + " " + r.TraceState + ">"), nil
	}
	s := &setup{plugins: map[string]*fake{"p": p}}
	server := s.server(t)
	web := listenFor(t, server)
	web.handshake()
	for _, c := range []struct{ params, header, state, want string }{ // headers, of one or more lines
		{params + "}", "", "", "< >"},
		{params + meta + "}", inHeader, "b=2", "<" + inMeta + " a=1>"},
		{params + "}", inHeader, "", "<" + inHeader + " >"},
		{params + "}", inHeader, "a=1,b=2\nc=3", "<" + inHeader + " a=1,b=2,c=3>"},
		{params + "}", inHeader, "\na=1", "<" + inHeader + " a=1>"},
		{params + "}", inHeader + "\n" + inMeta, "a=1", "< >"},
		{params + `,"_meta":{"traceparent":7}}`, "", "", "< >"},
	} {
		out := web.post(t.Context(), `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":`+c.params+`}`,
			"Traceparent", c.header, "Tracestate", c.state)
		r := web.response(out.Body, "x")
		_ = out.Body.Close()
		var got struct{ Content []struct{ Text string } }
		if err := json.Unmarshal(r.Result, &got); err != nil || len(got.Content) != 1 || got.Content[0].Text != c.want {
			t.Errorf("of %s and the header %q the plugin gets %s, not %s", c.params, c.header, r.Result, c.want)
		}
	}
}
