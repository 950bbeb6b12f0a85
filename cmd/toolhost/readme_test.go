//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host/config"
)

var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// Every sample in the docs runs: Go is in an example that the tests compile and run, HCL loads, and a console session
// prints the shown output.
func TestSamples(t *testing.T) {
	t.Setenv("MONITORING_TOKEN", "0123456789abcdef")
	docs, _ := filepath.Glob("../../docs/*.md")
	plugins, _ := filepath.Glob("../../plugins/*/README.md")
	counts := map[string]int{}
	for _, doc := range append(slices.Concat(docs, plugins), "../../README.md") {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
			counts[m[1]]++
			check, ok := samples[m[1]]
			if !ok {
				t.Errorf("%s: nothing runs samples of the kind %q", doc, m[1])
				continue
			}
			check(t, m[2])
		}
	}
	if counts["go"] < 2 || counts["hcl"] < 1 || counts["console"] < 1 {
		t.Errorf("samples were not found: %v", counts)
	}
}

var samples = map[string]func(t *testing.T, text string){
	"go":      checkGo,
	"hcl":     checkHCL,
	"text":    func(*testing.T, string) {}, // a drawing
	"console": checkConsole,
	"sh":      checkMake,
	"bash":    checkLauncher,
}

// checkGo looks for the sample, without its package clause and imports, in the examples: every paragraph of it in
// one.
func checkGo(t *testing.T, text string) {
	t.Helper()
	if _, body, ok := strings.Cut(text, "\n)\n\n"); ok && strings.HasPrefix(text, "package") {
		text = body
	}
	for _, file := range []string{"../../sdk/example_test.go", "../../host/example_test.go",
		"../../sdk/sdktest/example_test.go", "../../sdk/sdktest/guide_test.go",
		"../../sdk/sdktest/fake_test.go",
		"../../sdk/proctree/example_test.go",
		"../../host/bootstrap/example_test.go", "../../host/bootstrap/options_example_test.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if holds(squeezed(string(source)), strings.Split(text, "\n\n")) {
			return
		}
	}
	t.Errorf("no example holds this sample:\n%s", text)
}

func holds(source string, paragraphs []string) bool {
	for _, p := range paragraphs {
		if !strings.Contains(source, squeezed(p)) {
			return false
		}
	}
	return true
}

// squeezed drops indentation and blank lines.
func squeezed(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

func checkHCL(t *testing.T, text string) {
	t.Helper()
	if _, err := config.Parse("config.hcl", []byte(text)); err != nil {
		t.Errorf("a sample does not load:\n%v", err)
	}
}

// checkConsole runs each line after "$ " in a project with the built programs, and compares the output of all of
// them.
func checkConsole(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	programs, err := filepath.Abs(bin)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(programs, filepath.Join(dir, "bin")); err != nil {
		t.Fatal(err)
	}
	const example = "plugins/discover/example" // no link: file tools would not follow it
	if err := os.CopyFS(filepath.Join(dir, example), os.DirFS("../../"+example)); err != nil {
		t.Fatal(err)
	}
	configuration, err := os.ReadFile("../../config.hcl")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.hcl"), configuration, 0o644); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, "toolhost trust") { // README.md shows it once, for all
		cmd := exec.Command("bin/toolhost", "trust")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	var got strings.Builder
	for line := range strings.Lines(text) {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput() // the sample shows exit codes itself
		got.WriteString(line + string(out))
	}
	if diff := cmp.Diff(text, got.String()); diff != "" {
		t.Errorf("a session gives something else (-says +gives):\n%s", diff)
	}
}

// checkMake makes sure that the targets exist; CI runs them.
func checkMake(t *testing.T, text string) {
	t.Helper()
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "make" || !strings.Contains(string(makefile), "\n"+words[1]+": ") {
			t.Errorf("the Makefile has no target for %q", line)
		}
	}
}

// checkLauncher makes sure that the sample is the one that TestEmbeddersLauncher of sdk/proctree runs.
func checkLauncher(t *testing.T, text string) {
	t.Helper()
	if !strings.Contains(text, "proctree.launcherSum=$sum") {
		t.Errorf("nothing runs this sample:\n%s", text)
	}
}

func TestReadmeIsShort(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n > 150 {
		t.Errorf("README.md has %d lines; 150 is enough", n)
	}
}

// The configuration of the repository works out of the box.
func TestDefaultConfig(t *testing.T) {
	if _, err := config.Load("../../config.hcl"); err != nil {
		t.Error(err)
	}
}
