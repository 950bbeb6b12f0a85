package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolhost/toolhost/internal/shellcmd"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

func previewOf(t *testing.T, p *sdktest.Plugin, dir string, args map[string]any) *sdk.Preview {
	t.Helper()
	out, err := p.Preview(t.Context(),
		&sdk.Request{CallID: "1", Tool: "exec", Arguments: encodeArgs(t, args), Workdir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestPreviewShowsTheCommands(t *testing.T) {
	got := previewOf(t, sdktest.Start(t, newPlugin()), t.TempDir(),
		map[string]any{"command": `ls -la | sh -c 'wc "-l"'; git push $x`})
	want := `Would run:
  ls -la
  sh -c 'wc "-l"'
  wc "-l"  [in sh -c]
  git push $x  [not sure: $x is only known when it runs]
Risk: medium
  git push $x: $x is only known when it runs`
	if diff := cmp.Diff(want, got.Content[0].Text); diff != "" {
		t.Error(diff)
	}
	var f previewData
	if err := json.Unmarshal(got.Structured, &f); err != nil {
		t.Fatal(err)
	}
	wantForm := previewData{Kind: "command", Commands: []previewCommand{
		{"ls", []string{"-la"}, []string{}, "ls -la", []string{}},
		{"sh", []string{"-c", `wc "-l"`}, []string{}, `sh -c 'wc "-l"'`, []string{}},
		{"wc", []string{"-l"}, []string{"sh -c"}, `wc "-l"`, []string{}},
		{"git", []string{"push", "$x"}, []string{}, "git push $x", []string{"$x is only known when it runs"}},
	}, Risk: shellcmd.Risk{Level: "medium", Reasons: []string{"git push $x: $x is only known when it runs"}}}
	if diff := cmp.Diff(wantForm, f); diff != "" {
		t.Error(diff)
	}
}

func TestPreviewAsks(t *testing.T) {
	for name, c := range map[string]struct {
		args          map[string]any
		shell         string
		effect, level string
		says          string
	}{
		"reading":           {map[string]any{"command": "ls"}, "bash", "", "low", "Risk: low"},
		"writing":           {map[string]any{"command": "ls > x"}, "bash", "", "medium", "it writes to x"},
		"deleting":          {map[string]any{"command": "rm x"}, "bash", "ask", "high", "it deletes"},
		"not understood":    {map[string]any{"command": "ls ("}, "bash", "ask", "high", `"ls ("`},
		"hidden characters": {map[string]any{"command": "ls\u202e"}, "bash", "ask", "high", `"ls\u202e"`},
		"only known later":  {map[string]any{"command": "$x"}, "bash", "ask", "high", "not sure"},
		"another shell":     {map[string]any{"command": "ls"}, "sh", "ask", "medium", "another way than bash"},
		"with variables": {map[string]any{"command": "ls", "env": map[string]string{"A": "b"}}, "bash", "", "medium",
			"variables given"},
		"with a pager":       {map[string]any{"command": "ls", "env": map[string]string{"PAGER": "cat"}}, "bash", "", "medium", "given"},
		"with another pager": {map[string]any{"command": "ls", "env": map[string]string{"PAGER": "./x"}}, "bash", "ask", "high", "PAGER"},
		"in a folder":        {map[string]any{"command": "cat ../x", "workdir": "sub"}, "bash", "", "low", "cat ../x"},
		"out of a folder":    {map[string]any{"command": "cat ../../x", "workdir": "sub"}, "bash", "", "medium", "outside"},
		"in another folder":  {map[string]any{"command": "ls", "workdir": "/"}, "bash", "", "medium", "outside"},
		"a very long list":   {map[string]any{"command": strings.Repeat("ls;", 70)}, "bash", "", "low", "and 20 more"},
		"a very long string": {map[string]any{"command": strings.Repeat("x", 17<<10)}, "bash", "ask", "high", "bytes more"},
	} {
		t.Run(name, func(t *testing.T) {
			p := sdktest.Start(t, newPlugin())
			if err := p.Configure(t.Context(), json.RawMessage(fmt.Sprintf(`{"shell":%q}`, c.shell)), ""); err != nil {
				t.Fatal(err)
			}
			got := previewOf(t, p, filepath.Join(t.TempDir(), "w"), c.args)
			var f previewData
			if err := json.Unmarshal(got.Structured, &f); err != nil {
				t.Fatal(err)
			}
			if got.Effect != c.effect || f.Risk.Level != c.level || (got.Reason == "") != (c.effect == "") {
				t.Errorf("effect %q because %q, level %q", got.Effect, got.Reason, f.Risk.Level)
			}
			if !strings.Contains(got.Content[0].Text, c.says) {
				t.Errorf("the text does not say %q:\n%s", c.says, got.Content[0].Text)
			}
		})
	}
}

func TestPreviewRefusesWhatTheCallWould(t *testing.T) {
	_, err := sdktest.Start(t, newPlugin()).Preview(t.Context(),
		&sdk.Request{CallID: "1", Tool: "exec", Workdir: t.TempDir(), Arguments: json.RawMessage(`{"command":" "}`)})
	if sdk.CodeOf(err) != sdk.CodeInvalidArgs {
		t.Errorf("error is %v", err)
	}
}
