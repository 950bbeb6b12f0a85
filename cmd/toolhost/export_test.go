package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is seen to testdata as what is wanted")

// The tests of host and host/modelapi use the tools of our plugins without running them; their list must be that of today.
func TestExportedTools(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "config.hcl")
	if err := os.WriteFile(config, fmt.Appendf(nil, standardConfig, bin), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := run([]string{"--config", config, "--workdir", dir, "discover", "--format", "json"}, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	golden := filepath.FromSlash("../../host/testdata/shipped.json")
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, out.Bytes()) {
		t.Error("the tools of our plugins changed; run go test ./cmd/toolhost ./host/modelapi -run Export -update")
	}
}
