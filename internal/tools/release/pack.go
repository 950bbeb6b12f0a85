package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A packer adds entries to an archive.
type packer interface {
	folder(name string) error
	file(name string, size int64, executable bool, content io.Reader) error
	link(name, target string) error
	io.Closer
}

// pack packs a folder below its own name: sorted, with one time, no owners, and two modes.
func pack(archive, folder string, at time.Time) (err error) {
	out, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, out.Close()); err != nil {
			_ = os.Remove(archive)
		}
	}()
	var p packer
	switch {
	case strings.HasSuffix(archive, ".tar.gz"):
		zipped, _ := gzip.NewWriterLevel(out, gzip.BestCompression) // the level is valid
		p = &tarPacker{tar.NewWriter(zipped), zipped, at}
	case strings.HasSuffix(archive, ".zip"):
		p = &zipPacker{zip.NewWriter(out), at}
	default:
		return fmt.Errorf("%s is neither .tar.gz nor .zip", archive)
	}
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error { // in the order of names
		if err != nil {
			return err
		}
		name, err := filepath.Rel(filepath.Dir(filepath.Clean(folder)), path)
		if err != nil {
			return err
		}
		return add(p, filepath.ToSlash(name), path, d)
	})
	return errors.Join(err, p.Close())
}

func add(p packer, name, path string, d fs.DirEntry) error {
	switch {
	case d.IsDir():
		return p.folder(name + "/")
	case d.Type() == fs.ModeSymlink:
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		return p.link(name, target)
	case !d.Type().IsRegular():
		return fmt.Errorf("%s is neither a file, a folder nor a link", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return p.file(name, info.Size(), info.Mode()&0o111 != 0, f)
}

func mode(executable bool) fs.FileMode {
	if executable {
		return 0o755
	}
	return 0o644
}

type tarPacker struct {
	*tar.Writer
	zipped io.Closer
	at     time.Time
}

func (p *tarPacker) folder(name string) error {
	return p.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755, ModTime: p.at})
}

func (p *tarPacker) file(name string, size int64, executable bool, content io.Reader) error {
	err := p.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: int64(mode(executable)),
		ModTime: p.at})
	if err == nil {
		_, err = io.Copy(p, content)
	}
	return err
}

func (p *tarPacker) link(name, target string) error {
	return p.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777, ModTime: p.at})
}

func (p *tarPacker) Close() error { return errors.Join(p.Writer.Close(), p.zipped.Close()) }

type zipPacker struct {
	*zip.Writer
	at time.Time
}

func (p *zipPacker) folder(name string) error {
	return p.put(name, fs.ModeDir|0o755, zip.Store, strings.NewReader(""))
}

func (p *zipPacker) file(name string, _ int64, executable bool, content io.Reader) error {
	return p.put(name, mode(executable), zip.Deflate, content)
}

func (p *zipPacker) link(name, target string) error {
	return p.put(name, fs.ModeSymlink|0o777, zip.Store, strings.NewReader(target))
}

func (p *zipPacker) put(name string, mode fs.FileMode, method uint16, content io.Reader) error {
	h := &zip.FileHeader{Name: name, Method: method, Modified: p.at}
	h.SetMode(mode)
	to, err := p.CreateHeader(h)
	if err == nil {
		_, err = io.Copy(to, content)
	}
	return err
}
