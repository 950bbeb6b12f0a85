//go:build !proctree_group

package proctree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fixedFolder has a repository, a program, a file and a link.
func fixedFolder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{".git/hooks/post": "old", "tools/bin/lint": "old", "settings": "old",
		"free": "old"} {
		path = filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(".git", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// changes are ways to replace a file, or to put something into a folder; each prints the error of the kernel.
var changes = map[string]string{
	"write":             "echo new > .git/hooks/post",
	"write by a link":   "echo new > link/hooks/post",
	"write from within": "cd .git/hooks && echo new > post",
	"make":              "echo new > .git/config",
	"make a folder":     "mkdir .git/objects",
	"remove":            "rm .git/hooks/post",
	"remove all":        "rm -r .git",
	"change the mode":   "chmod 777 .git/hooks/post",
	"move away":         "mv -T .git other",
	"move over":         "mkdir other; mv -T other .git",
	"move into":         "mv free .git/hooks/pre",
	"move out of":       "mv .git/hooks/post free",
	"link into":         "ln free .git/hooks/pre",
	"link out of":       "ln .git/hooks/post out && echo new > out",
	"file":              "echo new > settings",
	"file removed":      "rm -f settings",
	"file moved over":   "mv free settings",
	"file moved":        "mv settings other",
	"program":           "echo new > tools/bin/lint",
	"folder above":      "mv -T tools other",
	"folder above gone": "rm -r tools",
	"mount away":        "umount .git",
	"mount over":        "mount -t tmpfs none .git",
	"mount writable":    "mount -o remount,bind,rw .git",
}

// Nothing in the namespace changes read-only paths, nor moves pinned ones; everything else is unaffected.
func TestFixedFiles(t *testing.T) {
	if !allowed(t) {
		return
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			if os.Geteuid() == 0 && strings.HasPrefix(change, "umount") || os.Geteuid() == 0 &&
				strings.HasPrefix(change, "mount") {
				return // root has the capability: a sandbox drops it
			}
			dir := fixedFolder(t)
			c, out := script("(" + change +
				") 2>&1 && echo it works; cat .git/hooks/post settings tools/bin/lint; echo free > free; cat free; mkdir new && " +
				"mv new newer && rmdir newer")
			c.Dir, c.Sandbox.Namespaces = dir, true
			c.Sandbox.Pinned, c.Sandbox.ReadOnly = in(dir, "tools"), in(dir, ".git", "tools/bin", "settings")
			exit := mustRun(t, c)
			if !strings.HasSuffix(out.String(), "oldoldoldfree\n") || strings.Contains(out.String(), "it works") ||
				exit.Code != 0 {
				t.Errorf("exit %v, output %q", exit, out)
			}
			if text, err := os.ReadFile(filepath.Join(dir, ".git/hooks/post")); err != nil || string(text) != "old" {
				t.Errorf("outside there is %q, %v", text, err)
			}
		})
	}
}

// A program that may open files by handle reaches them through their folder, under the mounts.
func TestFixedFilesByHandle(t *testing.T) {
	if !allowed(t) || kernelCapabilities().Landlock == 0 {
		return // root keeps all capabilities
	}
	dir := fixedFolder(t)
	c, out := script(`exec "$1"`, self(t))
	c.Dir, c.Env = dir, append(os.Environ(), roleVar+"=handle")
	c.Sandbox = all(dir)
	c.Sandbox.Namespaces, c.Sandbox.ReadOnly = true, in(dir, ".git")
	c.Sandbox.RestrictReads, c.Sandbox.NoRareCalls, c.Sandbox.NoSockets = false, false, false
	// refused by the file system
	if mustRun(t, c); out.String() != "operation not permitted\n" && out.String() != "operation not supported\n" {
		t.Errorf("output %q", out)
	}
}

func init() {
	roles["handle"] = func() {
		folder, err := unix.Open(".", unix.O_RDONLY, 0)
		handle, _, noHandle := unix.NameToHandleAt(unix.AT_FDCWD, ".git/hooks/post", 0)
		if err = errors.Join(err, noHandle); err == nil {
			_, err = unix.OpenByHandleAt(folder, handle, unix.O_WRONLY)
		}
		fmt.Println(err)
	}
}

