//go:build unix

package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/internal/nesting"
)

func TestFind(t *testing.T) {
	dir, second := t.TempDir(), t.TempDir()
	script(t, dir, "toolhost-plugin-one", "")
	script(t, dir, "toolhost-plugin-two", "")
	script(t, dir, "toolhost-plugin-BAD", "")
	script(t, dir, "other", "")
	script(t, second, "toolhost-plugin-two", "")
	if os.WriteFile(filepath.Join(dir, "toolhost-plugin-plain"), nil, 0o644) != nil ||
		os.Mkdir(filepath.Join(dir, "toolhost-plugin-dir"), 0o755) != nil {
		t.Fatal("cannot write")
	}
	if err := os.Symlink("/proc/nowhere", filepath.Join(dir, "toolhost-plugin-link")); err != nil {
		t.Fatal(err)
	}
	list := script(t, dir, "list",
		`echo '[{"name":"team","command":["./team"],"env":{"A":"b"}},{"name":"one","command":["x"]},{"name":"Bad",`+
			`"command":["x"]},{"nme":"y"}]'`)
	specs, problems := Find(t.Context(), Sources{
		Dirs: []string{dir, second, filepath.Join(dir, "gone"), list},
		Plugins: []Spec{
			{Name: "two", Env: map[string]string{"X": "y"}, Source: "config.hcl:1"},
			{Name: "mine", Command: []string{"./mine"}, Source: "config.hcl:5"},
			{Name: "lost", Source: "config.hcl:9"},
			{Name: "onee", Source: "config.hcl:10"},
			{Name: "toolhost-plugin-one", Source: "config.hcl:11"},
		},
		DirsSource: "config.hcl:3",
		Commands:   []Discovery{{Name: "team", Command: []string{list}, Dir: dir, Source: "config.hcl:12"}},
	})
	var got []string
	for _, s := range specs {
		got = append(got, fmt.Sprintf("%s %s %v", s.Name, strings.TrimPrefix(s.Command[0], dir+"/"), s.Env))
	}
	want := []string{"mine ./mine map[]", "one toolhost-plugin-one map[]", "team team map[A:b]",
		"two toolhost-plugin-two map[X:y]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	checkProblems(t, problems, "BAD", "not executable. Fix: chmod +x ", "not a program", "toolhost-plugin-link is skipped",
		"config.hcl:3: plugin folder "+filepath.Join(dir, "gone")+" cannot be read: no such file or directory. Fix: build",
		list+" cannot be read: not a directory. Fix: name a folder that this user can read in plugin_dirs",
		`toolhost-plugin-onee in the plugin folders; did you mean "one"?`, `; the name of that plugin is "one"`,
		`plugin "two" is defined twice`,
		`config.hcl:9: plugin "lost" has no command`, `plugin "one" is defined twice`, "element 3: plugin name \"Bad\"",
		`element 4: json: unknown field "nme"`)
}

// Without plugin_dirs there is no folder that a plugin could be missing in.
func TestFindNamesNoFolder(t *testing.T) {
	_, problems := Find(t.Context(), Sources{Plugins: []Spec{{Name: "shell", Source: "config.hcl:1"}}})
	checkProblems(t, problems, `no toolhost-plugin-shell in the plugin folders: none is named. Fix: name one`)
}

func checkProblems(t *testing.T, problems []error, words ...string) {
	t.Helper()
	var all strings.Builder
	for _, p := range problems {
		all.WriteString(p.Error() + "\n")
	}
	for _, w := range words {
		if !strings.Contains(all.String(), w) {
			t.Errorf("no problem says %q; there are:\n%s", w, all.String())
		}
	}
}

