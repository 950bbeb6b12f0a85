package mcpserver

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/sdk"
)

// One plugin hangs and one cannot be started: the others are listed at once, and theirs come when they are known.
func TestListDoesNotWaitForOnePlugin(t *testing.T) {
	slow := &fake{tools: []sdk.Tool{readOnly("late")}, hold: make(chan struct{})}
	s := &setup{plugins: map[string]*fake{
		"good": {tools: []sdk.Tool{readOnly("b"), readOnly("a")}}, "slow": slow, "down": {err: errDown}}}
	w := s.stdio(t)
	w.handshake("2025-11-25", "{}")
	began := time.Now()
	if got := names(t, w.request("tools/list", "")); !slices.Equal(got, []string{"good__a", "good__b"}) {
		t.Errorf("listed %q", got)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the list took %s", took)
	}
	close(slow.hold)
	if line := w.read(); !strings.Contains(line, "notifications/tools/list_changed") {
		t.Errorf("got %s", line)
	}
	if got := names(t, w.request("tools/list", "")); !slices.Equal(got, []string{"good__a", "good__b", "slow__late"}) {
		t.Errorf("listed %q", got)
	}
	if !strings.Contains(s.log.String(), "the program cannot be found") {
		t.Errorf("the log does not name the plugin that is down: %s", s.log)
	}
}

// The first list of a client comes within a second, and later ones at once, although a plugin hangs.
func TestListWaitsOnceForAPluginThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := &fake{hold: make(chan struct{})}
		w := (&setup{plugins: map[string]*fake{"good": {tools: []sdk.Tool{readOnly("a")}}, "stuck": stuck}}).stdio(t)
		w.handshake("2025-11-25", "{}")
		for i, most := range []time.Duration{time.Second, 0, 0} {
			began := time.Now()
			if got := names(t, w.request("tools/list", "")); !slices.Equal(got, []string{"good__a"}) {
				t.Errorf("listed %q", got)
			}
			if took := time.Since(began); took > most {
				t.Errorf("list %d took %s", i, took)
			}
		}
		_ = w.send.Close()
		<-w.ended
	})
}

// A list that would be empty waits for the first plugin, such as an MCP server that npx starts: many clients list once.
func TestEmptyListWaitsForAPlugin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &fake{tools: []sdk.Tool{readOnly("late")}, hold: make(chan struct{})}
		stuck := &fake{hold: make(chan struct{})}
		w := (&setup{plugins: map[string]*fake{"slow": slow, "stuck": stuck}}).stdio(t)
		w.handshake("2025-11-25", "{}")
		time.AfterFunc(5*time.Second, func() { close(slow.hold) })
		if got := names(t, w.request("tools/list", "")); !slices.Equal(got, []string{"slow__late"}) {
			t.Errorf("listed %q", got)
		}
		_ = w.send.Close()
		<-w.ended
		deferred := (&setup{plugins: map[string]*fake{"stuck": stuck}, options: Options{Deferred: true}}).stdio(t)
		deferred.handshake("2025-11-25", "{}")
		began := time.Now()
		names(t, deferred.request("tools/list", ""))
		if took := time.Since(began); took > time.Second {
			t.Errorf("a list of two tools took %s", took)
		}
		_ = deferred.send.Close()
		<-deferred.ended
	})
}

// A client may keep a list for a minute, but not one in which the tools of a plugin are missing.
func TestListSaysHowLongItIsValid(t *testing.T) {
	slow := &fake{tools: []sdk.Tool{readOnly("late")}, hold: make(chan struct{})}
	w := (&setup{plugins: map[string]*fake{"good": {tools: []sdk.Tool{readOnly("a")}}, "slow": slow}}).stdio(t)
	list := func() string { return string(w.request("tools/list", modernParams("", "{}")).Result) }
	if got := list(); !strings.Contains(got, `"ttlMs":0,"cacheScope":"private"`) {
		t.Errorf("listed %s", got)
	}
	close(slow.hold)
	eventually(t, "the whole list is valid for a minute", func() bool {
		got := list()
		return strings.Contains(got, "slow__late") && strings.Contains(got, `"ttlMs":60000`)
	})
	legacy := (&setup{plugins: map[string]*fake{"good": {tools: []sdk.Tool{readOnly("a")}}}}).stdio(t)
	legacy.handshake("2025-11-25", "{}")
	if got := string(legacy.request("tools/list", "").Result); strings.Contains(got, "ttlMs") {
		t.Errorf("listed %s", got)
	}
}

