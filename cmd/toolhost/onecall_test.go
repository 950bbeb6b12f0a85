package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

// addOneCallTools are tools of the test binary as a plugin, for tests of commands that make one call.
func addOneCallTools(p *sdk.Plugin) {
	add := func(t sdk.Tool, f func() *sdk.Result) {
		t.Description = "for tests"
		sdk.AddTool(p, t, func(context.Context, *sdk.Request, faultyArgs) (*sdk.Result, error) { return f(), nil })
	}
	reads := sdk.Hints{ReadOnly: sdk.Yes}
	add(sdk.Tool{Name: "structured", Hints: reads}, func() *sdk.Result { return &sdk.Result{Structured: json.RawMessage(`{"n": [1, 2.50]}`)} })
	add(sdk.Tool{Name: "blank", Hints: reads}, func() *sdk.Result {
		return &sdk.Result{Content: []sdk.Content{sdk.TextContent("")}, Structured: json.RawMessage(`{"n":1}`)}
	})
	add(sdk.Tool{Name: "both", Hints: reads}, func() *sdk.Result {
		return &sdk.Result{Content: []sdk.Content{sdk.TextContent("one")}, Structured: json.RawMessage(`{"n":1}`)}
	})
	add(sdk.Tool{Name: "silent", Hints: reads}, func() *sdk.Result { return &sdk.Result{} })
}

// A oneCall is a folder with a configuration in it, and the programs that make calls there.
type oneCall struct {
	dir, config string
	t           *testing.T
}

// newOneCall has the test binary for the plugin faulty; more is added to its block and after it.
func newOneCall(t *testing.T, inBlock, after string) *oneCall {
	t.Helper()
	dir := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := &oneCall{dir, filepath.Join(dir, "one.hcl"), t}
	writeConfig(t, o.config, fmt.Sprintf("plugin_dirs = [%q]\nplugin \"faulty\" {\n  command = [%q]\n  env     = { %s = %q }\n%s\n}\n%s\n",
		bin, program, faultyVar, filepath.Join(dir, "ran"), inBlock, after))
	return o
}

// run runs a program by its name, as a person or a client would, and gives what it prints.
func (o *oneCall) run(program, stdin string, args ...string) (code int, stdout, stderr string) {
	o.t.Helper()
	var out, errs bytes.Buffer
	code = named(program)(append([]string{"--config", o.config, "--workdir", o.dir}, args...), io.Reader(strings.NewReader(stdin)), &out, &errs)
	return code, out.String(), errs.String()
}

// A result that has only structured data is printed as JSON, whoever calls.
func TestStructuredResultIsPrinted(t *testing.T) {
	o := newOneCall(t, "", "")
	for tool, want := range map[string]string{
		"structured": "{\"n\": [1, 2.50]}\n", "blank": "{\"n\":1}\n", "both": "one\n", "silent": "",
	} {
		if code, out, errs := o.run("toolhost", "", "call", "faulty__"+tool); code != exitOK || out != want {
			t.Errorf("call %s: exit code %d, %q\n%s", tool, code, out, errs)
		}
		if code, out, errs := o.run(callProgram, "{}", "faulty__"+tool); code != exitOK || out != want || errs != "" {
			t.Errorf("%s %s: exit code %d, %q\n%s", callProgram, tool, code, out, errs)
		}
	}
}
