package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// A sample has a field of every kind that a schema is inferred from.
type sample struct {
	Text     string            `json:"text" jsonschema:"free text"`
	Level    int               `json:"level" minimum:"0" maximum:"9"`
	Kind     color             `json:"kind" enum:"red|blue"`
	Count    uint16            `json:"count,omitempty"`
	Ratio    float64           `json:"ratio,omitzero"`
	On       bool              `json:"on"`
	Blob     []byte            `json:"blob"`
	When     time.Time         `json:"when"`
	Addr     netip.Addr        `json:"addr"`
	Free     any               `json:"free"`
	Raw      json.RawMessage   `json:"raw,omitempty"`
	Labels   map[string]string `json:"labels"`
	Points   []point           `json:"points"`
	Maybe    *point            `json:"maybe,omitempty"`
	Untagged string
	Shared
	*Extra
	hidden `json:"hidden"`
}

// Extra is embedded by pointer.
type Extra struct {
	More []int `json:"more,omitempty"`
}

func TestInferSchemaIsStable(t *testing.T) {
	first := infer[sample]()
	for range 100 {
		if again := infer[sample](); again != first {
			t.Fatalf("first\n%s\nthen\n%s", first, again)
		}
	}
}

func TestInferredSchemaAcceptsWhatIsDecoded(t *testing.T) {
	schema := compile(t, infer[sample]())
	asOutput, err := inferSchema("tool", reflect.TypeFor[sample](), ofOutput)
	if err != nil {
		t.Fatal(err)
	}
	output := compile(t, string(asOutput))
	rapid.Check(t, func(t *rapid.T) {
		in := drawSample(t)
		raw, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(schema.Validate(instance), output.Validate(instance)); err != nil {
			t.Fatalf("%s\n%v", raw, err)
		}
		out, err := decode[sample](raw, "bad")
		if err != nil {
			t.Fatalf("%s\n%v", raw, err)
		}
		again, err := json.Marshal(out)
		if err != nil || !bytes.Equal(raw, again) {
			t.Fatalf("%s became\n%s, %v", raw, again, err)
		}
	})
}

func compile(t *testing.T, schema string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("schema.json")
}

func drawSample(t *rapid.T) sample {
	text := rapid.String()
	aPoint := rapid.Custom(func(t *rapid.T) point { return point{rapid.Int().Draw(t, "x"), rapid.Int().Draw(t, "y")} })
	in := sample{
		Text: text.Draw(t, "text"), Level: rapid.IntRange(0, 9).Draw(t, "level"),
		Kind:  color(rapid.SampledFrom([]string{"red", "blue"}).Draw(t, "kind")),
		Count: rapid.Uint16().Draw(t, "count"), Ratio: rapid.Float64().Draw(t, "ratio"), On: rapid.Bool().Draw(t, "on"),
		Blob:   rapid.SliceOf(rapid.Byte()).Draw(t, "blob"),
		When:   time.Unix(rapid.Int64Range(0, 1<<35).Draw(t, "when"), 0).UTC(),
		Addr:   netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "addr"))),
		Free:   rapid.OneOf(rapid.Just[any](nil), text.AsAny(), rapid.Bool().AsAny()).Draw(t, "free"),
		Raw:    rapid.SampledFrom([]json.RawMessage{nil, []byte(`{"a":[1]}`), []byte("2")}).Draw(t, "raw"),
		Labels: rapid.MapOf(text, text).Draw(t, "labels"), Points: rapid.SliceOf(aPoint).Draw(t, "points"),
		Maybe: rapid.Ptr(aPoint, true).Draw(t, "maybe"), Untagged: text.Draw(t, "untagged"),
		Shared: Shared{ID: text.Draw(t, "id"), Note: text.Draw(t, "note")},
		hidden: hidden{Seen: text.Draw(t, "seen")},
	}
	if rapid.Bool().Draw(t, "extra") {
		in.Extra = &Extra{More: rapid.SliceOf(rapid.Int()).Draw(t, "more")}
	}
	return in
}

func TestDecode(t *testing.T) {
	for raw, want := range map[string]string{
		``:                 "",
		" \n":              "",
		`{}`:               "",
		`{"x":1,"y":2} `:   "",
		`{"x":1}{"x":2}`:   "bad: there is more behind the JSON object",
		`{"x":1} trailing`: "bad: there is more behind the JSON object",
		`{"z":1}`:          `bad: json: unknown field "z"`,
		`{"x":"1"}`:        "bad: x: must be a whole number, got a string",
		`[]`:               "bad: must be an object, got an array",
		`{`:                "bad: unexpected EOF",
	} {
		t.Run(raw, func(t *testing.T) {
			_, err := decode[point](json.RawMessage(raw), "bad")
			switch {
			case want == "" && err != nil:
				t.Error(err)
			case want != "" && (err == nil || err.Error() != want || CodeOf(err) != CodeInvalidArgs):
				t.Errorf("error is %v with code %q, want %q", err, CodeOf(err), want)
			}
		})
	}
}

