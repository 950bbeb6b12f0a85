package elicit

import (
	"encoding/json"
	"strings"
	"testing"
)

const form = `{"type":"object","properties":{
	"name":{"type":"string","minLength":2,"maxLength":4,"pattern":"^[a-zé]+$"},
	"count":{"type":"integer","minimum":1,"maximum":9},
	"share":{"type":"number"},
	"sure":{"type":"boolean"},
	"color":{"type":"string","enum":["red","green"]},
	"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l"}]},
	"tags":{"type":"array","items":{"type":"string","enum":["a","b"]},"minItems":1,"maxItems":2},
	"kinds":{"type":"array","items":{"anyOf":[{"const":"x"}]}},
	"day":{"type":"string","format":"date"},"at":{"type":"string","format":"date-time"},
	"mail":{"type":"string","format":"email"},"link":{"type":"string","format":"uri"}
},"required":["name"]}`

func TestAnswers(t *testing.T) {
	for answer, want := range map[string]string{
		`{"action":"decline","content":{"name":1}}`:                    "",
		`{"action":"cancel"}`:                                          "",
		`{"action":"accept","content":{"name":"ab"}}`:                  "",
		`{"action":"accept","content":{"name":"éé","other":{"a":[]}}}`: "",
		`{"action":"accept","content":{"name":"ab","count":9.0}}`:      "",
		`{"action":"accept","content":{"name":"ab","color":"red"}}`:    "",
		`{"action":"accept","content":{"name":"ab","size":"l"}}`:       "",
		`{"action":"accept","content":{"name":"ab","tags":["a","b"]}}`: "",
		`{"action":"accept","content":{"name":"ab","day":"2026-11-23","at":"2026-11-23T10:00:00Z","mail":"a@b",` +
			`"link":"x:y","sure":true,"share":0.5,"kinds":[]}}`: "",

		`{}`:                                 `the action ""`,
		`[]`:                                 "cannot be read",
		`{"action":"maybe"}`:                 `the action "maybe"`,
		`{"action":"accept"}`:                `"name" is missing`,
		`{"action":"accept","content":null}`: `"name" is missing`,
		`{"action":"accept","content":[]}`:   "must be an object",
		`{"action":"accept","content":{"name":"a"}}`:                                      "at least 2 characters",
		`{"action":"accept","content":{"name":"abcde"}}`:                                  "at most 4 characters",
		`{"action":"accept","content":{"name":"AB"}}`:                                     "must match",
		`{"action":"accept","content":{"name":null}}`:                                     "must be a text",
		`{"action":"accept","content":{"name":"ab","count":0}}`:                           "at least 1",
		`{"action":"accept","content":{"name":"ab","count":10}}`:                          "at most 9",
		`{"action":"accept","content":{"name":"ab","count":1.5}}`:                         "whole number",
		`{"action":"accept","content":{"name":"ab","count":"1"}}`:                         "must be a number",
		`{"action":"accept","content":{"name":"ab","share":null}}`:                        "must be a number",
		`{"action":"accept","content":{"name":"ab","sure":"yes"}}`:                        "true or false",
		`{"action":"accept","content":{"name":"ab","color":"blue"}}`:                      "one of its list",
		`{"action":"accept","content":{"name":"ab","size":"m"}}`:                          "one of its list",
		`{"action":"accept","content":{"name":"ab","tags":[]}}`:                           "at least 1 items",
		`{"action":"accept","content":{"name":"ab","tags":["a","b","a"]}}`:                "at most 2 items",
		`{"action":"accept","content":{"name":"ab","tags":["c"]}}`:                        "only what is in its list",
		`{"action":"accept","content":{"name":"ab","tags":"a"}}`:                          "list of texts",
		`{"action":"accept","content":{"name":"ab","kinds":["y"]}}`:                       "only what is in its list",
		`{"action":"accept","content":{"name":"ab","day":"23.11."}}`:                      "format date",
		`{"action":"accept","content":{"name":"ab","at":"10:00"}}`:                        "format date-time",
		`{"action":"accept","content":{"name":"ab","mail":"a b@c"}}`:                      "format email",
		`{"action":"accept","content":{"name":"ab","link":"/x"}}`:                         "format uri",
		`{"action":"accept","content":{"name":"` + strings.Repeat("a", maxAnswer) + `"}}`: "the limit is 65536",
	} {
		q := &Question{Message: "?", RequestedSchema: json.RawMessage(form)}
		a, err := q.ReadAnswer(json.RawMessage(answer))
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%.80s gives %v, want %q", answer, err, want)
		case err == nil && strings.Contains(string(a.Content), "other"):
			t.Errorf("%.80s gives %s", answer, a.Content)
		}
	}
	q := &Question{RequestedSchema: json.RawMessage(`{"type":"array"}`)}
	if _, err := q.ReadAnswer(json.RawMessage(`{"action":"accept","content":{"x":[1]}}`)); err == nil {
		t.Error("an answer fits what is no form")
	}
}

