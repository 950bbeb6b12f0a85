package main

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestMembersKeepBytes(t *testing.T) {
	raw := json.RawMessage(` { "b" : 9007199254740993.10 , "a\u0062":[ 1, {"x":"}\"]\\"} ],"":"" ,"b":{}, "n":null} `)
	var got []string
	for _, m := range members(raw) {
		got = append(got, m.name+"="+string(m.value))
	}
	want := []string{"b=9007199254740993.10", `ab=[ 1, {"x":"}\"]\\"} ]`, `=""`, "b={}", "n=null"}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("member %d is %s, want %s", i, got[i], want[i])
		}
	}
}

// Text that is no JSON comes from no server here, and must do no harm all the same.
func TestBrokenJSONHasNoMembers(t *testing.T) {
	for _, raw := range []string{"", "{", `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":"x`, `{"a":"\`, `{"a" 1}`, `[`, `[1`,
		`{]`, `{"a":}}`, `{,}`, `5`, `"x"`, `[1 2]`, `[,]`} {
		if m := members(json.RawMessage(raw)); len(m) > 0 {
			t.Errorf("%s has the members %v", raw, m)
		}
		if _, ok := items(json.RawMessage(raw)); ok {
			t.Errorf("%s has items", raw)
		}
	}
}

func TestMembersAreThoseOfEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.MapOf(rapid.String(), rapid.OneOf(rapid.Map(rapid.String(), func(s string) any { return s }),
			rapid.Map(rapid.SliceOf(rapid.String()), func(s []string) any { return s }),
			rapid.Map(rapid.MapOf(rapid.String(), rapid.Float64()), func(m map[string]float64) any { return m }))).
			Draw(t, "value")
		raw, err := json.Marshal(value)
		if err != nil {
			t.Skip()
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		got := members(raw)
		if len(got) != len(want) {
			t.Fatalf("%d members of %s", len(got), raw)
		}
		for _, m := range got {
			if string(want[m.name]) != string(m.value) {
				t.Fatalf("%q is %s, want %s", m.name, m.value, want[m.name])
			}
		}
	})
}

func FuzzMembers(f *testing.F) {
	f.Add([]byte(`{"a":[1,"x"],"b":{"c":null}}`))
	f.Fuzz(func(_ *testing.T, raw []byte) {
		for _, m := range members(raw) {
			_, _ = items(m.value)
		}
	})
}
