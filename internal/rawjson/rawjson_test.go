package rawjson

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzMembers compares the scanner with encoding/json: both accept the same texts, and see the same members.
func FuzzMembers(f *testing.F) {
	for _, text := range []string{
		`{}`, ` { "a" : 1 , "b":[{"c":null}], "\u0061":"\"\\\u00e9" } `, `{"a":1,}`, `{"a"}`, `{"a":01}`, `-`, `1.`, `1e+`, `-0.5E-3`,
		`"abcdefgh\"ijklmnop"`, "\"abcdefgh\x1f\"", `"\x"`, `"\u12g4"`, `[1,]`, `[,]`, `tru`, `nulll`, ``, ` `, `{"a":{"a":}}`, "{\"\xff\":1}",
		`{"a":1}{`, `[`, `{"a":[[[[[]]]]]}`, `"\ud800"`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m := MembersOf(text)
		rebuilt := []byte{'{'}
		for m.Next() {
			if !bytes.Equal(text[m.End-len(m.Value):m.End], m.Value) || text[m.Start] != '"' {
				t.Fatalf("member %q at %d to %d", m.Name, m.Start, m.End)
			}
			if len(rebuilt) > 1 {
				rebuilt = append(rebuilt, ',')
			}
			rebuilt = append(rebuilt, text[m.Start:m.End]...)
		}
		deep := m.Err == ErrDeep
		if valid := json.Valid(text); valid != (m.Err == nil) && !deep {
			t.Fatalf("%q: valid %v, but %v", text, valid, m.Err)
		}
		if err := Check(text); (err == nil) != (m.Err == nil) && !deep {
			t.Fatalf("%q: %v and %v", text, err, m.Err)
		}
		same := DeepMembersOf(text)
		for same.Next() {
		}
		if (same.Err == nil) != (m.Err == nil) && !deep || m.Err == nil && same.at != m.at {
			t.Fatalf("%q: %v at %d and %v at %d", text, same.Err, same.at, m.Err, m.at)
		}
		if m.Err != nil {
			return
		}
		var want, got map[string]json.RawMessage
		if json.Unmarshal(text, &want) == nil && want != nil {
			if err := json.Unmarshal(append(rebuilt, '}'), &got); err != nil || len(got) != len(want) {
				t.Fatalf("%q: %q, %v", text, rebuilt, err)
			}
		}
		var array []json.RawMessage
		if list, more, err := Elements(text, 1<<20); json.Unmarshal(text, &array) == nil && array != nil &&
			(err != nil || more || len(list) != len(array)) {
			t.Fatalf("%q: %q, %v", text, list, err)
		}
	})
}

func TestScannerBoundsDepth(t *testing.T) {
	nested := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	for n, want := range map[int]error{maxDepth: nil, maxDepth + 1: ErrDeep, 10 << 20: ErrDeep} {
		m := MembersOf(nested(n))
		if m.Next(); m.Err != want {
			t.Error(n, m.Err)
		}
		if err := Check(nested(n)); err != nil {
			t.Error(n, err)
		}
		if err := Check(nested(n)[:2*n-1]); err == nil {
			t.Error(n, "the last bracket may be missing")
		}
	}
}

func BenchmarkScan(b *testing.B) {
	text := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("0123456789", 100_000) + `"}]}}`)
	numbers := []byte(`{"result":[` + strings.Repeat(`{"a":1.5,"b":[true,null]},`, 40_000) + `0]}`)
	for name, text := range map[string][]byte{"text": text, "numbers": numbers} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				m := MembersOf(text)
				for m.Next() {
				}
				if m.Err != nil {
					b.Fatal(m.Err)
				}
			}
		})
	}
}

// What ASCII reads, encoding/json reads as the same text.
func TestASCIIStringsAreTheirBytes(t *testing.T) {
	for text, want := range map[string]string{`"a b"`: "a b", `""`: "", "\"\x7f\"": "\x7f", `"a\n"`: "", `"\u0041"`: "",
		`"é"`: "", "\"\xff\"": "", "\"a\tb\"": "", `"a"b"`: "", `"`: "", ``: "", `a`: "", `"a`: "", `5`: ""} {
		content, ok := ASCII([]byte(text))
		var decoded string
		err := json.Unmarshal([]byte(text), &decoded)
		if ok != (want != "" || text == `""`) || ok && (err != nil || decoded != string(content)) || string(content) != want {
			t.Errorf("%s: %q, %v; encoding/json reads %q with the error %v", text, content, ok, decoded, err)
		}
	}
}

// A text that is no JSON, or is cut anywhere, is well-formed too.
func TestWellFormedOfAnyText(t *testing.T) {
	const text = `{"a":"\ud83d\ude00\ud83d \\ud83d\uDE00` + "\xff"
	want := `{"a":"\ud83d\ude00\uFFFD \\ud83d\uFFFD` + "\uFFFD"
	if got := string(WellFormed([]byte(text))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for n := range len(text) {
		given := []byte(text[:n])
		if got := string(WellFormed(given)); len(got) != n || string(given) != text[:n] {
			t.Errorf("%s: got %s, and is %s now", text[:n], got, given)
		}
	}
}
