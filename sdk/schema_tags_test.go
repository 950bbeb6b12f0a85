package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestTagsOfFields(t *testing.T) {
	for name, c := range map[string]struct{ got, want string }{
		"length": {infer[struct {
			F string `json:"f" minLength:"1" maxLength:"80"`
		}](), of(`{"type":"string","minLength":1,"maxLength":80}`)},
		"pattern and format": {infer[struct {
			F string `json:"f" jsonschema:"An address" pattern:"^[a-z]+@x$" format:"email"`
		}](), of(`{"type":"string","description":"An address","pattern":"^[a-z]+@x$","format":"email"}`)},
		"a list": {infer[struct {
			F []int `json:"f" minItems:"1" maxItems:"9"`
		}](), of(`{"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":9}`)},
		"items of strings": {infer[struct {
			F []color `json:"f" jsonschema:"Colours" enum:"red|green" minItems:"1"`
		}](), of(`{"type":"array","items":{"type":"string","enum":["red","green"]},"description":"Colours","minItems":1}`)},
		"items of numbers": {infer[struct {
			F []*float64 `json:"f" minimum:"0" maximum:"1"`
		}](), of(`{"type":"array","items":{"type":"number","minimum":0,"maximum":1}}`)},
		"items that are unsigned": {infer[struct {
			F []uint8x `json:"f" minimum:"3"`
		}](), of(`{"type":"array","items":{"type":"integer","minimum":3,"maximum":65535}}`)},
		"a pattern of items": {infer[struct {
			F []string `json:"f" pattern:"^a" maxLength:"3" default:"[\"a\"]"`
		}](), of(`{"type":"array","items":{"type":"string","maxLength":3,"pattern":"^a"},"default":["a"]}`)},
		"an enum of numbers": {infer[struct {
			F int `json:"f" enum:"1|2" default:"2"`
		}](), of(`{"type":"integer","default":2,"enum":[1,2]}`)},
		"bytes are text": {infer[struct {
			F []byte `json:"f" minLength:"4"`
		}](), of(`{"type":"string","contentEncoding":"base64","minLength":4}`)},
		"anything": {infer[struct {
			F json.RawMessage `json:"f" jsonschema:"Whatever"`
		}](), of(`{"description":"Whatever"}`)},
		"exclusive bounds and a step": {infer[struct {
			F float64 `json:"f" exclusiveMinimum:"0" exclusiveMaximum:"1" multipleOf:"0.25" default:"0.75"`
		}](), of(`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1,"multipleOf":0.25,"default":0.75}`)},
		"a title, examples, deprecated": {infer[struct {
			F string `json:"f" title:"Name" jsonschema:"Whose" examples:"Ada|Alan" deprecated:"true"`
		}](), of(`{"type":"string","title":"Name","description":"Whose","examples":["Ada","Alan"],"deprecated":true}`)},
		"examples with bars": {infer[struct {
			F string `json:"f" examples:"[\"a|b\",\"c\"]"`
		}](), of(`{"type":"string","examples":["a|b","c"]}`)},
		"an example that looks like a list": {infer[struct {
			F string `json:"f" examples:"[1,2]"`
		}](), of(`{"type":"string","examples":["[1,2]"]}`)},
		"examples of a list": {infer[struct {
			F []int `json:"f" examples:"[1]|[2,3]" uniqueItems:"true"`
		}](), of(`{"type":"array","items":{"type":"integer"},"uniqueItems":true,"examples":[[1],[2,3]]}`)},
		"an enum with bars": {infer[struct {
			F string `json:"f" enum:"[\"|\",\"||\"]"`
		}](), of(`{"type":"string","enum":["|","||"]}`)},
		"lists of lists": {infer[struct {
			F [][]int `json:"f" minimum:"1" maxItems:"3"`
		}](), of(`{"type":"array","items":{"type":"array","items":{"type":"integer","minimum":1}},"maxItems":3}`)},
		"values of a map": {infer[struct {
			F map[string]string `json:"f" maxLength:"9" minProperties:"1" maxProperties:"4"`
		}](), of(`{"type":"object","additionalProperties":{"type":"string","maxLength":9},"minProperties":1,"maxProperties":4}`)},
		"the default of a struct": {infer[struct {
			F pair[int, string] `json:"f" default:"{\"a\":1,\"b\":\"x\"}"`
		}](), of(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a","b"],` +
			`"additionalProperties":false,"default":{"a":1,"b":"x"}}`)},
		"the default of a union": {infer[struct {
			F OneOf[plain] `json:"f" default:"{\"type\":\"one\",\"n\":1}"`
		}](), of(`{"oneOf":[{"type":"object","properties":{"type":{"type":"string","const":"one"},"n":{"type":"integer"}},` +
			`"required":["type","n"],"additionalProperties":false}],"default":{"type":"one","n":1}}`)},
		"about a struct": {infer[struct {
			F described `json:"f"`
		}](), of(`{"type":"object","properties":{},"additionalProperties":false,"title":"D","description":"All about D"}`)},
		"tags of other packages that say the same": {infer[struct {
			F string `json:"f" jsonschema:"Whom" help:"Whom" description:"Whom" validate:"required,min=1" minLength:"1"`
		}](), of(`{"type":"string","description":"Whom","minLength":1}`)},
		"tags of other packages": {infer[struct {
			F string `json:"f" yaml:"f" db:"f" hcl:"f,optional" xml:"f"`
		}](), of(`{"type":"string"}`)},
		"prose with commas": {infer[struct {
			F string `json:"f" jsonschema:"Filter, format=json or text, required when x=1"`
		}](), of(`{"type":"string","description":"Filter, format=json or text, required when x=1"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("got  %s\nwant %s", c.got, c.want)
			}
		})
	}
}

type (
	uint8x   uint16
	plain    interface{ isPlain() }
	plainOne struct {
		N int `json:"n"`
	}
	described struct {
		_ struct{} `title:"D" jsonschema:"All about D"`
	}
)

func (plainOne) isPlain() {}

func init() { RegisterOneOf("type", map[string]plain{"one": plainOne{}}) }

// The first run reports an author's mistake, and how to write it instead.
func TestTagsThatMeanNothing(t *testing.T) {
	for name, c := range map[string]struct{ got, want string }{
		"another library": {infer[struct {
			F string `json:"f" jsonschema:"required,description=Who to greet,minLength=1,enum=a,enum=b"`
		}](), `write jsonschema:"Who to greet" minLength:"1" enum:"a|b"; a field without omitempty is required`},
		"another library, escaped": {infer[struct {
			F string `json:"f" jsonschema:"title=x,description=One\\, two"`
		}](), `is a list of keywords, but here the whole tag is the description; write title:"x" jsonschema:"One, two"`},
		"required alone": {infer[struct {
			F string `json:"f" jsonschema:"required"`
		}](), `write jsonschema:"what the field means"`},
		"optional": {infer[struct {
			F string `json:"f" jsonschema:"optional,default=3"`
		}](), `write default:"3"`},
		"a tag of another library": {infer[struct {
			F string `json:"f" jsonschema_description:"Who"`
		}](), `the tag jsonschema_description is not used here; write jsonschema:"…"`},
		"description": {infer[struct {
			F string `json:"f" description:"Who"`
		}](), `the tag description is not used here; write jsonschema:"…"`},
		"required as a tag": {infer[struct {
			F string `json:"f" required:"true"`
		}](), "the tag required is not used here; write no tag: a field is required unless"},
		"small letters": {infer[struct {
			F string `json:"f" minlength:"1"`
		}](), "the tag minlength is not used here; did you mean minLength?"},
		"underscores": {infer[struct {
			F []string `json:"f" min_items:"1"`
		}](), "the tag min_items is not used here; did you mean minItems?"},
		"abbreviated": {infer[struct {
			F string `json:"f" maxLen:"1"`
		}](), "the tag maxLen is not used here; did you mean maxLength?"},
		"length of a number": {infer[struct {
			F int `json:"f" minLength:"1"`
		}](), "tag minLength: int is not a string"},
		"items of no list": {infer[struct {
			F string `json:"f" minItems:"1"`
		}](), "tag minItems: string is not a list"},
		"minimum of a string": {infer[struct {
			F string `json:"f" minimum:"1"`
		}](), "tag minimum: string is not a number"},
		"enum of structs": {infer[struct {
			F []point `json:"f" enum:"a"`
		}](), "tag enum: sdk.point is not a string, a number or a bool"},
		"no number": {infer[struct {
			F string `json:"f" minLength:"one"`
		}](), `tag minLength: "one" is not a whole number`},
		"negative": {infer[struct {
			F string `json:"f" maxLength:"-1"`
		}](), `tag maxLength: "-1" is not a whole number`},
		"the wrong way round": {infer[struct {
			F string `json:"f" minLength:"9" maxLength:"3"`
		}](), "tag minLength is 9, more than maxLength, which is 3"},
		"no pattern": {infer[struct {
			F string `json:"f" pattern:"("`
		}](), "tag pattern: error parsing regexp: missing closing )"},
		"a lookahead": {infer[struct {
			F string `json:"f" pattern:"a(?!b)"`
		}](), "tag pattern: error parsing regexp"},
		"no format": {infer[struct {
			F string `json:"f" format:"Date Time"`
		}](), `"Date Time" is not the name of a format`},
		"a default below the minimum": {infer[struct {
			F int `json:"f" minimum:"1" default:"0"`
		}](), `F: tag default: 0 does not fit minimum, which is 1`},
		"a default at an exclusive bound": {infer[struct {
			F int `json:"f" exclusiveMaximum:"5" default:"5"`
		}](), `F: tag default: 5 does not fit exclusiveMaximum, which is 5`},
		"a default between steps": {infer[struct {
			F int `json:"f" multipleOf:"5" default:"7"`
		}](), `F: tag default: 7 does not fit multipleOf, which is 5`},
		"a default that is too long": {infer[struct {
			F string `json:"f" maxLength:"1" default:"ab"`
		}](), `F: tag default: "ab" does not fit maxLength, which is 1`},
		"a default without the pattern": {infer[struct {
			F string `json:"f" pattern:"^a$" default:"b"`
		}](), `F: tag default: "b" does not match the pattern ^a$`},
		"a default without the format": {infer[struct {
			F string `json:"f" format:"date" default:"today"`
		}](), `F: tag default: "today" is not of the format date`},
		"a default time": {infer[struct {
			F time.Time `json:"f" default:"now"`
		}](), `F: tag default: "now" is not time.Time`},
		"a default with a wrong item": {infer[struct {
			F []int `json:"f" maximum:"3" default:"[1,4]"`
		}](), `F: tag default: [1,4] has an item 4 that does not fit maximum, which is 3`},
		"a default with an item twice": {infer[struct {
			F []int `json:"f" uniqueItems:"true" default:"[1,1]"`
		}](), `F: tag default: [1,1] has 1 twice`},
		"a default with too many items": {infer[struct {
			F []int `json:"f" maxItems:"1" default:"[1,2]"`
		}](), `F: tag default: [1,2] does not fit maxItems, which is 1`},
		"a default with a null in it": {infer[struct {
			F []string `json:"f" default:"[null]"`
		}](), `F: tag default: [null] has an item null that is not of the type "string"`},
		"a default without a member": {infer[struct {
			F pair[int, string] `json:"f" default:"{\"a\":1}"`
		}](), `F: tag default: {"a":1} has no "b", which is required`},
		"a default with an unknown member": {infer[struct {
			F pair[int, int] `json:"f" default:"{\"a\":1,\"b\":1,\"c\":1}"`
		}](), `F: tag default: {"a":1,"b":1,"c":1} has an unknown member "c"`},
		"a default of no type": {infer[struct {
			F OneOf[plain] `json:"f" default:"{\"type\":\"two\"}"`
		}](), `F: tag default: "{\"type\":\"two\"}" is not sdk.OneOf[`},
		"a default in a tree": {infer[struct {
			F tree `json:"f" default:"{\"name\":\"a\",\"kids\":[{\"kids\":[]}]}"`
		}](), `has a member "kids" that has an item {"kids":[]} that has no "name", which is required`},
		"an example over the maximum": {infer[struct {
			F int `json:"f" maximum:"3" examples:"1|4"`
		}](), `F: tag examples: 4 does not fit maximum, which is 3`},
		"an enum value over the maximum": {infer[struct {
			F []int `json:"f" maximum:"3" enum:"1|4"`
		}](), `F: tag enum: 4 does not fit maximum, which is 3`},
		"no step": {infer[struct {
			F int `json:"f" multipleOf:"0"`
		}](), `F: tag multipleOf: "0" is not more than 0`},
		"no truth": {infer[struct {
			F []int `json:"f" uniqueItems:"yes"`
		}](), `F: tag uniqueItems: "yes" is not true or false`},
		"unique text": {infer[struct {
			F string `json:"f" uniqueItems:"true"`
		}](), `F: tag uniqueItems: string is not a list`},
		"properties of a list": {infer[struct {
			F []int `json:"f" minProperties:"1"`
		}](), `F: tag minProperties: []int is not a map`},
		"an empty description": {infer[struct {
			F string `json:"f" jsonschema:" "`
		}](), `F: tag jsonschema: it has no text`},
		"bounds that leave nothing": {infer[struct {
			F int `json:"f" minimum:"3" exclusiveMaximum:"3"`
		}](), `F: tags minimum and exclusiveMaximum are both 3, and leave no value`},
		"several mistakes": {infer[struct {
			F int    `json:"f" minimum:"x"`
			G string `json:"g" minimum:"1"`
		}](), "tool \"t\": F: tag minimum: \"x\" is not int\ntool \"t\": G: tag minimum: string is not a number"},
		"deep inside": {infer[struct {
			Points []map[string]struct {
				X int `json:"x" minimum:"x"`
			} `json:"points"`
		}](), `tool "t": Points[][key].X: tag minimum: "x" is not int`},
		"validator": {infer[struct {
			F string `json:"f" validate:"required,min=1,max=9,oneof=a b"`
		}](), `F: the tag validate is of another library, and neither host nor sdk reads it; write minLength:"1" ` +
			`maxLength:"9" enum:"a|b"; a field without omitempty is required`},
		"validator of a number": {infer[struct {
			F *int `json:"f" binding:"omitempty,gte=1,lt=9"`
		}](), `the tag binding is of another library, and neither host nor sdk reads it; write minimum:"1" exclusiveMaximum:"9"`},
		"validator of items": {infer[struct {
			F []string `json:"f" validate:"required,min=1,unique,dive,len=2,alphanum"`
		}](), `write minLength:"2" maxLength:"2" minItems:"1" uniqueItems:"true"; a field without omitempty is required; check ` +
			`alphanum in the handler, or with pattern`},
		"validator, required only": {infer[struct {
			F string `json:"f" validate:"required"`
		}](), `write no tag; a field without omitempty is required`},
		"validator, that says more": {infer[struct {
			F string `json:"f" validate:"required,min=1,max=9" minLength:"1"`
		}](), `write maxLength:"9"; a field without omitempty is required`},
		"min of a number": {infer[struct {
			F int `json:"f" min:"1"`
		}](), `the tag min is not used here; did you mean minimum?`},
		"max of a text": {infer[struct {
			F string `json:"f" max:"1"`
		}](), `the tag max is not used here; did you mean maxLength?`},
		"min of a list": {infer[struct {
			F []int `json:"f" min:"1"`
		}](), `the tag min is not used here; did you mean minItems?`},
		"exclusive, abbreviated": {infer[struct {
			F int `json:"f" exclusive_min:"1"`
		}](), `the tag exclusive_min is not used here; did you mean exclusiveMinimum?`},
		"one example": {infer[struct {
			F int `json:"f" example:"1"`
		}](), `the tag example is not used here; write examples:"…|…"`},
		"read only": {infer[struct {
			F int `json:"f" readOnly:"true"`
		}](), `the tag readOnly is not used here; write no tag: leave the field out of the arguments with json:"-"`},
		"optional as a tag": {infer[struct {
			F int `json:"f" optional:"true"`
		}](), `the tag optional is not used here; write omitempty in the json tag, as in json:"name,omitempty"`},
		"an unknown json option": {infer[struct {
			F int `json:"f,required"`
		}](), `F: the json option "required" is not one of omitempty and omitzero, so encoding/json ignores it; a field ` +
			`without those is required`},
		"a malformed tag": {inferTag("json:f"), "tool: F: the tag `json:f` is malformed, so that Go ignores the " +
			"rest of it; write key:\"value\" pairs with one space between them"},
		"a comma between tags": {inferTag(`json:"f", minimum:"1"`), "tool: F: the tag `json:\"f\", minimum:\"1\"` is malformed"},
		"a tag twice": {infer[struct {
			F int `json:"f" enum:"1" enum:"2"`
		}](), `F: the tag enum is there twice, and Go ignores the second`},
		"about a struct, but more": {infer[struct {
			_ struct{} `minimum:"1"`
			F int      `json:"f"`
		}](), `_: the tag minimum is not one of title and jsonschema, which describe the struct`},
		"a default past the enum": {infer[struct {
			F string `json:"f" enum:"a|b" default:"c"`
		}](), `tag default: "c" is not one of the enum, "a", "b"`},
		"an enum twice": {infer[struct {
			F string `json:"f" enum:"a|a"`
		}](), `tag enum: "a" is there twice`},
		"none exported": {infer[struct{ f, g int }](), "has no exported field, so encoding/json never fills it"},
		"a channel": {infer[struct {
			F chan int `json:"f"`
		}](), "chan int has no JSON Schema; use another type"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(c.got, c.want) {
				t.Errorf("got  %s\nwant %s", c.got, c.want)
			}
		})
	}
}

// inferTag returns the error for a struct with one field, whose tag may be one that go vet refuses.
func inferTag(tag reflect.StructTag) string {
	_, err := inferSchema("tool", reflect.StructOf([]reflect.StructField{
		{Name: "F", Type: reflect.TypeFor[int](), Tag: tag},
	}), ofInput)
	return fmt.Sprint(err)
}

func TestTagsOfAFieldThatIsNotExported(t *testing.T) {
	for tag, wrong := range map[reflect.StructTag]bool{`json:"g"`: true, `jsonschema:"x"`: true, `minLength:"1"`: true,
		`yaml:"g"`: false, "": false} {
		f := reflect.StructField{Name: "g", PkgPath: "p", Type: reflect.TypeFor[string](), Tag: tag}
		if err := hiddenField(f); (err != nil) != wrong {
			t.Errorf("%s gives %v", tag, err)
		}
	}
}

func TestMistakesOfPlugins(t *testing.T) {
	for name, c := range map[string]struct {
		wrong func()
		want  string
	}{
		"no name":       {func() { New("", "1.0.0") }, `sdk: plugin name "" must match`},
		"a bad name":    {func() { New("My Plugin", "1.0.0") }, `sdk: plugin name "My Plugin" must match`},
		"an underscore": {func() { New("my_plugin", "1.0.0") }, `sdk: plugin name "my_plugin" must match`},
		"two settings": {func() {
			p, take := New("p", "1"), func(context.Context, *Request, struct{}) error { return nil }
			Configure(p, take)
			Configure(p, take)
		}, "sdk: Configure is called twice"},
		"no description": {func() { AddTool[struct{}, *Result](New("p", "1"), Tool{Name: "x"}, nil) }, "no description"},
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
