package sdk

import (
	"encoding/json"
	"io"
	"math/big"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type (
	color string // a named string
	tags  []string

	point struct {
		X int `json:"x"`
		Y int `json:"y,omitempty"`
	}
	hidden struct {
		Seen string `json:"seen"`
	}
	Shared struct {
		ID   string `json:"id"`
		Note string `json:"note,omitempty"`
	}
	pair[A, B any] struct {
		A A `json:"a"`
		B B `json:"b"`
	}
	stamped struct{ time.Time } // unmarshals itself from text, through the embedded type
)

// infer returns the schema, or the error's text.
func infer[T any]() string {
	s, err := inferSchema(`tool "t"`, reflect.TypeFor[T](), ofInput)
	if err != nil {
		return err.Error()
	}
	return string(s)
}

// of is the schema of a struct with one required field f that has this schema.
func of(field string) string {
	return `{"type":"object","properties":{"f":` + field + `},"required":["f"],"additionalProperties":false}`
}

func TestInferSchemaOfTypes(t *testing.T) {
	for name, c := range map[string]struct{ got, want string }{
		"string": {infer[struct {
			F string `json:"f"`
		}](), of(`{"type":"string"}`)},
		"named string": {infer[struct {
			F color `json:"f"`
		}](), of(`{"type":"string"}`)},
		"bool": {infer[struct {
			F bool `json:"f"`
		}](), of(`{"type":"boolean"}`)},
		"int64": {infer[struct {
			F int64 `json:"f"`
		}](), of(`{"type":"integer"}`)},
		"uint8": {infer[struct {
			F uint8 `json:"f"`
		}](), of(`{"type":"integer","minimum":0,"maximum":255}`)},
		"uint64": {infer[struct {
			F uint64 `json:"f"`
		}](), of(`{"type":"integer","minimum":0}`)},
		"int32": {infer[struct {
			F int32 `json:"f"`
		}](), of(`{"type":"integer","minimum":-2147483648,"maximum":2147483647}`)},
		"float32": {infer[struct {
			F float32 `json:"f"`
		}](), of(`{"type":"number"}`)},
		"duration": {infer[struct {
			F time.Duration `json:"f"`
		}](), of(`{"type":"integer","description":"nanoseconds"}`)},
		"duration with a description": {infer[struct {
			F time.Duration `json:"f" jsonschema:"How long"`
		}](), of(`{"type":"integer","description":"How long (nanoseconds)"}`)},
		"durations": {infer[struct {
			F []time.Duration `json:"f" jsonschema:"Waits"`
		}](), of(`{"type":"array","items":{"type":"integer","description":"nanoseconds"},"description":"Waits"}`)},
		"duration as text": {infer[struct {
			F Duration `json:"f" default:"30s"`
		}](), of(`{"type":"string","pattern":"` + durationPattern + `","examples":["1m30s","250ms"],"default":"30s"}`)},
		"json.Number": {infer[struct {
			F json.Number `json:"f"`
		}](), of(`{"type":"number"}`)},
		"slice": {infer[struct {
			F []int `json:"f"`
		}](), of(`{"type":"array","items":{"type":"integer"}}`)},
		"array": {infer[struct {
			F [3]int `json:"f"`
		}](), of(`{"type":"array","items":{"type":"integer"},"minItems":3,"maxItems":3}`)},
		"named slice": {infer[struct {
			F tags `json:"f"`
		}](), of(`{"type":"array","items":{"type":"string"}}`)},
		"bytes": {infer[struct {
			F []byte `json:"f"`
		}](), of(`{"type":"string","contentEncoding":"base64"}`)},
		"map": {infer[struct {
			F map[string]bool `json:"f"`
		}](), of(`{"type":"object","additionalProperties":{"type":"boolean"}}`)},
		"map of any": {infer[struct {
			F map[color]any `json:"f"`
		}](), of(`{"type":"object","additionalProperties":{}}`)},
		"map of numbers": {infer[struct {
			F map[int8]string `json:"f"`
		}](), of(`{"type":"object","additionalProperties":{"type":"string"},"propertyNames":{"pattern":"^-?[0-9]+$"}}`)},
		"map of what reads text": {infer[struct {
			F map[netip.Addr]bool `json:"f"`
		}](), of(`{"type":"object","additionalProperties":{"type":"boolean"}}`)},
		"a generic type": {infer[struct {
			F pair[int, color] `json:"f"`
		}](), of(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a","b"],` +
			`"additionalProperties":false}`)},
		"time": {infer[struct {
			F time.Time `json:"f"`
		}](), of(`{"type":"string","format":"date-time"}`)},
		"raw JSON": {infer[struct {
			F json.RawMessage `json:"f"`
		}](), of(`{}`)},
		"any": {infer[struct {
			F any `json:"f"`
		}](), of(`{}`)},
		"reads text": {infer[struct {
			F netip.Addr `json:"f"`
		}](), of(`{"type":"string"}`)},
		"reads JSON": {infer[struct {
			F big.Int `json:"f"`
		}](), of(`{}`)},
		"embedded time": {infer[struct {
			F stamped `json:"f"`
		}](), of(`{}`)},
		"pointer": {infer[struct {
			F *int `json:"f"`
		}](), `{"type":"object","properties":{"f":{"type":"integer"}},"additionalProperties":false}`},
		"slice of structs": {infer[struct {
			F []point `json:"f"`
		}](), of(`{"type":"array","items":` +
			`{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"integer"}},"required":["x"],` +
			`"additionalProperties":false}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInferSchemaOfFields(t *testing.T) {
	const none = `{"type":"object","properties":{},"additionalProperties":false}`
	for name, c := range map[string]struct{ got, want string }{
		"no fields": {infer[struct{}](), none},
		"unexported": {infer[struct {
			F string `json:"-"`
			f string
		}](), none},
		"left out": {infer[struct {
			F string `json:"-"`
		}](), none},
		"untagged": {infer[struct{ First, Second string }](),
			`{"type":"object","properties":{"First":{"type":"string"},"Second":{"type":"string"}},"required":["First",` +
				`"Second"],"additionalProperties":false}`},
		"called -": {infer[struct {
			F string `json:"-,"`
		}](),
			`{"type":"object","properties":{"-":{"type":"string"}},"required":["-"],"additionalProperties":false}`},
		"optional": {infer[struct {
			A string  `json:"a,omitempty"`
			B string  `json:"b,omitzero"`
			C *string `json:"c"`
			D string  `json:",omitempty"`
		}](), `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"},` +
			`"D":{"type":"string"}},"additionalProperties":false}`},
		"embedded": {infer[struct {
			Shared
			hidden
			Own string `json:"own"`
		}](), `{"type":"object","properties":{"id":{"type":"string"},"note":{"type":"string"},"seen":{"type":"string"},` +
			`"own":{"type":"string"}},` +
			`"required":["id","seen","own"],"additionalProperties":false}`},
		"embedded under a name": {infer[struct {
			hidden `json:"h"`
			Shared `json:"s"`
		}](), `{"type":"object","properties":{` +
			`"h":{"type":"object","properties":{"seen":{"type":"string"}},"required":["seen"],"additionalProperties":false},` +
			`"s":{"type":"object","properties":{"id":{"type":"string"},"note":{"type":"string"}},"required":["id"],` +
			`"additionalProperties":false}},` +
			`"required":["h","s"],"additionalProperties":false}`},
		"embedded pointer": {infer[struct {
			*Shared
			Own string `json:"own"`
		}](), `{"type":"object","properties":{"id":{"type":"string"},"note":{"type":"string"},"own":{"type":"string"}},` +
			`"required":["own"],"additionalProperties":false}`},
		"embedded and left out": {infer[struct {
			Shared `json:"-"`
		}](), none},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInferSchemaOfTags(t *testing.T) {
	for name, c := range map[string]struct{ got, want string }{
		"description with a comma and quotes": {infer[struct {
			F string `json:"f" jsonschema:"first, \"second\" <a & b>, third"`
		}](), of(`{"type":"string","description":"first, \"second\" <a & b>, third"}`)},
		"description of anything": {infer[struct {
			F any `json:"f" jsonschema:"free"`
		}](), of(`{"description":"free"}`)},
		"enum": {infer[struct {
			F color `json:"f" enum:"red|blue"`
		}](), of(`{"type":"string","enum":["red","blue"]}`)},
		"enum of numbers": {infer[struct {
			F int `json:"f" enum:"1|2"`
		}](), of(`{"type":"integer","enum":[1,2]}`)},
		"minimum and maximum": {infer[struct {
			F int `json:"f" minimum:"-1" maximum:"9"`
		}](), of(`{"type":"integer","minimum":-1,"maximum":9}`)},
		"minimum of an unsigned": {infer[struct {
			F uint `json:"f" minimum:"2"`
		}](), of(`{"type":"integer","minimum":2}`)},
		"maximum of an unsigned": {infer[struct {
			F uint `json:"f" maximum:"2"`
		}](), of(`{"type":"integer","minimum":0,"maximum":2}`)},
		"maximum of a json.Number": {infer[struct {
			F json.Number `json:"f" maximum:"2.5"`
		}](), of(`{"type":"number","maximum":2.5}`)},
		"default string": {infer[struct {
			F string `json:"f" default:"5"`
		}](), of(`{"type":"string","default":"5"}`)},
		"default number": {infer[struct {
			F float64 `json:"f" default:"0.5"`
		}](), of(`{"type":"number","default":0.5}`)},
		"default bool": {infer[struct {
			F bool `json:"f" default:"true"`
		}](), of(`{"type":"boolean","default":true}`)},
		"default list": {infer[struct {
			F []int `json:"f" default:"[1,2]"`
		}](), of(`{"type":"array","items":{"type":"integer"},"default":[1,2]}`)},
		"default of what reads text": {infer[struct {
			F netip.Addr `json:"f" default:"::1"`
		}](), of(`{"type":"string","default":"::1"}`)},
		"all of them, behind pointer": {infer[struct {
			F *int `json:"f" jsonschema:"n" minimum:"1" maximum:"3" default:"2" enum:"1|2|3"`
		}](), `{"type":"object","properties":{"f":` +
			`{"type":"integer","description":"n","minimum":1,"maximum":3,"default":2,"enum":[1,2,3]}},` +
			`"additionalProperties":false}`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

type (
	forest  map[string]forest
	Loop    struct{ *Loop }
	wrapper struct {
		Inner struct {
			C chan int `json:"c"`
		} `json:"inner"`
	}
)

func TestInferSchemaRefuses(t *testing.T) {
	for name, c := range map[string]struct{ got, want string }{
		"no struct": {infer[[]string](), `tool "t": []string is not a struct; only structs have named fields. Make it a field of one`},
		"a pointer": {infer[*point](), `tool "t": *sdk.point is a pointer; use sdk.point`},
		"a channel, deep inside": {infer[wrapper](),
			`tool "t": sdk.wrapper.Inner.C: chan int has no JSON Schema; use another type, or bring an InputSchema`},
		"a func": {infer[struct{ F func() }](),
			`tool "t": F: func() has no JSON Schema; use another type, or bring an InputSchema`},
		"an interface": {infer[struct{ F io.Reader }](),
			`tool "t": F: io.Reader has no JSON Schema; use another type, or bring an InputSchema`},
		"a map with other keys": {infer[struct{ F map[bool]string }](), `tool "t": F: map[bool]string: the keys of a ` +
			`JSON object are texts; bool is neither a string nor a whole number, and does not read and write itself as text`},
		"a struct embedded itself": {infer[Loop](),
			`tool "t": sdk.Loop.Loop: sdk.Loop embeds itself; give the field a name`},
		"one name twice": {infer[struct {
			A int `json:"B"`
			B int
		}](), `tool "t": B: two fields have the JSON name "B"; the other is A`},
		"a hidden embedded pointer": {infer[struct{ *hidden }](),
			`tool "t": hidden: encoding/json cannot fill an embedded pointer to an unexported struct`},
		"a name that is none": {infer[struct {
			F int `json:"it's"`
		}](), `tool "t": F: encoding/json does not accept the name "it's"`},
		"numbers as strings": {infer[struct {
			F int `json:"f,string"`
		}](), `tool "t": F: the json option "string" is not supported; use a string, or ` +
			`leave the option out`},
		"enum of another type": {infer[struct {
			F int `enum:"1|two"`
		}](), `tool "t": F: tag enum: "two" is not int`},
		"minimum of a string": {infer[struct {
			F string `minimum:"1"`
		}](), `tool "t": F: tag minimum: string is not a number; did you mean minLength?`},
		"minimum without a number": {infer[struct {
			F int `minimum:"low"`
		}](), `tool "t": F: tag minimum: "low" is not int`},
		"minimum below an unsigned": {infer[struct {
			F uint `minimum:"-1"`
		}](), `tool "t": F: tag minimum: "-1" is not uint`},
		"maximum null": {infer[struct {
			F int `maximum:"null"`
		}](), `tool "t": F: tag maximum: "null" is not int`},
		"default of another type": {infer[struct {
			F bool `default:"yes"`
		}](), `tool "t": F: tag default: "yes" is not bool`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
