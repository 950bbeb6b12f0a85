package ignore

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A repo is a repository to ask git about.
type repo struct{ dir string }

func newRepo(t testing.TB) repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("these tests compare with git, which is not installed")
	}
	r := repo{t.TempDir()}
	r.git(t, "init", "-q")
	return r
}

func (r repo) git(t testing.TB, arguments ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git",
		append([]string{"-C", r.dir, "-c", "core.excludesFile="}, arguments...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v", arguments, err)
	}
	return string(out)
}

// fill replaces all files of the repository.
func (r repo) fill(t testing.TB, files map[string]string) {
	t.Helper()
	old, err := os.ReadDir(r.dir)
	check(t, err)
	for _, e := range old {
		if e.Name() != ".git" {
			check(t, os.RemoveAll(filepath.Join(r.dir, e.Name())))
		}
	}
	for name, content := range files {
		file := filepath.Join(r.dir, name)
		if os.MkdirAll(filepath.Dir(file), 0o755) == nil && !isDir(file) {
			check(t, os.WriteFile(file, []byte(content), 0o644))
		}
	}
}

func isDir(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.IsDir()
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// left are the files that git does not ignore.
func (r repo) left(t testing.TB) []string {
	t.Helper()
	out := strings.Split(strings.TrimSuffix(r.git(t, "ls-files", "-z", "--others", "--exclude-standard"), "\x00"), "\x00")
	slices.Sort(out)
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// ours are the files that our rules leave.
func (r repo) ours(t testing.TB, above *Rules, folder string) (out []string) {
	t.Helper()
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(r.dir, folder, name))
		if err != nil {
			return nil
		}
		return append([]byte{}, data...)
	}
	rules := above.Enter(folder,
		Files{GitIgnore: read(".gitignore"), Exclude: read(".git/info/exclude"),
			Repository: isDir(filepath.Join(r.dir, folder, ".git"))})
	entries, err := os.ReadDir(filepath.Join(r.dir, folder))
	check(t, err)
	for _, e := range entries {
		file := path.Join(folder, e.Name())
		switch {
		case e.Name() == ".git", rules.Match(file, e.IsDir()) == Ignored:
		case e.IsDir():
			out = append(out, r.ours(t, rules, file)...)
		default:
			out = append(out, file)
		}
	}
	slices.Sort(out)
	return out
}

func (r repo) differ(t testing.TB) string {
	t.Helper()
	return cmp.Diff(strings.Join(r.left(t), "\n"), strings.Join(r.ours(t, nil, ""), "\n"))
}

func (r repo) compare(t testing.TB, files map[string]string) {
	t.Helper()
	r.fill(t, files)
	if diff := r.differ(t); diff != "" {
		t.Errorf("with %q (-git +ours):\n%s", files, diff)
	}
}

func TestAsGitDoes(t *testing.T) {
	tree := []string{"a", "b.o", "c.tar.gz", "d/a", "d/e/a", "d/e/f/b.o", "foo/x", "foo/foo", "foo/y/bar", "foox/y/bar",
		"x y", "end ", "!bang", "#hash", "back\\slash",
		"[a]", "é", "日本", "deep/1/2/3/4", "A", "build/out", "src/build/out", "tab\t", "abc", "a-c", "a]c", "--", "z\xFF"}
	tests := []struct{ name, rules string }{
		{"name", "a"}, {"anchored", "/a"}, {"directory only", "a/"}, {"directory", "d/"}, {"path", "d/a"},
		{"anchored path", "/d/e"},
		{"extension", "*.o"}, {"two extensions", "*.tar.gz"}, {"suffix", "*y"}, {"everything", "*"},
		{"everything but", "*\n!a\n!d/"}, {"negated", "*.o\n!d/e/f/b.o"},
		{"kept in an ignored directory", "d/\n!d/a"}, {"last counts", "a\n!a\na"}, {"question mark", "?"},
		{"question mark and wide letters", "??"}, {"path question mark", "d?a"},
		{"two stars before", "**/a"}, {"two stars behind", "d/**"}, {"two stars between", "d/**/a"},
		{"two stars at both ends", "**/e/**"}, {"two stars in a word", "foo**/bar"},
		{"two stars behind a prefix", "d**/a"}, {"two stars and a name", "**a"}, {"three stars", "d/***/a"},
		{"star in a path", "d/*/a"}, {"star and slash", "*/a"}, {"only stars", "**"}, {"stars slash", "**/"},
		{"slash alone", "/"}, {"two slashes", "//a"}, {"slashes behind", "d//"}, {"trailing spaces", "a  "},
		{"escaped space", "end\\ "}, {"spaces behind an escaped one", "end\\   "}, {"space inside", "x y"},
		{"tab", "tab\t"}, {"comment", "#hash"}, {"escaped comment", "\\#hash"}, {"escaped bang", "\\!bang"},
		{"bang alone", "a\n!"}, {"backslash", "back\\\\slash"}, {"backslash at the end", "a\\"}, {"backslash only", "\\"},
		{"class", "[ab]"}, {"range", "[a-c]"}, {"negated class", "[!a]"}, {"negated class of regexps", "[^a]"},
		{"bracket in class", "a[]]c"}, {"dash in class", "a[-]c"}, {"dash last", "a[b-]c"}, {"open class", "[a"},
		{"escaped in class", "a[\\]]c"}, {"named class", "[[:alpha:]]"}, {"unknown class", "[[:vowel:]]"},
		{"half a named class", "[[:alpha]"}, {"escaped bracket", "\\[a\\]"}, {"class and slash", "d[/]a"},
		{"range over the slash", "d[.-0]a"},
		{"dash after a range", "a[a-b-z]c"}, {"open range", "[a-"}, {"wide letters", "é"}, {"wide in a class", "[é]"},
		{"bytes in a class", "[\xC3][\xA9]"}, {"invalid bytes", "z\xFF"}, {"upper case", "A"}, {"crlf", "a\r\nb.o\r\n"},
		{"cr alone", "a\rb.o"},
		{"byte order mark", "\xEF\xBB\xBFa"}, {"no line break at the end", "b.o\na"}, {"empty lines", "\n\n \na"},
		{"nul", "a\x00b"}, {"dashes", "--"}, {"escaped letter", "\\a"}, {"escaped slash", "d\\/a"},
		{"stars before an escaped slash", "d/**\\/a"},
		{"a whole tree", "build/\n!/build/"}, {"path in the middle", "1/2"}, {"deep path", "deep/1/2/3/4"},
	}
	r := newRepo(t)
	for _, test := range tests {
		files := map[string]string{".gitignore": test.rules}
		for _, name := range tree {
			files[name] = ""
		}
		t.Run(test.name, func(t *testing.T) { r.compare(t, files) })
	}
}

