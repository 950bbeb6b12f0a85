package modelapi_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi"
)

// Whatever a stream holds, nothing breaks, and what is to be run has objects for arguments.
func FuzzAssemble(f *testing.F) {
	files, err := filepath.Glob("testdata/streams/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	formats := []modelapi.Format{modelapi.FormatOpenAI, modelapi.FormatOpenAIResponses, modelapi.FormatAnthropic, modelapi.FormatGemini, modelapi.FormatText}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for i := range formats {
			f.Add(byte(i), archive.Files[0].Data)
		}
	}
	f.Fuzz(func(t *testing.T, format byte, chunks []byte) {
		a, split := assembler(t, formats[int(format)%len(formats)], "a", "aa"), bytes.SplitSeq
		if formats[int(format)%len(formats)] == modelapi.FormatText {
			split = bytes.SplitAfterSeq
		}
		for chunk := range split(chunks, []byte("\n")) {
			states, _ := a.Add(chunk)
			checkStates(t, states)
		}
		checkStates(t, a.End())
		ids := map[string]bool{}
		for _, c := range a.Calls() {
			var object map[string]json.RawMessage
			if err := json.Unmarshal(c.Arguments, &object); err != nil || object == nil || c.Tool == "" || c.ID == "" || ids[c.ID] {
				t.Errorf("call %+v, %v", c, err)
			}
			ids[c.ID] = true
		}
	})
}

func checkStates(t rapid.TB, states []modelapi.CallState) {
	t.Helper()
	for _, s := range states {
		if (s.Status == host.Errored) != (s.Err != nil) || !s.Partial.IsZero() && !json.Valid([]byte(s.Partial.String())) {
			t.Errorf("state %+v, shown %s", s, s.Partial)
		}
		if _, err := json.Marshal(s); err != nil {
			t.Errorf("state %+v: %v", s, err)
		}
	}
}

// Arguments of a stream are the same as arguments that come at once, wherever they are cut in two: run alike, or refused.
func FuzzStreamedArguments(f *testing.F) {
	for _, text := range []string{`{"a":{"a":1}}`, `{"a":1}{"a":1}`, `"{}"`, "```json\n{}\n```", `{}{`, `{"a":"\ud83d\ude00"}`, `{"a":1,"A":2}`, ` `, `{"a":`} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		if !utf8.ValidString(text) || cut < 0 || cut > len(text) || cut < len(text) && !utf8.RuneStart(text[cut]) {
			return
		}
		whole, halves := assembler(t, modelapi.FormatOpenAI), assembler(t, modelapi.FormatOpenAI)
		checkStates(t, add(t, whole, chat(0, "c", "t", text), []byte(chatStop)))
		checkStates(t, add(t, halves, chat(0, "c", "t", text[:cut]), chat(0, "c", "", text[cut:])))
		checkStates(t, add(t, halves, []byte(chatStop)))
		if a, b := whole.Calls(), halves.Calls(); len(a) == 1 && (len(b) != 1 || !bytes.Equal(a[0].Arguments, b[0].Arguments)) {
			t.Errorf("at once %+v, in halves %+v", a, b)
		}
	})
}
