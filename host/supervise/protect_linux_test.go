package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// namespaces reports whether paths can be protected here; if not, it logs that.
func namespaces(t *testing.T) bool {
	if !proctree.DetectCapabilities().Namespaces {
		t.Logf("this machine has no namespaces: %s", proctree.DetectCapabilities().NamespacesError)
	}
	return proctree.DetectCapabilities().Namespaces
}

// project is a work folder with typical files of a project, and a home folder elsewhere.
func project(t *testing.T, files ...string) string {
	t.Helper()
	dir := must(filepath.EvalSymlinks(shortDir(t)))
	t.Setenv("HOME", must(filepath.EvalSymlinks(shortDir(t))))
	for _, f := range files {
		f = filepath.Join(dir, f)
		must(0, errors.Join(os.MkdirAll(filepath.Dir(f), 0o755), os.WriteFile(f, []byte("old"), 0o644)))
	}
	return dir
}

// attackingShell may write to its work folder and the folders of the box.
func attackingShell(box sandbox.Spec) Spec {
	spec := fixture("vandal", "attacker")
	spec.Env["PREY"] = "{}"
	spec.Sandbox = box
	return spec
}

func supervisorOf(t *testing.T, o Options) *Supervisor {
	t.Helper()
	if o.RunDir == "" {
		o.RunDir = shortDir(t)
	}
	s := must(New(o))
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// A plugin can neither change nor create files that other programs run or read as configuration.
func TestProtectedPaths(t *testing.T) {
	files := []string{".git/config", ".git/hooks/pre-commit", ".idea/tasks.xml", "config.hcl", "bin/deep/lint",
		".claude/settings.json", "free/file"}
	for _, level := range []sandbox.Level{sandbox.Confined, sandbox.Isolated} {
		t.Run(string(level), func(t *testing.T) {
			dir := project(t, files...)
			must(0, os.Chmod(filepath.Join(dir, "bin/deep/lint"), 0o755))
			s := supervisorOf(t, Options{Workdir: dir,
				ReadOnly: []string{filepath.Join(dir, "config.hcl"), filepath.Join(dir, "not-there"),
					filepath.Join(dir, "plugins") + "/"}})
			lint := fixture("lint", "good")
			lint.Command = []string{filepath.Join(dir, "bin/deep/lint")}
			add(t, s, lint)
			spec := attackingShell(sandbox.Spec{Level: level})
			spec.Env["EXE"] = must(os.Executable())
			p := add(t, s, spec)
			for script, allowed := range map[string]bool{
				"echo new > .git/config":                           false,
				"echo new > .git/hooks/pre-commit":                 false,
				"mkdir .git/objects":                               false,
				"mv -T .git other":                                 false,
				"rm -r .git":                                       false,
				"mkdir other && mv -T other .git":                  false,
				"ln -s /tmp .git/x":                                false,
				"echo new > .vscode/tasks.json":                    false,
				"rmdir .vscode":                                    false,
				"mv -T .vscode other":                              false,
				"rm -r .idea":                                      false,
				"echo new > .claude/settings.json":                 false,
				"echo new > config.hcl":                            false,
				"rm -f config.hcl":                                 false,
				"echo new > next && mv next config.hcl":            false,
				"echo new > bin/deep/lint":                         false,
				"rm -f bin/deep/lint":                              false,
				"mv -T bin/deep other":                             false,
				"mv -T bin other":                                  false,
				"umount .git":                                      false,
				"echo new > plugins/new":                           false,
				"rmdir plugins; mkdir plugins":                     false,
				"FIXTURE=handle AT=.git/config exec $EXE":          false,
				"unshare -rm umount .git":                          false,
				"cd /proc/self/cwd/.git && echo new > config":      false,
				"echo new > bin/deep/beside && rm bin/deep/beside": true,
				"echo new > next && mv next free/file && printf old > free/file": true,
				"mkdir sub && mkdir sub/.git && echo x > sub/.git/a; rm -r sub":  true,
			} {
				out := mustCall(t, p, "run", script+" && echo it works")
				if worked := strings.Contains(out, "it works"); worked != (allowed || !namespaces(t)) {
					t.Errorf("%s: %s", script, out)
				}
				_ = os.RemoveAll(filepath.Join(dir, "other"))
			}
			box := p.Status().Sandbox
			if !namespaces(t) {
				if text := strings.Join(box.Missing, "\n"); !strings.Contains(text, "it can change "+dir+"/.git") ||
					box.Effective != sandbox.Supervised {
					t.Errorf("the status says %+v", box)
				}
				return
			}
			for _, f := range files {
				if text := must(os.ReadFile(filepath.Join(dir, f))); string(text) != "old" {
					t.Errorf("%s holds %q", f, text)
				}
			}
			var want []string
			for _, name := range []string{".claude", ".git", ".idea", ".vscode", "bin/deep/lint", "config.hcl", "plugins"} {
				want = append(want, filepath.Join(dir, name))
			}
			if box.Effective != level || !slices.Equal(box.ReadOnly, want) {
				t.Errorf("the status says %+v", box)
			}
			_ = s.Close()
			if !missing(filepath.Join(dir, ".vscode")) || !missing(filepath.Join(dir, "plugins")) ||
				missing(filepath.Join(dir, ".idea")) || missing(filepath.Join(dir, ".git")) {
				t.Error("what was not there is left, or what was there is gone")
			}
		})
	}
}

// Paths that the user names in write are writable for the plugin.
func TestProtectedPathsThatAreNamed(t *testing.T) {
	dir := project(t, ".git/config", ".idea/x")
	p := add(t, supervisorOf(t, Options{Workdir: dir}),
		attackingShell(sandbox.Spec{Level: sandbox.Confined, Write: []string{dir, filepath.Join(dir, ".git")}}))
	if out := mustCall(t, p, "run",
		"echo new > .git/config && echo works; echo new > .idea/x || echo kept"); strings.Contains(out, "works") != true ||
		strings.Contains(out, "kept") != proctree.DetectCapabilities().Namespaces {
		t.Error(out)
	}
}

// A plugin's error says which access was refused.
func TestProtectedPathsAreReported(t *testing.T) {
	if !namespaces(t) {
		return
	}
	dir := project(t, ".git/config")
	p := add(t, supervisorOf(t, Options{Workdir: dir}), attackingShell(sandbox.Spec{Level: sandbox.Confined}))
	_, err := call(t, p, "give-up", "")
	checkError(t, err, sdk.CodePluginCrashed, "can write to "+dir+" (but not to ", dir+"/.git",
		"unless its write names them")
}

// A link cannot be protected, and a home folder has too many files: both are reported.
func TestUnprotectablePathsAreReported(t *testing.T) {
	if !namespaces(t) {
		return
	}
	dir, elsewhere := project(t), shortDir(t)
	must(0, os.Symlink(elsewhere, filepath.Join(dir, ".git")))
	p := add(t, supervisorOf(t, Options{Workdir: dir}), attackingShell(sandbox.Spec{Level: sandbox.Confined}))
	mustCall(t, p, "facts", "")
	if box := p.Status().Sandbox; !strings.Contains(strings.Join(box.Missing, "\n"), dir+"/.git is a symbolic link") {
		t.Errorf("the status says %+v", box)
	}
	home := project(t, ".bashrc", ".config/fish/x", ".ssh/authorized_keys")
	t.Setenv("HOME", home)
	s := supervisorOf(t, Options{Workdir: home})
	p = add(t, s, attackingShell(sandbox.Spec{Level: sandbox.Confined}))
	out := mustCall(t, p, "run",
		"echo new > .bashrc; mv .config other; echo new >> .ssh/authorized_keys; cat .bashrc .config/fish/x "+
			".ssh/authorized_keys")
	if box := p.Status().Sandbox; !strings.HasSuffix(out, "oldoldold") || box.Effective != sandbox.Supervised ||
		!strings.Contains(strings.Join(box.Missing, "\n"), "your home folder") {
		t.Errorf("the status says %+v; %s", box, out)
	}
	strict := attackingShell(sandbox.Spec{Level: sandbox.Confined, Require: sandbox.Confined})
	strict.Name = "strict"
	_, err := call(t, add(t, s, strict), "facts", "")
	checkError(t, err, sdk.CodePluginUnavailable, `requires the sandbox level "confined"`, "your home folder")
}

// On a kernel that cannot protect paths, plugins run anyway, and their status says what they can change.
func TestProtectedPathsOnOldKernels(t *testing.T) {
	dir := project(t, ".git/config")
	s, m := supervisorOf(t, Options{Workdir: dir}), proctree.DetectCapabilities()
	m.NoReadOnlyMounts = true
	s.capabilities = func() proctree.Capabilities { return m }
	p := add(t, s, attackingShell(sandbox.Spec{Level: sandbox.Confined}))
	out := mustCall(t, p, "run", "echo new > .git/config && echo works")
	noted := strings.Contains(strings.Join(p.Status().Sandbox.Missing, "\n"), dir+"/.git")
	if !strings.Contains(out, "works") || noted != (reached(sandbox.Confined) == sandbox.Confined) {
		t.Errorf("the status says %+v; %s", p.Status().Sandbox, out)
	}
}

// Files that toolhost finds through a link are protected from a replacement of the link, unless it leads nowhere: then
// what it leads to could be made.
func TestLinksToToolhostFiles(t *testing.T) {
	dir, elsewhere := project(t, "config.hcl"), must(filepath.EvalSymlinks(shortDir(t)))
	must(0, errors.Join(os.WriteFile(filepath.Join(elsewhere, "file"), nil, 0o600),
		os.Symlink(elsewhere, filepath.Join(dir, "out")),
		os.Symlink(dir, filepath.Join(elsewhere, "in")), os.Symlink("out/file", filepath.Join(dir, "link")),
		os.Symlink("loop", filepath.Join(dir, "loop")),
		os.Symlink("nothing", filepath.Join(dir, "nowhere"))))
	for path, c := range map[string]struct {
		link  string
		fixed bool // where there are mounts
	}{
		filepath.Join(dir, "config.hcl"):          {},
		filepath.Join(elsewhere, "in/config.hcl"): {},
		filepath.Join(elsewhere, "file"):          {},
		filepath.Join(dir, "out/file"):            {"out", true},
		filepath.Join(dir, "link"):                {"link", true},
		filepath.Join(elsewhere, "in/out/file"):   {"out", true},
		filepath.Join(dir, "loop"):                {"loop", false},
		filepath.Join(dir, "nowhere"):             {"nowhere", false},
		filepath.Join(dir, "nowhere/file"):        {"nowhere", false},
	} {
		got := must(Options{Workdir: dir, ReadOnly: []string{path}}.Confine(attackingShell(sandbox.Spec{}),
			proctree.DetectCapabilities()))
		noted := strings.Contains(strings.Join(got.Missing, "\n"), "the symbolic link "+filepath.Join(dir, c.link))
		want := c.link != "" && !(c.fixed && namespaces(t))
		if noted != want || namespaces(t) && (got.Effective == sandbox.Supervised) != noted {
			t.Errorf("%s: %+v", path, got)
		}
		if kept := slices.Contains(got.ReadOnly, filepath.Join(dir, c.link)); c.fixed && namespaces(t) && !kept {
			t.Errorf("%s: the link is not among %q", path, got.ReadOnly)
		}
	}
	must(0, errors.Join(os.Mkdir(filepath.Join(dir, "bin"), 0o755),
		os.Symlink("../out/file", filepath.Join(dir, "bin/link"))))
	kept := Options{Workdir: dir, ReadOnly: []string{filepath.Join(dir, "bin"), filepath.Join(dir, "bin/link")}}
	if got := must(kept.Confine(attackingShell(sandbox.Spec{}),
		proctree.DetectCapabilities())); strings.Contains(strings.Join(got.Missing,
		"\n"), "bin/link") == namespaces(t) {
		t.Errorf("a link in a protected folder: %+v", got)
	}
	s := supervisorOf(t, Options{Workdir: dir, ReadOnly: []string{filepath.Join(dir, "nowhere")}})
	mustCall(t, add(t, s, attackingShell(sandbox.Spec{})), "facts", "") // a dangling link does not prevent it
}

// A plugin cannot lead toolhost elsewhere by a link, whatever it does to the link or to the folders on the way.
func TestLinksAreNotReplaced(t *testing.T) {
	if !namespaces(t) {
		return
	}
	dir, elsewhere := project(t, "real/tool"), must(filepath.EvalSymlinks(shortDir(t)))
	must(0, errors.Join(os.WriteFile(filepath.Join(elsewhere, "python"), nil, 0o700),
		os.MkdirAll(filepath.Join(dir, "venv/bin"), 0o755), os.Symlink("../real", filepath.Join(dir, "venv/folder")),
		os.Symlink("../../venv/folder/tool", filepath.Join(dir, "venv/bin/tool")),
		os.Symlink(elsewhere+"/python", filepath.Join(dir, "venv/bin/python"))))
	s := supervisorOf(t, Options{Workdir: dir, ReadOnly: []string{filepath.Join(dir, "venv/bin/tool"),
		filepath.Join(dir, "venv/bin/python")}})
	p := add(t, s, attackingShell(sandbox.Spec{Require: sandbox.Confined}))
	const attacks = "for l in venv/bin/tool venv/bin/python venv/folder real/tool; do rm -f $l; ln -sfn /bin/true $l; " +
		"cp /bin/true new; mv -f new $l; done; mv venv v; mv venv/bin venv/b; mv real r; echo x > real/tool; " +
		"echo more > venv/bin/other && echo works"
	if out := mustCall(t, p, "run", "("+attacks+") 2>/dev/null"); !strings.Contains(out, "works") {
		t.Errorf("other files of the folder: %q", out)
	}
	for link, want := range map[string]string{"venv/bin/tool": "../../venv/folder/tool", "venv/folder": "../real",
		"venv/bin/python": elsewhere + "/python"} {
		if to, err := os.Readlink(filepath.Join(dir, link)); to != want {
			t.Errorf("%s leads to %q, %v", link, to, err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "real/tool")); len(text) > 5 || err != nil {
		t.Errorf("the file has %q, %v", text, err)
	}
}

// A plugin that may write to something in a protected folder can write to all of it, which is reported; no
// placeholder is made in there.
func TestProtectedPathsThatAreNamedInPart(t *testing.T) {
	dir := project(t, ".git/objects/x")
	p := add(t, supervisorOf(t, Options{Workdir: dir}),
		attackingShell(sandbox.Spec{Write: []string{dir, filepath.Join(dir, ".git/objects")}}))
	out := mustCall(t, p, "run", "ls -A .git .git/objects")
	if text := strings.Join(p.Status().Sandbox.Missing, "\n"); !strings.Contains(text, "all of "+dir+"/.git") ||
		strings.Contains(out, ".vscode") {
		t.Errorf("it has the note %q, and there is %s", text, out)
	}
}

// A folder that its user may make writable is no protection.
func TestPlaceholdersThatCannotBeMade(t *testing.T) {
	if !namespaces(t) {
		return
	}
	for _, mode := range []os.FileMode{0o555, 0} {
		dir := project(t, "sub/file")
		sub := filepath.Join(dir, "sub")
		must(0, os.Chmod(sub, mode))
		t.Cleanup(func() { _ = os.Chmod(sub, 0o755) })
		p := add(t, supervisorOf(t, Options{Workdir: dir}), attackingShell(sandbox.Spec{Write: []string{dir, sub}}))
		made := strings.Contains(mustCall(t, p, "run", "chmod 755 sub && mkdir -p sub/.git/hooks && echo it works"),
			"it works")
		box := p.Status().Sandbox
		if noted := strings.Contains(strings.Join(box.Missing, "\n"), "it can make "+sub+"/.git"); made != noted ||
			made != (os.Geteuid() != 0) {
			t.Errorf("%s: made %t, status %+v", mode, made, box)
		}
		if !slices.Contains(box.ReadOnly, filepath.Join(sub, ".git")) {
			t.Errorf("%s: read-only is %q", mode, box.ReadOnly)
		}
	}
}

// A placeholder that another process has locked when its plugin ends is left until the host ends.
func TestPlaceholderThatIsLocked(t *testing.T) {
	if !namespaces(t) {
		return
	}
	dir := project(t)
	s := supervisorOf(t, Options{Workdir: dir})
	p := add(t, s, attackingShell(sandbox.Spec{}))
	mustCall(t, p, "facts", "")
	f := must(os.Open(filepath.Join(dir, ".vscode")))
	must(0, syscall.Flock(int(f.Fd()), syscall.LOCK_SH))
	must(0, errors.Join(p.Close(), f.Close()))
	if must(0, s.Close()); !missing(filepath.Join(dir, ".vscode")) || !missing(filepath.Join(dir, ".git")) {
		t.Error("it is left")
	}
}

// No plugin can create what does not exist yet, in any way, and other programs see nothing of the placeholders.
func TestProtectedPathsThatDoNotExist(t *testing.T) {
	if !namespaces(t) {
		return
	}
	for _, level := range []sandbox.Level{sandbox.Confined, sandbox.Isolated} {
		t.Run(string(level), func(t *testing.T) {
			dir := project(t, "tools/beside")
			reserved := []string{".git", "toolhost.lock.hcl", "tools/lint", "bin/deep/lint"}
			s := supervisorOf(t, Options{Workdir: dir,
				Reserved: []string{filepath.Join(dir, "toolhost.lock.hcl"), filepath.Join(dir, "tools/lint")}})
			later := fixture("later", "good")
			later.Command = []string{filepath.Join(dir, "bin/deep/lint")}
			add(t, s, later)
			other := supervisorOf(t, Options{Workdir: dir})
			mustCall(t, add(t, other, attackingShell(sandbox.Spec{Level: level})), "facts", "")
			p := add(t, s, attackingShell(sandbox.Spec{Level: level}))
			mustCall(t, p, "run", "mkdir full && echo x > full/config && echo x > one")
			for _, path := range reserved {
				top, _, _ := strings.Cut(path, "/deep")
				for _, way := range []string{"mkdir -p %[1]s", "mkdir -p %[1]s/hooks", "echo new > %[1]s", "mv -T full %[2]s",
					"mv one %[1]s", "ln -sfn full %[2]s", "ln -f one %[1]s",
					"rm -rf %[2]s; mkdir -p %[1]s", "mv -T %[2]s away; mkdir -p %[1]s", "git init -q . && test -d %[1]s",
					"mv --exchange -T full %[2]s", "umount %[2]s; mkdir -p %[1]s", "unshare -rm umount %[2]s"} {
					script := fmt.Sprintf(way, path, top)
					if out := mustCall(t, p, "run", "("+script+") 2>&1 && echo it works"); strings.Contains(out, "it works") {
						t.Errorf("%s: %s", script, out)
					}
				}
				if _, err := os.Stat(filepath.Join(dir, path)); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("others see %s: %v", path, err)
				}
				if !slices.Contains(p.Status().Sandbox.ReadOnly, filepath.Join(dir, path)) {
					t.Errorf("the status says %q", p.Status().Sandbox.ReadOnly)
				}
			}
			if out := mustCall(t, p, "run",
				"echo x > tools/new && mv tools/new tools/newer && echo it works"); !strings.Contains(out, "it works") {
				t.Errorf("beside them: %s", out)
			}
			if out, err := exec.Command("git", "-C", dir, "status").CombinedOutput(); err == nil ||
				!strings.Contains(string(out), "not a git repository") && !errors.Is(err, exec.ErrNotFound) {
				t.Errorf("git says %v: %s", err, out)
			}
			must(0, s.Close())
			if missing(filepath.Join(dir, ".git")) || !missing(filepath.Join(dir, "bin")) ||
				!missing(filepath.Join(dir, "tools/lint")) || !missing(filepath.Join(dir, "toolhost.lock.hcl")) {
				t.Error("what another host needs is gone, or what none needs is left")
			}
			if must(0, other.Close()); !missing(filepath.Join(dir, ".git")) {
				t.Error("it is left")
			}
		})
	}
}

// A file of the user that replaces a placeholder is kept.
func TestPlaceholderThatIsReplaced(t *testing.T) {
	if !namespaces(t) {
		return
	}
	dir := project(t)
	lock := filepath.Join(dir, "toolhost.lock.hcl")
	s := supervisorOf(t, Options{Workdir: dir, Reserved: []string{lock}})
	mustCall(t, add(t, s, attackingShell(sandbox.Spec{})), "facts", "")
	if !sandbox.IsPlaceholder(lock) {
		t.Fatal("there is no placeholder")
	}
	must(0, errors.Join(os.WriteFile(lock+".new", []byte("mine"), 0o600), os.Rename(lock+".new", lock)))
	must(0, s.Close())
	if text, err := os.ReadFile(lock); err != nil || string(text) != "mine" || sandbox.IsPlaceholder(lock) {
		t.Errorf("%q, %v", text, err)
	}
}

// A path that disappears between its check and the start does not prevent the start: other programs may work in the
// folder.
func TestPathVanishesDuringAStart(t *testing.T) {
	if !namespaces(t) {
		return
	}
	dir, times := project(t, ".claude/settings.json"), 0
	s := supervisorOf(t, Options{Workdir: dir})
	r := &runner{ctx: t.Context(), spec: attackingShell(sandbox.Spec{}).complete(dir), supervisor: s,
		generation: &generation{program: os.Args[0]},
		log:        s.log, prepared: func(sandbox.Prepared) {
			times++
			must(0, os.RemoveAll(filepath.Join(dir, ".claude")))
		}}
	c, out, err := r.launch()
	if err != nil || times != 2 {
		t.Fatalf("after %d times: %v", times, err)
	}
	go c.copyOutput(out, out, io.Discard)
	c.kill("")
	c.allowRelease()
	<-c.released
}

// A plugin has its own shared memory, without the user's folders.
func TestFoldersInSharedMemory(t *testing.T) {
	if !namespaces(t) {
		return
	}
	dir := project(t)
	s := supervisorOf(t, Options{Workdir: dir})
	if out := mustCall(t, add(t, s, attackingShell(sandbox.Spec{Write: []string{dir, sandbox.SharedMemory}})), "run",
		"mkdir -p /dev/shm/.git/x && echo it works"); !strings.Contains(out, "it works") {
		t.Error(out)
	}
	inside := must(os.MkdirTemp(sandbox.SharedMemory, "toolhost-test-"))
	t.Cleanup(func() { _ = os.RemoveAll(inside) })
	spec := attackingShell(sandbox.Spec{Write: []string{inside}})
	spec.Name = "inside"
	_, err := call(t, add(t, s, spec), "facts", "")
	checkError(t, err, sdk.CodePluginUnavailable, "it would not find "+inside, "of its own")
}

// A plugin that could lock the record would delay every recorded call of all hosts.
func TestHiddenFilesCannotBeLocked(t *testing.T) {
	dir, state := project(t, "kept"), filepath.Join(must(filepath.EvalSymlinks(shortDir(t))), "state")
	inside, outside := filepath.Join(dir, "kept"), filepath.Join(state, "record")
	for _, level := range []sandbox.Level{sandbox.Confined, sandbox.Isolated} {
		t.Run(string(level), func(t *testing.T) {
			s := supervisorOf(t, Options{Workdir: dir, Masked: []string{inside, outside}})
			p := add(t, s, attackingShell(sandbox.Spec{Level: level}))
			mustCall(t, p, "run", "echo begin")
			for _, path := range []string{inside, outside} {
				out := mustCall(t, p, "run", "cat "+path+"; exec 3<"+path+" && flock -n 3; sleep 1000 >/dev/null 2>&1 & rm -f "+
					path+"; mv "+path+" "+path+"2")
				f, err := os.Open(path)
				if err == nil {
					err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
					_ = f.Close()
				}
				if protected := err == nil && !strings.Contains(out, "old"); protected != namespaces(t) {
					t.Errorf("%s: %v; %s", path, err, out)
				}
			}
			box := p.Status().Sandbox
			if noted := strings.Contains(strings.Join(box.Missing, "\n"), "it can read "+inside); noted == namespaces(t) ||
				noted == slices.Contains(box.Masked, outside) {
				t.Errorf("the status says %+v", box)
			}
		})
	}
}

// Whatever stands in place of a hidden file, plugins start, and do not change it.
func TestHiddenFilesOfOtherKinds(t *testing.T) {
	for kind, create := range map[string]func(path string) error{
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"socket": func(path string) error {
			l, err := net.Listen("unix", path)
			if err == nil {
				t.Cleanup(func() { _ = l.Close() })
			}
			return err
		},
		"link":        func(path string) error { return os.Symlink("kept", path) },
		"broken link": func(path string) error { return os.Symlink("nowhere", path) },
		"circle":      func(path string) error { return os.Symlink(filepath.Base(path), path) },
		"unreadable":  func(path string) error { return os.WriteFile(path, []byte("x"), 0) },
	} {
		for _, level := range []sandbox.Level{sandbox.Confined, sandbox.Isolated} {
			t.Run(kind+"/"+string(level), func(t *testing.T) {
				dir := project(t, "kept")
				for _, path := range []string{filepath.Join(dir, "hidden"),
					filepath.Join(must(filepath.EvalSymlinks(shortDir(t))), "hidden")} {
					check(t, create(path))
					before := must(os.Lstat(path)).Mode()
					s := supervisorOf(t, Options{Workdir: dir, Masked: []string{path}, ReadOnly: []string{path}})
					mustCall(t, add(t, s, attackingShell(sandbox.Spec{Level: level})), "run", "echo begin")
					if after := must(os.Lstat(path)).Mode(); after != before {
						t.Errorf("%s was %v and is %v", path, before, after)
					}
				}
			})
		}
	}
}

// doctor finds the folder for temporary files also when sockets are elsewhere.
func TestTemporaryFilesAreInTheWorkFolder(t *testing.T) {
	dir := project(t)
	t.Setenv("XDG_RUNTIME_DIR", must(filepath.EvalSymlinks(shortDir(t))))
	t.Setenv("TMPDIR", dir)
	spec := attackingShell(sandbox.Spec{Require: sandbox.Confined})
	if _, err := (Options{Workdir: dir}).Confine(spec, proctree.DetectCapabilities()); err == nil ||
		!strings.Contains(err.Error(), "what toolhost reads or runs in "+dir) {
		t.Errorf("it says %v", err)
	}
}

func init() {
	fixtures["holder"] = holdAndWait
	fixtures["handle"] = writeByHandle
}

// writeByHandle opens a file by its handle in its file system, on the mount that the work folder is on.
func writeByHandle() {
	h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, os.Getenv("AT"), 0)
	if err == nil {
		var fd int
		if fd, err = unix.OpenByHandleAt(int(must(os.Open(".")).Fd()), h, unix.O_WRONLY|unix.O_TRUNC); err == nil {
			_, err = unix.Write(fd, []byte("new"))
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// holdAndWait is a host that has a confined plugin until it is killed.
func holdAndWait() {
	s := must(New(Options{Workdir: os.Getenv("WORKDIR"), RunDir: os.Getenv("RUN")}))
	p := must(s.Add(attackingShell(sandbox.Spec{Level: sandbox.Confined})))
	_ = must(p.Call(context.Background(), request("facts", "")))
	_ = must(os.Stdout.WriteString("ready\n"))
	select {}
}

// The next host removes the placeholders of a killed host.
func TestPlaceholdersOfAKilledHost(t *testing.T) {
	if !namespaces(t) {
		return
	}
	dir, run := project(t), shortDir(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FIXTURE=holder", "WORKDIR="+dir, "RUN="+run)
	out := must(cmd.StdoutPipe())
	must(0, cmd.Start())
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	must(0, cmd.Process.Signal(syscall.SIGKILL))
	_ = cmd.Wait()
	if missing(filepath.Join(dir, ".git")) {
		t.Fatal("there was no placeholder")
	}
	soon(t, "the next host removes it", patience, func() bool {
		_ = must(New(Options{RunDir: run})).Close()
		return missing(filepath.Join(dir, ".git"))
	})
}

// A link that a plugin puts in place of a folder that it may write to grants it nothing at the next start.
func TestLinksInOwnFolders(t *testing.T) {
	if reached(sandbox.Confined) != sandbox.Confined {
		t.Logf("this machine confines nothing: Landlock %d", proctree.DetectCapabilities().Landlock)
		return
	}
	for _, level := range []sandbox.Level{sandbox.Confined, sandbox.Isolated} {
		t.Run(string(level), func(t *testing.T) {
			p := makeAttackTargets(t)
			box := sandbox.Spec{Level: level, Write: []string{p.Inside, p.Inside + "/a"}, Read: []string{p.Inside + "/b"}}
			proc := add(t, supervisor(t), attacker(p, box))
			mustCall(t, proc, "run", "cd "+p.Inside+" && echo new > a/file && cat b/file a/file; rm -r a; rm -r b; ln -sT "+
				p.Outside+" a; ln -sT "+p.Outside+" b")
			_, _ = call(t, proc, "give-up", "")
			_, err := call(t, proc, "run", "echo changed > "+p.Secret)
			checkError(t, err, sdk.CodePluginUnavailable, "leads to "+p.Outside, "name "+p.Outside+" itself")
			if text := string(must(os.ReadFile(p.Secret))); text != "text" {
				t.Errorf("it wrote %q outside", text)
			}
		})
	}
}

// A link that another plugin puts in place of such a folder grants nothing either, nor one in a folder that is shared.
func TestLinksInFoldersOfOthers(t *testing.T) {
	if reached(sandbox.Confined) != sandbox.Confined {
		t.Logf("this machine confines nothing: Landlock %d", proctree.DetectCapabilities().Landlock)
		return
	}
	p := makeAttackTargets(t)
	for name, c := range map[string]struct {
		shared []string
		other  sandbox.Spec
	}{
		"of another plugin":  {nil, sandbox.Spec{Write: []string{p.Inside}}},
		"of a configuration": {[]string{p.Inside}, sandbox.Spec{Level: sandbox.Supervised}},
	} {
		t.Run(name, func(t *testing.T) {
			s := must(New(Options{Workdir: shortDir(t), RunDir: shortDir(t), Shared: c.shared}))
			t.Cleanup(func() { _ = s.Close() })
			other, own := attacker(p, c.other), attacker(p, sandbox.Spec{Write: []string{p.Inside + "/a"}})
			other.Name = "other"
			replaces, proc := add(t, s, other), add(t, s, own)
			mustCall(t, replaces, "run", "cd "+p.Inside+" && rm -rf a && mkdir a")
			mustCall(t, proc, "run", "echo new > "+p.Inside+"/a/file")
			mustCall(t, replaces, "run", "cd "+p.Inside+" && rm -r a && ln -sT "+p.Outside+" a")
			_, _ = call(t, proc, "give-up", "")
			_, err := call(t, proc, "run", "echo changed > "+p.Secret)
			checkError(t, err, sdk.CodePluginUnavailable, "leads to "+p.Outside, "name "+p.Outside+" itself")
			if text := string(must(os.ReadFile(p.Secret))); text != "text" {
				t.Errorf("it wrote %q outside", text)
			}
		})
	}
}

// A program found through a link in a folder of the plugin cannot be read at level isolated, and the error says so.
func TestProgramByALinkInOwnFolders(t *testing.T) {
	if reached(sandbox.Isolated) != sandbox.Isolated {
		t.Logf("this machine reaches %s", reached(sandbox.Isolated))
		return
	}
	p := makeAttackTargets(t)
	must(0, os.Symlink(os.Args[0], p.Inside+"/plugin"))
	spec := attacker(p, sandbox.Spec{Level: sandbox.Isolated})
	spec.Command = []string{p.Inside + "/plugin"}
	_, err := call(t, add(t, supervisor(t), spec), "facts", "")
	checkError(t, err, sdk.CodePluginUnavailable, "it is run as "+p.Inside+"/plugin, which leads to "+os.Args[0], "name "+
		os.Args[0]+" itself")
}

// Folders of toolhost in a work folder are protected from the plugin. If they cannot be, its level is not confined,
// and it is not started when it requires confined.
func TestOwnFoldersInAWorkFolder(t *testing.T) {
	if reached(sandbox.Confined) != sandbox.Confined {
		t.Logf("this machine reaches %s", reached(sandbox.Confined))
		return
	}
	for name, place := range map[string]func(o *Options, work string){
		"nothing":       func(*Options, string) {},
		"the programs":  func(o *Options, work string) { o.BinDir = filepath.Join(work, "not", "yet") },
		"what is known": func(o *Options, work string) { o.CacheDir = filepath.Join(work, "cache") },
		"the sockets":   func(o *Options, work string) { o.RunDir = work },
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Workdir: shortDir(t), RunDir: shortDir(t), BinDir: filepath.Join(shortDir(t), "bin")}
			place(&o, o.Workdir)
			s := must(New(o))
			t.Cleanup(func() { _ = s.Close() })
			p := add(t, s, attackerOf(t, "loose", sandbox.Spec{Level: sandbox.Confined}))
			mustCall(t, p, "facts", "")
			want, box := sandbox.Confined, p.Status().Sandbox
			if name == "the sockets" || name != "nothing" && !proctree.DetectCapabilities().Namespaces {
				want = sandbox.Supervised
			}
			if box.Effective != want || (want == sandbox.Supervised) != strings.Contains(strings.Join(box.Missing, "\n"),
				"it can write to "+o.Workdir) {
				t.Errorf("the status says %+v", box)
			}
			_, err := call(t, add(t, s,
				attackerOf(t, "strict", sandbox.Spec{Level: sandbox.Confined, Require: sandbox.Confined})), "facts", "")
			if want == sandbox.Confined && err != nil {
				t.Error(err)
			} else if want != sandbox.Confined {
				checkError(t, err, sdk.CodePluginUnavailable, `requires the sandbox level "confined"`, "it can write to "+o.Workdir)
			}
		})
	}
}

// attackerOf may write to its work folder.
func attackerOf(t *testing.T, name string, box sandbox.Spec) Spec {
	spec := attacker(makeAttackTargets(t), box)
	spec.Name, spec.Sandbox.Write = name, nil
	return spec
}