type numbers struct {
	I    int             `json:"i"`
	I8   int8            `json:"i8"`
	U    uint64          `json:"u"`
	P    *int            `json:"p"`
	F    float64         `json:"f"`
	List []point         `json:"list"`
	Map  map[string]int  `json:"map"`
	Raw  json.RawMessage `json:"raw"`
	Free any             `json:"free"`
}

// Whole numbers are integers in every form that JSON has for them, wherever they are; other values stay as written.
func TestWholeNumbersInAnyForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n")
		small := rapid.Int8().Draw(t, "small")
		form := func(v any) string {
			s := fmt.Sprint(v)
			zeros := len(s) - len(strings.TrimRight(s, "0"))
			switch rapid.IntRange(0, 5).Draw(t, "form") {
			case 1:
				return s + ".0"
			case 2:
				return s + ".000e0"
			case 3:
				if s != "0" {
					return fmt.Sprintf("%sE+%02d", s[:len(s)-zeros], zeros)
				}
			case 4:
				if s != "0" {
					return s + "00e-2"
				}
			case 5:
				if head := strings.TrimLeft(s, "-"); len(head) > 1 {
					return fmt.Sprintf("%s%s.%se%d", s[:len(s)-len(head)], head[:1], head[1:], len(head)-1)
				}
			}
			return s
		}
		raw := fmt.Sprintf(`{"i": %s, "i8":%s,"u":%s ,"p":%s,"f":1.0,"list":[{"x":1},{"y":%s}],"map":{"a":%s},`+
			`"raw":[1.0, 1e2],"free":1.0}`, form(n), form(small), form(uint64(n)), form(n), form(n), form(n))
		got, err := decode[numbers](json.RawMessage(raw), "bad")
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		p := int(n)
		want := numbers{I: p, I8: small, U: uint64(n), P: &p, F: 1, List: []point{{X: 1}, {Y: p}},
			Map: map[string]int{"a": p}, Raw: json.RawMessage(`[1.0, 1e2]`), Free: 1.0}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s is\n%+v, want\n%+v", raw, got, want)
		}
	})
}

func TestWholeNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,22})(\.[0-9]{1,6})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number")
		digits, ok := wholeNumber(number)
		exact, _ := new(big.Rat).SetString(number)
		if limit := new(big.Rat).SetFloat64(1e20); !exact.IsInt() || new(big.Rat).Abs(exact).Cmp(limit) >= 0 {
			if ok {
				t.Fatalf("%s is %s", number, digits)
			}
			return
		}
		if !ok || digits != exact.Num().String() {
			t.Fatalf("%s is %q, %v, want %s", number, digits, ok, exact.Num())
		}
	})
	for _, number := range []string{"1e999999999", "1e99999999999999999999", "1e-99999999999999999999", "1.5", "1e-1"} {
		if digits, ok := wholeNumber(number); ok {
			t.Errorf("%s is %s", number, digits)
		}
	}
}

type step interface{ steps() }

type jump struct {
	N int `json:"n"`
}

func (jump) steps() {}

func init() { RegisterOneOf("kind", map[string]step{"jump": jump{}}) }

func TestWholeNumbersOfUnions(t *testing.T) {
	type arguments struct {
		Steps []OneOf[step] `json:"steps"`
	}
	in, err := decode[arguments](json.RawMessage(`{"steps":[{"n":1.0,"kind":"jump"},{"kind":"jump","n":2e1}]}`), "bad")
	want := arguments{[]OneOf[step]{{jump{1}}, {jump{20}}}}
	if err != nil || !reflect.DeepEqual(in, want) {
		t.Errorf("%+v, %v", in, err)
	}
	_, err = decode[arguments](json.RawMessage(`{"steps":[{"n":1.5,"kind":"jump"}]}`), "bad")
	if e, ok := err.(*Error); !ok || e.Message != "bad: steps[0].n: must be a whole number, got 1.5" ||
		!strings.HasPrefix(e.Suggestion, "Give steps[0].n a whole number") {
		t.Errorf("%v", err)
	}
}
