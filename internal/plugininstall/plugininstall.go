// Package plugininstall gets the program of a plugin from a file, an archive or a Go module into a private folder, and
// decides nothing about whether it may run. Archives are hostile: nothing is unpacked but the one program.
package plugininstall

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"debug/buildinfo"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/toolname"
)

// maxProgram is the limit, in bytes, of a program.
const maxProgram = 512 << 20

// Options say what to stage.
type Options struct {
	Source string    // a program, an archive (.tar.gz, .tgz, .zip), or MODULE@VERSION
	Name   string    // the plugin's name; "" is taken from the program's
	Dir    string    // where a private folder is made for the program
	Output io.Writer // what the Go command prints
}

// A Staged is a program in a private folder.
type Staged struct {
	Name    string // of the plugin
	Path    string
	Source  string // absolute, or a module with the version that was chosen
	Version string // of a Go module, "" if it is not known
	Discard func() // removes the folder

	dir string
}

var (
	moduleAt = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._~/-]*@[A-Za-z0-9][A-Za-z0-9._+-]*$`)
	major    = lazy.Regexp(`^v[0-9]+$`)
)

// IsModule reports whether a source is MODULE@VERSION, unless a file has that name. A path of Windows is none.
func IsModule(source string) bool {
	return moduleAt().MatchString(source) && strings.Contains(source, ".")
}

const otherFolder = "set XDG_DATA_HOME to another folder"

// Stage copies, unpacks or builds the program. After an error nothing is left.
func Stage(ctx context.Context, o Options) (s *Staged, err error) {
	if o.Name != "" && !toolname.IsPlugin(o.Name) {
		return nil, fmt.Errorf("%.40q is not a plugin name: it must match %s", o.Name, toolname.PluginPattern)
	}
	dir, discard, err := fsutil.TempDir(o.Dir, fsutil.TempPrefix)
	if err != nil {
		return nil, fsutil.FolderError(err, o.Dir, otherFolder)
	}
	s = &Staged{dir: dir, Name: o.Name, Discard: discard}
	defer func() {
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			err = fsutil.FolderError(err, o.Dir, otherFolder)
		}
		if err != nil {
			s.Discard()
			s = nil
		}
	}()
	info, statErr := os.Stat(o.Source)
	switch {
	case statErr == nil && info.Mode().IsRegular():
		if s.Source, err = filepath.Abs(o.Source); err != nil {
			return s, err
		}
		return s, s.fromFile(ctx)
	case statErr == nil:
		return s, fmt.Errorf("%s is not a file: name a program, an archive, or MODULE@VERSION", o.Source)
	case IsModule(o.Source):
		return s, s.build(ctx, o)
	case strings.Contains(o.Source, "://"):
		return s, fmt.Errorf("%s is an address, and nothing is downloaded here: download it first, and install the file",
			o.Source)
	case !errors.Is(statErr, os.ErrNotExist):
		return s, statErr
	}
	return s, fmt.Errorf("there is no file %s, and it is no MODULE@VERSION such as example.com/weather@v1.2.0", o.Source)
}

// fromFile copies the program, or takes it out of an archive.
func (s *Staged) fromFile(ctx context.Context) error {
	f, err := os.Open(s.Source)
	if err != nil {
		return err
	}
	defer f.Close()
	switch lower := strings.ToLower(s.Source); {
	case strings.HasSuffix(lower, ".zip"):
		err = s.fromZip(ctx, f)
	case strings.HasSuffix(lower, ".tar.gz"), strings.HasSuffix(lower, ".tgz"):
		err = s.fromTar(ctx, f)
	default:
		if err = s.named(filepath.Base(s.Source)); err == nil {
			err = s.copy(ctx, f)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.Source, err)
	}
	s.readVersion()
	return nil
}

// named takes the plugin's name from that of its program, unless it was given.
func (s *Staged) named(file string) error {
	if s.Name == "" {
		name := strings.TrimSuffix(strings.TrimPrefix(file, toolname.ProgramPrefix), ".exe")
		if !toolname.IsPlugin(name) {
			return fmt.Errorf("%.60q gives no name for the plugin, which has %s; give one, such as --name %s", file,
				toolname.PluginRule, cmp.Or(toolname.PluginOf(file), "weather"))
		}
		s.Name = name
	}
	s.Path = filepath.Join(s.dir, toolname.ProgramPrefix+s.Name+fsutil.ProgramEnding())
	return nil
}

// copy writes the program, which only its user may change.
func (s *Staged) copy(ctx context.Context, from io.Reader) error {
	to, err := os.OpenFile(s.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755) //nolint:gosec // a program
	if err != nil {
		return err
	}
	n, err := io.Copy(to, io.LimitReader(&untilDone{ctx, from}, maxProgram+1))
	if err == nil && n > maxProgram {
		err = fmt.Errorf("the program is larger than %d MiB", maxProgram>>20)
	}
	return errors.Join(err, to.Chmod(0o755), to.Sync(), to.Close())
}

// An untilDone is a reader that fails once ctx has ended.
type untilDone struct {
	ctx  context.Context
	from io.Reader
}

func (r *untilDone) Read(p []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}

// build builds the program of a Go module.
func (s *Staged) build(ctx context.Context, o Options) error {
	goCommand, err := exec.LookPath("go")
	if err != nil {
		return fmt.Errorf("%s is a Go module, and there is no go command to build it with. Fix: install Go, or name a "+
			"program or an archive", o.Source)
	}
	module, _, _ := strings.Cut(o.Source, "@")
	if err := s.named(programOf(module)); err != nil {
		return err
	}
	bin, work := filepath.Join(s.dir, "bin"), filepath.Join(s.dir, "work")
	if err := errors.Join(os.Mkdir(bin, 0o700), os.Mkdir(work, 0o700)); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, goCommand, "install", "-trimpath", "-ldflags=-s -w", o.Source)
	cmd.Dir, cmd.Stdout, cmd.Stderr = work, o.Output, o.Output
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GOOS=") || strings.HasPrefix(v, "GOARCH=") || strings.HasPrefix(v, "GOFLAGS=")
	}), "GOBIN="+bin, "CGO_ENABLED=0", "GOWORK=off", "PWD="+work)
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("go install %s: %w", o.Source, err)
	}
	built, err := os.ReadDir(bin)
	if err != nil {
		return err
	} else if len(built) != 1 {
		return fmt.Errorf("%s is built to %d programs, not one; is it the path of a package main?", o.Source, len(built))
	}
	program := filepath.Join(bin, built[0].Name())
	err = errors.Join(os.Rename(program, s.Path), os.Chmod(s.Path, 0o755)) //nolint:gosec // a program
	if err != nil {
		return err
	}
	s.readVersion()
	s.Source = module + "@" + s.Version
	return nil
}

// programOf is the name that the go command gives the program of a package.
func programOf(pkg string) string {
	if base := path.Base(pkg); !major().MatchString(base) || path.Dir(pkg) == "." {
		return base
	}
	return path.Base(path.Dir(pkg))
}

// readVersion reads the version that a Go program was built from.
func (s *Staged) readVersion() {
	if info, err := buildinfo.ReadFile(s.Path); err == nil && info.Main.Version != "(devel)" {
		s.Version = info.Main.Version
	}
}

// Limits of archives, whose authors are unknown.
const (
	maxEntries   = 10_000
	maxDirectory = 4 << 20 // bytes of the list of a zip
	maxListed    = 10      // programs that an error lists
)

// maxUnpacked is how many bytes are read of a tar, which has to be read from its beginning. Tests lower it.
var maxUnpacked int64 = 2 << 30

// A choice is the one program of an archive.
type choice struct {
	name string   // of the plugin, if it was given
	all  []string // names of the programs that it could be
}

// wants reports whether an entry is the program. It looks at the last part of the name alone: no path of an archive is
// ever used.
func (c *choice) wants(name string, isDir bool) bool {
	file := path.Base(strings.ReplaceAll(name, `\`, "/"))
	if isDir || !strings.HasPrefix(file, toolname.ProgramPrefix) {
		return false
	}
	if len(c.all) <= maxListed {
		c.all = append(c.all, file)
	}
	own := strings.TrimSuffix(strings.TrimPrefix(file, toolname.ProgramPrefix), ".exe")
	return c.name == "" || own == c.name
}

// missing is the error of an archive without the program.
func (c *choice) missing() error {
	switch {
	case len(c.all) == 0:
		return fmt.Errorf("the archive has no program %sNAME; one that needs files beside it goes into a folder of "+
			"plugin_dirs instead", toolname.ProgramPrefix)
	case c.name != "":
		return fmt.Errorf("the archive has no program %s%s, but %s", toolname.ProgramPrefix, c.name, c.listed())
	}
	return fmt.Errorf("the archive has several programs: %s; choose one with --name", c.listed())
}

func (c *choice) listed() string {
	if len(c.all) > maxListed {
		return fmt.Sprintf("%.500q and more", c.all[:maxListed])
	}
	return fmt.Sprintf("%.500q", c.all)
}

// fromTar reads the archive to its end, so that a second program is noticed.
func (s *Staged) fromTar(ctx context.Context, f io.Reader) error {
	unzipped, err := gzip.NewReader(&untilDone{ctx, f})
	if err != nil {
		return fmt.Errorf("it is not a gzip archive: %w", err)
	}
	limited := &io.LimitedReader{R: unzipped, N: maxUnpacked}
	archive := tar.NewReader(limited)
	c := choice{name: s.Name}
	for n := 0; ; n++ {
		h, err := archive.Next()
		switch {
		case limited.N <= 0:
			return fmt.Errorf("it unpacks to more than %d bytes", maxUnpacked)
		case errors.Is(err, io.EOF) && s.Path != "":
			return nil
		case errors.Is(err, io.EOF):
			return c.missing()
		case err != nil:
			return fmt.Errorf("it is damaged: %w", err)
		case n >= maxEntries:
			return fmt.Errorf("it has more than %d entries", maxEntries)
		}
		if !c.wants(h.Name, h.Typeflag == tar.TypeDir) {
			continue
		}
		if h.Typeflag != tar.TypeReg {
			return fmt.Errorf("%.100q in it is a link or a device, not a file", h.Name)
		}
		if err := s.take(ctx, &c, h.Name, h.Size, archive); err != nil {
			return err
		}
	}
}

// fromZip reads the list of a zip, which is at its end, and the one program.
func (s *Staged) fromZip(ctx context.Context, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := checkDirectory(f, info.Size()); err != nil {
		return err
	}
	archive, err := zip.NewReader(f, info.Size())
	if err != nil {
		return fmt.Errorf("it is not a zip archive: %w", err)
	}
	if len(archive.File) > maxEntries {
		return fmt.Errorf("it has more than %d entries", maxEntries)
	}
	c := choice{name: s.Name}
	for _, entry := range archive.File {
		if !c.wants(entry.Name, entry.Mode().IsDir()) {
			continue
		}
		if !entry.Mode().IsRegular() {
			return fmt.Errorf("%.100q in it is a link or a device, not a file", entry.Name)
		}
		in, err := entry.Open()
		if err != nil {
			return fmt.Errorf("%.100q in it: %w", entry.Name, err)
		}
		err = s.take(ctx, &c, entry.Name, int64(min(entry.UncompressedSize64, 1<<62)), in)
		if err = errors.Join(err, in.Close()); err != nil {
			return err
		}
	}
	if s.Path == "" {
		return c.missing()
	}
	return nil
}

// take copies the program of an entry. A second one is refused.
func (s *Staged) take(ctx context.Context, c *choice, name string, size int64, from io.Reader) error {
	switch {
	case s.Path != "":
		return c.missing()
	case size > maxProgram:
		return fmt.Errorf("%.100q in it is larger than %d MiB", name, maxProgram>>20)
	}
	if err := s.named(path.Base(strings.ReplaceAll(name, `\`, "/"))); err != nil {
		return err
	}
	return s.copy(ctx, from)
}

// checkDirectory bounds the list of a zip before archive/zip reads all of it into memory.
func checkDirectory(f io.ReaderAt, size int64) error {
	const endSize, tail = 22, 64<<10 + 22
	buf := make([]byte, min(size, tail))
	if _, err := f.ReadAt(buf, size-int64(len(buf))); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	at := bytes.LastIndex(buf, []byte("PK\x05\x06"))
	if at < 0 || len(buf)-at < endSize {
		return errors.New("it is not a zip archive")
	}
	end := buf[at:]
	records, length := binary.LittleEndian.Uint16(end[10:]), binary.LittleEndian.Uint32(end[12:])
	offset := binary.LittleEndian.Uint32(end[16:])
	first := min(int64(offset), size-int64(len(buf)-at)-int64(length))
	switch {
	case records == 0xffff || length == 0xffff_ffff || offset == 0xffff_ffff || length == 0xffff:
		return errors.New("it is a zip of the kind for very many or very large files")
	case first < 0 || size-first > maxDirectory+tail:
		return fmt.Errorf("its list is longer than %d MiB", maxDirectory>>20)
	}
	return nil
}
