package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// pathRule decides by the paths in calls that hold decides on: for a folder's content it is unsure, unless the
// folder's name settles it.
func pathRule(e policy.Effect, holds func(name string) bool, folder string) policy.Rule {
	return policy.Rule{Name: "paths", Effect: e, Paths: true, When: func(q *policy.Query) (policy.Truth, error) {
		switch {
		case q.Path == nil: // as a call that names no path
			return policy.No, nil
		case q.Path.Below && folder != "" && strings.HasPrefix(q.Path.Name+"/", folder):
			return policy.Yes, nil
		case q.Path.Below && (folder == "" || q.Path.Name == "." || strings.HasPrefix(folder, q.Path.Name+"/")):
			return policy.Unsure, nil
		case !q.Path.Below && holds(q.Path.Name):
			return policy.Yes, nil
		}
		return policy.No, nil
	}}
}

func treeOf(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// seeing is a plugin that records what its calls are to leave out, and may read.
type seeing struct {
	*fake
	leaveOut, roots []string
}

func pathAware(t *testing.T, aware bool) (*seeing, *fake) {
	t.Helper()
	s := &seeing{}
	reader := tool("look")
	reader.Hints, reader.PathAware = sdk.Hints{ReadOnly: sdk.Yes}, aware
	reader.InputSchema = []byte(`{"type":"object"}`)
	s.fake = calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		s.leaveOut, s.roots = r.LeaveOut, r.Roots
		return sdk.Text("ok"), nil
	}, reader)
	return s, s.fake
}

// Parts of a folder that rules deny or ask about are left out, and a tool that cannot leave anything out does not get
// the folder.
func TestRulesAboutPathsApplyInFolders(t *testing.T) {
	t.Parallel()
	dir := treeOf(t, "a.txt", "private/x", "private/deep/y", "src/b.key", "src/c.go", "src/sub/d.key")
	if err := os.Symlink("private", filepath.Join(dir, "alias")); err != nil {
		t.Fatal(err)
	}
	inPrivate := pathRule(policy.Deny, func(name string) bool { return strings.HasPrefix(name, "private/") }, "private/")
	keys := pathRule(policy.Ask, func(name string) bool { return strings.HasSuffix(name, ".key") }, "")
	for name, c := range map[string]struct {
		rule      policy.Rule
		aware     bool
		arguments string
		code      sdk.Code
		leaveOut  []string
	}{
		"a folder":                   {inPrivate, true, `{"path":"."}`, "", []string{"alias", "private"}},
		"none named":                 {inPrivate, true, `{}`, "", []string{"alias", "private"}},
		"by its absolute path":       {inPrivate, true, fmt.Sprintf(`{"path":%q}`, dir), "", []string{"alias", "private"}},
		"one without any":            {inPrivate, true, `{"path":"src"}`, "", nil},
		"the part itself":            {inPrivate, true, `{"path":"private"}`, sdk.CodeDenied, nil},
		"by a link":                  {inPrivate, true, `{"path":"alias"}`, sdk.CodeDenied, nil},
		"a file by a link":           {inPrivate, true, `{"path":"alias/x"}`, sdk.CodeDenied, nil},
		"a new file by a link":       {inPrivate, true, `{"path":"alias/new/one"}`, sdk.CodeDenied, nil},
		"several":                    {inPrivate, true, `{"paths":["src","private/deep"]}`, sdk.CodeDenied, nil},
		"names by their end":         {keys, true, `{"path":"."}`, "", []string{"src/b.key", "src/sub/d.key"}},
		"below":                      {keys, true, `{"path":"src/sub"}`, "", []string{"src/sub/d.key"}},
		"a tool that knows of none":  {inPrivate, false, `{"path":"."}`, sdk.CodeDenied, nil},
		"such a tool elsewhere":      {inPrivate, false, `{"path":"src"}`, "", nil},
		"such a tool, without paths": {inPrivate, false, `{}`, "", nil},
		"such a tool, one that asks": {keys, false, `{"path":"."}`, sdk.CodeApprovalUnavailable, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := must(policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{c.rule}}))
			s, p := pathAware(t, c.aware)
			r := single(t, p, host.Options{Policy: rules}).Call(t.Context(),
				host.Call{Tool: "test__look", Arguments: []byte(c.arguments), Workdir: dir})
			if c.code != "" {
				failed(t, r, c.code)
				return
			}
			succeeded(t, r)
			slices.Sort(s.leaveOut)
			if diff := cmp.Diff(c.leaveOut, s.leaveOut); diff != "" {
				t.Errorf("left out (-want +got):\n%s", diff)
			}
		})
	}
}

func linkTo(t *testing.T, target, link string) {
	t.Helper()
	if err := os.Symlink(filepath.FromSlash(target), link); err != nil {
		t.Fatal(err)
	}
}

