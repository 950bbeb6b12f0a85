package modelapi_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi"
)

// nativeTexts are calls of p__a as models were trained to write them, each with its arguments.
var nativeTexts = map[string][]string{
	`[TOOL_CALLS][{"name": "p__a", "arguments": {"x": 1}}, {"name": "p__a", "arguments": {}}]`:                 {`{"x": 1}`, `{}`},
	`[TOOL_CALLS] [{"name": "p__a", "arguments": {"x": 1}, "id": "VvvODy9mT"}]</s>`:                            {`{"x": 1}`},
	`[TOOL_CALLS]p__a[ARGS]{"x": 1}[TOOL_CALLS]p__a[CALL_ID]VvvODy9mT[ARGS]{"x": "[ARGS]{"}`:                   {`{"x": 1}`, `{"x": "[ARGS]{"}`},
	`<|python_tag|>{"name": "p__a", "parameters": {"x": 1}}<|eom_id|>`:                                         {`{"x": 1}`},
	`<|python_tag|>{"type": "function", "name": "p__a", "parameters": {}}; {"name": "p__a", "parameters": {}}`: nil,
	`<function=p__a>{"x": 1}</function>`:                                                                       {`{"x": 1}`},
	"<function=p__a>\n<parameter=x>\n1\n</parameter>\n<parameter=y>\n{\n \"z\": \"</p>\"\n}\n</parameter>\n</function>\n</tool_call>": {
		`{"x":"1","y":"{\n \"z\": \"</p>\"\n}"}`},
	"<tool_call>\n<function=p__a>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call>": {`{"x":"1"}`},
	"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>p__a\n```json\n{\"x\": 1}\n```<｜tool▁call▁end｜>\n" +
		"<｜tool▁call▁begin｜>function<｜tool▁sep｜>p__a\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>": {
		`{"x": 1}`, `{}`},
	`<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>p__a<｜tool▁sep｜>{"x": 1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`: {`{"x": 1}`},
	`<|tool_calls_section_begin|><|tool_call_begin|>functions.p__a:0<|tool_call_argument_begin|>{"x": 1}<|tool_call_end|>` +
		`<|tool_call_begin|>functions.p__a:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>`: {
		`{"x": 1}`, `{}`},
	"<tool_call>p__a\n<arg_key>x</arg_key>\n<arg_value>1\n</arg_value>\n<arg_key>y</arg_key>\n<arg_value>[\"<p>\"]</arg_value>\n</tool_call>": {
		`{"x":"1\n","y":"[\"<p>\"]"}`},
	"<tool_call>p__a\n</tool_call>": {`{}`},
	`<tool_call>p__a<arg_key>x</arg_key><arg_value></tool_call> "</arg_value></tool_call>`: {`{"x":"</tool_call> \""}`},
	`<tool_call>p__a<arg_key>x</arg_key><arg_value>1</arg_value></tool_call>` +
		`<tool_call>p__a<arg_key>x</arg_key><arg_value></arg_value></tool_call>`: {`{"x":"1"}`, `{"x":""}`},
	`<|channel|>commentary to=functions.p__a <|constrain|>json<|message|>{"x": 1}<|call|>`:     {`{"x": 1}`},
	`<|start|>assistant<|channel|>commentary to=functions.p__a<|message|>{"x": "<|message|>"}`: {`{"x": "<|message|>"}`},
	`<|start|>assistant to=functions.p__a<|channel|>commentary json<|message|>{}<|call|>`:      {`{}`},
	` to=functions.p__a<|channel|>commentary <|constrain|>json<|message|>{"x": 1}<|call|>`:     {`{"x": 1}`},
	"<|channel|>analysis<|message|>Is <it>\nthere?<|end|><|start|>assistant<|channel|>commentary<|message|>I look.<|end|>\n" +
		`<|start|>assistant<|channel|>commentary to=functions.p__a <|constrain|>json<|message|>{"x": 1}<|call|>`: {`{"x": 1}`},
	"<|channel|>analysis<|message|>Is it there?<|start|>assistant<|channel|>commentary to=functions.p__a<|message|>{}<|call|>": {
		`{}`},
	"<|channel|>analysis<|message|>Is it\nthere?<|start|>assistant to=functions.p__a<|channel|>commentary json<|message|>{}": {
		`{}`},
	`<|channel|>commentary<|message|>I look.<|end|>`:                                                nil,
	`[TOOL_CALLS]p__a{"x": 1}[TOOL_CALLS]p__a{}`:                                                    {`{"x": 1}`, `{}`},
	`[TOOL_CALLS] [{"arguments": {"name": 1}, "name": "p__a"}] [/TOOL_CALLS]`:                       {`{"name": 1}`},
	`<|tool_call|>[{"name": "p__a", "arguments": {"x": 1}}]<|/tool_call|><|end|>`:                   {`{"x": 1}`},
	`<|tool_call|> [{"name": "p__a", "arguments": {}}, {"name": "p__b"}]`:                           nil,
	`<TOOLCALL>[{"name": "p__a", "arguments": {"x": 1}}]</TOOLCALL>`:                                {`{"x": 1}`},
	"<tool_calls>\n[{\"name\": \"p__a\", \"arguments\": {\"x\": 1}}]\n</tool_calls>":                {`{"x": 1}`},
	`<|tool_call_start|>[p__a(x='1'), p__a()]<|tool_call_end|>`:                                     {`{"x":"1"}`, `{}`},
	"<seed:tool_call>\n<function=p__a>\n<parameter=x>1</parameter>\n</function>\n</seed:tool_call>": {`{"x":"1"}`},
	`<|tool_calls_section_begin|><|tool_call_begin|>p__a:0 <|tool_call_argument_begin|> {"x": 1} <|tool_call_end|>` +
		`<|tool_calls_section_end|>`: {`{"x": 1}`},
	"<minimax:tool_call>\n<invoke name=\"p__a\">\n<parameter name=\"x\">1\n2</parameter>\n<parameter name=\"y\">[\"<p>\"]" +
		"</parameter>\n</invoke>\n<invoke name=\"p__a\">\n</invoke>\n</minimax:tool_call>": {`{"x":"1\n2","y":"[\"<p>\"]"}`, `{}`},
	`<function_calls><invoke name="p__a"><parameter name="x">1</parameter></invoke></function_calls>`: {`{"x":"1"}`},
	"<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"p__a\">\n<｜DSML｜parameter name=\"x\" string=\"false\">1</｜DSML｜parameter>\n" +
		"<｜DSML｜parameter name=\"y\" string=\"true\"></parameter></｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>": {
		`{"x":"1","y":"</parameter>"}`},
	"<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"p__a\">\n</｜DSML｜invoke>\n</｜DSML｜tool_calls><｜end▁of▁sentence｜>": {`{}`},
	"<|tool_call>call:p__a{x:[1,true,null,-2.5],y:{z: <|\"|>say \"a\",\n{b}:<|\"|>},w-1:\"c\\\"\"}<tool_call|><|tool_call>call:p__a{}<tool_call|>": {
		`{"x":[1,true,null,-2.5],"y":{"z": "say \"a\",\n{b}:"},"w-1":"c\""}`, `{}`},
	`<start_function_call>call:p__a{x:<escape>a, b<escape>,y:<escape><escape>}<end_function_call>`: {`{"x":"a, b","y":""}`},
	`<|tool_call>call:p__a{x:a b}<tool_call|>`:                                                     nil,
	`<|tool_call>call:p__a{x:<|"|>a}<tool_call|>`:                                                  nil,
	"<function_calls>\np__a(x=\"1\", y=true)\np__a()\n</function_calls>":                           {`{"x":"1","y":true}`, `{}`},
	"<function_calls>p__a(x=[1)</function_calls>":                                                  nil,
	`[p__a(x=1)]`: {`{"x":1}`},
	`[p__a(x='it\'s "q" \d\n', y=[True, None, {"k": -1.5e3}, ""]), p__a()]`: {
		`{"x":"it's \"q\" \\d\n","y":[true, null, {"k": -1.5e3}, ""]}`, `{}`},
	"<|python_start|>[p__a(\n  x=\"\"\"a\n\"b\" \\U0001F600\"\"\",\n  y=False,\n)]<|python_end|><|eot|>": {
		`{"x":"a\n\"b\" 😀","y":false}`},
	`[p__a(x="""a""b"'c'""\"""")]`: {`{"x":"a\"\"b\"'c'\"\"\""}`},
	`[p__a(1)]`:                    nil,
	`[p__a(x=p__b)]`:               nil,
	`[p__a(x=(1,))]`:               nil,
	`[p__a(x="a)]`:                 nil,
	`[p__a(x=1)`:                   nil,
	`[Point(x=1)]`:                 nil,
}

