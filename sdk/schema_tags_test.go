package sdk

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
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

type uint8x uint16

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
		"two settings": {func() { p := New("p", "1"); Configure[struct{}](p, nil); Configure[struct{}](p, nil) },
			"sdk: Configure is called twice"},
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
