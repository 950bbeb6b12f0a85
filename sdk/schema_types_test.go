package sdk

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

type (
	tree struct {
		Name string  `json:"name" jsonschema:"Of the node"`
		Kids []*tree `json:"kids,omitempty"`
	}
	shape  interface{ area() float64 }
	circle struct {
		_      struct{} `jsonschema:"A round one"`
		Radius float64  `json:"radius" exclusiveMinimum:"0"`
	}
	square struct {
		Side float64 `json:"side"`
	}
	point0 struct{}
	group  struct {
		Shapes []OneOf[shape] `json:"shapes"`
	}
	unknownShape interface{ unknown() }
	Below        struct {
		ID   int    `json:"id"`
		Only string `json:"only"`
	}
	Deeper struct{ Below }
	Other  struct {
		Only int `json:"only"`
	}
	树 struct {
		Up *树 `json:"up"`
	}
)

func (circle) area() float64  { return 0 }
func (*square) area() float64 { return 0 }
func (point0) area() float64  { return 0 }
func (group) area() float64   { return 0 }

func init() {
	RegisterOneOf("kind", map[string]shape{"circle": circle{}, "square": &square{}, "point": point0{}, "group": group{}})
}

const closed = `"additionalProperties":false`

func TestRecursiveTypes(t *testing.T) {
	const inner = `{"type":"object","properties":{"name":{"type":"string","description":"Of the node"},` +
		`"kids":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"required":["name"],` + closed
	for name, c := range map[string]struct{ got, want string }{
		"the arguments themselves": {infer[tree](), inner + `,"$defs":{"tree":` + inner + `}}}`},
		"in a field, described": {infer[struct {
			F *tree `json:"f" jsonschema:"All of it"`
		}](), `{"type":"object","properties":{"f":{"$ref":"#/$defs/tree","description":"All of it"}},` + closed +
			`,"$defs":{"tree":` + inner + `}}}`},
		"twice": {infer[struct {
			F tree `json:"f"`
			G tree `json:"g,omitempty"`
		}](), `{"type":"object","properties":{"f":{"$ref":"#/$defs/tree"},"g":{"$ref":"#/$defs/tree"}},"required":["f"],` +
			closed + `,"$defs":{"tree":` + inner + `}}}`},
		"a map": {infer[struct {
			F forest `json:"f"`
		}](), `{"type":"object","properties":{"f":{"$ref":"#/$defs/forest"}},"required":["f"],` + closed +
			`,"$defs":{"forest":{"type":"object","additionalProperties":{"$ref":"#/$defs/forest"}}}}`},
		"a list of the type, first": {infer[struct {
			F []tree `json:"f"`
		}](), `{"type":"object","properties":{"f":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"required":["f"],` +
			closed + `,"$defs":{"tree":` + inner + `}}}`},
		"a name without ASCII letters": {infer[struct {
			F *树 `json:"f"`
		}](), `{"type":"object","properties":{"f":{"$ref":"#/$defs/type"}},` + closed +
			`,"$defs":{"type":{"type":"object","properties":{"up":{"$ref":"#/$defs/type"}},` + closed + `}}}`},
		"a generic type": {infer[struct {
			F []chain[pair[int, color]] `json:"f"`
		}](), `{"type":"object","properties":{"f":{"type":"array","items":{"$ref":"#/$defs/chain_pair_int_color"}}},` +
			`"required":["f"],` + closed + `,"$defs":{"chain_pair_int_color":{"type":"object","properties":{` +
			`"value":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a","b"],` +
			closed + `},"next":{"$ref":"#/$defs/chain_pair_int_color"}},"required":["value"],` + closed + `}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("got  %s\nwant %s", c.got, c.want)
			}
			compile(t, c.got)
		})
	}
}

type chain[T any] struct {
	Value T         `json:"value"`
	Next  *chain[T] `json:"next"`
}

func TestEmbeddedFieldsHideEachOtherAsInEncodingJSON(t *testing.T) {
	type hides struct {
		Deeper
		Other
		Own string `json:"own"`
	}
	got := infer[hides]()
	want := `{"type":"object","properties":{"id":{"type":"integer"},"only":{"type":"integer"},"own":{"type":"string"}},` +
		`"required":["id","only","own"],` + closed + `}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	in, err := decode[hides](json.RawMessage(`{"id":1,"only":2,"own":"x"}`), "bad")
	if err != nil || in.Only != 2 || in.Below.Only != "" {
		t.Errorf("decoded %+v, %v", in, err)
	}
	equallyDeep := reflect.StructOf([]reflect.StructField{
		{Name: "Below", Type: reflect.TypeFor[Below](), Anonymous: true},
		{Name: "Other", Type: reflect.TypeFor[Other](), Anonymous: true},
	})
	_, err = inferSchema("tool", equallyDeep, ofInput)
	want = `tool: Other.Only: two fields have the JSON name "only"; the other is Below.Only`
	if err == nil || err.Error() != want {
		t.Errorf("equally deep: %v, want %s", err, want)
	}
}

func TestOneOf(t *testing.T) {
	type arguments struct {
		Shape OneOf[shape] `json:"shape" jsonschema:"What to draw"`
	}
	schema := infer[arguments]()
	const group = `{"type":"object","properties":{"kind":{"type":"string","const":"group"},"shapes":{"type":"array",` +
		`"items":{"$ref":"#/$defs/shape"}}},"required":["kind","shapes"],` + closed + `}`
	want := `{"type":"object","properties":{"shape":{"$ref":"#/$defs/shape","description":"What to ` +
		`draw"}},"required":["shape"],` +
		closed + `,"$defs":{"shape":{"oneOf":[` +
		`{"type":"object","properties":{"kind":{"type":"string","const":"circle"},"radius":{"type":"number",` +
		`"exclusiveMinimum":0}},"required":["kind","radius"],` + closed + `,"description":"A round one"},` + group + `,` +
		`{"type":"object","properties":{"kind":{"type":"string","const":"point"}},` + closed + `,"required":["kind"]},` +
		`{"type":"object","properties":{"kind":{"type":"string","const":"square"},"side":{"type":"number"}},` +
		`"required":["kind","side"],` + closed + `}]}}}`
	if schema != want {
		t.Errorf("got  %s\nwant %s", schema, want)
	}
	compile(t, schema)
	for raw, want := range map[string]shape{
		`{"shape":{"kind":"circle","radius":2}}`:                 circle{Radius: 2},
		`{"shape":{"side":3,"kind":"square"}}`:                   &square{Side: 3},
		`{"shape":{"kind":"point"}}`:                             point0{},
		`{"shape":{"kind":"group","shapes":[{"kind":"point"}]}}`: testGroup(point0{}),
		`{"shape":null}`:                                         nil,
	} {
		in, err := decode[arguments](json.RawMessage(raw), "bad")
		if err != nil || !reflect.DeepEqual(in.Shape.Value, want) {
			t.Errorf("%s is %#v, %v", raw, in.Shape.Value, err)
		}
		back, err := json.Marshal(in)
		again, failed := decode[arguments](back, "bad")
		if err != nil || failed != nil || !reflect.DeepEqual(again, in) {
			t.Errorf("%s became %s, %v %v", raw, back, err, failed)
		}
	}
	for raw, want := range map[string]string{
		`{"shape":{"kind":"star"}}`:                    `bad: shape: "kind" must be one of circle, group, point, square`,
		`{"shape":{"radius":1}}`:                       `bad: shape: "kind" must be one of circle, group, point, square`,
		`{"shape":{"kind":"circle","side":1}}`:         `bad: shape: circle: json: unknown field "side"`,
		`{"shape":[1]}`:                                `bad: shape: must be an object with a member "kind"`,
		`{"shape":{"kind":"circle","radius":"large"}}`: `bad: shape.radius: must be a number of at most 64 bits, got a string`,
	} {
		_, err := decode[arguments](json.RawMessage(raw), "bad")
		if err == nil || !strings.HasPrefix(err.Error(), want) || CodeOf(err) != CodeInvalidArgs {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
}

func testGroup(of ...shape) (out group) {
	for _, s := range of {
		out.Shapes = append(out.Shapes, OneOf[shape]{s})
	}
	return out
}

func TestMistakesOfRegisterOneOf(t *testing.T) {
	type another interface{ area() float64 }
	const panics = "sdk: RegisterOneOf: "
	for name, c := range map[string]struct {
		wrong func()
		want  string
	}{
		"no interface": {func() { RegisterOneOf("kind", map[string]circle{"a": {}}) },
			panics + "sdk.circle is not an interface; name one in the type of the map, as in map[string]shape{…}"},
		"no discriminator": {func() { RegisterOneOf("", map[string]another{"a": circle{}}) },
			panics + `the discriminator "" is not a name; use one such as kind`},
		"nothing": {func() { RegisterOneOf("kind", map[string]another{}) }, panics + "sdk.another has no types"},
		"a nil": {func() { RegisterOneOf("kind", map[string]another{"a": nil}) },
			`"a": the value is nil; give a value`},
		"no struct": {func() { RegisterOneOf("kind", map[string]any{"a": 1}) }, `"a": int is not a struct`},
		"decodes": {func() { RegisterOneOf("kind", map[string]any{"a": time.Time{}}) },
			"time.Time has methods of encoding/json"},
		"a type twice": {func() { RegisterOneOf("kind", map[string]another{"a": circle{}, "b": &circle{}}) },
			`"b": *sdk.circle is "a" already`},
		"an interface twice": {func() { RegisterOneOf("kind", map[string]shape{"a": circle{}}) },
			"sdk.shape is registered twice; register all its types in one call"},
		"embedded": {func() {
			must(inferSchema("tool", reflect.TypeFor[struct {
				OneOf[shape]
				N int
			}](), ofInput))
		}, "embeds a sdk.OneOf, whose JSON replaces that of the whole struct; give that field a name"},
		"not registered": {func() { must(inferSchema("tool", reflect.TypeFor[struct{ F OneOf[unknownShape] }](), ofInput)) },
			"sdk: tool: F: no types are registered for sdk.unknownShape; call sdk.RegisterOneOf with them before sdk.AddTool"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got, _ := recover().(string); !strings.Contains(got, c.want) {
					t.Errorf("it panics with %q, want %q", got, c.want)
				}
			}()
			c.wrong()
		})
	}
}

func TestOutputSchemas(t *testing.T) {
	type result struct {
		Names  []string       `json:"names"`
		Few    []int          `json:"few,omitempty"`
		Count  *int           `json:"count"`
		Maybe  *string        `json:"maybe,omitempty"`
		Labels map[string]int `json:"labels"`
		Matrix [][]int        `json:"matrix"`
		When   time.Time      `json:"when"`
		Took   Duration       `json:"took"`
		Level  *string        `json:"level" enum:"low|high"`
		Few2   []*string      `json:"few2" minLength:"2" enum:"ab|cd"`
		Tree   *tree          `json:"tree"`
		Any    any            `json:"any"`
		Shape  OneOf[shape]   `json:"shape,omitzero"`
	}
	raw, err := inferSchema("tool", reflect.TypeFor[*result](), ofOutput)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"names":{"type":["array","null"],"items":{"type":"string"}}`,
		`"few":{"type":"array","items":{"type":"integer"}}`,
		`"count":{"type":["integer","null"]}`,
		`"maybe":{"type":"string"}`,
		`"labels":{"type":["object","null"],"additionalProperties":{"type":"integer"}}`,
		`"matrix":{"type":["array","null"],"items":{"type":["array","null"],"items":{"type":"integer"}}}`,
		`"when":{"type":"string","format":"date-time"}`,
		`"level":{"type":["string","null"],"enum":["low","high",null]}`,
		`"few2":{"type":["array","null"],"items":{"type":["string","null"],"minLength":2,"enum":["ab","cd",null]}}`,
		`"tree":{"anyOf":[{"$ref":"#/$defs/tree"},{"type":"null"}]}`,
		`"any":{}`,
		`"required":["names","count","labels","matrix","when","took","level","few2","tree","any"]`,
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s\nhas no %s", raw, want)
		}
	}
	schema := compile(t, string(raw))
	level := "low"
	for _, value := range []result{{},
		{Names: []string{"a"}, Few: []int{1}, Count: new(int), Labels: map[string]int{"a": 1},
			Matrix: [][]int{nil, {1}}, Level: &level, Tree: &tree{Kids: []*tree{{}}}, Shape: OneOf[shape]{circle{Radius: 1}}}} {
		r, err := structured(&value)
		if err != nil {
			t.Fatal(err)
		}
		var instance any
		if err := json.Unmarshal(r.Structured, &instance); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance); err != nil {
			t.Errorf("%s: %v", r.Structured, err)
		}
	}
}