// The calls that end a text in a model's own form are read, at once and in pieces.
func TestNativeTextCalls(t *testing.T) {
	t.Parallel()
	message := regexp.MustCompile(`^(<\|start\|>| to=|<\|channel\|>)`)
	for text, arguments := range nativeTexts {
		for _, whole := range []string{text, "\n" + text + "\n", "I look.\n\n" + text, "I look." + text, "看。" + text, "So? " + text,
			"I look... " + text, "Is it?</think> " + text, "</think>" + text} {
			want := wanted(arguments...)
			before := strings.TrimSuffix(strings.TrimSuffix(whole, "\n"), text)
			if strings.TrimSpace(before) != "" &&
				(strings.HasPrefix(text, "[p__") ||
					!strings.HasSuffix(before, "\n") && message.MatchString(text) && !strings.Contains(text, "\n<|start|>")) {
				want = nil // it may be an example, and a message begins a line
			}
			calls, err := modelapi.ParseCalls(modelapi.FormatText, []byte(whole))
			if err != nil {
				t.Fatal(err)
			}
			diffCalls(t, want, calls)
			streamed, refused, _ := streamText(t, strings.SplitAfter(whole, "")...)
			if len(refused) > 0 || !slices.EqualFunc(calls, streamed, func(a, b host.Call) bool {
				return a.Tool == b.Tool && string(a.Arguments) == string(b.Arguments) && a.TextArguments == b.TextArguments
			}) {
				t.Errorf("%s: as a stream %+v, refused %+v", whole, streamed, refused)
			}
		}
	}
}

