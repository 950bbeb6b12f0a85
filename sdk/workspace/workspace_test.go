package workspace

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
)

// A fixture is an open workspace.
type fixture struct {
	*Root
	dir string
}

// start makes a workspace with files, given as path, content, path, content. At the end of the test no temporary file
// may be left in it.
func start(t testing.TB, files ...string) *fixture {
	t.Helper()
	f := &fixture{dir: t.TempDir()}
	for i := 0; i < len(files); i += 2 {
		f.put(t, files[i], files[i+1])
	}
	w, err := Open(f.dir)
	check(t, err)
	f.Root = w
	t.Cleanup(func() {
		w.Close()
		noLeftovers(t, f.dir)
	})
	return f
}

func noLeftovers(t testing.TB, dir string) {
	t.Helper()
	check(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), ".toolhost-") {
			t.Errorf("%s is left over", path)
		}
		return err
	}))
}

func (f *fixture) path(name string) string { return filepath.Join(f.dir, name) }

func (f *fixture) put(t testing.TB, name, content string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(f.path(name)), 0o755))
	check(t, os.WriteFile(f.path(name), []byte(content), 0o644))
}

// link makes symlinks, given as name and target.
func (f *fixture) link(t testing.TB, targets map[string]string) {
	t.Helper()
	for name, target := range targets {
		check(t, os.Symlink(target, f.path(name)))
	}
}

// find finds a path that can be.
func (f *fixture) find(t testing.TB, path string) *Place {
	t.Helper()
	p, err := f.Find(path)
	check(t, err)
	return p
}

// read finds and reads a file.
func (f *fixture) read(path string) (string, error) {
	p, err := f.Find(path)
	if err != nil {
		return "", err
	}
	file, err := p.Open()
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(file)
	return string(text), err
}

// holds checks what a file holds.
func (f *fixture) holds(t testing.TB, name, want string) {
	t.Helper()
	got, err := os.ReadFile(f.path(name))
	if err != nil || string(got) != want {
		t.Errorf("%s holds %.200q (%v), want %.200q", name, got, err, want)
	}
}

// outside makes a folder beside the workspace with a file named secret, which must stay as it is.
func outside(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	secret := filepath.Join(dir, "secret")
	check(t, os.WriteFile(secret, []byte("secret"), 0o644))
	t.Cleanup(func() {
		if got, err := os.ReadFile(secret); err != nil || string(got) != "secret" {
			t.Errorf("the file outside holds %q (%v)", got, err)
		}
		if names, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(names) != 1 {
			t.Errorf("the folder outside holds %v (%v)", names, err)
		}
		noLeftovers(t, dir)
	})
	return dir
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fails checks that err is an error for the model with this name.
func fails(t testing.TB, err error, name string) *sdk.Error {
	t.Helper()
	defer func() {
		if e, ok := errors.AsType[*sdk.Error](err); ok && e.Suggestion == "" {
			t.Errorf("%s does not say what to do: %s", e.Name, e.Message)
		}
	}()
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok || e.Name != name {
		t.Fatalf("failed with %v (%+v), want %s", err, e, name)
	}
	return e
}

func contains(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not contain %q", text, part)
		}
	}
}

