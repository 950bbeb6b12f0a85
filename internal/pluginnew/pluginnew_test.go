package pluginnew

import (
	"bytes"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/fsutil"
)

func create(t *testing.T, o Options) map[string]string {
	t.Helper()
	r, err := Create(o)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	err = filepath.WalkDir(r.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(r.Dir, path)
		files[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil || len(files) != r.Files {
		t.Fatalf("%d files of %d: %v", len(files), r.Files, err)
	}
	return files
}

// What is written is formatted, has its values, and names no folder of this machine.
func TestTemplates(t *testing.T) {
	const more = "CHANGELOG.md Makefile README.md .gitignore .github/workflows/ci.yml "
	for lang, expected := range map[string]string{
		"go":     more + "go.mod main.go hello.go hello_test.go host_test.go",
		"node":   more + "package.json plugin.js hello.js test/hello.test.js test/host.test.js vendor/toolhost/index.js vendor/toolhost/LICENSE",
		"python": more + "plugin.py requirements.txt tests/test_hello.py tests/test_host.py toolhost/__init__.py toolhost/LICENSE",
	} {
		files := create(t, Options{Name: "my-own", Lang: lang, Dir: filepath.Join(t.TempDir(), "x"), SDK: SDK{Version: "v1.2.3"}})
		for _, name := range strings.Fields(expected) {
			if files[name] == "" {
				t.Errorf("%s: there is no %s", lang, name)
			}
		}
		for name, text := range files {
			if strings.HasPrefix(name, "vendor/") || strings.HasPrefix(name, "toolhost/") {
				continue // as it is in the kit
			}
			if left := regexp.MustCompile(`@[a-z]+@`).FindString(text); left != "" {
				t.Errorf("%s: %s has %s", lang, name, left)
			}
			if strings.Contains(text, t.TempDir()) || !strings.HasSuffix(text, "\n") || strings.Contains(text, " \n") {
				t.Errorf("%s: %s names a folder of this machine, has blanks at the end of a line, or no line's end", lang, name)
			}
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(line); n > 130 {
					t.Errorf("%s: %s has a line of %d characters", lang, name, n)
				}
			}
			if formatted, err := format.Source([]byte(text)); strings.HasSuffix(name, ".go") &&
				(err != nil || string(formatted) != text) {
				t.Errorf("%s: %s is not formatted: %v", lang, name, err)
			}
		}
	}
}

// The go line of a new module is that of the module with the sdk, or else the first command would change it.
func TestGoLine(t *testing.T) {
	ours, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^go .*$`).FindString(string(ours))
	files := create(t, Options{Name: "x", Lang: "go", Dir: filepath.Join(t.TempDir(), "x"), SDK: SDK{Version: "v1.2.3"}})
	if text := files["go.mod"]; !strings.Contains(text, "\n"+line+"\n") || strings.Contains(text, "replace") ||
		!strings.Contains(text, "require github.com/toolhost/toolhost v1.2.3\n") {
		t.Errorf("go.mod, whose go line should be %s:\n%s", line, text)
	}
}

// The kits are copied with their license.
func TestKitsHaveTheLicense(t *testing.T) {
	license, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	for _, kit := range []string{"node", "python"} {
		if text, err := os.ReadFile("../../sdk/" + kit + "/LICENSE"); err != nil || !bytes.Equal(text, license) {
			t.Errorf("sdk/%s/LICENSE is not that of toolhost: %v", kit, err)
		}
	}
}

// A go.mod names the sources relative to itself, so that both can move together.
func TestReplace(t *testing.T) {
	root := t.TempDir()
	for dir, want := range map[string]string{
		root + "/toolhost/weather": "=> ..\n", root + "/weather": "=> ../toolhost\n", root + "/a/b": "=> ../../toolhost\n",
	} {
		text, err := SDK{Dir: root + "/toolhost"}.replace(dir)
		if err != nil || !strings.HasSuffix(text, want) {
			t.Errorf("%s: %v\n%s", dir, err, text)
		}
	}
	if text, err := (SDK{Dir: root + "/my code"}).replace(root + "/x"); !strings.HasSuffix(text, "=> \"../my code\"\n") {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestFindSDK(t *testing.T) {
	source, other := fsutil.Resolved(t.TempDir()), t.TempDir()
	for dir, text := range map[string]string{source: "// x\nmodule " + toolhost + "\n", other: "module example.com/x\n"} {
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{source, filepath.Dir(source)} { // the second is the test's own folder
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	program := func(parts ...string) string { return filepath.Join(append(parts, "toolhost")...) }
	for _, c := range []struct {
		named, released, program string
		want                     SDK
		fails                    string
	}{
		{source, "v0.2.0", "", SDK{Dir: source}, ""},
		{other, "v0.2.0", "", SDK{}, "is not a folder with the module"},
		{"", "v0.2.0", program(source), SDK{Version: "v0.2.0"}, ""},
		{"", "", program(source), SDK{Dir: source}, ""},
		{"", "", program(source, "bin"), SDK{Dir: source}, ""},
		{"", "", program(source, "a", "bin"), SDK{}, errNoSDK.Error()},
		{"", "", program(other, "bin"), SDK{}, errNoSDK.Error()},
	} {
		got, err := FindSDK(c.named, c.released, c.program)
		if got != c.want || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
	}
	if err := os.Chmod(source, 0o777); err != nil { // others could put another go.mod there
		t.Fatal(err)
	}
	if got, err := FindSDK("", "", program(source)); err == nil {
		t.Errorf("sources that others can change are taken: %+v", got)
	}
}

// What is refused leaves nothing behind, and what is there stays.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"capitals":   {Options{Name: "My Weather!"}, "; my-weather is one"},
		"long":       {Options{Name: strings.Repeat("a", 33)}, "at most 32"},
		"digit":      {Options{Name: "7zip"}, "; zip is one"},
		"dot":        {Options{Name: "weather.js"}, "; weather is one"},
		"nothing":    {Options{Name: "🌧"}, "is not a plugin name"},
		"path":       {Options{Name: "../x"}, "; x is one"},
		"program":    {Options{Name: "toolhost-plugin-weather"}, "that of its plugin is weather"},
		"prefix":     {Options{Name: "toolhost-plugin-"}, "what comes after"},
		"shipped":    {Options{Name: "shell", Taken: []string{"shell"}}, "my-shell is not"},
		"language":   {Options{Name: "x", Lang: "cobol"}, "none of the languages"},
		"npm":        {Options{Name: "x", Lang: "node", Module: "example.com/x"}, "goes with --lang go only"},
		"module":     {Options{Name: "x", Module: "example.com/x y"}, "is not the path of a Go module"},
		"not a path": {Options{Name: "x", Module: "-modfile"}, "is not the path of a Go module"},
	} {
		if c.o.Lang == "" {
			c.o.Lang = "go"
		}
		t.Chdir(t.TempDir())
		_, err := Create(c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		checkNames(t, ".")
	}
}

func checkNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("%s has %v, want %v: %v", dir, names, want, err)
	}
}

func TestFolders(t *testing.T) {
	t.Chdir(t.TempDir())
	o := Options{Name: "x", Lang: "go", SDK: SDK{Version: "v1.2.3"}}
	for _, dir := range []string{"mine", "cloned/.git", "file"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("mine/notes", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o.Dir = "mine"
	if _, err := Create(o); err == nil || !strings.Contains(err.Error(), "mine is not empty: it has notes") {
		t.Error(err)
	}
	checkNames(t, "mine", "notes")
	o.Dir = "mine/notes"
	if _, err := Create(o); err == nil || !strings.HasPrefix(err.Error(), "mine/notes is not a folder; nothing was written") {
		t.Error(err)
	}
	for _, dir := range []string{"cloned", "new/deep"} { // an empty clone, and a folder that is not there
		o.Dir = dir
		if files := create(t, o); files["go.mod"] == "" {
			t.Errorf("%s: %v", dir, files)
		}
		checkNoRests(t, dir)
	}
	t.Chdir("file")
	o.Dir = "."
	create(t, o)
	checkNoRests(t, ".")
}

func checkNoRests(t *testing.T, dir string) {
	t.Helper()
	for _, pattern := range []string{"/.new-plugin-*", "/../.new-plugin-*"} {
		if rests, _ := filepath.Glob(dir + pattern); len(rests) > 0 {
			t.Errorf("left: %v", rests)
		}
	}
}

// A move that fails half way takes back what it has moved.
func TestMoveIntoIsAllOrNothing(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for _, path := range []string{from + "/a", from + "/b/c", to + "/b/taken"} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := moveInto(to, from); err == nil {
		t.Error("a folder that is not empty was replaced")
	}
	checkNames(t, to, "b")
	checkNames(t, to+"/b", "taken")
}
