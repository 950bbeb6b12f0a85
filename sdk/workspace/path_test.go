package workspace

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOpen(t *testing.T) {
	f := start(t, "file", "text", "readonly", "text", "dir/x", "")
	check(t, os.Chmod(f.path("readonly"), 0o444))
	tests := []struct{ path, open, writable string }{ // names of errors
		{"file", "", ""},
		{"readonly", "", "PermissionDenied"},
		{"dir", "IsADirectory", "IsADirectory"},
		{"nothing", "FileNotFound", "FileNotFound"},
	}
	for _, test := range tests {
		p := f.find(t, test.path)
		for name, open := range map[string]func() (*os.File, error){test.open: p.Open, test.writable: p.OpenWritable} {
			file, err := open()
			if name != "" {
				fails(t, err, name)
				continue
			}
			check(t, err)
			if text, err := io.ReadAll(file); err != nil || string(text) != "text" {
				t.Errorf("%s holds %q (%v)", test.path, text, err)
			}
			check(t, file.Close())
		}
	}
}

func TestOpenForWriting(t *testing.T) {
	f := start(t, "file", "text")
	file, err := f.find(t, "file").OpenWritable()
	check(t, err)
	_, err = file.WriteString("n")
	check(t, err)
	check(t, file.Close())
	f.holds(t, "file", "next")
}

// A place may be old: Open looks at what is there now, and says so.
func TestOpenDescribesTheOpenFile(t *testing.T) {
	f := start(t, "file", "text")
	p := f.find(t, "file")
	f.put(t, "file", "longer text")
	if p.Info.Size() != 4 {
		t.Errorf("found with %d bytes", p.Info.Size())
	}
	file, err := p.Open()
	check(t, err)
	check(t, file.Close())
	if p.Info.Size() != 11 {
		t.Errorf("opened with %d bytes", p.Info.Size())
	}
	check(t, os.Remove(f.path("file")))
	_, err = p.Open()
	fails(t, err, "FileNotFound")
}

func TestNames(t *testing.T) {
	f := start(t, "dir/a", "", "dir/b", "", "dir/.c", "", "file", "")
	check(t, os.Mkdir(f.path("empty"), 0o755))
	tests := []struct {
		path  string
		limit int
		want  []string
	}{
		{"dir", 0, []string{".c", "a", "b"}}, {"dir", -1, []string{".c", "a", "b"}}, {"dir", 3, []string{".c", "a", "b"}},
		{"dir", 9, []string{".c", "a", "b"}},
		{"empty", 0, nil}, {"empty", 5, nil},
	}
	for _, test := range tests {
		names, err := f.find(t, test.path).Names(test.limit)
		check(t, err)
		slices.Sort(names)
		if diff := cmp.Diff(test.want, slices.Clip(names)); diff != "" && len(test.want)+len(names) > 0 {
			t.Errorf("%s, at most %d (-want +got):\n%s", test.path, test.limit, diff)
		}
	}
	if names, err := f.find(t, "dir").Names(2); err != nil || len(names) != 2 {
		t.Errorf("two names are %v (%v)", names, err)
	}
	for path, want := range map[string]string{"file": "NotADirectory", "nothing": "FileNotFound"} {
		_, err := f.find(t, path).Names(1)
		fails(t, err, want)
	}
	old := f.find(t, "dir")
	check(t, os.RemoveAll(f.path("dir")))
	_, err := old.Names(1)
	fails(t, err, "FileNotFound")
	f.put(t, "dir", "a file now")
	_, err = old.Names(1)
	fails(t, err, "NotADirectory")
}

func TestChild(t *testing.T) {
	f := start(t, "dir/file", "text", "dir/sub/x", "")
	out := outside(t)
	f.link(t, map[string]string{"link": "dir", "dir/in": "file", "dir/out": out})
	dir := f.find(t, "link")
	tests := []struct{ name, kind, target string }{{"file", "file", ""}, {"sub", "dir", ""}, {"in", "symlink", "file"},
		{"out", "symlink", out}}
	for _, test := range tests {
		c, err := dir.Child(test.name)
		check(t, err)
		if c.Path != "link/"+test.name || Kind(c.Info.Mode()) != test.kind || c.Target != test.target ||
			c.Real() != f.find(t, "dir").Real()+string(os.PathSeparator)+test.name {
			t.Errorf("%s is a %s at %s, with target %q", c.Path, Kind(c.Info.Mode()), c.Real(), c.Target)
		}
		if test.kind == "symlink" { // not even one that stays inside is followed
			_, err := c.Open()
			contains(t, fails(t, err, "NotARegularFile").Message, "is a symlink")
			fails(t, c.Write([]byte("x"), nil), "NotARegularFile")
			_, err = c.Names(1)
			fails(t, err, "NotADirectory")
		}
	}
	top, err := f.find(t, ".").Child("dir")
	check(t, err)
	if top.Path != "dir" {
		t.Errorf("in the workspace itself the path is %q", top.Path)
	}
}

