//go:build unix

package workspace

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Were a pipe opened as files are, that would wait for its other end forever.
func TestSpecialFilesAreRefused(t *testing.T) {
	f := start(t, "closed", "no user may read this")
	check(t, syscall.Mkfifo(f.path("pipe"), 0o644))
	f.link(t, map[string]string{"link": "pipe"})
	check(t, os.Chmod(f.path("closed"), 0o200))
	t.Chdir(f.dir) // names of sockets must be short
	lis, err := net.Listen("unix", "socket")
	check(t, err)
	defer func() { _ = lis.Close() }()
	tests := []struct{ path, name, message string }{
		{"pipe", "NotARegularFile", `"pipe" is a pipe`}, {"link", "NotARegularFile", `"link" is a pipe`},
		{"socket", "NotARegularFile", `"socket" is a socket`},
		{"closed", "PermissionDenied", `no user may read "closed" (mode 0200)`},
	}
	for _, test := range tests {
		p := f.find(t, test.path)
		_, openErr := p.Open()
		_, writableErr := p.OpenWritable()
		for _, err := range []error{p.Regular(), openErr, writableErr, p.Write(nil, nil)} {
			contains(t, fails(t, err, test.name).Message, test.message)
		}
		_, err := p.Names(1)
		fails(t, err, "NotADirectory")
	}
	for path, kind := range map[string]string{"pipe": "pipe", "socket": "socket", "closed": "file", ".": "dir"} {
		if got := Kind(f.find(t, path).Info.Mode()); got != kind {
			t.Errorf("%s is a %s", path, got)
		}
	}
	_, err = Open(f.path("pipe"))
	fails(t, err, "WorkspaceUnavailable")
}

func TestDevicesAreRefused(t *testing.T) {
	w, err := Open("/dev")
	check(t, err)
	defer w.Close()
	p, err := w.Find("null")
	check(t, err)
	_, err = p.Open()
	contains(t, fails(t, err, "NotARegularFile").Message, "is a device")
	fails(t, p.Write([]byte("x"), nil), "NotARegularFile")
}

// A pipe may take the place of a file or a folder between the look at it and its opening.
func TestPipeMeanwhile(t *testing.T) {
	f := start(t, "a", "text", "dir/x", "")
	file, dir := f.find(t, "a"), f.find(t, "dir")
	for _, p := range []*Place{file, dir} {
		check(t, os.RemoveAll(p.Real()))
		check(t, syscall.Mkfifo(p.Real(), 0o644))
	}
	_, err := dir.Names(1)
	fails(t, err, "NotADirectory")
	info := file.Info
	for _, open := range []func() (*os.File, error){file.Open, file.OpenWritable} {
		file.Info = info
		_, err := open()
		contains(t, fails(t, err, "NotARegularFile").Message, "is a pipe")
	}
}

// A link out of the workspace may take the place of a file or a folder at any time.
func TestLinkInPlaceOfAFile(t *testing.T) {
	f := start(t, "a", "text", "dir/secret", "text")
	out := outside(t)
	for path, target := range map[string]string{"a": filepath.Join(out, "secret"), "dir/secret": out} {
		p := f.find(t, path)
		first, _, _ := strings.Cut(path, "/")
		check(t, os.RemoveAll(f.path(first)))
		f.link(t, map[string]string{first: target})
		if file, err := p.Open(); err == nil {
			t.Errorf("opened %s outside, as %s", path, file.Name())
		}
	}
}

// What a caller knows of a path, such as that its name is none of a secret, is not so of what a link leads to that took
// the place of a file or a folder, though that is inside too.
func TestLinkInsideInPlaceOfAFile(t *testing.T) {
	f := start(t, "a", "text", "b/c", "text", ".env", "secret", ".ssh/c", "secret")
	file, dir, top := f.find(t, "a"), f.find(t, "b"), f.folder(t, ".")
	check(t, errors.Join(os.Remove(f.path("a")), os.RemoveAll(f.path("b"))))
	f.link(t, map[string]string{"a": ".env", "b": ".ssh"})
	_, _, err := top.Open("a")
	contains(t, fails(t, err, "NotARegularFile").Message, "is a symlink")
	_, err = file.Open()
	contains(t, fails(t, err, "NotARegularFile").Message, "is a symlink")
	_, err = top.Folder("b")
	contains(t, fails(t, err, "NotADirectory").Message, "is a symlink")
	_, err = dir.Folder()
	fails(t, err, "NotADirectory")
}

