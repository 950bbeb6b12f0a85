//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/sdk"
)

const wordSchema = `{"type":"object","properties":{
	"text":{"type":"string","description":"What to say"},
	"count":{"type":"integer","minimum":1,"default":10},
	"ratio":{"type":"number"},
	"share":{"type":"number","minimum":0,"exclusiveMinimum":true,"maximum":1,"exclusiveMaximum":false},
	"deep":{"type":"object","properties":{"on":{"type":"boolean"},"name":{"type":"string"},"more":{"type":"array","items":{"type":"integer"}}},"additionalProperties":false},
	"tags":{"type":"array","items":{"type":"string"},"minItems":1},
	"edits":{"type":"array","items":{"$ref":"#/$defs/edit"}},
	"maybe":{"anyOf":[{"type":"integer"},{"type":"null"}]},
	"either":{"type":["integer","string"]},
	"any":{},
	"mode":{"enum":["a","b"]},
	"level":{"enum":[1,2]},
	"env":{"type":"object","additionalProperties":{"type":"string"}},
	"a.b":{"type":"string"}},
	"required":["text"],"additionalProperties":false,
	"$defs":{"edit":{"type":"object","properties":{"path":{"type":"string"},"line":{"type":"integer"}},"required":["path"]}}}`

func TestArgumentsAsText(t *testing.T) {
	t.Chdir(t.TempDir())
	writeConfig(t, "file", "line one\nline two\n")
	if err := os.WriteFile("binary", []byte{0xff, 0xfe}, 0o600); err != nil {
		t.Fatal(err)
	}
	for words, want := range map[string]string{
		"text=hello":                   `{"text":"hello"}`,
		"text=":                        `{"text":""}`,
		"text=5":                       `{"text":"5"}`,
		"text=true":                    `{"text":"true"}`,
		`text={"a":1}`:                 `{"text":"{\"a\":1}"}`,
		"text=a=b:=c":                  `{"text":"a=b:=c"}`,
		"count=5":                      `{"count":5}`,
		"count=-5":                     `{"count":-5}`,
		"ratio=1.50":                   `{"ratio":1.50}`,
		"ratio=12345678901234567890.5": `{"ratio":12345678901234567890.5}`,
		"deep.on=true|deep.name=x":     `{"deep":{"name":"x","on":true}}`,
		"deep.more=1|deep.more=2":      `{"deep":{"more":[1,2]}}`,
		`deep={"on":false}`:            `{"deep":{"on":false}}`,
		"tags=a|tags=b,c":              `{"tags":["a","b,c"]}`,
		`tags=["a","b"]`:               `{"tags":["a","b"]}`,
		"tags=[a":                      `{"tags":["[a"]}`,
		"edits.0.path=x|edits.0.line=3|edits.1.path=y": `{"edits":[{"line":3,"path":"x"},{"path":"y"}]}`,
		`edits={"path":"x"}|edits={"path":"y"}`:        `{"edits":[{"path":"x"},{"path":"y"}]}`,
		"maybe=4":                                      `{"maybe":4}`,
		"maybe=null":                                   `{"maybe":null}`,
		"either=4|any=4":                               `{"any":4,"either":4}`,
		"either=x|any=x":                               `{"any":"x","either":"x"}`,
		"any=[1]":                                      `{"any":[1]}`,
		"mode=a|level=2":                               `{"level":2,"mode":"a"}`,
		"env.HOME=/x|env.N=1":                          `{"env":{"HOME":"/x","N":"1"}}`,
		"a.b=x":                                        `{"a.b":"x"}`,
		"text=@file":                                   `{"text":"line one\nline two\n"}`,
		`text:="@file"|count:=7`:                       `{"count":7,"text":"@file"}`,
		"text=<>&":                                     `{"text":"<>&"}`,
	} {
		got, err := argumentsInWords(t.Context(), "p__x", json.RawMessage(wordSchema), strings.Split(words, "|"))
		if err != nil || string(got) != want {
			t.Errorf("%s gives %s, %v; want %s", words, got, err, want)
		}
	}
	for words, want := range map[string]string{
		"txt=a":             `p__x has no argument "txt"; did you mean "text"?`,
		"colour=a":          `p__x has no argument "colour"; it has text, count, ratio, share, deep,`,
		"deep.of=a":         `deep has no argument "of"; did you mean "on"?`,
		"text.a=b":          "text.a: text is a string, and has no members",
		"count=five":        `count must be an integer, at least 1, not "five"`,
		"count=1.5":         `count must be an integer, at least 1, not "1.5"`,
		"count=":            `count must be an integer, at least 1, not ""`,
		"deep.on=yes":       `deep.on must be a boolean, not "yes"`,
		"deep.more=x":       `deep.more must be an integer, not "x"`,
		"count=1|count=2":   "count is given twice, but takes a single value",
		`tags=["a"]|tags=b`: "tags is given twice, once as a whole list",
		"edits=x":           `an item of edits must be an object, not "x"; edits:='[…]' is the whole list`,
		"edits.1.path=x":    "edits.1: the next item of edits is number 0",
		"count:=x":          `count: the value after := is invalid: "x" is not JSON`,
		"count:=1 2":        "there is more than one value",
		"text=@none": "text: open none: no such file or directory; for a text that begins with @ write " +
			"text:='\"@…\"'",
		"text=@binary":        "text: binary is not UTF-8 text",
		"text=@.":             "text: open .: not a regular file",
		"text=\xff":           `"text=\xff" is not UTF-8 text, which arguments are`,
		"t\xffxt=a":           `"t\xffxt=a" is not UTF-8 text`,
		"text=a|more":         `"more" is not an argument; write KEY=VALUE`,
		"maybe=x":             `maybe must be an integer, not "x"`,
		"deep=1|deep.on=true": `deep must be an object, not "1"`,
	} {
		got, err := argumentsInWords(t.Context(), "p__x", json.RawMessage(wordSchema), strings.Split(words, "|"))
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasSuffix(err.Error(), "`toolhost call p__x --help` shows the arguments.") {
			t.Errorf("%s gives %s and the error %v; want %s", words, got, err, want)
		}
		if e, is := errors.AsType[*exitError](err); !is || e.code != exitUsage {
			t.Errorf("%s: the exit code is another: %v", words, err)
		}
	}
	if _, err := argumentsInWords(t.Context(), "p__x", json.RawMessage(`{"type":"object","additionalProperties":false}`),
		[]string{"a=b"}); err == nil || !strings.Contains(err.Error(), `p__x takes no arguments; remove "a"`) {
		t.Errorf("a tool without arguments: %v", err)
	}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := argumentsInWords(interrupted, "p__x", json.RawMessage(wordSchema), []string{"text=@file"}); !errors.Is(err,
		errInterrupted) {
		t.Errorf("interrupted while a file is read: %v", err)
	}
	const union = `{"type":"object","additionalProperties":false,"anyOf":[{"type":"object","properties":{"a":{"type":` +
		`"integer"}}},{"type":"object","properties":{"b":{"type":"string"}}}]}`
	got, err := argumentsInWords(t.Context(), "p__x", json.RawMessage(union), []string{"a=1"})
	if err != nil || string(got) != `{"a":1}` {
		t.Errorf("a tool with alternatives: %s, %v", got, err)
	}
	for word, is := range map[string]bool{"a=b": true, "a.b:=1": true, "a=": true, `{"a":"b=c"}`: false, "-": false,
		"[1]": false, `"a=b"`: false, "=b": false, "a b=c": false} {
		if isArgWord(word) != is {
			t.Errorf("%s is taken for the other kind", word)
		}
	}
}