// Links hide nothing from rules about paths: neither those on the way to the work folder or behind a "..", nor those in
// a folder that a tool gets which may follow them.
func TestRulesAboutPathsBehindLinks(t *testing.T) {
	t.Parallel()
	base := treeOf(t, "real/db/private/1.sql", "real/db/private/sub/x", "real/a/x", "real/b/c/y", "real/free/x", "real/s/t.key")
	dir := filepath.Join(base, "real")
	for link, target := range map[string]string{"../work": "real", "a/file": "../db/private/1.sql", "b/c/folder": "../../db/private",
		"up": "db/private/sub", "new": "db/private/new/2.sql", "loop": "loop", "free/self": ".", "free/back": "..",
		"s/other": "t.key"} {
		linkTo(t, target, filepath.Join(dir, link))
	}
	private := pathRule(policy.Deny, func(name string) bool { return strings.HasPrefix(name, "db/private/") }, "db/private/")
	keys := pathRule(policy.Deny, func(name string) bool { return strings.HasSuffix(name, ".key") }, "")
	none := pathRule(policy.Deny, func(string) bool { return false }, "")
	for name, c := range map[string]struct {
		rule    policy.Rule
		aware   bool
		workdir string
		path    string
		denied  bool
	}{
		"the work folder's own target":   {private, true, "work", dir + "/db/private/1.sql", true},
		"the same by dots":               {private, true, "work", "../real/db/private/1.sql", true},
		"a folder by that target":        {private, true, "work", dir + "/db/private", true},
		"another file by that target":    {private, true, "work", dir + "/a/x", false},
		"behind a link and dots":         {private, false, "real", "up/../1.sql", true},
		"the same, a new file":           {private, false, "real", "up/../3.sql", true},
		"a link to a file to be made":    {private, false, "real", "new", true},
		"a folder with a link to a file": {private, false, "real", "a", true},
		"one with a link to a folder":    {private, false, "real", "b", true},
		"for a tool that follows none":   {private, true, "real", "b", false},
		"a link in a folder with others": {keys, false, "real", "s", true},
		"a link to itself":               {private, false, "real", "loop", false},
		"below it":                       {private, false, "real", "loop/loop/x", false},
		"links to their own folder":      {none, false, "real", ".", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := must(policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{c.rule}}))
			_, p := pathAware(t, c.aware)
			r := single(t, p, host.Options{Policy: rules}).Call(t.Context(), host.Call{Tool: "test__look",
				Arguments: fmt.Appendf(nil, `{"path":%q}`, c.path), Workdir: filepath.Join(base, c.workdir)})
			if c.denied {
				failed(t, r, sdk.CodeDenied)
			} else {
				succeeded(t, r)
			}
		})
	}
}

// Links in /proc lead the plugin elsewhere than the host, so no one knows what the call is about.
func TestRulesAboutPathsThroughProc(t *testing.T) {
	t.Parallel()
	if _, err := os.Readlink("/proc/self/cwd"); err != nil {
		t.Skip("no /proc")
	}
	dir := treeOf(t, "db/x", "in/x", "free/x", "plain/x", "plain/a/b/c/d/x")
	for link, target := range map[string]string{"in/cwd": "/proc/self/cwd", "free/pid": "/proc/thread-self", "plain/up": "../db",
		"plain/deep": "a/b/c/d"} {
		linkTo(t, target, filepath.Join(dir, link))
	}
	out := strings.Repeat("../", 40)
	cleaned := "plain/deep/" + strings.Repeat("../", strings.Count(dir, "/")+2) + "proc/self/cwd/x" // for tools that clean paths
	for path, asked := range map[string]bool{"/proc/self/cwd/db/x": true, "/proc/self/root" + dir + "/db/x": true,
		"/proc/thread-self/cwd/x": true, "/proc/self/task/../cwd/x": true, "/dev/fd/../cwd/x": true, out + "proc/self/cwd/x": true,
		cleaned: true, "in/cwd/db/x": true, "in/cwd": true, "in": true, "free": true, ".": true, "in/cwd/../x": true,
		fmt.Sprintf("/proc/%d/cwd/x", os.Getpid()): true, "/proc/version": false, "plain": false, "proc/self/cwd": false,
		"db/x": false} {
		rules := must(policy.New(policy.Layer{Name: "user",
			Rules: []policy.Rule{pathRule(policy.Deny, func(string) bool { return false }, "")}}))
		_, p := pathAware(t, false)
		d, err := single(t, p, host.Options{Policy: rules}).Explain(t.Context(), host.Call{Tool: "test__look",
			Arguments: fmt.Appendf(nil, `{"path":%q}`, path), Workdir: dir})
		if err != nil || d.Effect == policy.AlwaysAsk != asked || !asked && d.Effect != policy.Allow {
			t.Errorf("%s: %s because %s, %v", path, d.Effect, d.Reason, err)
		}
	}
}