// Someone changes all the time what is there, between a file, a link out and a pipe, a folder and a link out. Nothing
// leads out or hangs.
func TestRace(t *testing.T) {
	dir, out := t.TempDir(), outside(t) // where temporary files may be left: a folder that moved away took them along
	w, err := Open(dir)
	check(t, err)
	defer w.Close()
	f := &fixture{w, dir}
	f.put(t, "dir/secret", "inside")
	done, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- f.swap(out, done) }()
	read := 0
	for range 1000 {
		for _, path := range []string{"spot", "dir/secret"} {
			text, err := f.read(path)
			if err == nil && text != "inside" {
				t.Errorf("read %q by %s", text, path)
			} else if err == nil {
				read++
			}
		}
		if p, err := f.Find("dir/secret"); err == nil && p.Missing == "" {
			_ = p.Write([]byte("inside"), nil)
			_, _ = p.Names(1)
		}
	}
	close(done)
	if err := <-ended; err != nil || read == 0 {
		t.Errorf("read %d times what may be read, while the changes went as %v", read, err)
	}
}

// swap continues until done is closed.
func (f *fixture) swap(out string, done chan struct{}) error {
	secret, next, spot := filepath.Join(out, "secret"), f.path("next"), f.path("spot")
	steps := []func() error{
		func() error { return os.WriteFile(next, []byte("inside"), 0o644) },
		func() error { return os.Rename(next, spot) },
		func() error { return os.Symlink(secret, next) },
		func() error { return os.Rename(next, spot) },
		func() error { return syscall.Mkfifo(next, 0o644) },
		func() error { return os.Rename(next, spot) },
		func() error { return os.Rename(f.path("dir"), f.path("away")) },
		func() error { return os.Symlink(out, f.path("dir")) },
		func() error { return os.Remove(f.path("dir")) },
		func() error { return os.Rename(f.path("away"), f.path("dir")) },
	}
	for i := 0; ; i++ {
		select {
		case <-done:
			return nil
		default:
		}
		if err := steps[i%len(steps)](); err != nil {
			return err
		}
	}
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	check(t, err)
	return info.Mode()
}

func TestModeAndOwnerAreKept(t *testing.T) {
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = 1234, 4321 // the superuser may give files away
	}
	tests := []struct{ mode, want fs.FileMode }{
		{0o644, 0o644}, {0o755, 0o755}, {0o600, 0o600}, {0o666, 0o666}, {0o755 | fs.ModeSetuid, 0o755},
		{0o775 | fs.ModeSetgid, 0o775},
	}
	for _, test := range tests {
		f := start(t, "file", "old text")
		check(t, os.Chown(f.path("file"), uid, gid))
		check(t, os.Chmod(f.path("file"), test.mode))
		for range 2 {
			check(t, f.find(t, "file").Write([]byte("new text"), nil))
		}
		f.holds(t, "file", "new text")
		info, err := os.Lstat(f.path("file"))
		check(t, err)
		if info.Mode() != test.want {
			t.Errorf("%v became %v, want %v", test.mode, info.Mode(), test.want)
		}
		if stat := info.Sys().(*syscall.Stat_t); int(stat.Uid) != uid || int(stat.Gid) != gid {
			t.Errorf("the owner became %d:%d, want %d:%d", stat.Uid, stat.Gid, uid, gid)
		}
	}
}

func TestNewFilesFollowTheUmask(t *testing.T) {
	f := start(t)
	defer syscall.Umask(syscall.Umask(0o027))
	check(t, f.find(t, "dir/file").Write(nil, nil))
	if file, dir := mode(t, f.path("dir/file")), mode(t, f.path("dir")); file != 0o640 || dir != 0o750|fs.ModeDir {
		t.Errorf("modes are %v in %v", file, dir)
	}
}

func TestHardLinksPart(t *testing.T) {
	f := start(t, "file", "old")
	check(t, os.Link(f.path("file"), f.path("other")))
	if got := [2]int{f.find(t, "file").Links(), f.find(t, "nothing").Links()}; got != [2]int{2, 1} {
		t.Errorf("counts of links are %v", got)
	}
	check(t, f.find(t, "file").Write([]byte("new"), nil))
	f.holds(t, "file", "new")
	f.holds(t, "other", "old")
}

// Someone who has the file open, or reads it while it is written, sees the old content to its end.
func TestReadersSeeOldOrNew(t *testing.T) {
	f := start(t, "file", "old content")
	open, err := os.Open(f.path("file"))
	check(t, err)
	defer func() { _ = open.Close() }()
	check(t, f.find(t, "file").Write([]byte("new"), nil))
	if got, err := io.ReadAll(open); err != nil || string(got) != "old content" {
		t.Errorf("read %q (%v)", got, err)
	}
}

