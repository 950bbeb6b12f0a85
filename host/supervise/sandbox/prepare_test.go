package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/sdk/filenames"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// A wrapper that cannot be run is reported once.
func TestMissingWrapper(t *testing.T) {
	for wrapper, want := range map[string]string{
		"/proc/nowhere/bwrap": "its wrapper /proc/nowhere/bwrap cannot be run: no such file or directory",
		"/":                   "its wrapper / cannot be run: is a directory",
		"no-such-bwrap":       "its wrapper no-such-bwrap cannot be run: executable file not found in $PATH",
	} {
		h, s := Host{Workdir: t.TempDir()}, Spec{Wrapper: []string{wrapper}}
		if _, err := h.Prepare(s, Program{Path: "/bin/true", Argv: []string{"true"}}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// The folder of an isolated plugin's program can be read, unless it contains a home folder or temporary files of others.
func TestProgramFolder(t *testing.T) {
	dir := t.TempDir()
	home, link := filepath.Join(dir, "home"), filepath.Join(dir, "link")
	if err := errors.Join(os.Mkdir(home, 0o700), os.Symlink(home, link)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", link)
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp", "mine"))
	for named, want := range map[string]string{"/home/user/bin/plugin": "/home/user/bin", home + "/bin/plugin": home + "/bin",
		home + "/plugin": home + "/plugin", link + "/plugin": link + "/plugin", dir + "/plugin": dir + "/plugin",
		dir + "/tmp/plugin": dir + "/tmp/plugin", dir + "/tmp/of/plugin": dir + "/tmp/of", "/plugin": "/plugin",
		"/tmp/plugin": "/tmp/plugin", "/var/tmp/plugin": "/var/tmp/plugin", "/root/plugin": "/root/plugin"} {
		if got := programFolders(Program{Named: func() (string, error) { return named, nil }, Path: "/kept/copy"},
			"/usr/bin/wrapper"); !slices.Equal(got, []string{"/kept/copy", "/usr/bin/wrapper", want}) {
			t.Errorf("%s: %v, want %s", named, got, want)
		}
	}
	if got := programFolders(Program{Named: func() (string, error) { return "", os.ErrNotExist }, Path: "/kept/copy"},
		"run"); !slices.Equal(got, []string{"/kept/copy", "run"}) {
		t.Errorf("without a program: %v", got)
	}
}

// Editing a file that is protected from plugins needs approval too.
func TestProtectedNamesAreAutoExecuted(t *testing.T) {
	for _, name := range slices.Concat(reservedNames, protectedNames, homeNames) {
		if name != "bin" && !filenames.AutoExecuted(name) {
			t.Errorf("%s is not", name)
		}
	}
}

// A program whose lookup hangs is not reported as protected.
func TestProgramsThatHangAreNotProtected(t *testing.T) {
	dir := t.TempDir()
	program := dir + "/bin/hung"
	h := Host{Workdir: dir, Lookup: &PathLookup{pending: map[string]*lookup{program: {}}},
		Capabilities: proctree.Capabilities{Sandbox: true, NoNewPrivs: true, Landlock: 7, Seccomp: true, Namespaces: true},
		Paths:        func() Paths { return Paths{ReadOnly: []string{program}} }}
	got, err := h.Evaluate(Spec{})
	if err != nil || got.Effective != Supervised || !strings.Contains(strings.Join(got.Missing, "\n"), program) {
		t.Errorf("it has %+v, %v", got, err)
	}
	if _, err := h.Evaluate(Spec{Require: Confined}); err == nil || !strings.Contains(err.Error(), program) {
		t.Errorf("required: %v", err)
	}
}

func TestThrough(t *testing.T) {
	dir := fsutil.Resolved(t.TempDir())
	for _, d := range []string{"/own/sub/deep", "/other", "/own-not"} {
		check(t, os.MkdirAll(dir+d, 0o755))
	}
	for link, to := range map[string]string{"/alias": dir + "/own", "/own/out": dir + "/other", "/down": dir +
		"/own/sub"} {
		check(t, os.Symlink(to, dir+link))
	}
	for _, c := range []struct{ path, folder, want string }{
		{"/own", "/own", ""},
		{"/other", "/own", ""},
		{"/own-not", "/own", ""},
		{"/own/sub", "/own", "/own"},
		{"/own/sub/deep", "/own", "/own"},
		{"/own/none/at/all", "/own", "/own"},
		{"/own/out", "/own", "/own"},
		{"/alias/sub", "/own", "/own"},
		{"/alias/out/x", "/own", "/own"},
		{"/own/sub", "/alias", "/alias"},
		{"/alias", "/own", ""}, // the link itself is outside
		{"/down/deep", "/own", "/own"},
	} {
		if c.want != "" {
			c.want = dir + c.want
		}
		folders := []string{"/proc/nowhere", dir + c.folder}
		if got := through(dir+c.path, folders, allResolved(folders)); got != c.want {
			t.Errorf("%s leads through %q, want %q", c.path, got, c.want)
		}
	}
	paths := []string{dir + "/own/sub", dir + "/other", dir + "/own"}
	if diff := cmp.Diff([]string{dir + "/other", dir + "/own"}, withoutNested(slices.Clone(paths), paths)); diff != "" {
		t.Error(diff)
	}
}

// A path that a sandbox names is refused where a link leads it out of a folder in which others can change links.
func TestLinksOutOfSharedFolders(t *testing.T) {
	dir, elsewhere := fsutil.Resolved(t.TempDir()), fsutil.Resolved(t.TempDir())
	check(t, os.MkdirAll(dir+"/cache/kept", 0o755))
	for link, to := range map[string]string{"/out": elsewhere, "/in": "cache", "/cache/up": "..", "/cache/out": elsewhere} {
		check(t, os.Symlink(to, dir+link))
	}
	for _, c := range []struct {
		path   string
		shared []string
		leads  string // "" if it is accepted
	}{
		{dir + "/cache", []string{dir}, ""},
		{dir + "/in", []string{dir}, ""},
		{dir + "/in/kept", []string{dir}, ""},
		{dir + "/out", []string{dir}, elsewhere},
		{dir + "/out", []string{elsewhere}, ""},
		{dir + "/out", []string{dir + "/out"}, ""}, // another plugin may write to it, and so cannot replace it
		{dir + "/cache/up", []string{dir}, ""},
		{dir + "/cache/up", []string{dir, dir + "/cache"}, dir},
		{dir + "/cache/out", []string{dir + "/cache"}, elsewhere},
	} {
		for _, s := range []Spec{{Write: []string{c.path}}, {Level: Isolated, Write: []string{}, Read: []string{c.path}}} {
			err := Host{Shared: c.shared}.CheckFolders(s)
			if c.leads == "" && err != nil || c.leads != "" && (err == nil ||
				!strings.Contains(err.Error(), c.path+", which leads to "+c.leads+" by a link in ")) {
				t.Errorf("%s with links in %v: %v, want %q", c.path, c.shared, err, c.leads)
			}
		}
	}
	// What was a folder when it was checked is looked at again for the mounts.
	r := request{Host: Host{Shared: []string{dir}, Capabilities: proctree.Capabilities{Namespaces: true}},
		spec: Spec{Write: []string{dir + "/out"}}}
	if _, _, err := r.writableMounts(); err == nil || !strings.Contains(err.Error(), "name "+elsewhere+" itself") {
		t.Errorf("mounts: %v", err)
	}
}

// A link that a plugin puts in its own folder during a lookup never becomes a rule.
func TestNestedFoldersAreNoRules(t *testing.T) {
	own, other := t.TempDir(), t.TempDir()
	check(t, os.Symlink(other, own+"/a"))
	r := request{Host: Host{Workdir: own, Capabilities: proctree.Capabilities{NoNewPrivs: true, Landlock: 7}},
		spec: Spec{Level: Isolated, Write: []string{own, own + "/a"}}, Program: Program{Temp: other, Socket: own + "/a"}}
	if diff := cmp.Diff([]string{other, own}, r.restrictions().Write[len(devices):]); diff != "" {
		t.Error(diff)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
