package plugininstall

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/toolhost/toolhost/internal/toolname"
)

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
	staged *Staged
	all    []string // names of the programs that it could be
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
	return c.staged.Name == "" || own == c.staged.Name
}

// missing is the error of an archive without the program.
func (c *choice) missing() error {
	switch {
	case len(c.all) == 0:
		return fmt.Errorf("the archive has no program %sNAME; one that needs files beside it goes into a folder of "+
			"plugin_dirs instead", toolname.ProgramPrefix)
	case c.staged.Name != "":
		return fmt.Errorf("the archive has no program %s%s, but %s", toolname.ProgramPrefix, c.staged.Name, c.listed())
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
		return fmt.Errorf("it is no gzip archive: %w", err)
	}
	limited := &io.LimitedReader{R: unzipped, N: maxUnpacked}
	archive := tar.NewReader(limited)
	c := choice{staged: &Staged{Name: s.Name}}
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
		return fmt.Errorf("it is no zip archive: %w", err)
	}
	if len(archive.File) > maxEntries {
		return fmt.Errorf("it has more than %d entries", maxEntries)
	}
	c := choice{staged: &Staged{Name: s.Name}}
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
		return errors.New("it is no zip archive")
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