// A definition keeps the bytes of its schemas and of members that toolhost does not know.
func TestDefinitionKeepsBytes(t *testing.T) {
	tool := readOnly("t")
	tool.Title = "A <title>"
	tool.InputSchema = []byte(`{"zeta":1,"properties":{"b":{"maximum":9007199254740993},"a":{"const":1.10}},"x-y":[true]}`)
	tool.OutputSchema = []byte(`{"type":"array"}`)
	tool.ForeignSchema = true
	tool.Extra = []byte(`{"icons":[{"src":"data:,x"}],"annotations":{"title":"other","readOnlyHint":false},` +
		`"_meta":{"z":12345678901234567890,"a":null},"execution":{"taskSupport":"optional"}}`)
	w := (&setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{tool}}}}).stdio(t)
	const common = `{"name":"p__t","title":"A <title>","description":"Does t.","inputSchema":{"type":"object","zeta":1,` +
		`"properties":{"b":{"maximum":9007199254740993},"a":{"const":1.10}},"x-y":[true]},%"annotations":` +
		`{"readOnlyHint":true,"title":"other"},"icons":[{"src":"data:,x"}],"_meta":{"z":12345678901234567890,"a":null}}`
	w.handshake("2025-06-18", "{}")
	for _, modern := range []bool{true, false} {
		output, params := `"outputSchema":{"type":"array"},`, modernParams("", "{}")
		if !modern { // of which results are objects
			output, params = "", ""
		}
		want := `{"tools":[` + strings.Replace(common, "%", output, 1) + `]`
		if got := string(w.request("tools/list", params).Result); !strings.HasPrefix(got, want) {
			t.Errorf("modern %v:\n got %s\nwant %s", modern, got, want)
		}
	}
}

// A tool whose definition clients refuse, and the whole list with it, is listed without what they refuse.
func TestDefinitionIsOneThatClientsAccept(t *testing.T) {
	const icon = `{"src":"data:,x","mimeType":"image/png","sizes":["any"],"theme":"dark"}`
	for _, c := range []struct{ schema, listed string }{
		{`{"type":"object","properties":{"a":true,"b":false,"c":{"type":"string"}}}`,
			`{"type":"object","properties":{"a":{},"b":{"not":{}},"c":{"type":"string"}}}`},
		{`{"type":"object","properties":{"a":"string","b":null,"c":[],"d":55}}`,
			`{"type":"object","properties":{"a":{},"b":{},"c":{},"d":{}}}`},
		{`{"type":"object","properties":["a"],"x":1}`, `{"type":"object","x":1}`},
		{`{"type":"object","properties":null,"required":null}`, `{"type":"object"}`},
		{`{"type":"object","required":"a"}`, `{"type":"object"}`},
		{`{"type":"object","required":["a",5]}`, `{"type":"object"}`},
		{`{"type":"object", "properties":{ "a":{} }, "required":["a"]}`, `{"type":"object", "properties":{ "a":{} }, "required":["a"]}`},
	} {
		tool := readOnly("t")
		tool.InputSchema, tool.ForeignSchema = []byte(c.schema), true
		tool.OutputSchema = tool.InputSchema
		d := newDefinition("p__t", &host.Tool{Tool: tool})
		o := rawjson.ObjectOf(d.json)
		if in, out := string(o.Get("inputSchema")), string(o.Get("outputSchema")); in != c.listed || out != c.listed {
			t.Errorf("%s is listed as %s and %s", c.schema, in, out)
		}
	}
	for extra, want := range map[string]string{
		`{"icons":[` + icon + `]}`: `[` + icon + `]`, `{"icons":null}`: "", `{"icons":"x"}`: "", `{"icons":[{}]}`: "",
		`{"icons":["x"]}`: "", `{"icons":[{"src":"x","sizes":"any"}]}`: "", `{"icons":[{"src":"x","sizes":null}]}`: "",
		`{"icons":[{"src":"x","theme":"blue"}]}`: "", `{"icons":[{"src":"x","mimeType":5}]}`: "", `{"_meta":null}`: "",
		`{"_meta":[1]}`: "", `{"_meta":{"a":1}}`: `{"a":1}`, `{"annotations":{"title":5,"x":1}}`: `{"x":1}`,
		`{"annotations":{"title":null}}`: "", `{"annotations":{"title":"x"}}`: `{"title":"x"}`,
	} {
		tool := readOnly("t")
		tool.Hints, tool.Extra = sdk.Hints{}, []byte(extra)
		name := rawjson.ObjectOf(tool.Extra)[0].Name
		got := string(rawjson.ObjectOf(newDefinition("p__t", &host.Tool{Tool: tool}).json).Get(name))
		if got != want {
			t.Errorf("%s is listed as %s", extra, got)
		}
	}
}

// A client is notified of a change only if the list differs.
func TestListChangedOnlyWhenItDiffers(t *testing.T) {
	p := &fake{tools: []sdk.Tool{readOnly("a")}}
	w := (&setup{plugins: map[string]*fake{"p": p}}).stdio(t)
	w.handshake("2025-11-25", "{}")
	names(t, w.request("tools/list", ""))
	p.set(t, readOnly("a")) // the same
	p.set(t, readOnly("a"), readOnly("b"))
	if line := w.read(); !strings.Contains(line, "list_changed") {
		t.Errorf("got %s", line)
	}
	if got := names(t, w.request("tools/list", "")); !slices.Equal(got, []string{"p__a", "p__b"}) {
		t.Errorf("listed %q", got)
	}
	if len(w.other) > 0 {
		t.Errorf("more than one notification: %q", w.other)
	}
}
