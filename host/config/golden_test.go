package config

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what is seen to testdata as what is wanted")

// TestGolden reads the config.hcl of each archive and compares what it means with want.json, or what is wrong with it
// with want.txt. A new case is a new archive with a config.hcl, and go test -update.
func TestGolden(t *testing.T) {
	t.Setenv("TOOLHOST_TEST_GREETING", "hello")
	t.Setenv("TOOLHOST_TEST_DECOMPOSED", "cafe\u0301")
	t.Setenv("TOOLHOST_TEST_BINARY", "\xff")
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { golden(t, file) })
	}
}

func golden(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(archive.Files) == 0 || archive.Files[0].Name != "config.hcl" {
		t.Fatal("the first file of a case is config.hcl")
	}
	seen := outcome(t, archive.Files[0].Data)
	if *update {
		archive.Files = append(archive.Files[:1], seen)
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(archive.Files) != 2 {
		t.Fatal("a case is config.hcl and want.json or want.txt")
	}
	want := archive.Files[1]
	if diff := cmp.Diff(want.Name+"\n"+string(want.Data), seen.Name+"\n"+string(seen.Data)); diff != "" {
		t.Errorf("(-want +seen)\n%s", diff)
	}
}

// outcome is what a config file gives, as a file of an archive.
func outcome(t *testing.T, src []byte) txtar.File {
	c, err := Parse("config.hcl", src)
	if wrong, ok := errors.AsType[*Error](err); ok {
		return txtar.File{Name: "want.txt", Data: []byte(wrong.Error() + "\n")}
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.MarshalIndent(viewOf(c), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return txtar.File{Name: "want.json", Data: append(out, '\n')}
}
