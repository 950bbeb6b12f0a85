package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// What appendTo writes reads as what encoding/json writes, and is one line.
func TestRecordIsWrittenAsItsTagsSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string {
			return rapid.OneOf(rapid.Just(""), rapid.String(),
				rapid.SampledFrom([]string{"<a&b>", "\u2028", "\"\\\n\x00", "\xff"})).
				Draw(t, name)
		}
		raw := func(name string) json.RawMessage {
			v := rapid.SampledFrom([]string{"", "{}", `{"a": [1, 2.50, 9007199254740993]}`, "[\n1,\r\n2]", `"\u003c<"`, "null"}).
				Draw(t, name)
			if v == "" {
				return nil
			}
			return json.RawMessage(v)
		}
		r := Record{Seq: rapid.Int64Min(1).Draw(t, "seq"), Time: time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "time"),
			rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).UTC(), Kind: KindCall, Prev: noHash,
			Arguments: raw("arguments"), Result: raw("result"), DurationMS: rapid.Float64Range(-1e15, 1e15).Draw(t, "duration"),
			ArgumentsBytes: rapid.Int64().Draw(t, "bytes"), ResultBytes: rapid.Int64().Draw(t, "result bytes"),
			Attempts: rapid.Int().Draw(t, "attempts"), Generation: rapid.Int().Draw(t, "generation")}
		if rapid.Bool().Draw(t, "approval") {
			r.Approval = &Approval{}
		}
		if rapid.Bool().Draw(t, "torn") {
			r.Torn, r.Head = &Torn{Bytes: 3, SHA256: noHash}, &Head{Seq: 1, Hash: noHash}
		}
		for field := range textsOf(&r) {
			*field = text("text")
		}
		got := lineOf(t, &r)
		if bytes.ContainsAny(got, "\r\n") {
			t.Fatalf("more than one line: %s", got)
		}
		want, err := json.Marshal(&r)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(members(t, want), members(t, got)); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
	})
}

// A field that is added to Record, and not to appendTo, would be lost.
func TestEachFieldOfARecordIsWritten(t *testing.T) {
	r := Record{Approval: &Approval{}, Torn: &Torn{Bytes: 1, SHA256: noHash}, Head: &Head{Seq: 1, Hash: noHash}}
	var want []string
	v := reflect.ValueOf(&r).Elem()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		want = append(want, name)
		switch f := v.Field(i).Addr().Interface().(type) {
		case *int:
			*f = 1
		case *int64:
			*f = 1
		case *float64:
			*f = 1
		case *string:
			*f = "x"
		case *Kind:
			*f = KindCall
		case *json.RawMessage:
			*f = json.RawMessage("{}")
		case *time.Time, **Approval, **Torn, **Head:
		default:
			t.Fatalf("%s has a type that this test does not know", name)
		}
	}
	r.Prev = noHash
	var got map[string]any
	if err := json.Unmarshal(lineOf(t, &r), &got); err != nil {
		t.Fatal(err)
	}
	for _, name := range want {
		if _, is := got[name]; !is && name != "hash" { // the log adds the hash of the line
			t.Errorf("%s is not written", name)
		}
	}
}

// members are the names of an object's members in their order, each with its value.
func members(t *rapid.T, object []byte) (out []any) {
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			if d.More() {
				t.Fatalf("%v in %s", err, object)
			}
			return out
		}
		if n, ok := token.(json.Number); ok && strings.ContainsAny(string(n), ".e") {
			token, _ = n.Float64()
		}
		out = append(out, token)
	}
}

// lineOf is the record in a chain where its seq and prev belong, without its hash.
func lineOf(t interface{ Fatal(...any) }, r *Record) []byte {
	text, err := r.appendTo(nil, nil)
	c := newChain(Head{Seq: r.Seq - 1, Hash: r.Prev}, nil)
	if err := errors.Join(err, c.add(text)); err != nil {
		t.Fatal(err)
	}
	return append(c.text[:len(c.text)-sealed-1], '}')
}

// textsOf are the fields that hold text of others, to range over.
func textsOf(r *Record) func(yield func(*string) bool) {
	return func(yield func(*string) bool) {
		all := []*string{&r.CallID, &r.Tool, &r.Plugin, &r.Caller, &r.SessionID, &r.Workdir, &r.ViaTool, &r.ViaCallID,
			&r.Effect, &r.Rule, &r.Layer, &r.Source, &r.Reason, &r.Status, &r.Code, &r.Name, &r.Outcome, &r.Note,
			&r.ArgumentsSHA256, &r.ResultSHA256}
		if a := r.Approval; a != nil {
			all = append(all, &a.By, &a.Answer, &a.Scope)
		}
		for _, text := range all {
			if !yield(text) {
				return
			}
		}
	}
}

// A record is written as if none had been before it.
func TestTextsOfRecordsBefore(t *testing.T) {
	o := Options{Secrets: []string{"hunter22"}}
	l, fresh := openLog(t, logPath(t), o), openLog(t, logPath(t), o)
	text := rapid.SampledFrom([]string{"", "a", "b", "ab", "ba", "hunter22", "\"hunter22\"", strings.Repeat("x", maxText+1)})
	rapid.Check(t, func(t *rapid.T) {
		r := Record{Kind: KindCall, Time: day}
		for field := range textsOf(&r) {
			*field = text.Draw(t, "text")
		}
		fresh.recent = recentTexts{}
		want, err := r.appendTo(nil, fresh)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got, err := r.appendTo(nil, l); err != nil || string(got) != string(want) {
				t.Fatalf("%v\n%s\nwant\n%s", err, got, want)
			}
		}
	})
}

func BenchmarkAppendTo(b *testing.B) {
	r := call(1)
	l := openLog(b, logPath(b), Options{})
	var text []byte
	b.ReportAllocs()
	for b.Loop() {
		text, _ = r.appendTo(text[:0], l)
	}
}