func TestChildFailures(t *testing.T) {
	f := start(t, "dir/file", "", "up", "")
	dir := f.find(t, "dir")
	for _, name := range []string{"", ".", "..", "../up", "/", "/etc", "file/", "sub/x", "a\x00b"} {
		_, err := dir.Child(name)
		fails(t, err, "InvalidPath")
	}
	_, err := dir.Child("nothing")
	fails(t, err, "FileNotFound")
	_, err = f.find(t, "up").Child("x")
	fails(t, err, "NotADirectory")
}

// A path of thousands of parts costs as many looks at each part before: it is refused at once, also when a link brings
// it.
func TestPathsOfManyParts(t *testing.T) {
	f := start(t)
	deep := strings.Repeat("a/", 300) + "a"
	check(t, os.MkdirAll(f.path(deep), 0o755))
	f.link(t, map[string]string{"long": deep, "a/again": deep})
	if p := f.find(t, deep); p.Info == nil {
		t.Error("a path of 301 parts is not found")
	}
	for _, path := range []string{strings.Repeat("a/", 3000) + "x", strings.Repeat("b/", 2000), strings.Repeat("a/", 513),
		"long/" + deep, "long/" + strings.Repeat("b/", 300)} {
		_, err := f.Find(path)
		e := fails(t, err, "InvalidPath")
		if len(e.Message) > 400 {
			t.Errorf("the message has %d characters", len(e.Message))
		}
	}
}

func TestNearNames(t *testing.T) {
	f := start(t, "src/main.go", "", "src/mail.go", "", "src/main_test.go", "", "README.md", "", "Config.HCL", "",
		"unlike-all-others.txt", "", "語/報告書", "", "語/議事録", "",
		"many/file1", "", "many/file2", "", "many/file3", "", "many/file4", "")
	f.link(t, map[string]string{"link": "src"})
	tests := []struct{ path, want string }{
		{"src/mian.go", `Did you mean "src/main.go"?`},
		{"src/maim.go", `Did you mean "src/mail.go" or "src/main.go"?`},
		{"src/main.py", `Did you mean "src/main.go"?`},
		{"many/file", `Did you mean "many/file1" or "many/file2" or "many/file3"?`},
		{"readme.md", `Did you mean "README.md"?`},
		{"config.hcl", `Did you mean "Config.HCL"?`},
		{"scr/main.go", `Did you mean "src"?`},
		{"link/mian.go", `Did you mean "src/main.go"?`},
		{"語/報告者", `Did you mean "語/報告書"?`},
		{"語/年間予定", ""},
		{"zzzzzzzz/zz", ""},
		{"src/main.go", ""}, // is there
	}
	for _, test := range tests {
		p := f.find(t, test.path)
		if got := p.DidYouMean(); got != test.want {
			t.Errorf("%s: %q, want %q", test.path, got, test.want)
		}
		if p.Info == nil && test.want != "" {
			contains(t, fails(t, p.Regular(), "FileNotFound").Suggestion, "List the directory to see what is there. "+test.want)
		}
	}
	e := fails(t, f.find(t, "zzzzzzzz/zz").Regular(), "FileNotFound")
	contains(t, e.Message, `its directory "zzzzzzzz" does not exist`, f.dir)
	if strings.Contains(e.Suggestion, "mean") || strings.HasSuffix(e.Suggestion, " ") {
		t.Errorf("suggests %q", e.Suggestion)
	}
}

func TestNearNamesThatAreNotUTF8(t *testing.T) {
	f := start(t)
	if err := os.WriteFile(f.path("caf\xE9.txt"), nil, 0o644); err != nil {
		t.Skip("the file system of this machine's temporary folder has no such names")
	}
	for _, path := range []string{"caf\uFFFD.txt", `caf\xe9.txt`} {
		contains(t, fails(t, f.find(t, path).Regular(), "FileNotFound").Suggestion,
			`"caf\xe9.txt" is there, but its name is not UTF-8 and cannot be given to this tool`)
	}
}

func TestUnlike(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"Main.go", "main.go", 0}, {"main.go", "main.py", 1},
		{"kitten", "sitting", 3}, {"ab", "ba", 2},
	}
	for _, test := range tests {
		if got := editDistance(test.a, test.b); got != test.want {
			t.Errorf("unlike(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
	}
}