// A value of an argument that has tags of arguments in it, which may end elsewhere, makes no call with a part of it.
func TestNativeValuesWithTags(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"a</parameter>b", "a\n</parameter>\n\nb", "<parameter=z>\n1\n</parameter>\nb", "<parameter=z>1",
		"<parameter=z>\n1\n</parameter>", "</parameter>", "a\n</parameter>\n</function>\nb", tagged(`{}`) + "\n" + plainCall +
			"<tool_call>\n<function=p__b>\n<parameter=z>\n1\n</parameter>\n</function>\n</tool_call>\n" + tagged(`{}`)} {
		call := "<function=p__a>\n<parameter=x>\n" + value + "\n</parameter>\n</function>"
		invoke := strings.NewReplacer("<parameter=x>\n", `<parameter name="x">`, "<parameter=z>", `<parameter name="z">`,
			"<function=p__a>", `<minimax:tool_call><invoke name="p__a">`, "</function>", "</invoke>",
			"<function=p__b>", `<invoke name="p__b">`).Replace(call)
		dsml := strings.NewReplacer("<parameter ", "<｜DSML｜parameter ", "</parameter>", "</｜DSML｜parameter>",
			"<minimax:tool_call>", "<｜DSML｜function_calls>\n",
			"<invoke", "<｜DSML｜invoke", "</invoke>", "</｜DSML｜invoke>").Replace(invoke)
		for _, text := range []string{invoke, invoke + "\nb", dsml, dsml + "\n\n" + dsml + "\nb", call, call + "\nThat is all.", call + "\n" + call + "\nb", strings.TrimSuffix(call, "</function>"),
			"<tool_call>\n" + call + "\n</tool_call>", "<tool_call>" + call + "</tool_call>\n",
			glmCall(strings.NewReplacer("<parameter=z>\n", "<arg_key>z</arg_key>\n<arg_value>", "<parameter=z>", "<arg_value>",
				"parameter>", "arg_value>").Replace(value))} {
			calls, err := modelapi.ParseCalls(modelapi.FormatText, []byte(text))
			good, _, _ := streamText(t, strings.SplitAfter(text, "")...)
			if err == nil && len(calls) > 0 || len(good) > 0 {
				t.Errorf("%v, %v of\n%s", calls, good, text)
			}
		}
	}
}

