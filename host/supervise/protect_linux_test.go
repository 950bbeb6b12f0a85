package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// namespaces says whether paths can be protected here; if not, it is told.
func namespaces(t *testing.T) bool {
	if !Machine().Namespaces {
		t.Logf("this machine has no namespaces: %s", Machine().NoNamespaces)
	}
	return Machine().Namespaces
}

// project is a work folder with what a project has, and the home folder, which is elsewhere.
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

// vandal may write to its work folder and what else the box names.
func vandal(box Sandbox) Spec {
	spec := playing("vandal", "attacker")
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

// What others run or obey is not a plugin's to change, nor to make where it is not.
func TestProtectedPaths(t *testing.T) {
	files := []string{".git/config", ".git/hooks/pre-commit", ".idea/tasks.xml", "config.hcl", "bin/deep/lint", ".claude/settings.json", "free/file"}
	for _, level := range []Level{Confined, Isolated} {
		t.Run(string(level), func(t *testing.T) {
			dir := project(t, files...)
			must(0, os.Chmod(filepath.Join(dir, "bin/deep/lint"), 0o755))
			s := supervisorOf(t, Options{Workdir: dir, Protect: []string{filepath.Join(dir, "config.hcl"), filepath.Join(dir, "not-there"), filepath.Join(dir, "plugins") + "/"}})
			lint := playing("lint", "good")
			lint.Command = []string{filepath.Join(dir, "bin/deep/lint")}
			add(t, s, lint)
			spec := vandal(Sandbox{Level: level})
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
				"PLAY=handle AT=.git/config exec $EXE":             false,
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
				if text := strings.Join(box.Missing, "\n"); !strings.Contains(text, "it can change "+dir+"/.git") || box.Got != Supervised {
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
			if box.Got != level || !slices.Equal(box.ReadOnly, want) {
				t.Errorf("the status says %+v", box)
			}
			_ = s.Close()
			if !missing(filepath.Join(dir, ".vscode")) || !missing(filepath.Join(dir, "plugins")) || missing(filepath.Join(dir, ".idea")) || missing(filepath.Join(dir, ".git")) {
				t.Error("what was not there is left, or what was there is gone")
			}
		})
	}
}

// What the user names with write is the plugin's.
func TestProtectedPathsThatAreNamed(t *testing.T) {
	dir := project(t, ".git/config", ".idea/x")
	p := add(t, supervisorOf(t, Options{Workdir: dir}), vandal(Sandbox{Level: Confined, Write: []string{dir, filepath.Join(dir, ".git")}}))
	if out := mustCall(t, p, "run", "echo new > .git/config && echo works; echo new > .idea/x || echo kept"); strings.Contains(out, "works") != true ||
		strings.Contains(out, "kept") != Machine().Namespaces {
		t.Error(out)
	}
}

// A plugin's error tells what it was kept from.
func TestProtectedPathsAreTold(t *testing.T) {
	if !namespaces(t) {
		return
	}
	dir := project(t, ".git/config")
	p := add(t, supervisorOf(t, Options{Workdir: dir}), vandal(Sandbox{Level: Confined}))
	_, err := call(t, p, "give-up", "")
	checkError(t, err, sdk.CodePluginCrashed, "can write to "+dir+" (but not to ", dir+"/.git", "whoever wants that names it")
}

// A link cannot be protected, and a home folder has too much in it: both are told.
func TestWhatCannotBeProtected(t *testing.T) {
	if !namespaces(t) {
		return
	}
	dir, elsewhere := project(t), shortDir(t)
	must(0, os.Symlink(elsewhere, filepath.Join(dir, ".git")))
	p := add(t, supervisorOf(t, Options{Workdir: dir}), vandal(Sandbox{Level: Confined}))
	mustCall(t, p, "facts", "")
	if box := p.Status().Sandbox; !strings.Contains(strings.Join(box.Missing, "\n"), dir+"/.git is a symbolic link") {
		t.Errorf("the status says %+v", box)
	}
	home := project(t, ".bashrc", ".config/fish/x", ".ssh/authorized_keys")
	t.Setenv("HOME", home)
	s := supervisorOf(t, Options{Workdir: home})
	p = add(t, s, vandal(Sandbox{Level: Confined}))
	out := mustCall(t, p, "run", "echo new > .bashrc; mv .config other; echo new >> .ssh/authorized_keys; cat .bashrc .config/fish/x .ssh/authorized_keys")
	if box := p.Status().Sandbox; !strings.HasSuffix(out, "oldoldold") || box.Got != Supervised || !strings.Contains(strings.Join(box.Missing, "\n"), "your home folder") {
		t.Errorf("the status says %+v; %s", box, out)
	}
	strict := vandal(Sandbox{Level: Confined, Require: Confined})
	strict.Name = "strict"
	_, err := call(t, add(t, s, strict), "facts", "")
	checkError(t, err, sdk.CodePluginUnavailable, `requires the sandbox level "confined"`, "your home folder")
}

// On a kernel that cannot protect them plugins run all the same, and their status says what they can change.
func TestProtectedPathsOnOldKernels(t *testing.T) {
	dir := project(t, ".git/config")
	s, m := supervisorOf(t, Options{Workdir: dir}), Machine()
	m.NoFixing = true
	s.machine = func() Means { return m }
	p := add(t, s, vandal(Sandbox{Level: Confined}))
	out := mustCall(t, p, "run", "echo new > .git/config && echo works")
	told := strings.Contains(strings.Join(p.Status().Sandbox.Missing, "\n"), dir+"/.git")
	if !strings.Contains(out, "works") || told != (m.reach(Confined) == Confined) {
		t.Errorf("the status says %+v; %s", p.Status().Sandbox, out)
	}
}

// What toolhost finds by a link can be replaced with the link, wherever that leads.
func TestLinksToOurs(t *testing.T) {
	dir, elsewhere := project(t, "config.hcl"), must(filepath.EvalSymlinks(shortDir(t)))
	must(0, errors.Join(os.WriteFile(filepath.Join(elsewhere, "file"), nil, 0o600), os.Symlink(elsewhere, filepath.Join(dir, "out")),
		os.Symlink(dir, filepath.Join(elsewhere, "in")), os.Symlink("out/file", filepath.Join(dir, "link")), os.Symlink("loop", filepath.Join(dir, "loop")),
		os.Symlink("nothing", filepath.Join(dir, "nowhere"))))
	for path, link := range map[string]string{
		filepath.Join(dir, "config.hcl"):          "",
		filepath.Join(elsewhere, "in/config.hcl"): "",
		filepath.Join(elsewhere, "file"):          "",
		filepath.Join(dir, "out/file"):            "out",
		filepath.Join(dir, "link"):                "link",
		filepath.Join(elsewhere, "in/out/file"):   "out",
		filepath.Join(dir, "loop"):                "loop",
		filepath.Join(dir, "nowhere"):             "nowhere",
		filepath.Join(dir, "nowhere/file"):        "nowhere",
	} {
		got := must(Options{Workdir: dir, Protect: []string{path}}.Confine(vandal(Sandbox{}), Machine()))
		told := strings.Contains(strings.Join(got.Missing, "\n"), "the symbolic link "+filepath.Join(dir, link))
		if told != (link != "") || namespaces(t) && (got.Got == Supervised) != told {
			t.Errorf("%s: %+v", path, got)
		}
	}
	must(0, errors.Join(os.Mkdir(filepath.Join(dir, "bin"), 0o755), os.Symlink("../out/file", filepath.Join(dir, "bin/link"))))
	kept := Options{Workdir: dir, Protect: []string{filepath.Join(dir, "bin"), filepath.Join(dir, "bin/link")}}
	if got := must(kept.Confine(vandal(Sandbox{}), Machine())); strings.Contains(strings.Join(got.Missing, "\n"), "bin/link") == namespaces(t) {
		t.Errorf("a link in a protected folder: %+v", got)
	}
	s := supervisorOf(t, Options{Workdir: dir, Protect: []string{filepath.Join(dir, "nowhere")}})
	mustCall(t, add(t, s, vandal(Sandbox{})), "facts", "") // which a link that leads nowhere does not prevent
}

// Who may write to something in a protected folder can write to all of it, which is told; nothing is put in there.
func TestProtectedPathsThatAreNamedInPart(t *testing.T) {
	dir := project(t, ".git/objects/x")
	p := add(t, supervisorOf(t, Options{Workdir: dir}), vandal(Sandbox{Write: []string{dir, filepath.Join(dir, ".git/objects")}}))
	out := mustCall(t, p, "run", "ls -A .git .git/objects")
	if text := strings.Join(p.Status().Sandbox.Missing, "\n"); !strings.Contains(text, "all of "+dir+"/.git") || strings.Contains(out, ".vscode") {
		t.Errorf("it is told %q, and there is %s", text, out)
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
		p := add(t, supervisorOf(t, Options{Workdir: dir}), vandal(Sandbox{Write: []string{dir, sub}}))
		made := strings.Contains(mustCall(t, p, "run", "chmod 755 sub && mkdir -p sub/.git/hooks && echo it works"), "it works")
		box := p.Status().Sandbox
		if told := strings.Contains(strings.Join(box.Missing, "\n"), "it can make "+sub+"/.git"); made != told || made != (os.Geteuid() != 0) {
			t.Errorf("%s: made %t, status %+v", mode, made, box)
		}
		if !slices.Contains(box.ReadOnly, filepath.Join(sub, ".git")) {
			t.Errorf("%s: read-only is %q", mode, box.ReadOnly)
		}
	}
}

// A lock that somebody else had on a placeholder when its plugin ended leaves it to the end of the host.
func TestPlaceholderThatIsLocked(t *testing.T) {
	if !namespaces(t) {
		return
	}
	dir := project(t)
	s := supervisorOf(t, Options{Workdir: dir})
	p := add(t, s, vandal(Sandbox{}))
	mustCall(t, p, "facts", "")
	f := must(os.Open(filepath.Join(dir, ".git")))
	must(0, syscall.Flock(int(f.Fd()), syscall.LOCK_SH))
	must(0, errors.Join(p.Close(), f.Close()))
	if must(0, s.Close()); !missing(filepath.Join(dir, ".git")) {
		t.Error("it is left")
	}
}

// What goes away between the look at it and the start does not prevent that: anybody may work in the folder.
func TestAPathGoesDuringAStart(t *testing.T) {
	if !namespaces(t) {
		return
	}
	dir, times := project(t, ".claude/settings.json"), 0
	s := supervisorOf(t, Options{Workdir: dir})
	r := &runner{ctx: t.Context(), spec: vandal(Sandbox{}).complete(dir), program: os.Args[0], supervisor: s, log: s.log, staged: func(stage) {
		times++
		must(0, os.RemoveAll(filepath.Join(dir, ".claude")))
	}}
	c, out, err := r.launch()
	if err != nil || times != 2 {
		t.Fatalf("after %d times: %v", times, err)
	}
	go c.drain(out, out, io.Discard)
	c.kill()
	<-c.exited
}

// A plugin has shared memory of its own, and no folder of the user's in it.
func TestFoldersInSharedMemory(t *testing.T) {
	if !namespaces(t) {
		return
	}
	dir := project(t)
	s := supervisorOf(t, Options{Workdir: dir})
	if out := mustCall(t, add(t, s, vandal(Sandbox{Write: []string{dir, sharedMemory}})), "run", "mkdir -p /dev/shm/.git/x && echo it works"); !strings.Contains(out, "it works") {
		t.Error(out)
	}
	inside := must(os.MkdirTemp(sharedMemory, "toolhost-test-"))
	t.Cleanup(func() { _ = os.RemoveAll(inside) })
	spec := vandal(Sandbox{Write: []string{inside}})
	spec.Name = "inside"
	_, err := call(t, add(t, s, spec), "facts", "")
	checkError(t, err, sdk.CodePluginUnavailable, "it would not find "+inside, "of its own")
}

// doctor knows of the folder for temporary files also when sockets are elsewhere.
func TestTemporaryFilesAreInTheWorkFolder(t *testing.T) {
	dir := project(t)
	t.Setenv("XDG_RUNTIME_DIR", must(filepath.EvalSymlinks(shortDir(t))))
	t.Setenv("TMPDIR", dir)
	spec := vandal(Sandbox{Require: Confined})
	if _, err := (Options{Workdir: dir}).Confine(spec, Machine()); err == nil || !strings.Contains(err.Error(), "what toolhost reads or runs in "+dir) {
		t.Errorf("it says %v", err)
	}
}

// A program that hangs when it is looked at is not said to be protected.
func TestProgramsThatHangAreNotProtected(t *testing.T) {
	dir := project(t)
	s := supervisorOf(t, Options{Workdir: dir})
	add(t, s, Spec{Name: "hung", Command: []string{"./bin/hung"}})
	s.sights.under = map[string]*sight{dir + "/bin/hung": {}} // as one who looks and waits
	p := add(t, s, vandal(Sandbox{Level: Confined}))
	mustCall(t, p, "facts", "")
	if box := p.Status().Sandbox; box.Got != Supervised || !strings.Contains(strings.Join(box.Missing, "\n"), dir+"/bin/hung") {
		t.Errorf("the status says %+v", box)
	}
}

// What is kept from plugins is not edited without a question either.
func TestProtectedNamesAreObeyed(t *testing.T) {
	for _, name := range slices.Concat(heldNames, guardedNames, homeNames) {
		if name != "bin" && !workspace.Obeyed(name) {
			t.Errorf("%s is not", name)
		}
	}
}

func init() {
	plays["holder"] = holdAndWait
	plays["handle"] = writeByHandle
}

// writeByHandle opens a file by what names it in its file system, on the mount that the work folder is on.
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
	p := must(s.Add(vandal(Sandbox{Level: Confined})))
	_ = must(p.Call(context.Background(), request("facts", "")))
	_ = must(os.Stdout.WriteString("ready\n"))
	select {}
}

// What a killed host has left goes with the next one.
func TestPlaceholdersOfAKilledHost(t *testing.T) {
	if !namespaces(t) {
		return
	}
	dir, run := project(t), shortDir(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PLAY=holder", "WORKDIR="+dir, "RUN="+run)
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
	soon(t, "the next host removes it", 5*time.Second, func() bool {
		_ = must(New(Options{RunDir: run})).Close()
		return missing(filepath.Join(dir, ".git"))
	})
}
