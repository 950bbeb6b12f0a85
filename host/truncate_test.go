package host_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

func TestErrorMessagesAreCut(t *testing.T) {
	t.Parallel()
	const note = "... (truncated)"
	cases := map[string]struct {
		limit         int
		message, want string
	}{
		"at the limit":      {5, "abcde", "abcde"},
		"above":             {5, "abcdef", "abcde" + note},
		"not mid-rune":      {5, "日本語日本語", "日本語日本" + note},
		"counts characters": {5, "日本語日本", "日本語日本"},
		"the default":       {0, strings.Repeat("é", 1001), strings.Repeat("é", 1000) + note},
		"below zero":        {-1, strings.Repeat("x", 1001), strings.Repeat("x", 1000) + note},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := &sdk.Result{Error: &sdk.Error{Name: "Failed", Message: c.message, Suggestion: c.message}}
			h := single(t, answering(result, nil), host.Options{ErrorMessageLimit: c.limit})
			e := failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeTool)
			if e.Message != c.want || e.Suggestion != c.want {
				t.Errorf("message %q, suggestion %q, want %q", e.Message, e.Suggestion, c.want)
			}
			if result.Error.Message != c.message {
				t.Error("the plugin's own error was changed")
			}
		})
	}
}

// shaped returns a result as it is when 100 bytes are allowed.
func shaped(t *testing.T, result *sdk.Result) (r *host.Result, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "a", "b")
	h := single(t, answering(result, nil), host.Options{MaxResultBytes: 100, ResultDir: dir})
	r = h.Call(t.Context(), host.Call{ID: "../c 1", Tool: "test__run"})
	succeeded(t, r)
	return r, dir
}

// kept returns the content of the file that a text names, and checks that no other user can read it.
func kept(t *testing.T, text, dir string) string {
	t.Helper()
	found := regexp.MustCompile(`the whole is in (.+?)(?: \.\.\.)?\]`).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no path in %q", text)
	}
	path := found[1]
	if filepath.Dir(path) != dir || !strings.HasPrefix(filepath.Base(path), "___c_1-") {
		t.Errorf("path %s, want it in %s", path, dir)
	}
	modes(t, path, 0o600)
	modes(t, dir, fs.ModeDir|0o700)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(whole)
}

func modes(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != want {
		t.Errorf("%s has mode %s, want %s", path, info.Mode(), want)
	}
}

func TestLongTextIsCutInTheMiddle(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789", 30)
	image := sdk.ImageContent([]byte("the image"), "image/png")
	result := sdk.Text(text[:150]).Add(image, sdk.TextContent(text[150:]))
	r, dir := shaped(t, result)
	if !r.Truncated || len(r.Content) != 2 {
		t.Fatalf("result %+v", r)
	}
	diff(t, image, r.Content[1])
	got := r.Content[0].Text
	head, tail := text[:75], text[275:]
	if !strings.HasPrefix(got, head+"\n[... 200 of 300 bytes are left out here; the whole is in ") ||
		!strings.HasSuffix(got, " ...]\n"+tail) {
		t.Errorf("text %q", got)
	}
	if whole := kept(t, got, dir); whole != text {
		t.Errorf("the file has %q", whole)
	}
	if len(result.Content) != 3 || result.Content[0].Text != text[:150] {
		t.Error("the plugin's own result was changed")
	}
}

func TestShortResultsAreLeftAlone(t *testing.T) {
	t.Parallel()
	result := sdk.Text(strings.Repeat("x", 100)).Add(sdk.ImageContent(make([]byte, 200), "image/png"))
	result.Structured = json.RawMessage(`"` + strings.Repeat("x", 98) + `"`)
	r, dir := shaped(t, result)
	diff(t, result.Content, r.Content)
	diff(t, result.Structured, r.Structured)
	if r.Truncated {
		t.Error("it is said to be truncated")
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("a folder was made")
	}
}