func glmCall(value string) string {
	return "<tool_call>p__a\n<arg_key>x</arg_key>\n<arg_value>" + value + "</arg_value>\n</tool_call>"
}

// A value in one form may have tags of another.
func TestNativeValuesWithOtherTags(t *testing.T) {
	t.Parallel()
	glm := []string{"a</parameter>b", "<parameter=z>\n1\n</parameter>", plainCall, tagged(`{}`) + "\n" + plainCall,
		"<tool_call>\n<function=p__b>\n<parameter=z>\n1\n</parameter>\n</function>\n</tool_call>", "a \n\nb\n", "a\n</tool_call>\nb",
		"the <function=f> of it", "</function>\n</tool_call>\n" + plainCall, "prog <arg_name>"}
	qwen := []string{glmCall(plainCall), "an <arg_value> of it", "</arg_value>\n</tool_call>\n" + plainCall}
	values := map[string]string{}
	for _, v := range glm {
		values[glmCall(v)], values[strings.Replace(glmCall(v), "\n<arg_", "<arg_", 2)] = v, v
	}
	for _, v := range qwen {
		call := "<function=p__a>\n<parameter=x>\n" + v + "\n</parameter>\n</function>"
		values["<tool_call>\n"+call+"\n</tool_call>"], values["<tool_call>"+call+"</tool_call>"] = v, v
	}
	for call, value := range values {
		for _, text := range []string{call, call + "\nThat is all."} {
			calls, err := modelapi.ParseCalls(modelapi.FormatText, []byte(text))
			var got map[string]string
			if err != nil || len(calls) != 1 || json.Unmarshal(calls[0].Arguments, &got) != nil || got["x"] != value {
				t.Errorf("%v, %v of\n%s", calls, err, text)
			}
		}
	}
}

// A line that begins a call may be long, also with a long name.
func TestNativeCallsOfLongNames(t *testing.T) {
	t.Parallel()
	name, long := "p__"+strings.Repeat("a", 61), `"`+strings.Repeat("x", 3000)+`"`
	for text, arguments := range nativeTexts {
		text = strings.NewReplacer("p__a", name, `"x": 1`, `"x": `+long, "<arg_value>1", "<arg_value>"+long).Replace(text)
		calls, err := modelapi.ParseCalls(modelapi.FormatText, []byte(text))
		if err != nil || len(calls) != len(arguments) || len(calls) > 0 && calls[0].Tool != name {
			t.Errorf("%d calls, %v of\n%.200s", len(calls), err, text)
		}
	}
}

// A model that repeats line breaks in a call costs no more with each of them.
func TestBlankLinesOfACall(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	_, err := modelapi.ParseCalls(modelapi.FormatText, []byte("<tool_call>"+strings.Repeat("\n", 256<<10)))
	if took := time.Since(begin); err == nil || took > 5*time.Second {
		t.Errorf("%v after %v", err, took)
	}
}