// Where there are too many files to decide on, a person is asked each time, and a tool that leaves nothing out is denied
// what was found to be denied.
func TestRulesAboutPathsInVeryManyFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 300 {
		sub := filepath.Join(dir, fmt.Sprint(i))
		if err := os.Mkdir(sub, 0o755); err != nil {
			t.Fatal(err)
		}
		for j := range 70 {
			if err := os.Link(os.Args[0], filepath.Join(sub, fmt.Sprint(j))); err != nil {
				if err := os.WriteFile(filepath.Join(sub, fmt.Sprint(j)), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	rules := must(policy.New(policy.Layer{Name: "user",
		Rules: []policy.Rule{pathRule(policy.Deny, func(string) bool { return false }, "")}}))
	_, p := pathAware(t, true)
	h := single(t, p, host.Options{Policy: rules})
	e := failed(t, h.Call(t.Context(), host.Call{Tool: "test__look", Arguments: []byte(`{}`), Workdir: dir}),
		sdk.CodeApprovalUnavailable)
	if !strings.Contains(e.Message, "name a smaller folder") {
		t.Error(e.Message)
	}
	succeeded(t, h.Call(t.Context(), host.Call{Tool: "test__look", Arguments: []byte(`{"path":"7"}`), Workdir: dir}))

	d := must(h.Explain(t.Context(), host.Call{Tool: "test__look", Arguments: []byte(`{}`), Workdir: dir}))
	if d.Effect != policy.AlwaysAsk {
		t.Errorf("the effect is %s", d.Effect)
	}
	first := must(policy.New(policy.Layer{Name: "user",
		Rules: []policy.Rule{pathRule(policy.Deny, func(name string) bool { return name == "0/0" }, "")}}))
	_, plain := pathAware(t, false)
	failed(t, single(t, plain, host.Options{Policy: first}).Call(t.Context(),
		host.Call{Tool: "test__look", Arguments: []byte(`{"path":"."}`), Workdir: dir}), sdk.CodeDenied)
}

// Roots are for tools that know of them, each with its effect, and the strictest of those that contain a path
// applies.
func TestRoots(t *testing.T) {
	t.Parallel()
	work, data := t.TempDir(), treeOf(t, "a", "nested/b", "fresh/c")
	roots := []host.Root{{Path: data, Effect: policy.Allow}, {Path: filepath.Join(data, "nested")},
		{Path: filepath.Join(data, "fresh"), Effect: policy.AlwaysAsk}}
	linkTo(t, "fresh/c", filepath.Join(data, "link"))
	linkTo(t, "fresh", filepath.Join(data, "folder"))
	linkTo(t, data, filepath.Join(work, "other"))
	for name, c := range map[string]struct {
		path     string
		aware    bool
		effect   policy.Effect
		roots    []string
		leaveOut []string
	}{
		"in it":     {data + "/a", true, policy.Allow, []string{data}, nil},
		"all of it": {data, true, policy.Allow, []string{data}, []string{data + "/nested", data + "/fresh"}},
		"by dots": {work + "/x/../../" + filepath.Base(filepath.Dir(data)) + "/nowhere", true, policy.Allow, nil,
			nil},
		"nested":             {data + "/nested/b", true, policy.Ask, []string{data + "/nested"}, nil},
		"asked about always": {data + "/fresh", true, policy.AlwaysAsk, []string{data + "/fresh"}, nil},
		"by a link":          {data + "/link", true, policy.AlwaysAsk, []string{data, data + "/fresh"}, nil},
		"in a linked folder": {data + "/folder/c", true, policy.AlwaysAsk, []string{data, data + "/fresh"}, nil},
		"beside it":          {data + "x/a", true, policy.Allow, nil, nil},
		"the work folder":    {work + "/a", true, policy.Allow, nil, nil},
		"another tool":       {data + "/nested/b", false, policy.Allow, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := pathAware(t, c.aware)
			a := &asked{answers: []host.Answer{host.Yes()}}
			r := single(t, p, host.Options{Roots: roots, Approver: a}).Call(t.Context(),
				host.Call{Tool: "test__look", Arguments: fmt.Appendf(nil, `{"path":%q}`, c.path), Workdir: work})
			succeeded(t, r)
			if asks := len(a.questions) == 1; asks != c.effect.Asks() || asks && a.questions[0].Decision.Effect != c.effect {
				t.Errorf("asked %d times, want %s", len(a.questions), c.effect)
			}
			for _, q := range a.questions {
				steps := map[policy.Step]bool{}
				for _, step := range q.Decision.Trace {
					if steps[step] {
						t.Errorf("the trace has a step twice: %+v", step)
					}
					steps[step] = true
				}
			}
			if diff := cmp.Diff(c.roots, s.roots) + cmp.Diff(c.leaveOut, s.leaveOut); diff != "" {
				t.Errorf("roots and what is left out (-want +got):\n%s", diff)
			}
		})
	}
	for _, wrong := range []host.Root{{Path: "/"}, {Path: "relative"}, {Path: "/srv", Effect: policy.Deny}, {}} {
		if _, err := host.New(nil, host.Options{Roots: []host.Root{wrong}}); err == nil {
			t.Errorf("%+v is taken for a root", wrong)
		}
	}
}
