package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

func xs(n int) string { return strings.Repeat("x", n) }

// numbered returns n tools, the last first.
func numbered(n int) (out []sdk.Tool) {
	for i := range n {
		out = append(out, tool(fmt.Sprintf("t%05d", n-1-i)))
	}
	return out
}

func TestLimitOfTools(t *testing.T) {
	t.Parallel()
	for n, want := range map[int][]string{
		2048: nil,
		2049: {`plugin "test" declares 2049 tools, at most 2048 are allowed: those from "t02048" on, by name, are left out`},
		10_000: {`plugin "test" declares 10000 tools, at most 2048 are allowed: those from "t02048" on, by name, are left ` +
			`out`},
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			p := answering(sdk.Text("fine"), nil, numbered(n)...)
			h := newHost(t, map[string]host.Plugin{"test": p, "other": answering(sdk.Text("fine"), nil)}, host.Options{})
			tools, problems := h.Tools(t.Context())
			diff(t, want, texts(problems))
			if len(tools) != 2049 || tools[2048].Name != "test__t02047" {
				t.Errorf("%d tools, the last %s", len(tools), tools[len(tools)-1].Name)
			}
			succeeded(t, h.Call(t.Context(), call("test__t02047", "")))
			succeeded(t, h.Call(t.Context(), call("other__run", "")))
			if n > 2048 {
				e := failed(t, h.Call(t.Context(), call("test__t02048", "")), sdk.CodeToolNotFound)
				if !strings.Contains(e.Message, "at most 2048 are allowed") {
					t.Errorf("error %+v", e)
				}
			}
		})
	}
}

// A catalog reports excess tools too: they may be those that it selects.
func TestExcessToolsInACatalog(t *testing.T) {
	t.Parallel()
	h := single(t, answering(nil, nil, numbered(2100)...), host.Options{})
	c, err := h.Catalog(host.Filter{Tools: []string{"test__t0209*"}})
	if err != nil {
		t.Fatal(err)
	}
	if tools, problems := c.Tools(t.Context()); len(tools) != 0 || len(problems) != 1 ||
		!strings.Contains(problems[0].Error(), "declares 2100 tools") {
		t.Errorf("tools %v, problems %v", names(tools), problems)
	}
}

// A name that is declared twice is excluded, also when the second is over the limit.
func TestDoubledNameOverTheLimit(t *testing.T) {
	t.Parallel()
	defined := append(numbered(2048), tool("t02047"))
	tools, _ := single(t, answering(nil, nil, defined...), host.Options{}).Tools(t.Context())
	if len(tools) != 2047 || slices.Contains(names(tools), "test__t02047") {
		t.Errorf("%d tools", len(tools))
	}
}

func TestLimitsOfDefinitions(t *testing.T) {
	t.Parallel()
	schema := func(n int) json.RawMessage {
		const around = len(`{"type":"object","$comment":""}`)
		return json.RawMessage(`{"type":"object","$comment":"` + xs(n-around) + `"}`)
	}
	for name, c := range map[string]struct {
		limit int
		with  func(n int, d *sdk.Tool)
		words string
	}{
		"title": {256, func(n int, d *sdk.Tool) { d.Title = xs(n) }, "the title has 257 bytes; the limit is 256"},
		"description": {8192, func(n int, d *sdk.Tool) { d.Description = xs(n) },
			"the description has 8193 bytes; the limit is 8192"},
		"category": {64, func(n int, d *sdk.Tool) { d.Category = xs(n) }, "the category has 65 bytes; the limit is 64"},
		"input schema": {262144, func(n int, d *sdk.Tool) { d.InputSchema = schema(n) },
			"is 262145 bytes long, the limit is 262144"},
		"output schema": {262144, func(n int, d *sdk.Tool) { d.OutputSchema = schema(n) },
			"is 262145 bytes long, the limit is 262144"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			within, over := toolWith("within", func(d *sdk.Tool) { c.with(c.limit, d) }),
				toolWith("over", func(d *sdk.Tool) { c.with(c.limit+1, d) })
			h := single(t, answering(sdk.Text("fine"), nil, within, over), host.Options{})
			tools, problems := h.Tools(t.Context())
			diff(t, []string{"test__within"}, names(tools))
			if len(problems) != 1 || !strings.Contains(problems[0].Error(), c.words) {
				t.Errorf("problems %v, want %q", problems, c.words)
			}
		})
	}
}