// A text that is about such forms has no call: quoted in any way, in a sentence, or where the text goes on after it.
func TestTextsAboutCalls(t *testing.T) {
	t.Parallel()
	sentences := []string{"Mistral's models write this.", "Here is what the server sees:", "The parser splits it at the token.",
		"Llama 3.1 puts `<|python_tag|>` before it.", "[TOOL_CALLS] is one token of the vocabulary.",
		"<|python_tag|> comes before code, too.", "<function=name>{...}</function> is the form of a call.",
		"<tool_call> and </tool_call> are what Qwen was trained on.", "```tool_call``` is the word.", "- one\n- two",
		"| form | model |\n|---|---|\n| `[TOOL_CALLS]` | Mistral |", "```go\nfunc main() {}\n```", "> quoted",
		"[TOOL_CALLS]name[ARGS]{...}, for short.", "<｜tool▁calls▁begin｜> is DeepSeek's.", "{\"name\": \"p__a\", \"arguments\": {}}",
		"<tool_call>name<arg_key>k</arg_key><arg_value>v</arg_value></tool_call> is how GLM writes it.",
		"<tool_call>name<arg_key> begins a call of GLM.", "<|channel|>commentary is for calls.",
		"<|channel|>commentary to=functions.NAME<|message|>{...}<|call|>", "<|tool_calls_section_begin|> begins a section.", "Use `tool_call` as the info string."}
	quotes := map[string]func(string) string{
		"a fence":          func(s string) string { return "````text\n" + s + "\n````" },
		"tildes":           func(s string) string { return "~~~~\n" + s + "\n~~~~" },
		"a code block":     func(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") },
		"a quotation":      func(s string) string { return "> " + strings.ReplaceAll(s, "\n", "\n> ") },
		"a code span":      func(s string) string { return "`" + strings.ReplaceAll(s, "\n", " ") + "`" },
		"a list":           func(s string) string { return "- " + strings.ReplaceAll(s, "\n", "\n  ") },
		"below an item":    func(s string) string { return "- So:\n\n  " + strings.ReplaceAll(s, "\n", "\n  ") },
		"below a number":   func(s string) string { return "1. So:\n\n   " + strings.ReplaceAll(s, "\n", "\n   ") },
		"a strange fence":  func(s string) string { return "```x `y`\n" + s + "\n```" },
		"a table":          func(s string) string { return "| " + strings.ReplaceAll(s, "\n", " ") + " |" },
		"quotation marks":  func(s string) string { return `"` + strings.ReplaceAll(s, "\n", " ") + `"` },
		"a sentence":       func(s string) string { return "It writes " + strings.ReplaceAll(s, "\n", " ") + "." },
		"a comment":        func(s string) string { return "// " + strings.ReplaceAll(s, "\n", "\n// ") },
		"the text goes on": func(s string) string { return s + "\n\nThat is all." },
		"a mark":           func(s string) string { return s + " ← here" },
	}
	read := []string{"a list", "below an item", "below a number", "a strange fence", "the text goes on", "a mark"}
	r := rand.New(rand.NewPCG(1, 2))

	for _, text := range slices.Sorted(maps.Keys(nativeTexts)) {
		for _, name := range slices.Sorted(maps.Keys(quotes)) {
			quote := quotes[name]
			for i := range 24 {
				before := []string{"", "It is so. "}[i%2]
				if before == "" && strings.HasPrefix(text, "<tool_call>") && slices.Contains(read, name) {
					continue // a tag is read wherever its line begins with it
				}
				var parts []string
				for range r.IntN(4) {
					parts = append(parts, sentences[r.IntN(len(sentences))])
				}
				parts = append(parts, quote(before+text))
				for range r.IntN(4) {
					parts = append(parts, sentences[r.IntN(len(sentences))])
				}
				whole := strings.Join(parts, "\n\n") + []string{"", "\n"}[r.IntN(2)]
				calls, err := modelapi.ParseCalls(modelapi.FormatText, []byte(whole))
				good, refused, _ := streamText(t, strings.SplitAfter(whole, " ")...)
				if err != nil || len(calls)+len(good)+len(refused) > 0 {
					t.Fatalf("%s: %v, %v, %v, %v in\n%s", name, calls, err, good, refused, whole)
				}
				if name == "a strange fence" || strings.Contains(text, "```") {
					continue // CommonMark sees no end of a fence in it
				}
				after := whole + "\n\n" + plainCall
				if calls, err := modelapi.ParseCalls(modelapi.FormatText, []byte(after)); err != nil || len(calls) != 1 {
					t.Fatalf("%s: the call after it is %v, %v in\n%s", name, calls, err, after)
				}
			}
		}
	}
}

// What ends a text is an example after half a sentence, and on a line that quotes, lists or comments.
func TestExamplesAtTheEnd(t *testing.T) {
	t.Parallel()
	for text := range nativeTexts {
		for _, before := range []string{"Tags, e.g. ", "The form is ", "So: ", "A b.c ", "It is `x`. ", "(It is so) ", "> So. ", "- So. ",
			"* So. ", "1. So. ", "# So. ", "\"So. ", "'So. ", "| So. ", "// So. ", "    So. ", "`So. ",
			"For you:", "Cf. ", "Say so, etc. ", "“So. ", "• So. ", "[12:03] So. ", "Model: So. ", "&gt; So. ", "@@ So. ", "$ So. ",
			"; So. ", "It says \"So. "} {
			whole := "It writes tags.\n\n" + before + strings.ReplaceAll(text, "\n", " ")
			calls, err := modelapi.ParseCalls(modelapi.FormatText, []byte(whole))
			good, _, _ := streamText(t, strings.SplitAfter(whole, " ")...)
			if err != nil || len(calls)+len(good) > 0 {
				t.Errorf("%v, %v, %v in\n%s", calls, err, good, whole)
			}
		}
	}
}

// A call behind a sentence is found however the text is cut, and what was left out of a long line joins none.
func TestCallsBehindLongSentences(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for n := 8; n < 1100; n += 3 {
		sentence := strings.Repeat("x", n%50) + strings.Repeat(" see", n/4) + ". "
		for _, text := range []string{sentence + `[TOOL_CALLS]p__a[ARGS]{"x": 1}`, sentence + "<tool_call> is one. " + tagged(`{}`),
			sentence + "It is `a` " + `[TOOL_CALLS]p__a[ARGS]{"x": 1}`} {
			calls, err := modelapi.ParseCalls(modelapi.FormatText, []byte(text))
			var pieces []string
			for rest := text; rest != ""; {
				end := min(len(rest), 1+r.IntN(40))
				pieces, rest = append(pieces, rest[:end]), rest[end:]
			}
			good, refused, _ := streamText(t, pieces...)
			if want := n < 800 && !strings.Contains(text, "`"); err != nil || len(refused) > 0 || len(calls) != len(good) ||
				want && len(calls) != 1 || strings.Contains(text, "`") && len(calls) > 0 {
				t.Fatalf("%v, %v, %v, %v of\n%q", calls, good, refused, err, pieces)
			}
		}
	}
}

// Of a line that begins a block only the start is examined for what it quotes: all of it took time in the square.
func TestLongLineBehindAQuotation(t *testing.T) {
	t.Parallel()
	text := "[TOOL_CALLS]x\nIt is.\n<tool_call>{" + strings.Repeat("ab.<", 1<<20) + "\n"
	began := time.Now()
	if calls, err := modelapi.ParseCalls(modelapi.FormatText, []byte(text)); len(calls) > 0 {
		t.Errorf("%v, %v", calls, err)
	}
	if took := time.Since(began); took > 30*time.Second { // in place of one; it took more than a minute
		t.Errorf("it took %s", took)
	}
}

// What a value of a call behind a sentence quotes is no call, when the text goes on so that the outer one is none.
func TestQuotedBehindSentence(t *testing.T) {
	t.Parallel()
	inner := "\n```tool_call\n{\"name\": \"p__a\", \"arguments\": {}}\n```\n"
	for _, call := range []string{
		"<tool_call>p__b\n<arg_key>x</arg_key>\n<arg_value>" + inner + "</arg_value>\n</tool_call>",
		"<tool_call>p__b<arg_key>x</arg_key><arg_value>" + inner + "</arg_value></tool_call>",
		"<function=p__b>\n<parameter=x>" + inner + "</parameter>\n</function>",
		"<minimax:tool_call><invoke name=\"p__b\">\n<parameter name=\"x\">" + inner + "</parameter>\n</invoke>",
	} {
		calls, err := modelapi.ParseCalls(modelapi.FormatText, []byte("I look."+call+"\nThat is all.\n"))
		if err != nil || len(calls) > 0 {
			t.Errorf("%v, %v of\n%s", calls, err, call)
		}
	}
}