func in(dir string, names ...string) (paths []string) {
	for _, name := range names {
		paths = append(paths, filepath.Join(dir, name))
	}
	return paths
}

// The folder that a program starts in may itself be read-only.
func TestFixedFolderToStartIn(t *testing.T) {
	if !allowed(t) {
		return
	}
	dir := fixedFolder(t)
	t.Chdir(filepath.Join(dir, ".git"))
	c, out := script("echo new > hooks/post; cat hooks/post")
	c.Sandbox.Namespaces, c.Sandbox.ReadOnly = true, in(dir, ".git")
	c.Stderr = nil
	if mustRun(t, c); out.String() != "old" {
		t.Errorf("output %q", out)
	}
}

// A current folder that cannot be entered again does not matter if the program runs elsewhere.
func TestFixedFolderLeftBehind(t *testing.T) {
	if !allowed(t) {
		return
	}
	dir, behind := fixedFolder(t), filepath.Join(t.TempDir(), "closed")
	if err := os.MkdirAll(filepath.Join(behind, "here"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(behind, "here"))
	if err := os.Chmod(behind, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(behind, 0o755) })
	c, out := script("pwd")
	c.Sandbox.Namespaces, c.Sandbox.ReadOnly, c.Dir = true, in(dir, ".git"), dir
	if mustRun(t, c); out.String() != dir+"\n" {
		t.Errorf("output %q", out)
	}
	if os.Geteuid() == 0 {
		return // root can enter it again
	}
	c.Dir = ""
	_, err := c.Run(bounded(t))
	if e, ok := errors.AsType[*SandboxError](err); !ok || e.Errno != syscall.EACCES ||
		!strings.HasSuffix(e.Call, `/closed/here"`) {
		t.Errorf("%v", err)
	}
}

// The order of the paths does not matter, nor nested and repeated paths.
func TestFixedFoldersBelowEachOther(t *testing.T) {
	if !allowed(t) {
		return
	}
	dir, deepest := fixedFolder(t), strings.Repeat("a/", 20)
	if err := os.MkdirAll(filepath.Join(dir, deepest), 0o755); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for path := filepath.Join(dir, deepest); path != dir; path = filepath.Dir(path) {
		paths = append(paths, path, path)
	}
	for _, readOnly := range []bool{false, true} {
		c, out := script("mv -T a b; rmdir $1; echo new > $1/file && cat $1/file", deepest)
		c.Dir, c.Sandbox.Namespaces, c.Sandbox.Pinned, c.Stderr = dir, true, paths, nil
		want := "new\n"
		if readOnly {
			c.Sandbox.ReadOnly, want = paths, ""
		}
		if mustRun(t, c); out.String() != want {
			t.Errorf("read-only %t: output %q, want %q", readOnly, out, want)
		}
	}
}

// A masked file is empty in the namespace, and nothing inside reaches the real one: neither its text nor its locks.
func TestHiddenFiles(t *testing.T) {
	if !allowed(t) {
		return
	}
	for name, above := range map[string]string{"alone": "", "in a fixed folder": "tools",
		"in a read-only folder": ".git"} {
		t.Run(name, func(t *testing.T) {
			dir := fixedFolder(t)
			record := filepath.Join(dir, above, "record")
			if err := os.WriteFile(record, []byte("secret"), 0o600); err != nil {
				t.Fatal(err)
			}
			c, out := script(`cat record; exec 3<record && flock -n 3 && echo locked; echo more 2>/dev/null >>record
rm -f record 2>/dev/null || mv record other 2>/dev/null || ln record other 2>/dev/null || echo stays`)
			c.Dir = filepath.Join(dir, above)
			c.Sandbox.Namespaces, c.Sandbox.Masked = true, []string{record}
			switch above {
			case "tools":
				c.Sandbox.Pinned = in(dir, above)
			case ".git":
				c.Sandbox.ReadOnly = in(dir, above)
			}
			file, err := os.Open(record)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			c.Started = func(int) {
				if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
					t.Error(err)
				}
			}
			if mustRun(t, c); out.String() != "locked\nstays\n" {
				t.Errorf("output %q", out)
			}
			if text, err := os.ReadFile(record); err != nil || string(text) != "secret" {
				t.Errorf("outside it is %q, %v", text, err)
			}
		})
	}
}