func TestLimitsOfACallsNames(t *testing.T) {
	t.Parallel()
	p := answering(sdk.Text("fine"), nil)
	h := single(t, p, host.Options{})
	for name, c := range map[string]struct {
		limit int
		with  func(n int, c *host.Call)
	}{
		"call id":     {256, func(n int, c *host.Call) { c.ID = xs(n) }},
		"session id":  {256, func(n int, c *host.Call) { c.SessionID = xs(n) }},
		"caller":      {256, func(n int, c *host.Call) { c.Caller = xs(n) }},
		"work folder": {4096, func(n int, c *host.Call) { c.Workdir = "/" + xs(n-1) }},
	} {
		within, over := call("test__run", ""), call("test__run", "")
		c.with(c.limit, &within)
		c.with(c.limit+1, &over)
		succeeded(t, h.Call(t.Context(), within))
		e := failed(t, h.Call(t.Context(), over), sdk.CodeInvalidArgs)
		if want := fmt.Sprintf("the %s has %d bytes, at most %d are allowed; nothing was run", name, c.limit+1,
			c.limit); e.Message != want {
			t.Errorf("%q, want %q", e.Message, want)
		}
	}
	if n := p.called.Load(); n != 4 {
		t.Errorf("%d calls were run", n)
	}
}

func TestLimitOfArguments(t *testing.T) {
	t.Parallel()
	h := single(t, answering(sdk.Text("fine"), nil), host.Options{})
	of := func(n int) string { return `{"a":"` + xs(n-8) + `"}` }
	succeeded(t, h.Call(t.Context(), call("test__run", of(sdk.MaxArguments))))
	e := failed(t, h.Call(t.Context(), call("test__run", of(sdk.MaxArguments+1))), sdk.CodeInvalidArgs)
	if !strings.Contains(e.Message, "1048576") {
		t.Errorf("error %+v", e)
	}
}

func TestHelpURLs(t *testing.T) {
	t.Parallel()
	const site = "https://example.com/"
	for link, stays := range map[string]bool{
		"": true, site: true, site + xs(2048-len(site)): true, site + xs(2049-len(site)): false, "javascript:alert(1)": false,
		"file:///etc/passwd": false,
		"https:///a":         false, site + "\u202e": false, site + "\x1b[2J": false, "see there": false,
	} {
		h := single(t, answering(&sdk.Result{Error: &sdk.Error{Message: "m", HelpURL: link}}, nil), host.Options{})
		e := failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeTool)
		if (e.HelpURL == link) != stays || !stays && e.HelpURL != "" {
			t.Errorf("%.60q becomes %q", link, e.HelpURL)
		}
	}
	h := single(t, answering(nil, nil), host.Options{})
	e := failed(t, h.Call(t.Context(), call("no__such", "")), sdk.CodeToolNotFound)
	if want := "/docs/troubleshooting.md#e_tool_not_found"; !strings.HasSuffix(e.HelpURL, want) {
		t.Errorf("an error of the host leads to %q, want %s", e.HelpURL, want)
	}
}

// withOutput is a tool whose structured results have a number n.
func withOutput(r *sdk.Result) *fake {
	return answering(r, nil, toolWith("run", func(d *sdk.Tool) {
		d.OutputSchema = json.RawMessage(`{"type":"object","required":["n"],"properties":{"n":{"type":"number"}}}`)
	}))
}

