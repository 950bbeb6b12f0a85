package modelapi

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/host/internal/arguments"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// What models write in a text whose server does not read the calls that they were trained to make. Only a line that
// begins so, without the indentation of a list, or goes on so after a sentence, is examined, and only a text with
// nothing but calls from there to its end has any: models stop after their calls, a text about such calls goes on.
var (
	nativeStart = lazy.Regexp(`^ ?(?:` + nativeMarks + `|<tool_call>(?:[\w-]{1,64}<arg_key>|\s*\[)|` +
		`(?:<\|start\|>assistant)?(?: ?to=functions\.[\w-]+)?<\|channel\|>(?:commentary|analysis))`)
	// sentenceStart is nativeStart after a sentence or reasoning, without the line break that most models leave out.
	sentenceStart = lazy.Regexp(`^(?:` + nativeMarks + `|<tool_call>\s*(?:[\w-]{1,64}\s*(?:$|<)|[\[{<]|$))`)
	// sentenceHead is how such a line begins: not like a quotation, list, table, comment or the name of a speaker.
	sentenceHead = lazy.Regexp(`^ ?(?:\pL+[^\pL:]|<think>|</think>|\[/THINK\]|[…。！？])`)
	sentenceEnd  = lazy.Regexp(`(?:[^.\s]{2}[.!?]+|[…。！？]|</think>|\[/THINK\])$`)
	abbreviation = lazy.Regexp(`(?i)(?:^|[^\pL])(?:al|approx|bsp|bzw|ca|cf|etc|ex|fig|incl|resp|vgl|viz|vs)[.…]+$`)
	// pythonStart is nativeStart for what has no mark of its own, and may be an example: only a whole text is a call.
	pythonStart = lazy.Regexp(`^ ?\[` + pythonName)
	// nativeHead is what comes before the JSON of a call: of Mistral, Llama, Granite, Phi, Nemotron, DeepSeek, Kimi and
	// gpt-oss. A call without a name has it in the JSON.
	nativeHead = lazy.Regexp(`^(?:\[TOOL_CALLS\](?:([\w-]{1,64})(?:\[CALL_ID\]\w*)?(?:\[ARGS\])?)?|<\|python_tag\|>|` +
		`<tool_calls?>|<TOOLCALL>|<\|tool_call\|>|` +
		`<function=([\w-]{1,64})>|(?:<｜tool▁calls▁begin｜>\s*)?<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>([\w-]{1,64})\n` +
		"```json|" + `([\w-]{1,64})<｜tool▁sep｜>)|(?:<\|tool_calls_section_begin\|>\s*)?<\|tool_call_begin\|>\s*` +
		`(?:functions\.)?([\w-]{1,64}):\d+\s*<\|tool_call_argument_begin\|>|(?:<\|start\|>assistant)?` +
		`(?:<\|channel\|>commentary to=functions\.([\w-]{1,64})| ?to=functions\.([\w-]{1,64})<\|channel\|>commentary)` +
		` ?(?:<\|constrain\|>)?(?:json)?<\|message\|>)`)
	// nativeEnd also passes over what gpt-oss writes before a call for people, and for itself, which may lack its end.
	nativeEnd = lazy.Regexp(`^(?:(?:<\|start\|>assistant)?<\|channel\|>(?:commentary|analysis)<\|message\|>(?s:.*?)` +
		`<\|(?:end\|>|start\|>assistant)|` +
		"\\s|;|```<｜tool▁call▁end｜>|</function>|</(?:seed:|minimax:)?tool_calls?>|<｜tool▁calls?▁end｜>|" +
		`</(?:｜DSML｜)?(?:function|tool)_calls>|</TOOLCALL>|\[/TOOL_CALLS\]|<tool_call\|>|<\|tool_response>|` +
		`<end_function_call>|<｜end▁of▁sentence｜>|</s>|` +
		`<\|(?:python_start|python_end|call|tool_call_start|tool_call_end|/tool_call|tool_calls_section_end|eom_id|eot|` +
		`eot_id|im_end|end)\|>)*`)
	pythonHead = lazy.Regexp(`^\s*` + pythonName) // as Llama 4 does
	pythonKey  = lazy.Regexp(`^\s*([A-Za-z_]\w*)\s*=\s*`)
	pythonWord = lazy.Regexp(`^(?:[A-Za-z_]\w*|-?\d[\w.+-]*)`)
	gemmaHead  = lazy.Regexp(`^(?:<\|tool_call>|<start_function_call>)call:([\w-]{1,64})\{`) // of Gemma 4, FunctionGemma
	gemmaToken = lazy.Regexp(`^(?:<\|"\|>((?s:.*?))<\|"\|>|<escape>((?s:.*?))<escape>|([\w.-]+)|[{}\[\],:]|\s+|` +
		`"(?:[^"\\]|\\.)*")`)
	xmlHead     = lazy.Regexp(`^\s*(?:<seed:tool_call>\s*)?<function=([\w-]{1,64})>\s*`) // as Qwen3-Coder writes a call
	xmlArgument = lazy.Regexp(`^<parameter=([^>\n]+)>\n?`)
	invokeHead  = lazy.Regexp(`^\s*(?:<(?:minimax:tool_call|function_calls)>\s*)?<invoke name="([\w-]{1,64})">\s*`) // MiniMax
	invokeArg   = lazy.Regexp(`^<parameter name="([^"\n]+)">`)
	dsmlHead    = lazy.Regexp(`^\s*(?:<｜DSML｜(?:function|tool)_calls>\s*)?<｜DSML｜invoke name="([\w-]{1,64})">\s*`) // DeepSeek
	dsmlArg     = lazy.Regexp(`^<｜DSML｜parameter name="([^"\n]+)"(?: string="(?:true|false)")?>`)
	glmHead     = lazy.Regexp(`^\s*<tool_call>\s*([\w-]{1,64})\s*`) // as GLM does
	glmArgument = lazy.Regexp(`^<arg_key>([^<\n]+)</arg_key>\s*<arg_value>`)
)

