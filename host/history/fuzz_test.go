package history

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/audit"
)

// Whatever a text has, a call with it is found by it, and by nothing that the text has not.
func FuzzText(f *testing.F) {
	for _, text := range hostile {
		f.Add(text, text, "E_TOOL", int64(1500))
	}
	f.Add(`a "b c`, `"b c" AND NOT x*`, `" OR words MATCH "`, int64(-1))
	f.Fuzz(func(t *testing.T, text, search, code string, took int64) {
		record := recordPath(t)
		l := openLog(t, record)
		arguments, _ := json.Marshal(map[string]string{"x": text})
		appendAll(t, l, audit.Record{Time: day, Kind: audit.KindDecision, CallID: "1", Reason: text, Arguments: arguments},
			audit.Record{Time: day, Kind: audit.KindCall, CallID: "1", Status: "error", Code: code, SessionID: search,
				DurationMS: float64(took) / 1000},
			audit.Record{Time: day, Kind: audit.KindCall, CallID: text, Tool: search, Status: "ok"})
		i := synced(t, record)
		same(t, i, record)
		o := readOracle(t, record)
		for _, filter := range []Filter{{Text: text}, {Text: search}, {Text: `"` + search}, {Tool: text}, {Tool: search},
			{Codes: []string{code, text}}, {CallID: text}, {SessionID: search}, {Text: code, Status: "error"}} {
			r, err := i.Search(t.Context(), filter, Page{Count: true})
			if _, wrong := errors.AsType[*FilterError](err); wrong {
				continue
			}
			if err != nil {
				t.Fatalf("%#v: %v", filter, err)
			}
			if want := len(o.search(&filter)); len(r.Calls) != want || r.Count != int64(want) {
				t.Errorf("%#v: %d calls, count %d, want %d", filter, len(r.Calls), r.Count, want)
			}
		}
	})
}

func FuzzWords(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var w, again wordWriter
		w.write(text)
		again.write(string(w.text))
		if string(w.text) != string(again.text) {
			t.Errorf("the words %q have the words %q", w.text, again.text)
		}
		for word := range strings.FieldsSeq(string(w.text)) {
			if len(word) > maxWord || strings.ContainsRune(word, fieldToken) || strings.Contains(word, textBreak) {
				t.Errorf("%q is a word", word)
			}
		}
		raw, err := json.Marshal(text)
		if err != nil {
			return
		}
		var plain, quoted wordWriter
		var decoded string
		if err := json.Unmarshal(raw, &decoded); err != nil {
			t.Fatal(err)
		}
		plain.write(decoded)
		quoted.writeJSON(raw)
		if string(plain.text) != string(quoted.text) {
			t.Errorf("%s has the words %q, want %q", raw, quoted.text, plain.text)
		}
	})
}