func TestPathsAreKeptInside(t *testing.T) {
	f := start(t, "a.txt", "inside", "dir/b.txt", "inside")
	out := outside(t)
	check(t, os.WriteFile(f.dir+"-evil", []byte("secret"), 0o644))
	back, err := filepath.Rel(f.dir, out)
	check(t, err)
	f.link(t, map[string]string{
		"abs-out":      filepath.Join(out, "secret"),
		"rel-out":      filepath.Join(back, "secret"),
		"dir-out":      out,
		"dir/up-out":   "../../" + filepath.Base(out),
		"abs-in":       f.path("dir/b.txt"),
		"rel-in":       "dir/b.txt",
		"dir/up-in":    "../a.txt",
		"dir-in":       "dir",
		"abs-dir-in":   f.path("dir"),
		"chain":        "abs-in",
		"whole":        f.dir,
		"loop":         "loop2",
		"loop2":        "loop",
		"out-and-in":   "../" + filepath.Base(f.dir) + "/a.txt",
		"dangling":     "nothing",
		"dangling-out": "../nothing",
		"nowhere-out":  "nothing/../../x",
		"zero-device":  "/dev/zero",
	})
	tests := []struct{ path, want string }{ // want is an error name, or "" for inside
		{"a.txt", ""}, {"./a.txt", ""}, {"dir/../a.txt", ""}, {"dir//b.txt", ""}, {f.path("a.txt"), ""},
		{f.dir + "/dir/../a.txt", ""},
		{"abs-in", ""}, {"rel-in", ""}, {"dir/up-in", ""}, {"dir-in/b.txt", ""}, {"abs-dir-in/b.txt", ""}, {"chain", ""},
		{"whole/a.txt", ""}, {"whole/whole/dir/b.txt", ""},
		{"../" + filepath.Base(f.dir) + "/a.txt", ""}, // by its letters it does not leave
		{"../secret", "PathOutsideWorkspace"}, {"dir/../../x", "PathOutsideWorkspace"}, {"..", "PathOutsideWorkspace"},
		{"/etc/passwd", "PathOutsideWorkspace"}, {"/", "PathOutsideWorkspace"},
		{f.dir + "-evil", "PathOutsideWorkspace"}, {f.dir + "/../" + filepath.Base(out) + "/secret", "PathOutsideWorkspace"},
		{"abs-out", "PathOutsideWorkspace"}, {"rel-out", "PathOutsideWorkspace"}, {"dir-out/secret", "PathOutsideWorkspace"},
		{"dir/up-out/secret", "PathOutsideWorkspace"},
		{"out-and-in", "PathOutsideWorkspace"}, {"zero-device", "PathOutsideWorkspace"},
		{"dangling-out", "PathOutsideWorkspace"}, {"nowhere-out", "PathOutsideWorkspace"},
		{"loop", "LinkLoop"}, {"dangling", "FileNotFound"}, {"a.txt/x", "NotADirectory"}, {"nothing/x", "FileNotFound"},
		{"", "InvalidPath"}, {"a\x00b", "InvalidPath"}, {strings.Repeat("x", 300), "InvalidPath"},
		{".", "IsADirectory"}, {"dir", "IsADirectory"}, {"dir-in", "IsADirectory"}, {"whole", "IsADirectory"},
	}
	for _, test := range tests {
		t.Run(strings.ToValidUTF8(test.path, "?"), func(t *testing.T) {
			text, err := f.read(test.path)
			switch {
			case test.want == "" && (err != nil || text != "inside"):
				t.Errorf("read %q (%v)", text, err)
			case test.want == "PathOutsideWorkspace":
				contains(t, fails(t, err, test.want).Message, f.dir)
			case test.want != "":
				fails(t, err, test.want)
			}
		})
	}
}