// nativeMarks are what only calls begin with.
const nativeMarks = `\[TOOL_CALLS\]|<\|python_tag\|>|<\|(?:python|tool_call)_start\|>\[` + pythonName + `|<function=|` +
	`<｜tool▁calls?▁begin｜>|<\|tool_calls_section_begin\|>|<\|tool_call\|>|<TOOLCALL>|<tool_calls>|<seed:tool_call>|` +
	`<minimax:tool_call>|<｜DSML｜(?:function|tool)_calls>|<function_calls>|(?:<\|tool_call>|<start_function_call>)call:`

// pythonName begins a call in Python. Functions in a text have other names.
const pythonName = `([a-z][a-z0-9-]*__[\w-]{1,61})\(`

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
	invokeForm = &xmlForm{invokeHead, invokeArg, []string{"<parameter name="}, "</parameter>", "</invoke>",
		"<invoke name=", "</invoke>", false}
	dsmlForm = &xmlForm{dsmlHead, dsmlArg, []string{"<｜DSML｜parameter name="}, "</｜DSML｜parameter>", "</｜DSML｜invoke>",
		"<｜DSML｜invoke name=", "</｜DSML｜invoke>", false}
	glmForm = &xmlForm{glmHead, glmArgument, []string{"<arg_key>", "<arg_value>"}, "</arg_value>", closeTag, "<arg_value>",
		"</arg_value>", false}
	xmlForms = []*xmlForm{qwenForm, invokeForm, dsmlForm, glmForm}
)

// nativeCalls reads a text that is nothing but calls; otherwise it returns nil.
func nativeCalls(text []byte) (blocks []*textBlock) {
	for {
		text = text[len(nativeEnd().Find(text)):]
		if len(text) == 0 {
			return blocks
		}
		if inner, tagged := bytes.CutPrefix(text, []byte(openTag)); tagged && xmlHead().Match(inner) {
			text = inner
		}
		if name, args, rest, ok := readXMLCall(text); ok {
			blocks, text = append(blocks, &textBlock{name: name, arguments: args, listed: true, closed: true}), rest
			continue
		}
		if calls, rest, ok := readPythonCalls(text); ok {
			blocks, text = append(blocks, calls...), rest
			continue
		}
		if call, rest := readGemmaCall(text); call != nil {
			blocks, text = append(blocks, call), rest
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
			blocks = append(blocks, closedBlock(c.Name, json.RawMessage(c.Arguments)))
		}
		text = text[len(head[0])+int(d.InputOffset()):]
	}
}

func closedBlock(name string, args json.RawMessage) *textBlock {
	var call rawjson.Object
	call.AddText("name", name)
	call.Add("arguments", args)
	return &textBlock{body: call.JSON(), closed: true}
}

// readGemmaCall reads a call at the beginning of a text, whose names have no quotation marks, and texts have tokens.
func readGemmaCall(text []byte) (call *textBlock, rest []byte) {
	head := gemmaHead().FindSubmatch(text)
	if head == nil {
		return nil, nil
	}
	args, rest := json.RawMessage("{"), text[len(head[0]):]
	for depth := 1; depth > 0; {
		token := gemmaToken().FindSubmatch(rest)
		if token == nil {
			return nil, nil
		}
		rest = rest[len(token[0]):]
		isName := token[3] != nil && bytes.HasPrefix(bytes.TrimLeft(rest, arguments.Whitespace), []byte(":"))
		if isName || token[1] != nil || token[2] != nil {
			args = appendString(args, bytes.Join(token[1:], nil))
		} else {
			args = append(args, token[0]...)
		}
		switch string(token[0]) {
		case "{", "[":
			depth++
		case "}", "]":
			depth--
		}
	}
	if !json.Valid(args) {
		return nil, nil
	}
	return closedBlock(string(head[1]), args), rest
}

