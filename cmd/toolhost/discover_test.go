//go:build unix

package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi"
	"github.com/toolhost/toolhost/sdk"
)

var update = flag.Bool("update", false, "write what is seen to testdata as what is wanted")

// The tests of host and host/modelapi use the tools of our plugins without running them; their list must be current.
func TestExportedTools(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "config.hcl")
	if err := os.WriteFile(config, fmt.Appendf(nil, standardConfig, bin), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := run([]string{"--config", config, "--workdir", dir, "discover", "--format", "json"}, strings.NewReader(""),
		&out, &errs); code != 0 {
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

// sized is a tool whose definition takes that many tokens.
func sized(t *testing.T, tokens int) *host.Tool {
	t.Helper()
	out := &host.Tool{Tool: sdk.Tool{Name: "test__run", InputSchema: []byte(`{"type":"object"}`)}}
	out.Description = strings.Repeat("word", tokens-modelapi.EstimateTokens(out))
	if modelapi.EstimateTokens(out) != tokens {
		t.Fatalf("%d tokens, want %d", modelapi.EstimateTokens(out), tokens)
	}
	return out
}

func TestTokenSums(t *testing.T) {
	t.Parallel()
	deferred := []*host.Tool{sized(t, 121)}
	cases := map[string]struct {
		tokens []int
		want   string
	}{
		"two": {[]int{400, 84}, "2 tools: about 484 tokens in each prompt\na search tool instead of them: about " +
			"121 tokens, which saves 363 (75 %)\n"},
		"just more": {[]int{122}, "1 tool: about 122 tokens in each prompt\na search tool instead of them: about 121 " +
			"tokens, which saves 1 (0 %)\n"},
		"just as": {[]int{121}, "1 tool: about 121 tokens in each prompt\na search tool instead of them: about 121 " +
			"tokens, which saves nothing\n"},
		"less": {[]int{60}, "1 tool: about 60 tokens in each prompt\na search tool instead of them: about 121 " +
			"tokens, which saves nothing\n"},
		"a thousand": {[]int{1210, 1210}, "2 tools: about 2420 tokens in each prompt\na search tool instead of them: " +
			"about 121 tokens, which saves 2299 (95 %)\n"},
	}
	for name, c := range cases {
		var tools []*host.Tool
		for _, n := range c.tokens {
			tools = append(tools, sized(t, n))
		}
		if got := tokenSum(tools) + saving(tools, deferred); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