func TestNestedAsGitDoes(t *testing.T) {
	r := newRepo(t)
	check(t, os.WriteFile(filepath.Join(r.dir, ".git/info/exclude"), []byte("*.x\n!c.o\n"), 0o644))
	r.compare(t, map[string]string{".gitignore": "*.o\n/d/only\n", "d/.gitignore": "!keep.o\n/top\nsub/",
		"d/e/.gitignore": "*\n!.gitignore\n!f", "a.o": "", "c.o": "", "1.x": "", "d/keep.o": "", "d/2.x": "",
		"d/top": "", "d/s/top": "", "d/sub/a": "", "d/only": "", "d/e/f": "", "d/e/keep.o": "", "d/e/g/f": ""})
}

var (
	anyName = rapid.StringMatching(`[abo.\-]{1,3}|é|\[a\]|a b|!a|a\\b`)
	anyPath = rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(anyName, 1, 4).Draw(t, "parts"),
			"/")
	})
	anyRule = rapid.Custom(func(t *rapid.T) string {
		piece := rapid.OneOf(anyName,
			rapid.SampledFrom([]string{"*", "?", "**", "/", "/**/", "**/", "/**", "***", "[ab]", "[!a]", "[^b]", "[a-o]",
				"[[:alpha:]]", "[", "]", "\\", "\\*", " ", "\t", "!", "#", "*.o", ".", "[]-a]", "[b-]"}))
		prefix := rapid.SampledFrom([]string{"", "", "", "!", "/", "!/", "**/"}).Draw(t, "prefix")
		suffix := rapid.SampledFrom([]string{"", "", "", "/", " ", "\r", "/**"}).Draw(t, "suffix")
		return prefix + strings.Join(rapid.SliceOfN(piece, 0, 5).Draw(t, "pieces"), "") + suffix
	})
	anyRules = rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(anyRule, 0, 6).Draw(t, "rules"),
			"\n")
	})
)

func TestGeneratedAsGitDoes(t *testing.T) {
	r := newRepo(t)
	rapid.Check(t, func(rt *rapid.T) {
		files := map[string]string{}
		for _, name := range rapid.SliceOfN(anyPath, 1, 30).Draw(rt, "tree") {
			if name = path.Clean(name); name != "." && !strings.HasPrefix(name, "..") && !strings.HasPrefix(name, ".git") {
				files[name] = ""
			}
		}
		for _, folder := range rapid.SliceOfN(rapid.SampledFrom([]string{"", "a/", "b/", "a/b/", "o/"}), 1, 3).Draw(rt,
			"folders") {
			files[folder+".gitignore"] = anyRules.Draw(rt, "rules of "+folder)
		}
		check(t, os.WriteFile(filepath.Join(r.dir, ".git/info/exclude"), []byte(anyRules.Draw(rt, "exclude")), 0o644))
		r.fill(t, files)
		if diff := r.differ(t); diff != "" {
			rt.Fatalf("(-git +ours):\n%s", diff)
		}
	})
}
