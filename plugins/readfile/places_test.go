package main

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

// What a request leaves out is not found by any tool that walks, by whatever way it comes there.
func TestLeftOutPaths(t *testing.T) {
	f := start(t, "a.txt", "needle\n", "private/x.txt", "needle\n", "private/deep/y.txt", "needle\n", "src/b.key.txt", "needle\n", "src/c.txt", "needle\n")
	check(t, os.Symlink("private", filepath.Join(f.dir, "alias")))
	leaveOut := []string{"private", "src/b.key.txt"}
	for _, c := range []struct{ tool, arguments string }{
		{"grep", `{"pattern":"needle"}`}, {"grep", `{"pattern":"needle","hidden":true,"ignored":true}`}, {"grep", `{"pattern":"needle","include":"private/**"}`},
		{"glob", `{"pattern":"**/*.txt"}`}, {"glob", `{"pattern":"private/*"}`}, {"glob", `{"pattern":"private/deep/y*"}`}, {"glob", `{"pattern":"alias/*"}`},
		{"list", `{"depth":9}`}, {"list", `{"path":"src"}`}, {"glob", `{"path":"src","pattern":"*"}`}, {"grep", `{"path":"src","pattern":"needle"}`},
	} {
		r, err := f.Call(t.Context(), &sdk.Request{CallID: rand.Text(), Tool: c.tool, Arguments: []byte(c.arguments), Workdir: f.dir, LeaveOut: leaveOut})
		check(t, err)
		text := r.Content[0].Text
		for _, name := range []string{"x.txt", "y.txt", "b.key"} {
			if strings.Contains(text, name) {
				t.Errorf("%s %s shows %s:\n%s", c.tool, c.arguments, name, text)
			}
		}
		if !strings.Contains(text, "left out") {
			t.Errorf("%s %s does not say that something is left out:\n%s", c.tool, c.arguments, text)
		}
	}
}

// A root is read by absolute paths, keeps what links lead out of it, and has no secrets that the work folder's settings allow.
func TestRootsAreRead(t *testing.T) {
	f := start(t, "a.txt", "here\n")
	other := start(t, "b.txt", "there\n", "sub/c.txt", "there\n", ".env", "A=1\n", "cfg/test.pem", "k\n")
	outside := start(t, "d.txt", "away\n")
	check(t, os.Symlink(outside.dir, filepath.Join(other.dir, "out")))
	f.MustConfigure(t, `{"allow_secrets":["cfg/test.pem","**/.env"]}`)
	run := func(tool, arguments string) *sdk.Result {
		t.Helper()
		r, err := f.Call(t.Context(), &sdk.Request{CallID: rand.Text(), Tool: tool, Arguments: []byte(strings.ReplaceAll(arguments, "ROOT", other.dir)), Workdir: f.dir, Roots: []string{other.dir}})
		check(t, err)
		return r
	}
	for _, c := range []struct{ tool, arguments, want string }{
		{"read", `{"path":"ROOT/b.txt"}`, "there"}, {"read", `{"paths":["a.txt","ROOT/sub/c.txt"]}`, "ROOT/sub/c.txt"}, {"grep", `{"pattern":"there","path":"ROOT"}`, "ROOT/sub/c.txt:1:there"},
		{"list", `{"path":"ROOT","depth":2}`, "ROOT/sub/c.txt"}, {"glob", `{"path":"ROOT/sub","pattern":"*.txt"}`, "ROOT/sub/c.txt"}, {"glob", `{"path":"ROOT","pattern":"ROOT/sub/*.txt"}`, "ROOT/sub/c.txt"},
	} {
		r := run(c.tool, c.arguments)
		var text string
		for _, part := range r.Content {
			text += part.Text
		}
		if r.Error != nil || !strings.Contains(text, strings.ReplaceAll(c.want, "ROOT", other.dir)) {
			t.Errorf("%s %s: %v\n%s", c.tool, c.arguments, r.Error, text)
		}
	}
	for arguments, name := range map[string]string{
		`{"path":"ROOT/.env"}`: "SecretFile", `{"path":"ROOT/cfg/test.pem"}`: "SecretFile", `{"path":"ROOT/out/d.txt"}`: "PathOutsideWorkspace", `{"path":"ROOT/../x"}`: "PathOutsideWorkspace",
		`{"path":"ROOT/none.txt"}`: "FileNotFound", `{"path":"ROOTx/b.txt"}`: "PathOutsideWorkspace",
	} {
		if r := run("read", arguments); r.Error == nil || r.Error.Name != name {
			t.Errorf("%s: the error is %v, want %s", arguments, r.Error, name)
		}
	}
	r, err := f.Call(t.Context(), &sdk.Request{CallID: rand.Text(), Tool: "read", Arguments: []byte(`{"path":"/nowhere/to/be/found/x"}`), Workdir: f.dir, Roots: []string{"/nowhere/to/be/found"}})
	check(t, err)
	if r.Error == nil || r.Error.Name != "RootUnavailable" {
		t.Errorf("a root that is not there: %v", r.Error)
	}
}
