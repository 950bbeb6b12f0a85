package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

func previewOf(t *testing.T, p *sdktest.Plugin, tool, arguments string) (*sdk.Preview, error) {
	t.Helper()
	return p.Preview(t.Context(), &sdk.Request{CallID: "1", Tool: tool, Arguments: json.RawMessage(arguments), Workdir: t.TempDir()})
}

func TestWhenAPreviewAsks(t *testing.T) {
	lookups := newNames(t, func(name string, _ int) []string {
		t.Errorf("%s was looked up, which tells its server", name)
		return nil
	})
	p := start(t, seam{resolver: lookups}, `{"hosts":["*.golang.org","go.dev","local.test:8080"],"deny_hosts":["bad.golang.org"]}`)
	for _, c := range []struct{ tool, url, effect, reason string }{
		{"get", "https://go.dev/doc", "", ""},
		{"get", "https://pkg.GOLANG.org./x", "", ""},
		{"get", "http://go.dev:8080/", "", ""},
		{"get", "http://local.test:8080/", "", ""},
		{"get", "http://local.test/", "ask", "it sends a request to local.test"},
		{"get", "https://golang.org/", "ask", "it sends a request to golang.org"},
		{"get", "https://evilgolang.org/", "ask", "it sends a request to evilgolang.org"},
		{"get", "https://go.dev.example.org/", "ask", "it sends a request to go.dev.example.org"},
		{"get", "http://example.org:8080/?secret", "ask", "it sends a request to example.org:8080"},
		{"get", "https://bad.golang.org/", "deny", "deny_hosts of the plugin's config names bad.golang.org"},
		{"post", "https://go.dev/", "", ""},
		{"post", "https://bad.golang.org/", "deny", "deny_hosts of the plugin's config names bad.golang.org"},
	} {
		got, err := previewOf(t, p, c.tool, args(t, map[string]any{"url": c.url}))
		if err != nil || got.Effect != c.effect || got.Reason != c.reason {
			t.Errorf("%s %s: effect %q because %q, error %v", c.tool, c.url, got.Effect, got.Reason, err)
		}
	}
}

func TestWhatAPreviewShows(t *testing.T) {
	p := start(t, seam{}, `{"credential_hosts":["api.example.org"]}`)
	got, err := previewOf(t, p, "post", `{"url":"https://api.example.org/x?y","json":{"a": 1},"headers":{"Authorization":"Bearer secret","X-Custom":"secret"}}`)
	if err != nil {
		t.Fatal(err)
	}
	want := "Would send:\n  POST https://api.example.org/x?y\n  headers: Accept, Authorization, Content-Type, User-Agent, X-Custom\n  body (8 bytes): {\"a\": 1}"
	if diff := cmp.Diff(want, got.Content[0].Text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var f foretold
	if err := json.Unmarshal(got.Structured, &f); err != nil {
		t.Fatal(err)
	}
	wantForm := foretold{Kind: "request", Method: "POST", URL: "https://api.example.org/x?y", Host: "api.example.org",
		Headers: []string{"Accept", "Authorization", "Content-Type", "User-Agent", "X-Custom"}, BodyBytes: 8, BodyStart: `{"a": 1}`}
	if diff := cmp.Diff(wantForm, f); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err = previewOf(t, p, "post", args(t, map[string]any{"url": "https://example.org/", "body": strings.Repeat("ä", 2000)}))
	if err != nil || len(got.Content[0].Text) > shownBody+300 || !strings.Contains(got.Content[0].Text, "body (4000 bytes)") {
		t.Errorf("%v, error %v", got, err)
	}
}

// What cannot run is told before anybody is asked.
func TestPreviewRefusesWhatTheCallWould(t *testing.T) {
	p := start(t, seam{}, `{}`)
	for url, name := range map[string]string{"http://127.0.0.1/": "AddressRefused", "ftp://x/": "UnsupportedScheme", "http://x.example:25/": "PortRefused", "nonsense": "BadURL"} {
		for _, tool := range []string{"get", "post"} {
			_, err := previewOf(t, p, tool, args(t, map[string]any{"url": url}))
			if e, ok := err.(*sdk.Error); !ok || e.Name != name {
				t.Errorf("%s %s: error %v, want %s", tool, url, err, name)
			}
		}
	}
}

func TestPost(t *testing.T) {
	type sent struct{ method, contentType, body, length string }
	got := make(chan sent, 1)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b := new(strings.Builder)
		_ = r.Write(b)
		_, text, _ := strings.Cut(b.String(), "\r\n\r\n")
		got <- sent{r.Method, r.Header.Get("Content-Type"), text, r.Header.Get("Content-Length")}
		answers("application/json", `{"ok":true}`)(w, r)
	})
	p := start(t, seam{}, open)
	for _, c := range []struct {
		more string
		want sent
	}{
		{`,"json":{"a":1.50}`, sent{"POST", "application/json", `{"a":1.50}`, "10"}},
		{`,"json":"text"`, sent{"POST", "application/json", `"text"`, "6"}},
		{`,"json":null`, sent{"POST", "application/json", `null`, "4"}},
		{`,"json":{},"content_type":"application/vnd.x+json"`, sent{"POST", "application/vnd.x+json", `{}`, "2"}},
		{`,"body":"a=1&b=2","content_type":"application/x-www-form-urlencoded"`, sent{"POST", "application/x-www-form-urlencoded", `a=1&b=2`, "7"}},
		{`,"body":"ä"`, sent{"POST", "text/plain; charset=utf-8", "ä", "2"}},
		{`,"body":""`, sent{"POST", "text/plain; charset=utf-8", "", "0"}},
		{``, sent{"POST", "", "", "0"}},
	} {
		r := p.Run(t, "post", `{"url":"`+url+`"`+c.more+`}`)
		if body(t, r) != `{"ok":true}` {
			t.Errorf("%s: %q", c.more, textOf(r))
		}
		if diff := cmp.Diff(c.want, <-got, cmp.AllowUnexported(sent{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.more, diff)
		}
	}
	for _, more := range []string{`,"body":"a","json":1`, `,"content_type":"no type"`, `,"content_type":"a/b; c=\"\u0000\""`, `,"headers":{"content-type":"text/plain"}`} {
		wantError(t, p.Run(t, "post", `{"url":"`+url+`"`+more+`}`), "InvalidArguments", "nothing was sent")
	}
}

// All of an answer is given: post cannot be called again for the rest.
func TestPostGivesAllOfALongAnswer(t *testing.T) {
	url := serve(t, answers("text/plain", strings.Repeat("x", 3*pageWindow)))
	r := start(t, seam{}, open).Run(t, "post", args(t, map[string]any{"url": url}))
	if got := body(t, r); len(got) != 3*pageWindow || r.Truncated {
		t.Errorf("%d bytes, truncated %v", len(got), r.Truncated)
	}
}
