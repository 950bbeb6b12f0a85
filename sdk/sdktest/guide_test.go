package sdktest_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// The samples of docs/plugins.md that one plugin shows together: it takes configuration, calls a service, reports
// progress, and writes a file.

type settings struct {
	URL   string `json:"url" jsonschema:"Where the service is" format:"uri"`
	Token string `json:"token" jsonschema:"A token of the service, by reference" minLength:"1"`
}

func newPages() *sdk.Plugin {
	p := sdk.New("pages", "1.2.0")
	s := &service{}
	sdk.Configure(p, func(_ context.Context, _ *sdk.Request, c settings) error {
		if !strings.HasPrefix(c.URL, "http") {
			return &sdk.Error{Name: "BadURL", Message: "url must begin with http", Details: sdk.Details(map[string]any{"path": "url"})}
		}
		s.settings = c
		return nil
	})
	sdk.AddTool(p, sdk.Tool{Name: "save", Description: "Saves pages of the wiki as one file."}, s.save)
	return p
}

type service struct{ settings }

type saveArgs struct {
	Pages []string `json:"pages" jsonschema:"Names of pages" minItems:"1"`
	Path  string   `json:"path" jsonschema:"The file to write, in the work folder"`
}

func (s *service) save(ctx context.Context, r *sdk.Request, in saveArgs) (*sdk.Result, error) {
	var all bytes.Buffer
	for i, page := range in.Pages {
		r.Progress(float64(i), float64(len(in.Pages)), "getting %s", page)
		text, err := s.get(ctx, page) // fails when ctx ends
		if err != nil {
			return nil, err
		}
		r.Output("stdout", fmt.Appendf(nil, "%s has %d bytes\n", page, len(text)))
		r.Logger().Debug("got a page", "page", page)
		all.Write(text)
	}
	return write(r, in.Path, all.Bytes())
}

func (s *service) get(ctx context.Context, page string) ([]byte, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/"+page, nil)
	if err != nil {
		return nil, err
	}
	q.Header.Set("Authorization", "Bearer "+s.Token)
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, &sdk.Error{Name: "ServiceUnreachable", Message: err.Error(), Retryable: true}
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusNotFound {
		return nil, &sdk.Error{
			Name:       "PageNotFound",
			Message:    fmt.Sprintf("there is no page %q", page),
			Suggestion: "Call pages__list, and take a name from there.",
		}
	}
	return io.ReadAll(io.LimitReader(answer.Body, 1<<20))
}

func write(r *sdk.Request, path string, data []byte) (*sdk.Result, error) {
	root, err := workspace.Open(r.Workdir)
	if err != nil {
		return nil, err // an *sdk.Error that says what to do, as all errors of the package
	}
	defer root.Close()
	place, err := root.Find(path)
	if err != nil {
		return nil, err // it leads out of the folder, is a pipe, …
	}
	if err := place.Write(data, nil); err != nil {
		return nil, err
	}
	return sdk.Textf("%s has %d bytes now.", path, len(data)), nil
}

func TestSavePages(t *testing.T) {
	wiki := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") != "Bearer secret" || q.URL.Path != "/home" {
			http.NotFound(w, q)
			return
		}
		fmt.Fprintln(w, "welcome")
	}))
	defer wiki.Close()
	p := sdktest.Start(t, newPages())
	p.MustConfigure(t, fmt.Sprintf(`{"url":%q,"token":"secret"}`, wiki.URL))
	dir := t.TempDir()
	for arguments, want := range map[string]string{
		`{"pages":["home"],"path":"out.txt"}`:    "",
		`{"pages":["gone"],"path":"out.txt"}`:    "PageNotFound",
		`{"pages":["home"],"path":"../out.txt"}`: "PathOutsideWorkspace",
		`{"pages":[],"path":"out.txt"}`:          "InvalidArguments",
	} {
		name := ""
		if result := p.RunIn(t, dir, "save", arguments); result.Error != nil {
			name = result.Error.Name
		}
		if name != want {
			t.Errorf("%s fails with %q, want %q", arguments, name, want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "out.txt")); err != nil || string(text) != "welcome\n" {
		t.Errorf("the file has %q: %v", text, err)
	}
}

// Settings that do not work are refused when the plugin starts, and the user reads which.
func TestWrongSettings(t *testing.T) {
	for settings, want := range map[string]string{
		`{"url":"ftp://x","token":"t"}`:  "url must begin with http",
		`{"url":"http://x","token":""}`:  "token: must not be empty",
		`{"url":"http://x","toke":"t"}`:  "toke",
		`{"url":"http://x","token":"t"}`: "",
	} {
		err := sdktest.Start(t, newPages()).Configure(t.Context(), []byte(settings), t.TempDir())
		if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", settings, err, want)
		}
	}
}
