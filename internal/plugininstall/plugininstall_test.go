package plugininstall

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An entry of an archive.
type entry struct {
	name, content string
	link          bool
	size          int64 // that the archive claims; 0 is that of the content
}

func tarOf(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: 0o755, Size: max(e.size, int64(len(e.content))), Typeflag: tar.TypeReg}
		if e.link {
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, "/etc/passwd", 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if !e.link {
			_, _ = w.Write([]byte(e.content))
		}
	}
	if entries == nil || entries[len(entries)-1].size == 0 {
		_ = w.Close()
	}
	_ = zipped.Close()
	return out.Bytes()
}

func zipOf(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(0o755)
		if e.link {
			h.SetMode(os.ModeSymlink | 0o777)
		}
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = f.Write([]byte(e.content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// stage stages a file with the content, and returns what is left in the folder.
func stage(t *testing.T, file string, content []byte, name string) (*Staged, string, error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(t.TempDir(), file)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Stage(t.Context(), Options{Source: path, Name: name, Dir: dir, Output: io.Discard})
	if err != nil {
		left, _ := os.ReadDir(dir)
		if len(left) > 0 || s != nil {
			t.Errorf("after an error %v is left", left)
		}
		return nil, "", err
	}
	text, err := os.ReadFile(s.Path)
	if err != nil {
		t.Fatal(err)
	}
	return s, string(text), nil
}

func TestProgramsAreStaged(t *testing.T) {
	greet := entry{name: "x/bin/toolhost-plugin-greet", content: "program"}
	other := entry{name: "toolhost-plugin-other", content: "other"}
	junk := entry{name: "README.md", content: "text"}
	for name, c := range map[string]struct {
		file    string
		content []byte
		name    string
	}{
		"a program":                   {"toolhost-plugin-greet", []byte("program"), ""},
		"a program with another name": {"weather.bin", []byte("program"), "greet"},
		"a program of Windows":        {"toolhost-plugin-greet.exe", []byte("program"), ""},
		"a tar":                       {"a.tar.gz", tarOf(t, junk, greet), ""},
		"a tgz":                       {"a.tgz", tarOf(t, greet), ""},
		"a zip":                       {"a.zip", zipOf(t, junk, greet), ""},
		"one of several in a tar":     {"a.tar.gz", tarOf(t, other, greet), "greet"},
		"one of several in a zip":     {"a.ZIP", zipOf(t, greet, other), "greet"},
		"a path that leads out": {"a.tar.gz",
			tarOf(t, entry{name: "../../../toolhost-plugin-greet", content: "program"}), ""},
		"a path that leads out, zip": {"a.zip", zipOf(t, entry{name: `..\..\toolhost-plugin-greet`, content: "program"}),
			""},
		"a link that is not needed":    {"a.tar.gz", tarOf(t, entry{name: "evil", link: true}, greet), ""},
		"an absolute path that is not": {"a.tar.gz", tarOf(t, entry{name: "/etc/cron.d/x", content: "x"}, greet), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, text, err := stage(t, c.file, c.content, c.name)
			if err != nil {
				t.Fatal(err)
			}
			if s.Name != "greet" || text != "program" || filepath.Base(s.Path) != "toolhost-plugin-greet" {
				t.Errorf("staged %+v with %q", s, text)
			}
			if info, err := os.Stat(s.Path); err != nil || info.Mode() != 0o755 {
				t.Errorf("its mode is %v, %v", info.Mode(), err)
			}
			s.Discard()
			if _, err := os.Stat(s.Path); !errors.Is(err, os.ErrNotExist) {
				t.Error("it is left:", err)
			}
		})
	}
}

func TestModulesAreToldFromPaths(t *testing.T) {
	for source, want := range map[string]bool{"example.com/weather@v1.2.0": true, "example.com/weather@latest": true,
		"/home/a@b.example/weather": false, `C:\Users\a@b.example\weather.exe`: false, "C:/Users/a@b.example/weather.exe": false,
		"weather": false} {
		if IsModule(source) != want {
			t.Errorf("IsModule(%q) is %t", source, !want)
		}
	}
}

func TestHostileArchives(t *testing.T) {
	program := entry{name: "toolhost-plugin-greet", content: "program"}
	many := make([]entry, maxEntries+1)
	for i := range many {
		many[i].name = fmt.Sprint("f", i)
	}
	link := entry{name: "toolhost-plugin-greet", link: true}
	second := entry{name: "b/toolhost-plugin-other", content: "x"}
	for name, c := range map[string]struct {
		file    string
		content []byte
		want    string
	}{
		"the program is a link":           {"a.tar.gz", tarOf(t, link), "is a link or a device"},
		"the program is a link, zip":      {"a.zip", zipOf(t, link), "is a link or a device"},
		"two programs":                    {"a.tar.gz", tarOf(t, program, second), "several programs"},
		"two programs, zip":               {"a.zip", zipOf(t, program, second), "several programs"},
		"no program":                      {"a.tar.gz", tarOf(t, entry{name: "x"}), "has no program toolhost-plugin-NAME"},
		"no program, zip":                 {"a.zip", zipOf(t), "has no program toolhost-plugin-NAME"},
		"a name with an ending":           {"Wiki_x.sh", []byte("#!/bin/sh\n"), "such as --name wiki-x"},
		"a name that plugins do not have": {"a.zip", zipOf(t, entry{name: "toolhost-plugin-$(rm)"}), "gives no name"},
		"very many files":                 {"a.tar.gz", tarOf(t, many...), "more than 10000 entries"},
		"very many files, zip":            {"a.zip", zipOf(t, many...), "more than 10000 entries"},
		"a program that claims too much": {"a.tar.gz", tarOf(t, entry{name: program.name, size: maxProgram + 1}),
			"larger than 512 MiB"},
		"a program that ends early":    {"a.tar.gz", tarOf(t, entry{name: program.name, size: 100}), "unexpected EOF"},
		"not gzip":                     {"a.tar.gz", []byte("x"), "not a gzip archive"},
		"not zip":                      {"a.zip", []byte("x"), "not a zip archive"},
		"an empty file":                {"a.zip", nil, "not a zip archive"},
		"a zip that is cut":            {"a.zip", zipOf(t, program)[20:], "zip"},
		"a list that is too long":      {"a.zip", append(make([]byte, 8<<20), endOfZip(5<<20)...), "its list is longer"},
		"a list that begins too early": {"a.zip", append(make([]byte, 8<<20), endOfZip(10)...), "its list is longer"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := stage(t, c.file, c.content, "")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
		})
	}
}

// endOfZip is the end of a zip whose list has a length, and begins at 0.
func endOfZip(length uint32) []byte {
	end := make([]byte, 22)
	copy(end, "PK\x05\x06")
	end[8], end[10] = 1, 1
	for i := range 4 {
		end[12+i] = byte(length >> (8 * i))
	}
	return end
}

// A gigabyte of zeros is a megabyte of archive: it is not read to its end.
func TestBombsAreNotUnpacked(t *testing.T) {
	defer func(limit int64) { maxUnpacked = limit }(maxUnpacked)
	maxUnpacked = 1 << 20
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	if err := w.WriteHeader(&tar.Header{Name: "zeros", Size: maxUnpacked + 1<<20, Typeflag: tar.TypeReg}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(w, zeros{}, maxUnpacked+1<<20); err != nil {
		t.Fatal(err)
	}
	_ = zipped.Close()
	if _, _, err := stage(t, "a.tar.gz", out.Bytes(), ""); err == nil ||
		!strings.Contains(err.Error(), "unpacks to more than") {
		t.Error(err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestSourcesThatAreNotThere(t *testing.T) {
	dir := t.TempDir()
	for source, want := range map[string]string{
		"nosuch": "there is no file nosuch, and it is no MODULE@VERSION",
		"https://example.com/toolhost-plugin-x.zip": "download it first, and install the file",
		"word@latest":       "there is no file word@latest",
		dir:                 "is not a file",
		"example.com/../x@": "there is no file",
		"-ldflags=x.y@v1":   "there is no file",
	} {
		if _, err := Stage(t.Context(), Options{Source: source, Dir: dir, Output: io.Discard}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", source, err, want)
		}
	}
	t.Setenv("PATH", dir)
	if _, err := Stage(t.Context(), Options{Source: "example.com/x@v1.0.0", Dir: dir, Output: io.Discard}); err == nil ||
		!strings.Contains(err.Error(), "there is no go command") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := filepath.Join(t.TempDir(), "toolhost-plugin-greet")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Stage(ctx, Options{Source: path, Dir: dir, Output: io.Discard}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

func TestProgramsOfPackages(t *testing.T) {
	for pkg, want := range map[string]string{
		"example.com/weather": "weather", "example.com/weather/v2": "weather", "example.com/x/cmd/y": "y", "v2": "v2",
	} {
		if got := programOf(pkg); got != want {
			t.Errorf("%s is built to %s, want %s", pkg, got, want)
		}
	}
}

// What an installation that was killed has left is removed by the next one, and nothing else: not what is in use, nor
// what is a moment old.
func TestStaleFoldersAreRemoved(t *testing.T) {
	dir, source := t.TempDir(), filepath.Join(t.TempDir(), "toolhost-plugin-greet")
	if err := os.WriteFile(source, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	install := func() *Staged {
		s, err := Stage(t.Context(), Options{Source: source, Dir: dir, Output: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Discard)
		return s
	}
	age := func(path string) {
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	killed, running, young := filepath.Join(dir, ".new-killed"), install(), filepath.Join(dir, ".new-young")
	for _, path := range []string{killed, young} {
		if err := errors.Join(os.Mkdir(path, 0o700), os.WriteFile(filepath.Join(path, "lock"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	file, other := filepath.Join(dir, ".new-lockfile"), filepath.Join(dir, "toolhost-plugin-other")
	for _, path := range []string{file, other} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		age(path)
	}
	age(killed)
	age(running.dir)
	install()
	for path, want := range map[string]bool{killed: false, file: false, running.Path: true, young: true,
		other: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s is there: %t", path, !want)
		}
	}
}