func TestPlaces(t *testing.T) {
	f := start(t, "dir/file", "")
	f.link(t, map[string]string{"link": "dir", "dangling": "dir/new", "deep": "none/new"})
	resolved, err := filepath.EvalSymlinks(f.dir)
	check(t, err)
	tests := []struct {
		path, shown, real, missing string
		there                      bool
	}{
		{".", ".", ".", "", true},
		{f.dir, ".", ".", "", true},
		{"./dir//file", "dir/file", "dir/file", "", true},
		{"link/file", "link/file", "dir/file", "", true},
		{"link/", "link", "dir", "", true},
		{"link/new", "link/new", "dir/new", "", false},
		{"link/a/b/c", "link/a/b/c", "dir/a/b/c", "dir/a", false},
		{"dangling", "dangling", "dir/new", "", false},
		{"deep", "deep", "none/new", "none", false},
	}
	for _, test := range tests {
		t.Run(test.path, func(t *testing.T) {
			p := f.find(t, test.path)
			got := []any{p.Path, p.Real(), p.Resolved(), p.Missing, p.Info != nil, p.Target}
			want := []any{test.shown, filepath.Join(resolved, test.real), test.real, test.missing, test.there, ""}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWorkspaceBehindALink(t *testing.T) {
	f := start(t, "a.txt", "inside")
	link := filepath.Join(t.TempDir(), "link")
	check(t, os.Symlink(f.dir, link))
	w, err := Open(link)
	check(t, err)
	defer w.Close()
	behind := &fixture{w, link}
	for _, path := range []string{"a.txt", link + "/a.txt", f.dir + "/a.txt"} {
		text, err := behind.read(path)
		if err != nil || text != "inside" {
			t.Errorf("read %q (%v) by %s", text, err, path)
		}
		if p := behind.find(t, path); p.Path != "a.txt" || p.Real() != f.find(t, "a.txt").Real() {
			t.Errorf("%s is %s, at %s", path, p.Path, p.Real())
		}
	}
}

func TestOpenFailures(t *testing.T) {
	f := start(t, "file", "")
	for _, dir := range []string{"", "relative", f.path("nothing"), f.path("file")} {
		_, err := Open(dir)
		fails(t, err, "WorkspaceUnavailable")
	}
}

func TestClosed(t *testing.T) {
	f := start(t, "file", "text")
	p := f.find(t, "file")
	file, err := p.Open()
	check(t, err)
	defer func() { _ = file.Close() }()
	f.Close()
	f.Close() // again does no harm
	_, err = f.Find("file")
	fails(t, err, "IOError")
	_, err = p.Open()
	fails(t, err, "IOError")
	fails(t, p.Write(nil, nil), "IOError")
	if text, err := io.ReadAll(file); err != nil || string(text) != "text" {
		t.Errorf("a file that was open holds %q (%v)", text, err)
	}
}

// Whatever the path: a place is inside, and what it gives to read is.
func FuzzFind(f *testing.F) {
	w := start(f, "a", "inside", "dir/b", "inside")
	out := outside(f)
	w.link(f, map[string]string{"dir/up": "..", "in": w.dir, "out": out, "file-out": filepath.Join(out, "secret"),
		"up": "../..", "odd": "nothing/../dir/../../x", "loop": "loop/a"})
	for _, path := range []string{"a", "dir/up/in/a", "out/secret", "in/../a", "up", "odd", "loop", w.dir, out,
		"dir/up/../a\x00", "./././/"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		p, err := w.Find(path)
		if err != nil {
			if e, ok := errors.AsType[*sdk.Error](err); !ok || e.Name == "" {
				t.Fatalf("failed with %v", err)
			}
			return
		}
		if rel, err := filepath.Rel(w.real, p.Real()); err != nil || !filepath.IsLocal(rel) ||
			!filepath.IsLocal(filepath.FromSlash(p.Path)) {
			t.Fatalf("%q leads to %s, shown as %s", path, p.Real(), p.Path)
		}
		if text, err := w.read(path); err == nil && text != "inside" {
			t.Fatalf("read %q by %q", text, path)
		}
	})
}

func TestAllowedSecrets(t *testing.T) {
	allowed := AllowedSecrets{".env", "tls/**/*.{key,crt}", "link.pem"}
	for _, c := range []struct{ given, resolved, want string }{
		{"plain", "plain", ""},
		{".env", ".env", ""},
		{"a/.env", "a/.env", "a/.env"},
		{"tls/a/b.key", "tls/a/b.key", ""},
		{"notes", "tls/b.key", ""},
		{"notes", "b.key", "b.key"},
		{"my.pem", "plain", "my.pem"},
		{"my.pem", ".env", ""},
		{"link.pem", "plain", ""},
		{"link.pem", "other.pem", "other.pem"},
	} {
		if got := allowed.Against(c.given, c.resolved); got != c.want {
			t.Errorf("Against(%q, %q) is %q, want %q", c.given, c.resolved, got, c.want)
		}
	}
}

func TestAllowedSecretsAreChecked(t *testing.T) {
	if err := (AllowedSecrets{"a.pem", "**/*.key", "{a,b}/[cd]*"}).Check(); err != nil {
		t.Error(err)
	}
	for _, pattern := range []string{"", "/a.pem", "config/[", "{a,b"} {
		if e, ok := (AllowedSecrets{"a.pem", pattern}).Check().(*sdk.Error); !ok || e.Name != "InvalidConfig" {
			t.Errorf("%q is taken", pattern)
		}
	}
}