func TestForms(t *testing.T) {
	many := `{"type":"object","properties":{` + strings.Repeat(`"x":{"type":"string"},`, 3) + `"y":{"type":"string"}}}`
	for schema, ok := range map[string]bool{
		"": true, form: true, many: true, `{"type":"object"}`: true,
		`{"type":"object","properties":null}`: true, `{"type":"array"}`: false, `[]`: false, `{"type":"object","properties":[]}`: false,
		`{"type":"object","properties":{"x":null}}`:                                       false,
		`{"type":"object","properties":{"x":{"type":"object"}}}`:                          false,
		`{"type":"object","properties":{"x":{"type":["string","null"]}}}`:                 false,
		`{"type":"object","properties":{"x":{"type":"array"}}}`:                           false,
		`{"type":"object","properties":{"x":{"type":"array","items":{"type":"object"}}}}`: false,
		`{"type":"object","properties":{"x":{"type":"string","pattern":"("}}}`:            false,
		`{"type":"object","required":["x"]}`:                                              false,
	} {
		if _, err := ParseForm(json.RawMessage(schema)); (err == nil) != ok {
			t.Errorf("%.60s gives %v", schema, err)
		}
	}
	properties := map[string]any{}
	for i := range maxFields + 1 {
		properties[strings.Repeat("x", i+1)] = map[string]string{"type": "string"}
	}
	wide, _ := json.Marshal(map[string]any{"type": "object", "properties": properties})
	if _, err := ParseForm(wide); err == nil {
		t.Error("a form has more than 100 fields")
	}
}

func TestLimitsOfAQuestion(t *testing.T) {
	for _, q := range []*Question{{Message: strings.Repeat("x", maxMessage+1)},
		{RequestedSchema: json.RawMessage(strings.Repeat(" ", maxForm+1))}} {
		if q.Check() == nil {
			t.Error("it is within the limits")
		}
	}
	if q := (&Question{Message: strings.Repeat("x", maxMessage)}); q.Check() != nil {
		t.Error("it is over a limit")
	}
}

func TestWaiting(t *testing.T) {
	var w Waiting[*int]
	calls := make([]int, maxWaiting+1)
	for i := range calls {
		if added := w.Add(string(rune('a'+i)), &calls[i]); added != (i < maxWaiting) {
			t.Errorf("call %d is added: %v", i, added)
		}
	}
	ran := 0
	for _, want := range []bool{true, false} {
		if got := w.Take("a", &calls[0], func() { ran++ }); got != want || w.Get("a") != nil {
			t.Errorf("the call is taken: %v, want %v", got, want)
		}
	}
	if w.Take("b", &calls[0], func() { ran++ }) || w.Get("b") != &calls[1] || ran != 1 || !w.Add("a", &calls[0]) {
		t.Error("another call is taken, or a taken one has no place")
	}
}
