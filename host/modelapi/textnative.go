package modelapi

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/host/internal/arguments"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// What models write in a text whose server does not read the calls that they were trained to make. Only a line that
// begins so, without the indentation of a list, is examined, and only a text that has nothing but calls from there to
// its end has any: models stop after their calls, while a text about such calls goes on.
var (
	nativeStart = lazy.Regexp(`^ ?(?:\[TOOL_CALLS\]|<\|python_tag\|>|<function=|<｜tool▁calls?▁begin｜>|` +
		`<\|tool_calls_section_begin\|>|<tool_call>[\w-]{1,64}<arg_key>|(?:<\|start\|>assistant)?` +
		`(?: ?to=functions\.[\w-]+)?<\|channel\|>commentary)`)
	// nativeHead is what comes before the JSON of a call: of Mistral, Llama, DeepSeek, Kimi and gpt-oss. A call without a
	// name has it in the JSON.
	nativeHead = lazy.Regexp(`^(?:\[TOOL_CALLS\](?:([\w-]{1,64})(?:\[CALL_ID\]\w*)?\[ARGS\])?|<\|python_tag\|>|` +
		`<function=([\w-]{1,64})>|(?:<｜tool▁calls▁begin｜>\s*)?<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>([\w-]{1,64})\n` +
		"```json|" + `([\w-]{1,64})<｜tool▁sep｜>)|(?:<\|tool_calls_section_begin\|>\s*)?<\|tool_call_begin\|>\s*functions\.` +
		`([\w-]{1,64}):\d+\s*<\|tool_call_argument_begin\|>|(?:<\|start\|>assistant)?(?:<\|channel\|>commentary ` +
		`to=functions\.([\w-]{1,64})| ?to=functions\.([\w-]{1,64})<\|channel\|>commentary) ?(?:<\|constrain\|>)?(?:json)?` +
		`<\|message\|>)`)
	nativeEnd = lazy.Regexp("^(?:\\s|;|```<｜tool▁call▁end｜>|</function>|</tool_call>|<｜tool▁calls?▁end｜>|" +
		`<｜end▁of▁sentence｜>|</s>|<\|(?:call|tool_call_end|tool_calls_section_end|eom_id|eot_id|im_end)\|>)*`)
	xmlHead     = lazy.Regexp(`^\s*<function=([\w-]{1,64})>\s*`) // as Qwen3-Coder writes a call
	xmlArgument = lazy.Regexp(`^<parameter=([^>\n]+)>\n?`)
	glmHead     = lazy.Regexp(`^\s*<tool_call>\s*([\w-]{1,64})\s*`) // as GLM does
	glmArgument = lazy.Regexp(`^<arg_key>([^<\n]+)</arg_key>\s*<arg_value>`)
)

// An xmlForm is a way to write a call with each argument as text.
type xmlForm struct {
	head, argument       func() *regexp.Regexp
	refused              []string // tags that no value may have
	endArgument, endCall string
	begin, end           string // of what may quote other calls
	lines                bool   // a value has lines of its own
}

var (
	qwenForm = &xmlForm{xmlHead, xmlArgument, []string{"<parameter="}, "</parameter>", "</function>", "<function=",
		"</function>", true}
	glmForm = &xmlForm{glmHead, glmArgument, []string{"<arg_key>", "<arg_value>"}, "</arg_value>", closeTag, "<arg_value>",
		"</arg_value>", false}
	xmlForms = []*xmlForm{qwenForm, glmForm}
)

// nativeCalls reads a text that is nothing but calls; otherwise it returns nil.
func nativeCalls(text []byte) (blocks []*textBlock) {
	for {
		text = text[len(nativeEnd().Find(text)):]
		if len(text) == 0 {
			return blocks
		}
		if name, args, rest, ok := readXMLCall(text); ok {
			blocks, text = append(blocks, &textBlock{name: name, arguments: args, listed: true, closed: true}), rest
			continue
		}
		head := nativeHead().FindSubmatch(text)
		if head == nil {
			return nil
		}
		d := jsontext.NewDecoder(bytes.NewReader(text[len(head[0]):]))
		object, err := d.ReadValue()
		if err != nil {
			return nil
		}
		list := []struct {
			Name       string         `json:"name"`
			Arguments  jsontext.Value `json:"arguments"`
			Parameters jsontext.Value `json:"parameters"`
		}{{string(bytes.Join(head[1:], nil)), object.Clone(), nil}}
		if list[0].Name == "" {
			if object.Kind() == '{' {
				object = append(append([]byte("["), object...), ']')
			}
			if err := jsonv2.Unmarshal(object, &list); err != nil {
				return nil
			}
		}
		for _, c := range list {
			if c.Arguments == nil {
				c.Arguments = c.Parameters
			}
			if c.Name == "" || c.Arguments.Kind() != '{' {
				return nil
			}
			var call rawjson.Object
			call.AddText("name", c.Name)
			call.Add("arguments", json.RawMessage(c.Arguments))
			blocks = append(blocks, &textBlock{body: call.JSON(), closed: true})
		}
		text = text[len(head[0])+int(d.InputOffset()):]
	}
}

// opened is how many more elements that may quote other calls a text opens than it closes.
func (f *xmlForm) opened(text []byte) int {
	return bytes.Count(text, []byte(f.begin)) - bytes.Count(text, []byte(f.end))
}

// formOf returns the form of the first such element of a text; nil if it has none.
func formOf(text []byte) (form *xmlForm) {
	for _, f := range xmlForms {
		if before, _, has := bytes.Cut(text, []byte(f.begin)); has {
			form, text = f, before
		}
	}
	return form
}

// readXMLCall reads a call at the beginning of a text. The arguments lack the closing brace. It refuses a call with the
// tags of an argument in a value: where that ends is not known.
func readXMLCall(text []byte) (name string, args json.RawMessage, rest []byte, ok bool) {
	for _, f := range xmlForms {
		if head := f.head().FindSubmatch(text); head != nil {
			args, rest, ok = f.read(text[len(head[0]):])
			return string(head[1]), args, rest, ok
		}
	}
	return "", nil, nil, false
}

// read reads the arguments of a call, and its end.
func (f *xmlForm) read(rest []byte) (args json.RawMessage, after []byte, ok bool) {
	args = json.RawMessage("{")
	for {
		if after, ends := bytes.CutPrefix(rest, []byte(f.endCall)); ends {
			return args, after, true
		}
		p := f.argument().FindSubmatch(rest)
		if p == nil {
			return nil, nil, false
		}
		value, after, ends := bytes.Cut(rest[len(p[0]):], []byte(f.endArgument))
		has := func(tag string) bool { return bytes.Contains(value, []byte(tag)) }
		if !ends || slices.ContainsFunc(f.refused, has) {
			return nil, nil, false
		}
		if f.lines {
			value = bytes.TrimSuffix(value, []byte("\n"))
		}
		if len(args) > 1 {
			args = append(args, ',')
		}
		args = append(appendString(args, bytes.TrimSpace(p[1])), ':')
		args = appendString(args, value)
		rest = bytes.TrimLeft(after, arguments.Whitespace)
	}
}