// Outside the namespace nothing is pinned.
func TestFixedInsideOnly(t *testing.T) {
	if !allowed(t) {
		return
	}
	dir := fixedFolder(t)
	o := newProcessPipe(t)
	c := Command("sh", "-c", "echo ready; read x; cat .git/hooks/post settings 2>/dev/null || echo gone", "sh")
	o.attach(c)
	in1, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdin, c.Dir, c.Sandbox.Namespaces, c.Sandbox.ReadOnly = in1, dir, true, in(dir, ".git", "settings")
	run := begin(bounded(t), c)
	o.await(t, patience, "ready\n")
	if err := errors.Join(os.WriteFile(filepath.Join(dir, ".git/hooks/post"), []byte("mine"), 0o600),
		os.RemoveAll(filepath.Join(dir, "settings"))); err != nil {
		t.Error(err)
	}
	_ = w.Close()
	o.await(t, patience, "minegone\n")
	o.w.Close()
	if _, err := run.end(t, patience); err != nil {
		t.Error(err)
	}
}

// A kernel without the necessary calls is reported in advance, and starts nothing that needs them.
func TestFixedFilesOnOldKernels(t *testing.T) {
	if !allowed(t) || !kernelCapabilities().Seccomp {
		return
	}
	dir := fixedFolder(t)
	c, out := script(`exec "$1" "$2"`, self(t), in(dir, "settings")[0])
	c.Env = append(os.Environ(), roleVar+"=old kernel")
	if mustRun(t, c); out.String() != "offered false, function not implemented, <nil>\n" ||
		kernelCapabilities().NoReadOnlyMounts {
		t.Errorf("output %q; offered here: %t", out, !kernelCapabilities().NoReadOnlyMounts)
	}
}

func init() {
	roles["old kernel"] = func() {
		filter := []unix.SockFilter{
			{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_MOUNT_SETATTR, Jf: 1},
			{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
			{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ALLOW},
		}
		program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
		runtime.LockOSThread()
		_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		_, _, _ = unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
			uintptr(unsafe.Pointer(&program)))
		run := func(readOnly ...string) error {
			c := Command("/bin/true")
			c.Sandbox.Namespaces, c.Sandbox.ReadOnly = true, readOnly
			_, err := c.Run(context.Background())
			return err
		}
		refused, _ := errors.AsType[*SandboxError](run(os.Args[1]))
		fmt.Printf("offered %t, %v, %v\n", !kernelCapabilities().NoReadOnlyMounts, refused.Unwrap(), run())
	}
}

func TestFixedMistakes(t *testing.T) {
	dir := fixedFolder(t)
	tests := map[string]struct {
		path string
		want error
	}{
		"not there":   {"nothing", fs.ErrNotExist},
		"a link":      {"link", syscall.ELOOP},
		"by a link":   {"link/hooks", syscall.ELOOP},
		"NUL":         {"a\x00b", fs.ErrInvalid},
		"not allowed": {"settings", errors.ErrUnsupported},
		"the root":    {strings.Repeat("/..", 20), fs.ErrInvalid},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, as := range []func(c *Cmd, paths []string){
				func(c *Cmd, paths []string) { c.Sandbox.Pinned = paths },
				func(c *Cmd, paths []string) { c.Sandbox.ReadOnly = paths },
				func(c *Cmd, paths []string) { c.Sandbox.Masked = paths },
			} {
				c, _ := script("true")
				c.Sandbox.Namespaces = name != "not allowed"
				want := test.want
				if c.Sandbox.Namespaces && Namespaces() != nil {
					want = ErrNamespace
				}
				as(c, in(dir, test.path))
				_, err := c.Run(bounded(t))
				if e, ok := errors.AsType[*StartError](err); !ok || !errors.Is(err, want) {
					t.Errorf("%v, %v; want %v", e, err, want)
				}
				if e, ok := errors.AsType[*SandboxError](err); ok && e.Call != "mounting "+strconv.Quote(in(dir, test.path)[0]) {
					t.Errorf("it is about %q", e.Call)
				}
			}
		})
	}
}

