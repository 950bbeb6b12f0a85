package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// folderOf makes a folder toolhost_1 with files of different times and modes.
func folderOf(t *testing.T, at time.Time, mode os.FileMode) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "toolhost_1")
	var err error
	for _, name := range []string{"bin/toolhost", "README.md", "man/a.1"} {
		path := filepath.Join(dir, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(name), mode),
			os.Chtimes(path, at, at))
	}
	if err = errors.Join(err, os.Chmod(filepath.Join(dir, "bin/toolhost"), 0o700), os.Symlink("toolhost",
		filepath.Join(dir, "bin/toolhost-call"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The same content gives the same archive, whenever, wherever and by whom its files were made.
func TestArchivesAreReproducible(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	for _, name := range []string{"a.tar.gz", "a.zip"} {
		var made [][]byte
		for _, dir := range []string{folderOf(t, at, 0o644), folderOf(t, at.Add(time.Hour), 0o600)} {
			archive := filepath.Join(t.TempDir(), name)
			if err := pack(archive, dir, at); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(archive)
			if err != nil {
				t.Fatal(err)
			}
			made = append(made, text)
		}
		if !bytes.Equal(made[0], made[1]) {
			t.Errorf("%s differs", name)
		}
		want := "toolhost_1/ toolhost_1/README.md:-rw-r--r-- toolhost_1/bin/ toolhost_1/bin/toolhost:-rwxr-xr-x " +
			"toolhost_1/bin/toolhost-call:link toolhost_1/man/ toolhost_1/man/a.1:-rw-r--r--"
		if got := strings.Join(contents(t, name, made[0]), " "); got != want {
			t.Errorf("%s has %s\nwant %s", name, got, want)
		}
	}
	if err := pack(filepath.Join(t.TempDir(), "a.rar"), folderOf(t, at, 0o644), at); err == nil {
		t.Error("another kind of archive was made")
	}
}

func contents(t *testing.T, name string, archive []byte) (out []string) {
	t.Helper()
	if strings.HasSuffix(name, ".zip") {
		r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.File {
			out = append(out, shown(f.Name, f.Mode()))
		}
		return out
	}
	zipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(zipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, shown(h.Name, h.FileInfo().Mode()))
	}
}

func shown(name string, mode os.FileMode) string {
	switch {
	case mode.IsDir():
		return name
	case mode&os.ModeSymlink != 0:
		return name + ":link"
	}
	return fmt.Sprintf("%s:%s", name, mode)
}

// The bill lists this test, which is a Go program, with the modules that it was built from.
func TestBillOfMaterials(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "program"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	if err := errors.Join(printSBOM(&first, "toolhost", "1.2.3", dir),
		printSBOM(&second, "toolhost", "1.2.3", dir)); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		t.Error("two bills differ")
	}
	var b bom
	if err := json.Unmarshal(first.Bytes(), &b); err != nil {
		t.Fatal(err)
	}
	if b.Format != "CycloneDX" || b.Metadata.Component.Version != "1.2.3" || len(b.Components) < 2 || len(b.Depends) != 2 {
		t.Errorf("the bill is %s", first.String())
	}
	if !strings.Contains(first.String(), `"pkg:golang/stdlib@`) {
		t.Error("the standard library is not in it")
	}
	if err := printSBOM(io.Discard, "x", "1", t.TempDir()); err == nil {
		t.Error("a folder without programs has a bill")
	}
}

// The bill of the program with the console has the packages from npm.
func TestBillOfTheConsole(t *testing.T) {
	got := npmOf("github.com/toolhost/toolhost/cmd/toolhost-server")
	if len(got) != 5 || got[0].PURL != "pkg:npm/%40bufbuild/protobuf@2.17.0" {
		t.Errorf("the packages are %v", got)
	}
	if got := npmOf("github.com/toolhost/toolhost/cmd/toolhost"); got != nil {
		t.Errorf("a program without the console has %v", got)
	}
}

func TestNotesOfAVersion(t *testing.T) {
	log := filepath.Join(t.TempDir(), "CHANGELOG.md")
	if err := os.WriteFile(log,
		[]byte("# Changelog\n\n## Unreleased\n\nsoon\n\n## 1.1.0 (2027-01-01)\n\n- one\n\n## 1.0.0\n\n- zero\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]string{"1.1.0": "- one", "1.0.0": "- zero", "1.2.0-dev": "soon"} {
		var out bytes.Buffer
		if err := printNotes(&out, version, log); err != nil || out.String() != "# toolhost "+version+"\n\n"+want+"\n" {
			t.Errorf("%s: %q, %v", version, out.String(), err)
		}
	}
}
