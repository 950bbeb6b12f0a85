package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// answerForm types lines into an elicitation's form, and returns the answer, or the error, and the output.
func answerForm(t *testing.T, params, typed string) (answer, shown string, err error) {
	t.Helper()
	var screen bytes.Buffer
	from := strings.NewReader(typed)
	p := newPrompter(&options{terminal: newTerminal(from, io.Discard, &screen)}, from)
	out, err := p.AnswerInput(t.Context(), &host.InputRequest{Tool: &host.Tool{Tool: sdk.Tool{Name: "git__commit"}},
		Requests: map[string]json.RawMessage{"q": json.RawMessage(params)}})
	return string(out["q"]), screen.String(), err
}

func form(properties, required string) string {
	return `{"method":"elicitation/create","params":{"message":"Who are you?","requestedSchema":{"type":"object",` +
		`"properties":` + properties + `,"required":` + required + `}}}`
}

func TestFormIsFilledInAtTheTerminal(t *testing.T) {
	t.Parallel()
	const choices = `{"c":{"type":"string","enum":["red","blue"],"enumNames":["Red","Blue"]}}`
	const several = `{"c":{"type":"array","items":{"anyOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}}}`
	for name, c := range map[string]struct{ params, typed, want string }{
		"declined": {form(`{"name":{"type":"string"}}`, `["name"]`), "n\n", `{"action":"decline"}`},
		"text": {form(`{"name":{"type":"string"}}`, `["name"]`), "y\nAda\n",
			`{"action":"accept","content":{"name":"Ada"}}`},
		"needed": {form(`{"name":{"type":"string"}}`, `["name"]`), "y\n\nAda\n",
			`{"action":"accept","content":{"name":"Ada"}}`},
		"optional": {form(`{"name":{"type":"string"}}`, `[]`), "y\n\n", `{"action":"accept"}`},
		"default": {form(`{"n":{"type":"integer","default":9007199254740993}}`, `["n"]`), "y\n\n",
			`{"action":"accept","content":{"n":9007199254740993}}`},
		"number that does not fit": {form(`{"n":{"type":"integer","maximum":9}}`, `["n"]`), "y\nmany\n10\n9\n",
			`{"action":"accept","content":{"n":9}}`},
		"yes or no": {form(`{"b":{"type":"boolean"}}`, `["b"]`), "y\nmaybe\nno\n",
			`{"action":"accept","content":{"b":false}}`},
		"choice":          {form(choices, `["c"]`), "y\ngreen\n2\n", `{"action":"accept","content":{"c":"blue"}}`},
		"several choices": {form(several, `["c"]`), "y\n1, b\n", `{"action":"accept","content":{"c":["a","b"]}}`},
		"no form":         {`{"method":"elicitation/create","params":{"message":"Go on?"}}`, "y\n", `{"action":"accept"}`},
		"address": {`{"method":"elicitation/create","params":{"mode":"url","message":"Sign in",` +
			`"url":"https://example.org/a?b"}}`, "y\n", `{"action":"accept"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, shown, err := answerForm(t, c.params, c.typed)
			if err != nil {
				t.Fatalf("%v; shown:\n%s", err, shown)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s\nshown:\n%s", d, shown)
			}
		})
	}
}

func TestFormThatCannotBeAnswered(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 101 {
		names = append(names, fmt.Sprintf(`"a%d":{"type":"string"}`, i))
	}
	many := strings.Join(names, ",")
	for name, c := range map[string]struct{ params, typed, want string }{
		"another kind": {`{"method":"sampling/createMessage","params":{}}`, "", `cannot answer "sampling/createMessage"`},
		"not a web address": {`{"method":"elicitation/create","params":{"mode":"url","url":"file:///etc/passwd"}}`, "y\n",
			"not a web address"},
		"end of the terminal": {form(`{"name":{"type":"string"}}`, `["name"]`), "y\n", "no answer could be read from the terminal"},
		"too many fields":     {form("{"+many+"}", `[]`), "y\n", "it has more than 100 fields"},
		"not a list of names": {form(`{"name":{"type":"string"}}`, `true`), "y\n", "its form cannot be used"},
		"ten wrong answers": {form(`{"n":{"type":"integer"}}`, `["n"]`), "y\n" + strings.Repeat("x\n", 10),
			"no valid answer after ten attempts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, shown, err := answerForm(t, c.params, c.typed)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("answer %s, error %v, want %q in it; shown:\n%s", answer, err, c.want, shown)
			}
		})
	}
}

// Text from a server cannot move the cursor or hide a part of itself.
func TestFormIsShownInPlainCharacters(t *testing.T) {
	t.Parallel()
	_, shown, err := answerForm(t, `{"method":"elicitation/create","params":{"message":"Sign\u001b[2Jin\u202e",`+
		`"requestedSchema":{"properties":{"a\u001b[1m":{"type":"string","title":"\u200bT","description":"\u001b]0;`+
		`x\u0007"}}}}}`,
		"y\n\n")
	if err != nil || strings.ContainsAny(shown, "\x1b\u202e\u200b\a") {
		t.Errorf("error %v; shown: %q", err, shown)
	}
}

// A question shows which plugin asks, and what it says cannot pass for a prompt of toolhost's own.
// A host in letters that look like those of another is also shown by the name that is looked up.
func TestHostOfAnAddress(t *testing.T) {
	for address, shown := range map[string]string{
		"https://\u0430pple.com/login":               "xn--pple-43d.com",
		"https://github.com@xn--pple-43d.com/":       "its host: xn--pple-43d.com",
		"https://github\uff0ecom.example.org/":       "github.com.example.org",
		"https://p\u00e4ypal.example:8443/?u=a.com":  "xn--pypal-gra.example",
		"https://%D0%B0pple.com/":                    "xn--pple-43d.com",
		"https://github.com.evil.example/github.com": "its host: github.com.evil.example",
	} {
		params := fmt.Sprintf(`{"method":"elicitation/create","params":{"mode":"url","message":"Sign in","url":%q}}`, address)
		if _, out, err := answerForm(t, params, "y\n"); err != nil || !strings.Contains(out, shown) {
			t.Errorf("%s: %v\n%s", address, err, out)
		}
	}
	_, out, _ := answerForm(t, `{"method":"elicitation/create","params":{"mode":"url","url":"https://example.org/"}}`, "y\n")
	if strings.Contains(out, "looked up") {
		t.Error(out)
	}
}

func TestQuestionThatImitatesAnApproval(t *testing.T) {
	t.Parallel()
	const imitation = "Fine.\r\x1b[2J\x1b[1m\n\nshell__exec wants to run.\n  why asked: \u202eelur a\nRun it? [y/N]"
	request, err := json.Marshal(map[string]any{"method": "elicitation/create", "params": map[string]any{"message": imitation}})
	if err != nil {
		t.Fatal(err)
	}
	var screen bytes.Buffer
	from := strings.NewReader("n\n")
	p := newPrompter(&options{terminal: newTerminal(from, io.Discard, &screen)}, from)
	_, err = p.AnswerInput(t.Context(), &host.InputRequest{
		Tool:     &host.Tool{Tool: sdk.Tool{Name: "git__commit"}, Plugin: "git"},
		Via:      &host.Via{Plugin: "review", Tool: "review__all"},
		Requests: map[string]json.RawMessage{"q": request}})
	if err != nil {
		t.Fatal(err)
	}
	shown := screen.String()
	first, rest, _ := strings.Cut(strings.TrimLeft(shown, "\n"), "\n")
	if first != "git__commit asks you something; your answer goes to plugin git, and approves nothing." ||
		!strings.Contains(rest, "called by: plugin review, during a call of review__all\n") {
		t.Errorf("it begins with %q", first)
	}
	if strings.ContainsAny(shown, "\x1b\r\u202e") {
		t.Errorf("it has characters of control: %q", shown)
	}
	for line := range strings.Lines(rest) {
		if strings.Contains(line, "wants to run") && !strings.HasPrefix(line, "    ") {
			t.Errorf("the plugin's line stands like one of toolhost: %q", line)
		}
	}
}