// metadata are ways to change a file's metadata; the file is $1.
var metadata = map[string]string{
	"mode":               `chmod 4777 "$1"`,
	"mode by a file":     `exec 3<"$1" && chmod 777 /proc/self/fd/3`,
	"owner":              `chown "$(id -u)" "$1"`,
	"times":              `touch -m -d 2001-01-01 "$1"`,
	"time of the access": `touch -a -d 2001-01-01 "$1"`,
	"access":             `setfacl -m u:1:r "$1"`,
	"attributes":         `setfattr -n user.toolhost -v x "$1"`,
	"flags":              `chattr +d "$1"`,
	"content":            `echo new > "$1"`,
	"name":               `mv "$1" "$1.other"`,
	"another name":       `ln "$1" "$1.other"`,
	"beside it":          `echo new > "$1.new"`,
}

// A read-only tree does not change at all, whatever its owner, and writable paths in it are unaffected.
func TestSealed(t *testing.T) {
	if !allowed(t) || kernelCapabilities().NoReadOnlyMounts {
		return
	}
	for name, change := range metadata {
		t.Run(name, func(t *testing.T) {
			dir := fixedFolder(t)
			outside, inside := filepath.Join(dir, "settings"), filepath.Join(dir, "tools", "bin", "lint")
			before := stateOfFile(t, outside)
			c, out := script("("+change+
				") 2>&1 && echo it works; cp \"$1\" \"$2.new\" && chmod 755 \"$2\" && touch -d 2001-01-01 \"$2\" && mv "+
				"\"$2.new\" \"$2.newer\" && echo free; "+
				"echo x > /dev/null && echo x > /dev/shm/x && echo devices", outside, inside)
			c.Dir, c.Sandbox.Namespaces, c.Sandbox.ReadOnlyRoot, c.Sandbox.Writable = dir, true, true,
				append(in(dir, "tools", "nothing"), dir+"/tools/bin")
			exit := mustRun(t, c)
			if strings.Contains(out.String(), "it works") || !strings.HasSuffix(out.String(), "free\ndevices\n") ||
				exit.Code != 0 {
				t.Errorf("exit %v, output %q", exit, out)
			}
			if after := stateOfFile(t, outside); after != before {
				t.Errorf("it was %s, and is %s", before, after)
			}
			if _, err := os.Stat(inside + ".newer"); err != nil {
				t.Error(err)
			}
		})
	}
}

// stateOfFile is what ls and the like show of a file.
func stateOfFile(t *testing.T, path string) string {
	t.Helper()
	c, out := script(`stat -c "%n %a %u %g %s %Y %h %i" "$1"; cat "$1"`, path)
	mustRun(t, c)
	return out.String()
}

// A program with a read-only root is not run without a namespace, nor with a path that leads elsewhere.
func TestSealedMistakes(t *testing.T) {
	dir := fixedFolder(t)
	c, _ := script("true")
	c.Sandbox.ReadOnlyRoot = true
	if _, err := c.Run(bounded(t)); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("without a namespace: %v", err)
	}
	if !allowed(t) || kernelCapabilities().NoReadOnlyMounts {
		return
	}
	c.Sandbox.Namespaces, c.Sandbox.Writable = true, in(dir, "link")
	_, err := c.Run(bounded(t))
	if e, ok := errors.AsType[*SandboxError](err); !ok || !strings.Contains(e.Call, "link") {
		t.Errorf("by a link: %v", err)
	}
}
