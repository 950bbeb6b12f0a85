package lockfile

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/testutil"
)

var ab, cd = strings.Repeat("ab", 32), strings.Repeat("cd", 32)

func sampleLock() []Plugin {
	return []Plugin{
		{Name: "edit", Version: "1.0.0", Source: "plugin_dirs", Program: "./bin/toolhost-plugin-edit", Level: "confined",
			SHA256: map[string]string{"linux_amd64": ab, "darwin_arm64": cd},
			Tools:  map[string]string{"replace": ab, "0-write": cd}},
		{Name: "py", Program: "python3", Args: []string{"${x}.py", "%{y}", `"q"\`, "\n"}, Env: []string{"A", "B_C"},
			Level:  "isolated",
			SHA256: map[string]string{"linux_amd64": cd}, Dynamic: true},
		{Name: "quiet", Program: "/opt/q", Level: "supervised", SHA256: map[string]string{}, Tools: map[string]string{}},
	}
}

var ofLocks = cmp.Options{cmpopts.IgnoreUnexported(Plugin{}), cmpopts.EquateEmpty()}

func putAll(plugins ...Plugin) func(*File) error {
	return func(l *File) error {
		for _, p := range plugins {
			l.Put(p)
		}
		return nil
	}
}

func change(t *testing.T, path string, f func(*File) error) {
	t.Helper()
	if err := Update(path, f); err != nil {
		t.Fatal(err)
	}
}

func loadLock(t *testing.T, path string) *File {
	t.Helper()
	l, err := Load(path)
	if err != nil || l == nil {
		t.Fatal(l, err)
	}
	return l
}

func TestLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	if l, err := Load(path); l != nil || err != nil {
		t.Fatalf("a file that is not there has %v and the error %v", l, err)
	}
	sample := sampleLock()
	change(t, path, putAll(sample[2], sample[0], sample[1]))
	l := loadLock(t, path)
	if diff := cmp.Diff(sample, l.Plugins, ofLocks); diff != "" {
		t.Error(diff)
	}
	if l.Plugin("quiet").Tools == nil || l.Plugin("py").Tools != nil {
		t.Error("no tools and free tools are the same")
	}
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	change(t, path, func(l *File) error { l.Remove("py"); l.Remove("nobody"); return nil })
	change(t, path, putAll(sample[1]))
	if again, err := os.ReadFile(path); err != nil || string(again) != string(first) {
		t.Errorf("the same lock is written in another way:\n%s", again)
	}
	if err := Update(path, func(l *File) error { l.Remove("py"); return errors.New("no") }); err == nil ||
		loadLock(t, path).Plugin("py") == nil {
		t.Errorf("a change that failed was written, %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

func TestLockThatCannotBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	for word, p := range map[string]Plugin{
		"is not UTF-8":     {Name: "a", Program: "\xff", Level: "confined"},
		"accent":           {Name: "a", Program: "x", Args: []string{"e\u0301"}, Level: "confined"},
		"cannot be called": {Name: "A B", Program: "x", Level: "confined"},
		"level is missing": {Name: "a", Program: "x"},
		"64 hex digits": {Name: "a", Program: "x", Level: "confined",
			SHA256: map[string]string{"linux_amd64": "AB"}},
		"is not a platform":         {Name: "a", Program: "x", Level: "confined", SHA256: map[string]string{"linux": ab}},
		"is not the name of a tool": {Name: "a", Program: "x", Level: "confined", Tools: map[string]string{"a__b": ab}},
		"is not the name of a vari": {Name: "a", Program: "x", Level: "confined", Env: []string{"A=B"}},
	} {
		if err := Update(path, putAll(p)); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: %v", word, err)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was written")
	}
}

func TestLockMistakes(t *testing.T) {
	good := "plugin \"a\" {\n  program = \"./a\"\n  level   = \"confined\"\n  sha256  = { \"linux_amd64\" = \"" + ab +
		"\" }\n}\n"
	if _, err := parse("l", []byte(good)); err != nil {
		t.Fatal(err)
	}
	edit := func(old, now string) string { return strings.Replace(good, old, now, 1) }
	for name, c := range map[string]struct{ src, want string }{
		"a digit too few":   {edit(ab, ab[1:]), "l:4,"},
		"a capital digit":   {edit(ab, "A"+ab[1:]), "in small letters"},
		"a letter":          {edit(ab, "x"+ab[1:]), "64 hex digits"},
		"no program":        {edit("program", "source"), "l:1,1: plugin \"a\": program is missing"},
		"no checksums":      {edit("sha256", "tools"), "sha256 is missing"},
		"unknown level":     {edit("confined", "confine"), `did you mean "confined"?`},
		"unknown word":      {edit("program", "programme = \"\"\nprogram"), `did you mean "program"?`},
		"twice":             {good + good, "already defined at l:1"},
		"other blocks":      {good + "policy \"x\" {}", `unknown block "policy"`},
		"top level":         {good + "lock = \"off\"", `unknown key "lock"`},
		"the environment":   {edit(`"./a"`, "env.PATH"), "l:2,13: a lock file has plain values only"},
		"in a text":         {edit(`"./a"`, `"./${env("X", "")}"`), "plain values only"},
		"a computed sum":    {edit(`"`+ab+`"`, `false ? "" : "`+ab+`"`), "plain values only"},
		"an empty program":  {edit(`"./a"`, `""`), "l:2,13"},
		"tools as a list":   {edit("sha256", "tools = []\nsha256"), "tools must be an object"},
		"nested":            {strings.Repeat("[", 1000), "more than 100 brackets"},
		"too large":         {"#" + strings.Repeat(" ", maxSize), "larger than 1024 KiB"},
		"syntax":            {edit("}\n}", "}\n"), "no end"},
		"no UTF-8":          {"\xff", "not UTF-8"},
		"a half of a write": {good[:len(good)/2], "l:"},
	} {
		_, err := parse("l", []byte(c.src))
		if _, ours := errors.AsType[*Error](err); !ours || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.500v, want %q", name, err, c.want)
		}
	}
}

func TestInvalidLockFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, Name)
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	if l, err := Load(link); err == nil {
		t.Errorf("a link that leads nowhere is %v", l)
	}
}

// Concurrent writers do not lose each other's plugins.
func TestLockWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			p := Plugin{Name: fmt.Sprintf("p%d", i), Program: "x", Level: "confined"}
			if err := Update(path, putAll(p)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if l := loadLock(t, path); len(l.Plugins) != 20 {
		t.Errorf("%d plugins", len(l.Plugins))
	}
}

// What is written is read back unchanged.
func TestLockRoundTrip(t *testing.T) {
	sum := rapid.StringMatching(`[0-9a-f]{64}`)
	text := rapid.Map(rapid.StringN(0, 20, -1),
		func(s string) string { return norm.NFC.String(strings.ReplaceAll(s, "\x00", "")) })
	plugin := rapid.Custom(func(t *rapid.T) Plugin {
		return Plugin{
			Name: rapid.StringMatching(`[a-z][a-z0-9-]{0,8}`).Draw(t, "name"), Version: text.Draw(t, "version"),
			Source:  text.Draw(t, "source"),
			Program: norm.NFC.String("./x" + text.Draw(t, "program")), Args: rapid.SliceOf(text).Draw(t, "args"),
			Dynamic: rapid.Bool().Draw(t, "dynamic"),
			Level:   rapid.SampledFrom([]sandbox.Level{sandbox.Supervised, sandbox.Confined, sandbox.Isolated}).Draw(t, "level"),
			SHA256:  rapid.MapOf(rapid.StringMatching(`[a-z0-9]{1,5}_[a-z0-9]{1,5}`), sum).Draw(t, "sums"),
			Tools:   rapid.MapOf(rapid.StringMatching(`[a-z0-9]+(-[a-z0-9]+)?(_[a-z0-9]+)?`), sum).Draw(t, "tools"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		var l File
		for _, p := range rapid.SliceOfN(plugin, 1, 4).Draw(t, "plugins") {
			l.Put(p)
		}
		src, err := l.text()
		if err != nil {
			t.Fatal(err)
		}
		back, err := parse("l", src)
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		if diff := cmp.Diff(l.Plugins, back.Plugins, ofLocks); diff != "" {
			t.Errorf("%s\n%s", diff, src)
		}
	})
}

func FuzzLock(f *testing.F) {
	l := File{Plugins: sampleLock()}
	src, err := l.text()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(src)
	f.Fuzz(func(t *testing.T, src []byte) {
		l, err := parse("l", src)
		if err != nil {
			return
		}
		text, err := l.text()
		if err != nil {
			t.Fatal(err)
		}
		back, err := parse("l", text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(l.Plugins, back.Plugins, ofLocks); diff != "" {
			t.Error(diff)
		}
	})
}

func TestCheckAgainstTheLock(t *testing.T) {
	const dir = "/project"
	spec := supervise.Spec{Name: "a", Command: []string{dir + "/bin/a", "-x"}, Env: map[string]string{"A": "1"},
		Source: "config.hcl:7"}
	locked := New(spec, dir)
	locked.SHA256 = map[string]string{Platform(): ab}
	if diff := cmp.Diff(Plugin{Name: "a", Source: "config.hcl", Program: "./bin/a", Args: []string{"-x"},
		Env: []string{"A"}, Level: "confined",
		SHA256: locked.SHA256}, locked, ofLocks); diff != "" {
		t.Error(diff)
	}
	with := func(f func(*supervise.Spec)) supervise.Spec {
		s := spec
		s.Command = slices.Clone(s.Command)
		f(&s)
		return s
	}
	elsewhere := locked
	elsewhere.SHA256 = map[string]string{"plan9_mips": ab}
	strict := locked
	strict.Level = sandbox.Isolated
	for name, c := range map[string]struct {
		mode            Mode
		lock            *Plugin
		spec            supervise.Spec
		sum             string
		refused, notice string
	}{
		"as locked":      {"", &locked, spec, ab, "", ""},
		"another folder": {"", &locked, with(func(s *supervise.Spec) { s.Command[0] = "/other/a" }), ab, "", ""},
		"arguments": {"", &locked, with(func(s *supervise.Spec) { s.Command[1] = "-y" }), ab,
			`its arguments are ["-y"], unlike what was locked at l:3`, ""},
		"more arguments": {Require, &locked, with(func(s *supervise.Spec) { s.Command = append(s.Command, "z") }), ab,
			"toolhost plugin lock a", ""},
		"variables": {"", &locked, with(func(s *supervise.Spec) { s.Env = map[string]string{"LD_PRELOAD": "x"} }),
			ab, "LD_PRELOAD", ""},
		"another value": {"", &locked, with(func(s *supervise.Spec) { s.Env = map[string]string{"A": "2"} }), ab, "",
			""},
		"less sandbox":     {"", &strict, spec, ab, `its sandbox level is "confined", less than "isolated"`, ""},
		"more sandbox":     {"", &locked, with(func(s *supervise.Spec) { s.Sandbox.Level = sandbox.Isolated }), ab, "", ""},
		"not locked":       {"", nil, spec, "", "", `plugin "a" is not in toolhost.lock.hcl, and runs without a check`},
		"not locked, must": {Require, nil, spec, "", `it is not in toolhost.lock.hcl, which lock = "require" requires`, ""},
		"not locked, off":  {Off, nil, spec, "", "", ""},
		"changed, off":     {Off, &locked, with(func(s *supervise.Spec) { s.Command[1] = "-y" }), "", "", ""},
		"elsewhere": {Warn, &elsewhere, spec, "", "but not for " + Platform() +
			"; to approve its program here, run on this platform: toolhost plugin lock a", ""},
		"elsewhere, no mode": {"", &elsewhere, spec, "", "but not for " + Platform(), ""},
		"elsewhere, off":     {Off, &elsewhere, spec, "", "", ""},
		"elsewhere, must":    {Require, &elsewhere, spec, "", "but not for " + Platform(), ""},
		"elsewhere, changed": {Warn, &elsewhere, with(func(s *supervise.Spec) { s.Command[1] = "-y" }), "",
			"its arguments are", ""},
	} {
		file := &File{shown: "l"}
		if c.lock != nil {
			p := *c.lock
			p.line = 3
			file.Put(p)
		}
		specs, notices := file.Check([]supervise.Spec{c.spec}, c.mode, dir)
		l, notice := specs[0].Lock, fmt.Sprint(notices)
		if l.SHA256 != c.sum || (l.Refused == "") != (c.refused == "") || !strings.Contains(l.Refused, c.refused) ||
			(len(notices) == 0) != (c.notice == "") || !strings.Contains(notice, c.notice) {
			t.Errorf("%s: %+v, %s", name, l, notice)
		}
	}
}

// Without a lock file plugins are not restricted, unless the configuration requires one.
func TestCheckWithoutALockFile(t *testing.T) {
	specs := []supervise.Spec{{Name: "a", Command: []string{"a"}}}
	for mode, refused := range map[Mode]bool{"": false, Warn: false, Off: false, Require: true} {
		out, notices := (*File)(nil).Check(specs, mode, "/project")
		if (out[0].Lock.Refused != "") != refused || (len(notices) > 0) != (mode == Warn) {
			t.Errorf("%q: %+v, %v", mode, out[0].Lock, notices)
		}
	}
}

func TestPins(t *testing.T) {
	f := &File{}
	tools := map[string]string{"x": ab}
	f.Put(Plugin{Name: "pinned", Tools: tools})
	f.Put(Plugin{Name: "old"})
	if diff := cmp.Diff(map[string]map[string]string{"pinned": tools}, f.Pins("")); diff != "" {
		t.Error(diff)
	}
	if f.Pins(Off) != nil || (*File)(nil).Pins("") != nil {
		t.Error("tools are pinned by a lock that is off, or not there")
	}
}

func TestRelative(t *testing.T) {
	for _, c := range []struct{ path, dir, want string }{
		{"sh", "/home/a/p", "sh"}, {"/home/a/p/bin/x", "/home/a/p", "./bin/x"}, {"/home/a/p", "/home/a/p", "./."},
		{"/home/a/bin/x", "/home/a/p", "../bin/x"}, {"/home/b/x", "/home/a/p", "/home/b/x"},
		{"/home/a/pp/x", "/home/a/p", "../pp/x"},
		{"/usr/bin/x", "/p", "/usr/bin/x"}, {"/p/x", "/p", "./x"}, {"/x", "/", "./x"},
	} {
		if got := relative(c.path, c.dir); got != c.want {
			t.Errorf("%s from %s: %s, want %s", c.path, c.dir, got, c.want)
		}
	}
}

func TestSourceOf(t *testing.T) {
	for source, want := range map[string]string{
		"config.hcl:12": "config.hcl", "../x/config.hcl:1": "config.hcl", "/p/bin/toolhost-plugin-a": "./bin",
		"/usr/lib/toolhost-plugin-a": "/usr/lib", `plugin_discovery "team"`: `plugin_discovery "team"`, "": "",
	} {
		if got := sourceOf(supervise.Spec{Source: source}, "/p"); got != want {
			t.Errorf("%q: %q, want %q", source, got, want)
		}
	}
}

// A placeholder of a running host is no lock file, and is replaced by one.
func TestPlaceholderOfALock(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	if err := os.Symlink("/proc/toolhost-placeholder", path); err != nil {
		t.Fatal(err)
	}
	if !sandbox.IsPlaceholder(path) {
		t.Log("this system has none")
		return
	}
	if l, err := Load(path); l != nil || err != nil {
		t.Errorf("%v, %v", l, err)
	}
	err := Update(path, func(l *File) error {
		l.Put(Plugin{Name: "a", Program: "./a", Level: sandbox.Confined,
			SHA256: map[string]string{Platform(): strings.Repeat("ab", 32)}})
		return nil
	})
	if l, readErr := Load(path); err != nil || readErr != nil || l.Plugin("a") == nil || sandbox.IsPlaceholder(path) {
		t.Errorf("%v, %v, %v", l, err, readErr)
	}
}

// A tool whose name is a keyword of the file's language, or no identifier, is locked like any other, and so are
// arguments that look like expressions.
func TestLockWordsOfTheLanguage(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	for _, name := range []string{"for", "if", "in", "null", "true", "else", "1e5", "0x1", "a-b"} {
		t.Run(name, func(t *testing.T) {
			p := Plugin{Name: "odd", Program: "./${x}", Level: "confined",
				Args:   []string{"${a.b}", "%{ if x }", `"\`, "line\nbreak", ""},
				SHA256: map[string]string{"linux_amd64": sum}, Tools: map[string]string{name: sum, "later": sum}}
			path := filepath.Join(t.TempDir(), Name)
			if err := Update(path, func(l *File) error { l.Put(p); return nil }); err != nil {
				t.Fatal(err)
			}
			l, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&p, l.Plugin("odd"), cmpopts.IgnoreUnexported(Plugin{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A lock file that is made to be slow is read in time proportional to its size, close to that of a valid one of that
// size; so are the largest, with all such parts in one.
func TestHostileLocks(t *testing.T) {
	testutil.Long(t)
	numbered := func(format string, size int) string {
		var b strings.Builder
		for i := 0; b.Len() < size-200; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	fill := func(line string, size int) string { return strings.Repeat(line, (size-200)/len(line)) }
	cases := map[string]struct {
		src  func(size int) string
		want string
	}{
		"attributes":  {func(n int) string { return numbered("a%d = 1\n", n) }, "the first 50 are shown"},
		"blocks":      {func(n int) string { return numbered("plugin \"p%d\" {}\n", n) }, "the first 50 are shown"},
		"same blocks": {func(n int) string { return fill("plugin \"p\" {}\n", n) }, "the first 50 are shown"},
		"one line": {func(n int) string { return "plugin \"p\" { args = [" + fill("0,", n) + "] }" },
			"the first 50 are shown"},
		"tools": {func(n int) string {
			return "plugin \"p\" {\n tools = {\n" + numbered("\"t%d\" = \"x\"\n", n) +
				"}\n}"
		}, "the first 50 are shown"},
		"references": {func(n int) string { return "plugin \"p\" {\n args = [\n" + fill("local.a,\n", n) + "]\n}" },
			"plain values only"},
		"open":     {func(n int) string { return fill("plugin \"p\" {\n", n) }, "more than 100 brackets"},
		"comments": {func(n int) string { return fill("#\n", n) }, ""},
		"right":    {func(n int) string { return right(n/2600, 20) }, ""},
	}
	everything := ""
	for name, c := range cases {
		if name != "open" { // nothing can come after it
			everything += c.src(maxSize/8) + "\n"
		}
		t.Run(name, func(t *testing.T) { checkMistakes(t, checkGrowth(t, c.src), c.want) })
	}
	t.Run("everything", func(t *testing.T) { checkMistakes(t, parsed(everything), "the first 50 are shown") })
	t.Run("all of it right", func(t *testing.T) { checkMistakes(t, parsed(right(maxSize/2600, 20)), "") })
}

// A comment after a mistake is not read as if it were none: its brackets are not bounded.
func TestBracketsInACommentAfterAMistake(t *testing.T) {
	src := "a = = 1 /*\nb = " + strings.Repeat("[", maxSize*7/8) + "\n*/"
	checkMistakes(t, parsed(src), "l:1,5: a value should start here")
}

func parsed(src string) error {
	_, err := parse("l", []byte(src))
	return err
}

func checkMistakes(t *testing.T, err error, want string) {
	t.Helper()
	if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("error %.2000v\nwants %q", err, want)
	}
}

// checkGrowth compares the time for a lock with that for an eighth of it, and with that for a valid one of its size,
// by the least of several tries, and returns its error.
func checkGrowth(t *testing.T, src func(size int) string) (err error) {
	t.Helper()
	const size = maxSize / 8
	fair, small, large := right(size/8/2600, 20), src(size/8), src(size)
	least := func(src string) time.Duration {
		took := time.Duration(math.MaxInt64)
		for range 5 {
			took = min(took, testutil.CPUTime(t, func() { err = parsed(src) }))
		}
		return took
	}
	f, s, l := least(fair), least(small), least(large)
	if l >= 32*s || l >= 8*60*f { // eight times the size; work that grows with its square would be 64 times as much
		t.Errorf("%d bytes took %s, an eighth of them %s, a fair lock of that size %s", size, l, s, f)
	}
	return err
}

// right is a valid lock of many plugins with many tools each.
func right(plugins, tools int) string {
	var l File
	for i := range plugins {
		p := Plugin{Name: fmt.Sprintf("p%d", i), Program: "x", Level: "confined",
			SHA256: map[string]string{"linux_amd64": ab}, Tools: map[string]string{}}
		for j := range tools {
			p.Tools[fmt.Sprintf("t%d", j)] = cd
		}
		l.Plugins = append(l.Plugins, p)
	}
	text, err := l.text()
	if err != nil {
		panic(err)
	}
	return string(text)
}