// A disk without room ends the writing halfway. So does a limit for the size of files, which a process can set for
// itself; a child does, as the limit is for the whole process.
func TestFullDisk(t *testing.T) {
	if dir := os.Getenv("FULL_DISK"); dir != "" {
		fillDisk(t, dir)
		return
	}
	f := start(t, "file", "old\n")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
	cmd.Env = append(os.Environ(), "FULL_DISK="+f.dir)
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "wrote no more") != 2 {
		t.Fatalf("%v\n%s", err, out)
	}
	f.holds(t, "file", "old\n")
	if names, err := filepath.Glob(f.path("*")); err != nil || len(names) != 1 {
		t.Errorf("the folder holds %v (%v)", names, err)
	}
}

// fillDisk is the child.
func fillDisk(t *testing.T, dir string) {
	w, err := Open(dir)
	check(t, err)
	defer w.Close()
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	check(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	check(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1000, Max: limit.Max}))
	defer func() {
		check(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE,
			&limit))
	}() // the test binary may have reports to write
	for _, path := range []string{"file", "new"} {
		p, err := w.Find(path)
		check(t, err)
		t.Log("wrote no more:", fails(t, p.Write([]byte(strings.Repeat("long\n", 1000)), nil), "IOError").Message)
	}
}

// A walk meets whatever is there, also what took a directory's place since it was listed.
func TestFolderNeverWaitsForAPipe(t *testing.T) {
	f := start(t, "dir/file", "")
	check(t, syscall.Mkfifo(f.path("dir/pipe"), 0o644))
	f.link(t, map[string]string{"dir/link": "pipe"})
	dir := f.folder(t, "dir")
	for name, kind := range map[string]string{"pipe": "is a pipe", "link": "is a symlink"} {
		_, _, err := dir.Open(name)
		contains(t, fails(t, err, "NotARegularFile").Message, kind)
		_, err = dir.Folder(name)
		fails(t, err, "NotADirectory")
	}
	if got, _ := names(t, dir, 0); len(got) != 3 || got[2] != "pipe pipe" {
		t.Errorf("the folder has %v", got)
	}
}

func init() {
	if path := os.Getenv("WORKSPACE_DRAFT"); path != "" { // a process that is killed in the middle of a write
		r, err := Open(filepath.Dir(path))
		if err != nil {
			panic(err)
		}
		p, err := r.Find(filepath.Base(path))
		if err != nil {
			panic(err)
		}
		if _, err := p.Prepare([]byte("new")); err != nil {
			panic(err)
		}
		_, _ = os.Stdout.WriteString("ready")
		select {}
	}
}

// What a process that was killed has left goes with the first write of the next, and nothing else does: neither what
// one that lives is about to put in place, nor what is someone's own.
func TestLeftoversAreRemoved(t *testing.T) {
	dir := t.TempDir()
	drafting := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "WORKSPACE_DRAFT="+filepath.Join(dir, "file"))
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		if _, err := out.Read(make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	temps := func() []string { all, _ := filepath.Glob(filepath.Join(dir, ".toolhost-*")); return all }
	dead := drafting()
	_ = dead.Process.Kill()
	_ = dead.Wait()
	if len(temps()) != 1 {
		t.Fatalf("left are %q", temps())
	}
	left := temps()[0]
	drafting() // which lives on
	kept := []string{filepath.Join(dir, ".toolhost-notes"), filepath.Join(dir, ".toolhost-"+rand.Text()),
		filepath.Join(dir, ".toolhost-"+rand.Text())}
	if err := errors.Join(os.WriteFile(kept[0], nil, 0o600), os.Mkdir(kept[1], 0o700),
		os.Symlink(kept[0], kept[2])); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := r.Find("file")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write([]byte("mine"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was left is there: %v", err)
	}
	if got := temps(); len(got) != len(kept)+1 {
		t.Errorf("there are %q", got)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || !bytes.Equal(text, []byte("mine")) {
		t.Errorf("%q, %v", text, err)
	}
}

// From its check to its rename a writer has the file for itself: writers in other processes check after it.
func TestWritersCheckInTurn(t *testing.T) {
	f := start(t, "file", "old")
	isLocked := func() bool {
		other, err := os.Open(f.path("file"))
		check(t, err)
		defer func() { _ = other.Close() }()
		return !tryLock(other)
	}
	whileChecked := func() error {
		if !isLocked() {
			t.Error("another writer may check meanwhile")
		}
		return nil
	}
	check(t, f.find(t, "file").Write([]byte("new"), whileChecked))
	if isLocked() {
		t.Error("it is still locked")
	}
	check(t, f.find(t, "file").Remove(whileChecked))
}
