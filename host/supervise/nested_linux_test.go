package supervise

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
)

func TestThrough(t *testing.T) {
	dir := resolved(shortDir(t))
	for _, d := range []string{"/own/sub/deep", "/other", "/own-not"} {
		must(0, os.MkdirAll(dir+d, 0o755))
	}
	for link, to := range map[string]string{"/alias": dir + "/own", "/own/out": dir + "/other", "/down": dir + "/own/sub"} {
		must(0, os.Symlink(to, dir+link))
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
		folders := []string{"/nowhere", dir + c.folder}
		if got := through(dir+c.path, folders, allResolved(folders)); got != c.want {
			t.Errorf("%s leads through %q, want %q", c.path, got, c.want)
		}
	}
	paths := []string{dir + "/own/sub", dir + "/other", dir + "/own"}
	if diff := cmp.Diff([]string{dir + "/other", dir + "/own"}, withoutNested(slices.Clone(paths), paths)); diff != "" {
		t.Error(diff)
	}
}

// What a plugin puts in the place of a folder that it may write to gives it nothing at the next start.
func TestLinksInOwnFolders(t *testing.T) {
	if Machine().Landlock < landlockTruncate {
		t.Logf("this machine confines nothing: Landlock %d", Machine().Landlock)
		return
	}
	for _, level := range []Level{Confined, Isolated} {
		t.Run(string(level), func(t *testing.T) {
			p := makePrey(t)
			box := Sandbox{Level: level, Write: []string{p.Inside, p.Inside + "/a"}, Read: []string{p.Inside + "/b"}}
			proc := add(t, supervisor(t), attacker(p, box))
			mustCall(t, proc, "run", "cd "+p.Inside+" && echo new > a/file && cat b/file a/file; rm -r a; rm -r b; ln -sT "+p.Outside+" a; ln -sT "+p.Outside+" b")
			_, _ = call(t, proc, "give-up", "")
			_, err := call(t, proc, "run", "echo changed > "+p.Secret)
			checkError(t, err, sdk.CodePluginUnavailable, "leads to "+p.Outside, "name "+p.Outside+" itself")
			if text := string(must(os.ReadFile(p.Secret))); text != "text" {
				t.Errorf("it wrote %q outside", text)
			}
		})
	}
}

// Nor does what it puts there while it is looked at: such a path never becomes a rule.
func TestNestedFoldersAreNoRules(t *testing.T) {
	p := makePrey(t)
	f := folders{work: p.Inside, tmp: p.Outside, socket: p.Inside + "/a"}
	o := Sandbox{Level: Isolated, Write: []string{p.Inside, p.Inside + "/a"}}.orders(Means{NoNewPrivs: true, Landlock: 7}, Confinement{Asked: Isolated}, f)
	if diff := cmp.Diff([]string{p.Outside, p.Inside}, o.Write[len(devices):]); diff != "" {
		t.Error(diff)
	}
}

// A program that is found by a link in a folder of the plugin's cannot be read at isolated, and that is said.
func TestProgramByALinkInOwnFolders(t *testing.T) {
	if Machine().reach(Isolated) != Isolated {
		t.Logf("this machine reaches %s", Machine().reach(Isolated))
		return
	}
	p := makePrey(t)
	must(0, os.Symlink(os.Args[0], p.Inside+"/plugin"))
	spec := attacker(p, Sandbox{Level: Isolated})
	spec.Command = []string{p.Inside + "/plugin"}
	_, err := call(t, add(t, supervisor(t), spec), "facts", "")
	checkError(t, err, sdk.CodePluginUnavailable, "it is run as "+p.Inside+"/plugin, which leads to "+os.Args[0], "name "+os.Args[0]+" itself")
}