func TestDiscoveryCommandsThatFail(t *testing.T) {
	dir := t.TempDir()
	cases := map[string]struct{ body, words string }{
		"exit code":     {"echo oh no >&2; exit 3", "exited with code 3; it printed: oh no"},
		"no JSON":       {"echo hello", "must print a JSON array"},
		"an object":     {"echo '{}'", "must print a JSON array"},
		"hangs":         {"sleep 1000", "did not end within 200ms"},
		"leaves a hang": {"sleep 1000 &", "must print a JSON array"},
		"too much":      {"head -c 2000000 /dev/zero", "printed more than"},
		"no end":        {"exec yes", "printed more than"},
		"a number":      {"echo '[5]'", "element 1: a plugin must not be of the type number"},
		"a text":        {`echo '[{"name":"a","command":"./x"}]'`, "element 1: command must not be of the type string"},
		"a list":        {`echo '[{"name":["a"]}]'`, "element 1: name must not be of the type array"},
		"a long name":   {`printf '[{"name":"%0999999d"}]' 0`, "must match"},
		"a long field":  {`printf '[{"%0999999d":1}]' 0`, "element 1: json: unknown field"},
	}
	scripts := map[string]string{} // written before any runs: a process that is forked meanwhile would keep them open
	for name, c := range cases {
		scripts[name] = script(t, dir, strings.ReplaceAll(name, " ", "-"), c.body)
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Discovery{Name: "x", Command: []string{scripts[name]}, Timeout: patience, Source: "config.hcl:1"}
			if name == "hangs" {
				d.Timeout = 200 * time.Millisecond
			}
			specs, problems := Find(t.Context(), Sources{Commands: []Discovery{d}})
			if len(specs) != 0 {
				t.Error(specs)
			}
			checkProblems(t, problems, c.words, `config.hcl:1: plugin_discovery "x"`)
			if n := len(errors.Join(problems...).Error()); n > 2000 {
				t.Errorf("the problems have %d bytes", n)
			}
		})
	}
	_, problems := Find(t.Context(), Sources{Commands: []Discovery{{Name: "x", Command: []string{"./gone"}, Dir: dir}}})
	checkProblems(t, problems, "./gone cannot be run", "does not exist")
}

