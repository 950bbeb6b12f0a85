package sandbox

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestThrough(t *testing.T) {
	dir := resolved(t.TempDir())
	for _, d := range []string{"/own/sub/deep", "/other", "/own-not"} {
		check(t, os.MkdirAll(dir+d, 0o755))
	}
	for link, to := range map[string]string{"/alias": dir + "/own", "/own/out": dir + "/other", "/down": dir + "/own/sub"} {
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

// What a plugin puts in a folder of its own while that is looked at never becomes a rule.
func TestNestedFoldersAreNoRules(t *testing.T) {
	own, other := t.TempDir(), t.TempDir()
	check(t, os.Symlink(other, own+"/a"))
	s := Plan{Box: Spec{Level: Isolated, Write: []string{own, own + "/a"}}, Means: Means{NoNewPrivs: true, Landlock: 7},
		Folders: Folders{Work: own, Temp: other, Socket: own + "/a"}}
	if diff := cmp.Diff([]string{other, own}, s.orders().Write[len(devices):]); diff != "" {
		t.Error(diff)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
