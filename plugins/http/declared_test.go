package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

// forecast is a configuration with one tool, at a URL.
func forecast(url, more string) string {
	return `{"tool":{"labels":["forecast"],"url":"` + url + `","description":"Tells the weather."` + more + `}}`
}

// declaredTool runs the plugin with a tool whose server is h.
func declaredTool(t *testing.T, h http.HandlerFunc, more string) (*sdktest.Plugin, string) {
	t.Helper()
	url := serve(t, h)
	return start(t, testHooks{}, forecast(url+"/forecast?key=query-secret", more)), url + "/forecast"
}

func TestDeclaredToolIsListed(t *testing.T) {
	p := start(t, testHooks{}, `{"tool":[{"labels":["forecast"],"url":"https://tools.example.org/f","title":"Forecast",`+
		`"description":"Tells the weather.",`+
		`"schema":{"type":"object","properties":{"city":{"type":"string"}}},"read_only":true,"timeout_seconds":5},`+
		`{"labels":["order"],"url":"https://tools.example.org/o","description":"Orders."}]}`)
	d, err := p.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range d.Tools {
		names = append(names, tool.Name)
	}
	if diff := cmp.Diff([]string{"get", "post", "forecast", "order"}, names); diff != "" || !d.Dynamic {
		t.Fatalf("dynamic %v, (-want +got):\n%s", d.Dynamic, diff)
	}
	got, want := d.Tools[2], sdk.Tool{Name: "forecast", Title: "Forecast", Description: "Tells the weather.",
		Category:    "web",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`),
		Hints:       sdk.Hints{ReadOnly: sdk.Yes, OpenWorld: sdk.Yes}, Timeout: 15e9}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := d.Tools[3]; got.Hints.ReadOnly != nil || string(got.InputSchema) != `{"type":"object"}` {
		t.Errorf("%+v", got)
	}
}

func TestRequestOfADeclaredTool(t *testing.T) {
	var got []string
	p, _ := declaredTool(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = []string{r.Method, r.URL.String(), r.Header.Get("Content-Type"), r.Header.Get("Authorization"), string(b)}
		answers("application/json", `{"output":[]}`)(w, r)
	}, `,"headers":{"Authorization":"Bearer t0ken-t0ken"}`)
	for arguments, want := range map[string]string{`{ "city":"Oslo", "n":1.50 }`: `{"arguments":{ "city":"Oslo", "n":1.50 }}`, ``: `{"arguments":{}}`} {
		r := p.Run(t, "forecast", arguments)
		if textOf(r) != "[the tool gave no output]" {
			t.Errorf("%q, error %+v", textOf(r), r.Error)
		}
		if diff := cmp.Diff([]string{"POST", "/forecast?key=query-secret", "application/json", "Bearer t0ken-t0ken", want},
			got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestDeclaredAnswers(t *testing.T) {
	for _, c := range []struct {
		name, contentType, body string
		content                 []string
		structured              string
	}{
		{"items", "application/json",
			`{"output":[{"name":"Oslo","description":"Today","content":"Rain","icon":"x"},{"content":"Sun"}]}`,
			[]string{"## Oslo\n\nToday\n\nRain", "Sun"},
			`{"output":[{"name":"Oslo","description":"Today","content":"Rain","icon":"x"},{"content":"Sun"}]}`},
		{"items of an unknown type", "text/plain", `{"output":[{"name":"a","content":"b"}]}`, []string{"## a\n\nb"},
			`{"output":[{"name":"a","content":"b"}]}`},
		{"other JSON", "application/json", ` {"rain":true} `, []string{` {"rain":true} `}, `{"rain":true}`},
		{"output of another form", "application/json", `{"output":"Rain"}`, []string{`{"output":"Rain"}`},
			`{"output":"Rain"}`},
		{"items without content", "application/json", `{"output":[{"rain":1}]}`, []string{`{"output":[{"rain":1}]}`},
			`{"output":[{"rain":1}]}`},
		{"an array", "application/json", `[1]`, []string{`[1]`}, ""},
		{"text", "text/plain", "Rain\n", []string{"Rain\n"}, ""},
		{"broken JSON", "application/json", `{"output":[`, []string{`{"output":[`}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := declaredTool(t, answers(c.contentType, c.body), "")
			r := p.Run(t, "forecast", `{}`)
			var got []string
			for _, part := range r.Content {
				got = append(got, part.Text)
			}
			if diff := cmp.Diff(c.content, got); diff != "" || string(r.Structured) != c.structured || r.Error != nil {
				t.Errorf("structured %s, error %+v, (-want +got):\n%s", r.Structured, r.Error, diff)
			}
		})
	}
}

// The status comes first: a page that says no is no JSON, and a JSON that says no is no answer.
func TestDeclaredToolFails(t *testing.T) {
	for _, c := range []struct {
		status     int
		body, says string
		retryable  bool
	}{
		{500, "<h1>Oops", "Failed to call tool at URL: it answered 500 Internal Server Error: <h1>Oops", false},
		{404, `{"output":[{"content":"no"}]}`,
			`Failed to call tool at URL: it answered 404 Not Found: {"output":[{"content":"no"}]}`, false},
		{503, "", "Failed to call tool at URL: it answered 503 Service Unavailable", true},
		{304, "", "Failed to call tool at URL: it answered 304 Not Modified", false},
	} {
		t.Run(fmt.Sprint(c.status), func(t *testing.T) {
			p, url := declaredTool(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			}, "")
			r := p.Run(t, "forecast", `{}`)
			wantError(t, r, "HTTPStatus")
			if want := strings.ReplaceAll(c.says, "URL", url); r.Error.Message != want || r.Error.Retryable != c.retryable {
				t.Errorf("message %q, want %q; retryable %v", r.Error.Message, want, r.Error.Retryable)
			}
		})
	}
}

func TestDeclaredToolOtherFailures(t *testing.T) {
	p, _ := declaredTool(t, answers("application/zip", "PK\x03\x04"), "")
	wantError(t, p.Run(t, "forecast", `{}`), "BinaryBody", "Failed to call tool at")
	p, _ = declaredTool(t, answers("text/plain", strings.Repeat("x", maxResponse+1)), "")
	if r := p.Run(t, "forecast", `{}`); !r.Truncated ||
		!strings.HasSuffix(textOf(r), "[only the first 1048576 bytes of the answer were read; ask the tool for less]") {
		t.Errorf("truncated %v, error %+v", r.Truncated, r.Error)
	}
	slowly := start(t, testHooks{}, forecast(raw(t, slow(head+"\r\n")), `,"timeout_seconds":0.2`))
	wantError(t, slowly.Run(t, "forecast", `{}`), "Timeout", "Failed to call tool at", "not done after 200ms",
		"may have done what it was asked for")
	reader := start(t, testHooks{}, forecast(raw(t, slow(head+"\r\n")), `,"timeout_seconds":0.2,"read_only":true`))
	wantError(t, reader.Run(t, "forecast", `{}`), "Timeout", "The operator can raise timeout_seconds")
}

// The operator's URL may be anywhere, but that is said of its host and port alone.
func TestDeclaredToolCannotLeaveItsHost(t *testing.T) {
	other := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("another port was reached") })
	p, url := declaredTool(t,
		func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, http.StatusFound) }, "")
	wantError(t, p.Run(t, "forecast", `{}`), "AddressRefused", "loopback", "Failed to call tool at "+url)
	wantError(t, fetch(t, p, url), "AddressRefused", "loopback")
	names := newNames(t, func(string, int) []string { return []string{"169.254.169.254"} })
	metadata := start(t, testHooks{resolver: names}, forecast("http://meta.test/", ""))
	wantError(t, metadata.Run(t, "forecast", `{}`), "AddressRefused", "never used")
}

func TestSecretsAreNotShown(t *testing.T) {
	const headers = `,"headers":{"Authorization":"Bearer t0ken-t0ken","X-Key":"plain-key","Accept":"application/json"}`
	echo := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"echo":[%q,%q,%q],"token":%q}`, r.URL.String(), r.Header.Get("Authorization"),
				r.Header.Get("X-Key"), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		}
	}
	redirect := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.9/?"+r.URL.RawQuery, http.StatusFound)
	}
	for name, h := range map[string]http.HandlerFunc{"answer": echo(200), "error": echo(500), "redirect": redirect,
		"gone": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }} {
		t.Run(name, func(t *testing.T) {
			p, _ := declaredTool(t, h, headers)
			r := p.Run(t, "forecast", `{}`)
			shown, err := json.Marshal([]any{r.Content, string(r.Structured), r.Error})
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{"t0ken", "plain-key", "query-secret"} {
				if strings.Contains(string(shown), secret) {
					t.Errorf("%s is shown: %s", secret, shown)
				}
			}
			if (name == "answer" || name == "error") && !strings.Contains(string(shown), "[hidden]") {
				t.Errorf("nothing is hidden: %s", shown)
			}
		})
	}
}

// Servers write what they repeat in the ways of JSON, HTML and URLs, or a part of it.
func TestSecretsAreNotShownInOtherSpellings(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 40)
	header := http.Header{"Authorization": {"Bearer t0k/en+value=="}, "Cookie": {"session=c00kie-value; theme=dark"},
		"X-Quoted": {`a&b<"c">`}, "X-Short": {"1"}}
	h := newRedactor(header, &url.URL{RawQuery: "key=qu%2Fery&jwt=" + long})
	basic := newRedactor(http.Header{"Authorization": {"Basic " +
		base64.StdEncoding.EncodeToString([]byte("bob:pass word"))}}, &url.URL{})
	for _, c := range []struct {
		redactor   redactor
		text, want string
	}{
		{h, `{"token":"t0k\/en+value=="}`, `{"token":"[hidden]"}`},
		{h, "t0k%2Fen%2Bvalue%3D%3D", "[hidden]"},
		{h, "the type is Bearer, as asked for", "the type is Bearer, as asked for"},
		{h, "theme=light, c00kie-value", "theme=light, [hidden]"},
		{h, `"a\u0026b\u003c\"c\"\u003e"`, `"[hidden]"`},
		{h, "<p>a&amp;b&lt;&#34;c&#34;&gt;", "<p>[hidden]"},
		{h, "qu/ery and key=qu%2Fery&jwt=" + long, "[hidden] and [hidden]"},
		{h, "waiting for https://x/?jwt=" + clip(long, 300) + " and more", "waiting for https://x/?jwt=[hidden]... and more"},
		{h, "at 11:10", "at 11:10"},
		{basic, "bob has another password than pass word", "bob has another password than [hidden]"},
	} {
		if got := c.redactor.message(c.text); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.text, got, c.want)
		}
	}
	cut := h.result(&sdk.Result{Content: sdk.Text("it was t0k/en+va").Content, Truncated: true})
	if got := cut.Content[0].Text; got != "it was [hidden]" {
		t.Errorf("cut off: %q", got)
	}
}