func TestRunesAreNotCut(t *testing.T) {
	t.Parallel()
	text := "x" + strings.Repeat("日", 100)
	r, dir := shaped(t, sdk.Text(text))
	if got := r.Text(); !utf8.ValidString(got) || strings.ContainsRune(got, utf8.RuneError) {
		t.Errorf("text %q", got)
	}
	if kept(t, r.Text(), dir) != text {
		t.Error("the file has another text")
	}
}

// A structured result is kept whole or left out. Here it is the text as well, in one file.
func TestLongJSON(t *testing.T) {
	t.Parallel()
	result := sdk.JSON(map[string]string{"a": strings.Repeat("x", 200)})
	r, dir := shaped(t, result)
	if r.Structured != nil || !r.Truncated || len(r.Content) != 1 {
		t.Errorf("result %+v", r)
	}
	if whole := kept(t, r.Text(), dir); whole != string(result.Structured) {
		t.Errorf("the file has %q", whole)
	}
}

func TestLongStructuredResultBesideAShortText(t *testing.T) {
	t.Parallel()
	structured := json.RawMessage(`{"a":"` + strings.Repeat("x", 200) + `"}`)
	r, dir := shaped(t, &sdk.Result{Content: []sdk.Content{sdk.TextContent("short")}, Structured: structured})
	if r.Structured != nil || !r.Truncated || len(r.Content) != 2 || r.Content[0].Text != "short" {
		t.Fatalf("result %+v", r)
	}
	if note := r.Content[1].Text; !strings.HasPrefix(note,
		"[The structured result has 208 bytes and is left out; the whole is in ") ||
		kept(t, note, dir) != string(structured) {
		t.Errorf("note %q", note)
	}
}

func TestLongPartsOfOtherKinds(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789", 30)
	raw := json.RawMessage(`{"type":"video","data":"` + text + `"}`)
	file := sdk.FileContent("file:///a", "text/plain", []byte(text))
	result := &sdk.Result{Content: []sdk.Content{file, {Type: "video", Raw: raw}}}
	r, dir := shaped(t, result)
	if !r.Truncated || len(r.Content) != 2 {
		t.Fatalf("result %+v", r)
	}
	if c := r.Content[0]; c.Type != "resource" || c.URI != "file:///a" || len(c.Text) > 400 ||
		kept(t, c.Text, dir) != text {
		t.Errorf("resource %+v", c)
	}
	if c := r.Content[1]; c.Type != "text" || c.Raw != nil || kept(t, c.Text, dir) != string(raw) {
		t.Errorf("raw part %+v", c)
	}
	diff(t, []sdk.Content{file, {Type: "video", Raw: raw}}, result.Content)
}

// Two results never share a file, also when a caller uses an id again.
func TestKeptResultsDoNotMeet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := single(t, answering(sdk.Text(strings.Repeat("x", 200)), nil), host.Options{MaxResultBytes: 100, ResultDir: dir})
	for range 3 {
		succeeded(t, h.Call(t.Context(), host.Call{ID: "same", Tool: "test__run"}))
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 3 {
		t.Errorf("files %v, error %v", files, err)
	}
}

func TestResultThatCannotBeKept(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h := single(t, answering(sdk.Text(strings.Repeat("x", 200)), nil), host.Options{MaxResultBytes: 100, ResultDir: file})
	r := h.Call(t.Context(), call("test__run", ""))
	succeeded(t, r)
	if !r.Truncated || !strings.Contains(r.Text(), "the whole could not be kept: ") {
		t.Errorf("text %q", r.Text())
	}
}

func TestTemporaryResultFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	h := single(t, answering(sdk.Text(strings.Repeat("x", 200)), nil), host.Options{MaxResultBytes: 100})
	dirs := map[string]bool{}
	for range 2 {
		r := h.Call(t.Context(), host.Call{ID: "../c 1", Tool: "test__run"})
		found := regexp.MustCompile(`the whole is in (.+?)(?: \.\.\.)?\]`).FindStringSubmatch(r.Text())
		if found == nil {
			t.Fatal(r.Text())
		}
		dir := filepath.Dir(found[1])
		kept(t, r.Text(), dir)
		dirs[dir] = true
		if err := os.RemoveAll(dir); err != nil { // as systems do after some days
			t.Fatal(err)
		}
	}
	if len(dirs) != 1 {
		t.Errorf("folders %v, want one", dirs)
	}
}

