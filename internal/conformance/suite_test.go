//go:build unix

package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/testutil"
)

// Every scenario of the official suite that applies to a server of tools passes against `toolhost mcp`. The others are
// in testdata/not-applicable.txt, each with a reason, and none of them passes: then it would apply.
func TestServerScenarios(t *testing.T) {
	npm, excluded := testutil.MCP(t), notApplicable(t)
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			s := newBed(t, fixtureConfig(t)).serve("--plain-names")
			scenarios := runSuite(t, npm, s.url, revision)
			for name, checks := range scenarios {
				problem := checks.problem()
				switch reason := excluded[revision+" "+name]; {
				case reason == "" && problem != "":
					t.Errorf("%s fails:\n%s", name, problem)
				case reason != "" && problem == "":
					t.Errorf("%s passes, and testdata/not-applicable.txt says that it does not apply: %s", name, reason)
				}
			}
			for entry := range excluded {
				if of, name, _ := strings.Cut(entry, " "); of == revision && scenarios[name] == nil {
					t.Errorf("testdata/not-applicable.txt has %s, which the suite does not", entry)
				}
			}
			if t.Failed() {
				t.Logf("the log of toolhost mcp:\n%s", tail(s.logged()))
			}
		})
	}
}

// checks are those of one scenario, as the suite writes them to a file.
type checks []struct{ ID, Status, ErrorMessage string }

// problem says why the scenario does not pass: a check failed, or none was made. Warnings are about what servers should
// do, and are logged.
func (c checks) problem() string {
	var lines []string
	made := 0
	for _, check := range c {
		switch check.Status {
		case "SUCCESS", "WARNING":
			made++
		case "FAILURE":
			lines = append(lines, check.ID+": "+check.ErrorMessage)
		}
	}
	if made == 0 && len(lines) == 0 {
		return "no check was made"
	}
	return strings.Join(lines, "\n")
}

var resultFolder = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[-\d]+Z$`)

// runSuite runs all server scenarios of a revision, logs the suite's own summary, and returns the checks by scenario.
func runSuite(t *testing.T, npm testutil.NPM, url, revision string) map[string]checks {
	t.Helper()
	out := t.TempDir()
	cmd := exec.CommandContext(t.Context(), npm.Node, npm.Module("@modelcontextprotocol", "conformance", "dist", "index.js"),
		"server", "--url", url, "--suite", "all", "--spec-version", revision, "-o", out)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "NO_COLOR=1"}
	printed, err := cmd.CombinedOutput() // it fails when any scenario does
	_, summary, found := bytes.Cut(printed, []byte("=== SUMMARY ==="))
	if !found {
		t.Fatalf("the conformance suite: %v\n%s", err, printed)
	}
	t.Logf("conformance suite, server, %s:%s", revision, summary)
	scenarios := map[string]checks{}
	folders, err := os.ReadDir(out)
	for _, f := range folders {
		var c checks
		text, failed := os.ReadFile(filepath.Join(out, f.Name(), "checks.json"))
		if failed == nil {
			failed = json.Unmarshal(text, &c)
		}
		name := resultFolder.FindStringSubmatch(f.Name())
		if failed != nil || name == nil {
			t.Fatalf("%s: %v", f.Name(), failed)
		}
		for _, check := range c {
			if check.Status == "WARNING" {
				t.Logf("warning: %s: %s: %s", name[1], check.ID, check.ErrorMessage)
			}
		}
		scenarios[name[1]] = c
	}
	if err != nil || len(scenarios) < 30 {
		t.Fatalf("the suite left the results of %d scenarios: %v\n%s", len(scenarios), err, printed)
	}
	return scenarios
}

// notApplicable reads the list of exceptions: by revision and scenario, the reason.
func notApplicable(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/not-applicable.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		names, reason, _ := strings.Cut(line, ":")
		fields := strings.Fields(names)
		if len(fields) < 2 || strings.TrimSpace(reason) == "" {
			t.Fatalf("testdata/not-applicable.txt: %q is not SCENARIO REVISION...: REASON", line)
		}
		for _, revision := range fields[1:] {
			if !slices.Contains([]string{"2025-11-25", "2026-07-28"}, revision) {
				t.Fatalf("testdata/not-applicable.txt: there is no revision %q", revision)
			}
			out[fmt.Sprintf("%s %s", revision, fields[0])] = strings.TrimSpace(reason)
		}
	}
	return out
}
