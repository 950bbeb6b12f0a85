package host_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// The two examples of the contract, field by field.
func TestResultJSON(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		result host.Result
		want   string
	}{
		"ok": {
			host.Result{CallID: "c-1", Tool: "readfile__read", Plugin: "readfile", Status: host.StatusOK, Content: []sdk.Content{sdk.TextContent("a")},
				Structured: json.RawMessage(`{}`), Duration: 1300 * time.Microsecond, Attempts: 1, Generation: 1},
			`{"call_id":"c-1","tool":"readfile__read","plugin":"readfile","status":"ok","content":[{"type":"text","text":"a"}],
			 "structured":{},"truncated":false,"duration_ms":1.3,"attempts":1,"generation":1}`,
		},
		"error": {
			host.Result{CallID: "c-2", Tool: "edit__replace", Plugin: "edit", Status: host.StatusError,
				Error: &sdk.Error{Code: sdk.CodeTool, Name: "MatchNotFound", Message: "no match", Suggestion: "Read it.", HelpURL: "https://example.org/help",
					Details: json.RawMessage(`{}`)}},
			`{"call_id":"c-2","tool":"edit__replace","plugin":"edit","status":"error","content":[],
			 "error":{"code":"E_TOOL","name":"MatchNotFound","message":"no match","suggestion":"Read it.","help_url":"https://example.org/help","retryable":false,"details":{}},
			 "truncated":false,"duration_ms":0,"attempts":0,"generation":0}`,
		},
		"bare": {
			host.Result{Status: host.StatusError, Error: &sdk.Error{Code: sdk.CodeInternal, Message: "a bug"}},
			`{"call_id":"","tool":"","plugin":"","status":"error","content":[],"error":{"code":"E_INTERNAL","message":"a bug","retryable":false},
			 "truncated":false,"duration_ms":0,"attempts":0,"generation":0}`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, v := range []any{c.result, &c.result} { // both forms are written the same way
				got, err := json.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				diff(t, decoded(t, c.want), decoded(t, string(got)))
				diff(t, order(t, c.want), order(t, string(got)))
			}
		})
	}
}

func decoded(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// order gives the names of an object's fields as they come.
func order(t *testing.T, text string) (names []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	_, err := d.Token()
	for err == nil && d.More() {
		var name any
		var value json.RawMessage
		name, err = d.Token()
		names = append(names, name.(string))
		err = errors.Join(err, d.Decode(&value))
	}
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A call that succeeds has something to read wherever it gave something.
func TestReadable(t *testing.T) {
	t.Parallel()
	structured, image := json.RawMessage(`{"n":1}`), sdk.Content{Type: "image", Data: []byte("x"), MIMEType: "image/png"}
	for name, c := range map[string]struct {
		result host.Result
		want   []sdk.Content
		text   string
	}{
		"nothing":         {host.Result{}, nil, ""},
		"only structured": {host.Result{Structured: structured}, []sdk.Content{sdk.TextContent(`{"n":1}`)}, `{"n":1}`},
		"empty text":      {host.Result{Structured: structured, Content: []sdk.Content{sdk.TextContent("")}}, []sdk.Content{sdk.TextContent(`{"n":1}`)}, `{"n":1}`},
		"text":            {host.Result{Structured: structured, Content: []sdk.Content{sdk.TextContent("one")}}, []sdk.Content{sdk.TextContent("one")}, "one"},
		"an image":        {host.Result{Structured: structured, Content: []sdk.Content{image}}, []sdk.Content{image}, ""},
		"a failure":       {host.Result{Structured: structured, Error: &sdk.Error{Message: "no"}}, nil, "no"},
	} {
		diff(t, c.want, c.result.Readable())
		if got := c.result.Text(); got != c.text {
			t.Errorf("%s: the text is %q", name, got)
		}
	}
}

func TestResultText(t *testing.T) {
	t.Parallel()
	bad := &sdk.Error{Message: "it failed", Suggestion: "Try again."}
	image := sdk.ImageContent([]byte("x"), "image/png")
	cases := map[string]struct {
		result host.Result
		want   string
	}{
		"nothing":                 {host.Result{}, ""},
		"texts":                   {host.Result{Content: []sdk.Content{sdk.TextContent("a"), image, sdk.TextContent("b")}}, "ab"},
		"only an image":           {host.Result{Content: []sdk.Content{image}}, ""},
		"an error":                {host.Result{Error: bad}, "it failed\nTry again."},
		"an error behind a text":  {host.Result{Content: []sdk.Content{sdk.TextContent("half")}, Error: bad}, "half\nit failed\nTry again."},
		"an error and no more":    {host.Result{Error: &sdk.Error{Message: "it failed"}}, "it failed"},
		"an error that says none": {host.Result{Error: &sdk.Error{}}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.result.Text(); got != c.want {
				t.Errorf("text %q, want %q", got, c.want)
			}
		})
	}
}