// anythingPlugin has a tool that takes anything.
type anythingPlugin struct{}

func (anythingPlugin) Tools(context.Context) ([]sdk.Tool, error) {
	return []sdk.Tool{{Name: "x", Description: "Takes anything.", InputSchema: json.RawMessage(`{"type":"object"}`)}}, nil
}

func (anythingPlugin) Call(context.Context, *sdk.Request) (*sdk.Result, error) {
	return nil, errors.ErrUnsupported
}
func (anythingPlugin) Close() error { return nil }

// A timeout that is over when the tool is found is no interrupt: the call that follows reports it.
func TestLateDescription(t *testing.T) {
	i, err := bootstrap.Open(t.Context(), bootstrap.Options{DefaultDir: t.TempDir(),
		InProcess: map[string]host.Plugin{"late": anythingPlugin{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	// A tool that the catalog knows is found also after the timeout.
	if _, err := i.Catalog().Tool(t.Context(), "late__x"); err != nil {
		t.Fatal(err)
	}
	late := &ownCall{i.Catalog(), host.Call{Tool: "late__x", Timeout: time.Second}, time.Now().Add(-time.Hour)}
	if got, unread, err := typedArguments(t.Context(), late, []string{"text=a"}); unread || err != nil ||
		string(got) != `{"text":"a"}` {
		t.Errorf("%s, unread: %t, %v", got, unread, err)
	}
}

func TestDescribeTool(t *testing.T) {
	var out bytes.Buffer
	describeTool(&out, &host.Tool{Tool: sdk.Tool{Description: "Says things.\x1b[2J\n\nUsage:\r\n\tx\nArguments:", Name: "p__x",
		InputSchema: json.RawMessage(wordSchema)}}, 80)
	for _, want := range []string{
		"Says things.", "toolhost call p__x text=… [count=…]", "  text (string; required)\n      What to say\n",
		"  count (integer, at least 1; default 10)\n",
		"  tags (list of string, at least 1 item)\n", "      deep.on (boolean)\n", "      edits.0.path (string; required)\n", `  mode ("a" or "b")`,
		"  maybe (integer)\n", "  share (number, more than 0, at most 1)\n",
		"  toolhost call p__x text=TEXT\n", `  toolhost call p__x '{"text":"TEXT"}'`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("the description moves the cursor")
	}
	for _, own := range []string{"\nUsage:\n", "\nArguments:\n"} {
		if strings.Count("\n"+out.String(), own) != 1 {
			t.Errorf("%q is there not only as toolhost's own line in\n%s", own, out.String())
		}
	}
}