func TestOutputSchema(t *testing.T) {
	t.Parallel()
	structured := func(s string) *sdk.Result {
		return &sdk.Result{Content: []sdk.Content{sdk.TextContent("as text")}, Structured: json.RawMessage(s)}
	}
	for name, c := range map[string]struct {
		result *sdk.Result
		words  string // "" when it fits
	}{
		"fits":         {structured(`{"n":1}`), ""},
		"none":         {sdk.Text("as text"), ""},
		"of a failure": {&sdk.Result{Error: &sdk.Error{Message: "m"}, Structured: json.RawMessage(`{}`)}, ""},
		"lacks a member": {structured(`{}`),
			`does not fit its output schema and is left out: required property "n" is missing`},
		"of another type":  {structured(`{"n":"1"}`), "n: must be a number"},
		"absurd number":    {structured(`{"n":1e1000000}`), "too large an exponent"},
		"doubled names":    {structured(`{"n":1,"n":2}`), "given twice"},
		"over 4 MiB":       {structured(`{"n":1,"a":"` + xs(4<<20) + `"}`), "the limit is 4194304"},
		"not what it says": {structured(`[]`), "must be an object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := single(t, withOutput(c.result), host.Options{}).Call(t.Context(), call("test__run", ""))
			if c.words == "" {
				if r.Error != nil && r.Error.Code != sdk.CodeTool {
					t.Errorf("error %+v", r.Error)
				}
				diff(t, string(c.result.Structured), string(r.Structured))
				return
			}
			e := failed(t, r, sdk.CodeProtocol)
			if e.Name != "InvalidOutput" || !strings.Contains(e.Message, c.words) || !strings.Contains(e.Message, "has run") {
				t.Errorf("error %+v, want %q", e, c.words)
			}
			if r.Structured != nil || len(r.Content) != 1 || r.Content[0].Text != "as text" {
				t.Errorf("the result is %+v", r)
			}
			if c.result.Structured == nil {
				t.Error("the plugin's own result was changed")
			}
		})
	}
}

func TestPluginsReasonIsCut(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{1000: xs(1000), 1001: xs(1000) + "... (truncated)"} {
		p := denyingPreviewer{answering(sdk.Text("done"), nil, toolWith("run", func(d *sdk.Tool) { d.Previews = true })),
			xs(n)}
		e := failed(t, single(t, p, host.Options{ErrorMessageLimit: 5000}).Call(t.Context(), call("test__run", "")),
			sdk.CodeDenied)
		var details struct{ Reason string }
		if err := json.Unmarshal(e.Details, &details); err != nil || details.Reason != want {
			t.Errorf("%d characters become %d", n, len(details.Reason))
		}
	}
}

// denyingPreviewer is a plugin whose previews deny calls with a reason.
type denyingPreviewer struct {
	*fake
	reason string
}

func (p denyingPreviewer) Preview(context.Context, *sdk.Request) (*sdk.Preview, error) {
	return &sdk.Preview{Effect: "deny", Reason: p.reason}, nil
}

// Every call has a result, and a plugin receives only valid JSON that matches its schema.
func FuzzCall(f *testing.F) {
	f.Add("test__open", []byte(`{"a":1}`))
	f.Add("test__strict", []byte(`{"path":"a","count":3}`))
	f.Add("test__strict", []byte(`{"path":"a","count":30}`))
	f.Add("test__opne", []byte(`{}`))
	f.Add("", []byte(``))
	f.Add("test__", []byte("{}\x00"))
	f.Add("\xff__\xff", []byte(`{"a":"\ud800"}`))
	strict := tool("strict")
	strict.InputSchema = json.RawMessage(`{"type":"object","required":["path"],"additionalProperties":false,
		"properties":{"path":{"type":"string"},"count":{"type":"integer","minimum":1,"maximum":9}}}`)
	var got *sdk.Request
	h := single(f, calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		got = r
		return sdk.Text("ran"), nil
	}, tool("open"), strict), host.Options{})
	f.Fuzz(func(t *testing.T, name string, arguments []byte) {
		got = nil
		r := h.Call(t.Context(), host.Call{Tool: name, Arguments: arguments})
		switch {
		case (r.Error == nil) != (r.Status == host.StatusOK) || (r.Error == nil) != (got != nil):
			t.Errorf("result %+v, though the plugin got %+v", r, got)
		case r.Error != nil && r.Error.Code != sdk.CodeToolNotFound && r.Error.Code != sdk.CodeInvalidArgs:
			t.Errorf("error %+v", r.Error)
		case r.Error != nil && !utf8.ValidString(r.Error.Message+r.Error.Suggestion):
			t.Errorf("error %+v", r.Error)
		case got != nil && !json.Valid(got.Arguments):
			t.Errorf("the plugin got %q", got.Arguments)
		}
		if got != nil && got.Tool == "strict" {
			var in struct {
				Path  *string
				Count float64
			}
			if err := json.Unmarshal(got.Arguments, &in); err != nil || in.Path == nil || in.Count < 0 || in.Count > 9 {
				t.Errorf("the strict tool got %s", got.Arguments)
			}
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
	})
}