func TestEffectiveResultLimit(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ user, tool, host, want int64 }{
		"nobody's":        {want: 128 << 10},
		"the host's":      {host: 1000, want: 1000},
		"the tool's":      {tool: 2000, host: 1000, want: 2000},
		"the user's":      {user: 500, tool: 2000, want: 500},
		"none below zero": {user: -1, host: -1, want: 128 << 10},
		"none above all":  {tool: 1 << 62, want: sdk.MaxResult},
		"one byte":        {user: 1, want: 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			definition := tool("run")
			definition.MaxResultBytes = c.tool
			result := sdk.Text("")
			h := single(t, answering(result, nil, definition), host.Options{MaxResultBytes: c.host, ResultDir: t.TempDir(),
				Tools: map[string]host.ToolOptions{"test__run": {MaxResultBytes: c.user}}})
			for size, cut := range map[int64]bool{c.want: false, c.want + 1: true} {
				result.Content[0].Text = strings.Repeat("x", int(size))
				if r := h.Call(t.Context(), call("test__run", "")); r.Truncated != cut {
					t.Errorf("%d bytes: truncated %v, want %v", size, r.Truncated, cut)
				}
			}
		})
	}
}

// The two examples of the contract, field by field.
func TestResultJSON(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		result host.Result
		want   string
	}{
		"ok": {
			host.Result{CallID: "c-1", Tool: "readfile__read", Plugin: "readfile", Status: host.StatusOK,
				Content:    []sdk.Content{sdk.TextContent("a")},
				Structured: json.RawMessage(`{}`), Duration: 1300 * time.Microsecond, Attempts: 1, Generation: 1},
			`{"call_id":"c-1","tool":"readfile__read","plugin":"readfile","status":"ok","content":[{"type":"text","text":"a"}],
			 "structured":{},"truncated":false,"duration_ms":1.3,"attempts":1,"generation":1}`,
		},
		"error": {
			host.Result{CallID: "c-2", Tool: "edit__replace", Plugin: "edit", Status: host.StatusError,
				Error: &sdk.Error{Code: sdk.CodeTool, Name: "MatchNotFound", Message: "no match", Suggestion: "Read it.",
					HelpURL: "https://example.org/help",
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

// order returns the names of an object's fields in order.
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

// A successful call has something to read whenever it returned something.
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
		"empty text": {host.Result{Structured: structured, Content: []sdk.Content{sdk.TextContent("")}},
			[]sdk.Content{sdk.TextContent(`{"n":1}`)}, `{"n":1}`},
		"text": {host.Result{Structured: structured, Content: []sdk.Content{sdk.TextContent("one")}},
			[]sdk.Content{sdk.TextContent("one")}, "one"},
		"an image": {host.Result{Structured: structured, Content: []sdk.Content{image}}, []sdk.Content{image},
			"[image image/png, 1 byte, which cannot be shown here]"},
		"a failure": {host.Result{Structured: structured, Error: &sdk.Error{Message: "no"}}, nil, "no"},
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
		"nothing": {host.Result{}, ""},
		"texts": {host.Result{Content: []sdk.Content{sdk.TextContent("a"), image, sdk.TextContent("b")}},
			"a\n[image image/png, 1 byte, which cannot be shown here]\nb"},
		"parts of a text": {host.Result{Content: []sdk.Content{sdk.TextContent("a"), sdk.TextContent("b")}}, "ab"},
		"only an image":   {host.Result{Content: []sdk.Content{image}}, "[image image/png, 1 byte, which cannot be shown here]"},
		"an error":        {host.Result{Error: bad}, "it failed\nTry again."},
		"an error behind a text": {host.Result{Content: []sdk.Content{sdk.TextContent("half")}, Error: bad},
			"half\nit failed\nTry again."},
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
