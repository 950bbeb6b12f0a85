package rawjson

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestObjectKeepsBytes(t *testing.T) {
	raw := ` { "b" : 9007199254740993.10 , "a\u0062":[ 1, {"x":"}\"]\\"} ],"":"" ,"b":{}, "n":null} `
	o := ObjectOf([]byte(raw))
	const whole = `{"b":9007199254740993.10,"ab":[ 1, {"x":"}\"]\\"} ],"":"","b":{},"n":null}`
	if got := string(o.JSON()); got != whole {
		t.Errorf("%s, want %s", got, whole)
	}
	if got := string(o.Get("b")); got != "9007199254740993.10" {
		t.Errorf("the first b is %s", got)
	}
	if got := o.Get("c"); got != nil {
		t.Errorf("c is %s", got)
	}
	rest := o.Without("b", "ab", "c")
	rest.Add("left out", nil)
	rest.Add("q\"\\\n\x01\xff", json.RawMessage("1"))
	if got := string(rest.JSON()); got != `{"":"","n":null,"q\"\\\n\u0001`+"\uFFFD"+`":1}` {
		t.Error(got)
	}
	if got := rest.Without("", "n", rest[2].Name).JSON(); got != nil {
		t.Errorf("without members it is %s", got)
	}
	text := []byte(`{"a":[1],"b":2}`)
	if _ = append(ObjectOf(text).Get("a"), '!'); string(text) != `{"a":[1],"b":2}` {
		t.Errorf("what is appended to a value overwrites %s", text)
	}
}

func TestOtherTextsHaveNoMembers(t *testing.T) {
	for _, raw := range []string{"", "{", `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":"x`, `{"a":"\`, `{"a" 1}`, `[`, `[1`,
		`{]`, `{"a":}}`, `{,}`, `5`, `"x"`, `[1 2]`, `[,]`, `{"a":1}x`, `null`, `[{"a":1}]`} {
		if o := ObjectOf([]byte(raw)); len(o) > 0 {
			t.Errorf("%s has the members %v", raw, o)
		}
	}
}

func TestObjectHasTheMembersOfEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.MapOf(rapid.String(), rapid.OneOf(rapid.Map(rapid.String(), func(s string) any { return s }),
			rapid.Map(rapid.SliceOf(rapid.String()), func(s []string) any { return s }),
			rapid.Map(rapid.MapOf(rapid.String(), rapid.Float64()), func(m map[string]float64) any { return m }))).
			Draw(t, "value")
		raw, err := json.Marshal(value)
		if err != nil {
			t.Skip()
		}
		var want, again map[string]json.RawMessage
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		o := ObjectOf(raw)
		if len(o) != len(want) {
			t.Fatalf("%d members of %s", len(o), raw)
		}
		for _, m := range o {
			if string(want[m.Name]) != string(m.Value) {
				t.Fatalf("%q is %s, want %s", m.Name, m.Value, want[m.Name])
			}
		}
		if written := o.JSON(); len(o) > 0 && (json.Unmarshal(written, &again) != nil || len(again) != len(want)) {
			t.Fatalf("%s is written as %s", raw, written)
		}
	})
}