func TestBadConfigurations(t *testing.T) {
	for _, c := range []struct{ config, says string }{
		{`{"allow_private":["http://x/"]}`, `allow_private: "http://x/": it must be a host`},
		{`{"allow_private":["10.0.0.0/99"]}`, `allow_private: "10.0.0.0/99": it is not a block of addresses`},
		{`{"allow_private":["::ffff:10.0.0.0/104"]}`, `write the IPv4 block itself`},
		{`{"allow_private":["127.1"]}`, `is a number`},
		{`{"hosts":["a b"]}`, `hosts: "a b": "a b" is not a host name`},
		{`{"hosts":["go.dev:http"]}`, `"http" is not a port`},
		{`{"hosts":["*.1.1.1.1"]}`, `an address has no names below it`},
		{`{"hosts":["a.*.b"]}`, `is not a host name`},
		{`{"deny_hosts":[""]}`, `deny_hosts: "": it names no host`},
		{`{"tool":5}`, `tool must be blocks`},
		{`{"tool":{"url":"https://x.example/"}}`, `a tool block needs one name`},
		{`{"tool":{"labels":["a","b"],"url":"https://x.example/"}}`, `a tool block needs one name`},
		{forecast("ftp://x.example/", ""), `tool.url: tool "forecast": "ftp://x.example/" is a URL of ftp`},
		{forecast("https://u:secret@x.example/", ""), `tool.url: tool "forecast": the URL has a user name`},
		{forecast("https://u:my secret@x.example/", ""), `tool.url: tool "forecast": the URL has a user name or a password`},
		{forecast("https://x.example:99999/?key=secret", ""),
			`tool.url: tool "forecast": "https://x.example:99999/...": "99999" is not a port`},
		{forecast("ftp://x.example/?key=secret", ""), `"ftp://x.example/..." is a URL of ftp`},
		{forecast("https://x.example/", `,"timeout_seconds":301`), `tool.timeout_seconds: tool "forecast": 301 must be`},
		{forecast("https://x.example/", `,"headers":{"A b":"secret"}`),
			`tool.headers: tool "forecast": "A b" is not a name for a header`},
		{forecast("https://x.example/", `,"headers":{"Host":"secret"}`), `the header Host may not be given`},
		{forecast("https://x.example/", `,"headers":{"A":["secret"]}`),
			`tool.headers: tool "forecast": it must not be of the type array`},
		{forecast("https://x.example/", `,"timeout_seconds":"soon"`),
			`tool.timeout_seconds: tool "forecast": it must not be of the type string`},
		{forecast("http://169.254.169.254/", ""),
			`tool.url: tool "forecast": 169.254.169.254 is where clouds hand out credentials`},
		{`{"deny_hosts":["x.example"],` + forecast("https://x.example/", "")[1:],
			`tool.url: tool "forecast": the operator has denied requests to x.example`},
		{`{"tool":[{"labels":["a"],"url":"https://x.example/","description":"x"},{"labels":["b"],"url":"x"}]}`,
			`tool[1].url: tool "b": "x" does not begin`},
		{forecast("https://x.example/", `,"schema":{"type":"string"}`), `must have "type":"object"`},
		{forecast("https://x.example/", `,"color":"red"`),
			`tool.color: tool "forecast": a tool block has no "color", only url,`},
		{`{"tool":{"labels":["forecast"],"url":"https://x.example/"}}`, `has no description`},
		{`{"tool":{"labels":["A b"],"url":"https://x.example/","description":"x"}}`, `tool name "A b" must match`},
		{`{"tool":{"labels":["get"],"url":"https://x.example/","description":"x"}}`, `there is a tool of that name already`},
	} {
		p := sdktest.Start(t, newWeb().plugin())
		err := p.Configure(t.Context(), json.RawMessage(c.config), t.TempDir())
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "secret") ||
			strings.Contains(err.Error(), "sent") {
			t.Errorf("%s: %v, want %s", c.config, err, c.says)
		}
	}
}