func script(t *testing.T, dir, name, body string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDiscoveryOddities(t *testing.T) {
	dir := t.TempDir()
	list := script(t, dir, "list", `echo '[{"name":"a","command":["x"],"config":null},{"name":"mine","command":["y"]}]'`)
	commands := []Discovery{{Name: "empty", Source: "config.hcl:1"}, {Name: "list", Command: []string{list}}}
	specs, problems := Find(t.Context(),
		Sources{Plugins: []Spec{{Name: "mine", Command: []string{"./mine"}}}, Commands: commands})
	checkProblems(t, problems, `plugin_discovery "empty": it has no command`)
	if len(problems) != 1 || len(specs) != 2 || specs[0].Config != nil || specs[1].Command[0] != "./mine" {
		t.Errorf("specs %+v, problems %v", specs, problems)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, problems = Find(canceled, Sources{Commands: commands[1:]})
	checkProblems(t, problems, "context canceled")
}

// Commands run at the same time: here each waits for the other.
func TestDiscoveryCommandsRunTogether(t *testing.T) {
	dir := t.TempDir()
	var commands []Discovery
	for _, names := range [][2]string{{"a", "b"}, {"b", "a"}} {
		body := fmt.Sprintf(`: >%[1]s; until [ -e %[2]s ]; do sleep 0.01; done; echo '[{"name":"%[1]s","command":["x"]}]'`,
			names[0], names[1])
		commands = append(commands, Discovery{Name: names[0], Dir: dir, Timeout: patience,
			Command: []string{script(t, dir, names[0]+".sh", body)}})
	}
	specs, problems := Find(t.Context(), Sources{Commands: commands})
	if len(specs) != 2 || len(problems) > 0 {
		t.Errorf("specs %+v, problems %v", specs, problems)
	}
}

// Each command waits until as many run as may, and then notes how many do.
func TestNumberOfDiscoveryCommandsIsLimited(t *testing.T) {
	dir := t.TempDir()
	list := script(t, dir, "list", fmt.Sprintf(`at=$(mktemp -d at.XXXXXXXX); until [ -e all ]; do
  [ $(ls -d at.* | wc -l) -lt %d ] || : >all; sleep 0.01; done
ls -d at.* | wc -l >>counts; rmdir $at; echo "[]"`, maxDiscoveries))
	commands := make([]Discovery, 3*maxDiscoveries)
	for i := range commands {
		commands[i] = Discovery{Name: fmt.Sprint("d", i), Dir: dir, Timeout: patience, Command: []string{list}}
	}
	if _, problems := Find(t.Context(), Sources{Commands: commands}); len(problems) > 0 {
		t.Fatal(problems)
	}
	counts, err := os.ReadFile(filepath.Join(dir, "counts"))
	if lines := strings.Fields(string(counts)); err != nil || len(lines) != len(commands) {
		t.Fatal(len(lines), err)
	} else if slices.ContainsFunc(lines, func(n string) bool { return len(n) > 1 || n > fmt.Sprint(maxDiscoveries) }) {
		t.Errorf("%v commands ran at once, at most %d may", lines, maxDiscoveries)
	}
}

// Where the other plugins are enough, a command that hangs is not waited for.
func TestDiscoveryIsNotAwaitedWhereOthersAreEnough(t *testing.T) {
	dir := t.TempDir()
	hang := Discovery{Name: "slow", Command: []string{script(t, dir, "hang", "sleep 1000")}, Timeout: patience}
	isKnown := func(known map[string]Spec) bool { return known["mine"].Name != "" }
	began := time.Now()
	specs, problems := Find(t.Context(), Sources{Enough: isKnown, Commands: []Discovery{hang},
		Plugins: []Spec{{Name: "mine", Command: []string{"./mine"}}}})
	checkProblems(t, problems, "hang did not end; a call of another plugin waits 2s for it")
	if len(specs) != 1 || !errors.Is(problems[0], ErrNotAwaited) || time.Since(began) > patience/2 {
		t.Errorf("specs %+v, problems %v, after %s", specs, problems, time.Since(began))
	}
	hang.Timeout = calledPatience + 100*time.Millisecond
	_, problems = Find(t.Context(), Sources{Enough: isKnown, Commands: []Discovery{hang}})
	checkProblems(t, problems, "hang did not end within 2.1s")
}

// Many concurrent hosts, starting and ending, do not remove each other's folders.
func TestRunDirsOfMany(t *testing.T) {
	base := shortDir(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				d, err := makeRunDir(base)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := os.Stat(d.path); err != nil {
					t.Error(err)
				}
				if err := d.remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestRunDirsOfLiveHostsAreKept(t *testing.T) {
	base := shortDir(t)
	one, err := makeRunDir(base)
	if err != nil {
		t.Fatal(err)
	}
	two, err := makeRunDir(base)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(one.path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of a living host: %v, %v", info, err)
	}
	_ = one.remove()
	_ = two.remove()
	if left, _ := os.ReadDir(base); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
}

// A host that is killed while it makes its folder leaves it unfinished; a later one removes it, but none that is
// still being made.
func TestUnfinishedRunDirs(t *testing.T) {
	base, old := shortDir(t), time.Now().Add(-2*unfinishedTime)
	for name, c := range map[string]struct{ lock, old bool }{
		"empty": {false, true}, "locked once": {true, true}, "being made": {false, false}, "being locked": {true, false},
	} {
		dir := filepath.Join(base, unfinished+name)
		check(t, os.Mkdir(dir, 0o700))
		if c.lock {
			check(t, os.WriteFile(filepath.Join(dir, lockName), nil, 0o600))
		}
		if c.old {
			check(t, os.Chtimes(dir, old, old))
		}
	}
	elsewhere := t.TempDir()
	check(t, os.WriteFile(filepath.Join(elsewhere, lockName), nil, 0o600))
	check(t, os.Symlink(elsewhere, filepath.Join(base, unfinished+"link")))
	check(t, must(makeRunDir(base)).remove())
	var left []string
	for _, e := range must(os.ReadDir(base)) {
		left = append(left, strings.TrimPrefix(e.Name(), unfinished))
	}
	if diff := cmp.Diff([]string{"being locked", "being made", "link"}, left); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(elsewhere, lockName)); err != nil {
		t.Error(err)
	}
}

// Of many problems some are named, and the rest is counted.
func TestLimitOfProblems(t *testing.T) {
	dir := t.TempDir()
	for i := range 2 * maxProblems {
		check(t, os.Mkdir(filepath.Join(dir, fmt.Sprintf("toolhost-plugin-p%d", i)), 0o755))
	}
	_, problems := Find(t.Context(), Sources{Dirs: []string{dir}})
	if len(problems) != maxProblems+1 {
		t.Errorf("%d problems", len(problems))
	}
	checkProblems(t, problems, "and 50 more problems of plugins and their sources")
	_, err := Discovery{Name: "d"}.parse([]byte("[" + strings.Repeat("5,", 199) + "5]"))
	if lines := strings.Split(err.Error(), "\n"); len(lines) != maxProblems+1 ||
		lines[maxProblems] != "and 150 more elements" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}

func TestLimitOfPlugins(t *testing.T) {
	elements := func(n int) []byte {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"name":"p%d","command":["x"]}`, i))
		}
		return []byte("[" + strings.Join(list, ",") + "]")
	}
	for n, words := range map[int]string{256: "",
		257: "it printed 257 plugins, the limit is 256: the last 1 are skipped"} {
		specs, err := Discovery{Name: "d"}.parse(elements(n))
		if len(specs) != 256 || (err != nil) != (words != "") || err != nil && !strings.Contains(err.Error(), words) {
			t.Errorf("%d elements give %d plugins, %v", n, len(specs), err)
		}
	}
	f := finder{specs: map[string]Spec{}, surplus: map[string]bool{}}
	for i := range 258 {
		f.add(Spec{Name: fmt.Sprintf("p%d", i), Command: []string{"x"}})
	}
	if len(f.specs) != 256 || len(f.surplus) != 2 {
		t.Errorf("%d plugins are found, %d are left out", len(f.specs), len(f.surplus))
	}
}

func TestLimitOfFoundPlugins(t *testing.T) {
	dir := t.TempDir()
	for i := range 257 {
		script(t, dir, fmt.Sprintf("toolhost-plugin-p%d", i), "")
	}
	byHand := []Spec{{Name: "mine", Command: []string{"x"}}}
	specs, problems := Find(t.Context(), Sources{Dirs: []string{dir}, Installed: dir, Plugins: byHand})
	if len(specs) != 256 || specs[0].Name != "mine" {
		t.Errorf("%d plugins, the first %q", len(specs), specs[0].Name)
	}
	checkProblems(t, problems, "2 plugins that were found are skipped: the limit is 256")
}

func TestLimitOfSupervisedPlugins(t *testing.T) {
	s := supervisor(t)
	for i := range maxPlugins {
		add(t, s, Spec{Name: fmt.Sprintf("p%d", i), Command: []string{"x"}})
	}
	if _, err := s.Add(Spec{Name: "more", Command: []string{"x"}}); err == nil ||
		!strings.Contains(err.Error(), `plugin "more" is not added: the limit is 256`) {
		t.Errorf("one more gives %v", err)
	}
}

// A plugin whose tools are those of the cache is one of this host, too, though it is not started.
func TestPluginIsOwnBeforeItsStart(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config.hcl")
	s := must(New(Options{RunDir: shortDir(t), Config: config}))
	defer s.Close()
	words := strings.TrimPrefix(nesting.Below(nil, config, `plugin "own"`, false)[0], nesting.Var+"=")
	if nesting.IsOwn(words) {
		t.Error("it is known before it was added")
	}
	add(t, s, Spec{Name: "own", Command: []string{"x"}})
	if !nesting.IsOwn(words) {
		t.Error("it is not known")
	}
}