// readPythonCalls reads a list of calls of functions at the beginning of a text, whose arguments are named literals.
func readPythonCalls(text []byte) (blocks []*textBlock, rest []byte, ok bool) {
	end := "]"
	rest, more := bytes.CutPrefix(text, []byte("["))
	if !more { // as OLMo 3 does, a call a line
		end = "</function_calls>"
		rest, more = bytes.CutPrefix(text, []byte("<function_calls>"))
	}
	for more {
		head := pythonHead().FindSubmatch(rest)
		if head == nil {
			break
		}
		args, after, ok := readPythonArguments(rest[len(head[0]):])
		if !ok {
			break
		}
		blocks = append(blocks, closedBlock(string(head[1]), args))
		rest = bytes.TrimLeft(after, arguments.Whitespace)
		if after, ends := bytes.CutPrefix(rest, []byte(end)); ends {
			return blocks, after, true
		}
		rest, more = bytes.CutPrefix(rest, []byte(","))
		more = more || end != "]"
	}
	return nil, nil, false
}

func readPythonArguments(rest []byte) (args json.RawMessage, after []byte, ok bool) {
	args = json.RawMessage("{")
	for {
		rest = bytes.TrimLeft(rest, arguments.Whitespace)
		if after, ends := bytes.CutPrefix(rest, []byte(")")); ends {
			args = append(args, '}')
			return args, after, json.Valid(args)
		}
		key := pythonKey().FindSubmatch(rest)
		if key == nil {
			return nil, nil, false
		}
		if len(args) > 1 {
			args = append(args, ',')
		}
		args = append(appendString(args, key[1]), ':')
		args, rest = appendPython(args, rest[len(key[0]):])
		rest = bytes.TrimPrefix(rest, []byte(","))
	}
}

// appendPython appends a literal of Python as JSON, and returns what follows it. What is none is no JSON either.
func appendPython(out, text []byte) (json.RawMessage, []byte) {
	for depth := 0; len(text) > 0; {
		c := text[0]
		if depth == 0 && (c == ',' || c == ')') {
			break
		}
		if c == '"' || c == '\'' {
			out, text = appendPythonString(out, text)
			continue
		}
		word := pythonWord().Find(text)
		switch string(word) {
		case "":
			word = text[:1]
		case "True", "False":
			out = append(out, bytes.ToLower(word)...)
			text = text[len(word):]
			continue
		case "None":
			out, text = append(out, "null"...), text[len(word):]
			continue
		}
		depth += bytes.Count([]byte("[{"), word) - bytes.Count([]byte("]}"), word)
		out, text = append(out, word...), text[len(word):]
	}
	return out, text
}

// appendPythonString is appendPython for a string.
func appendPythonString(out, text []byte) (json.RawMessage, []byte) {
	mark := text[:1]
	if bytes.HasPrefix(text, bytes.Repeat(mark, 3)) {
		mark = text[:3]
	}
	var value []byte
	for text = text[len(mark):]; len(text) > 0 && !bytes.HasPrefix(text, mark); {
		r, _, rest, err := strconv.UnquoteChar(string(text[:min(len(text), maxEscape)]), mark[0])
		if err != nil { // Python leaves a backslash where it means nothing, and an escaped quote may be the other one
			skip := 0
			if text[0] == '\\' && len(text) > 1 && (text[1] == '"' || text[1] == '\'') {
				skip = 1
			}
			value, text = append(value, text[skip]), text[skip+1:]
			continue
		}
		value = utf8.AppendRune(value, r)
		text = text[min(len(text), maxEscape)-len(rest):]
	}
	return appendString(out, value), bytes.TrimPrefix(text, mark)
}

// maxEscape is the length of the longest escape, such as \U0001F600.
const maxEscape = 10

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

// endsSentence reports whether a call may follow what a line has before it.
func endsSentence(before []byte) bool {
	text := bytes.TrimRight(before, " \t")
	last := text[max(0, len(text)-maxSentenceEnd):]
	return sentenceEnd().Match(last) && !abbreviation().Match(last) && bytes.IndexByte(text, '`') < 0 &&
		bytes.Count(text, []byte{'"'})%2 == 0 && // no quotation is open
		sentenceHead().Match(text[:min(len(text), maxStart)])
}

// maxSentenceEnd is how much of a line says whether a sentence ends there.
const maxSentenceEnd = 24 // bytes

// quotingForm returns the form of the call that a line begins, alone or with an argument, also behind a sentence. It is
// nil if the line begins none.
func quotingForm(line []byte) *xmlForm {
	if bytes.HasPrefix(line, []byte("<arg_")) && glmForm.opened(line) > 0 {
		return glmForm
	}
	for at := range line[:min(len(line), maxFenceLine)] {
		if at > 0 && (line[at] != '<' || !endsSentence(line[:at])) {
			continue
		}
		call := line[at:]
		for _, f := range xmlForms {
			head := f.head().Find(call)
			if head == nil || f == glmForm && (at == 0 || f.opened(call) <= 0) {
				continue
			}
			if len(head) == len(call) || f.argument().Match(call[len(head):]) {
				return f
			}
		}
	}
	return nil
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
