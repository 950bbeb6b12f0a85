package sdk

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

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
