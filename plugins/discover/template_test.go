package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
)

// shown writes a template with its arguments in angle brackets.
func (t template) shown() (out string) {
	for _, p := range t {
		if p.name != "" {
			out += "<" + p.name + ">"
		}
		out += p.text
	}
	return out
}

func TestParseTemplate(t *testing.T) {
	for _, test := range []struct{ text, want, err string }{
		{text: "", want: ""},
		{text: "plain } text {", want: "plain } text {"},
		{text: "{{a}}", want: "<a>"},
		{text: "{{ a_b-2 }}", want: "<a_b-2>"},
		{text: "--fix={{fix}},{{b}}!", want: "--fix=<fix>,<b>!"},
		{text: "{{a}}{{a}}", want: "<a><a>"},
		{text: "{a}}", want: "{a}}"},
		{text: "{{{{.Names}}", want: "{{.Names}}"},
		{text: "x{{{{{{a}}", want: "x{{<a>"},
		{text: "{{a", err: "{{a is not {{NAME}} with the name of an argument; to mean the two braces themselves write {{{{"},
		{text: "{{}}", err: "{{}} is not {{NAME}}"},
		{text: "{{.Names}}", err: "{{.Names}} is not {{NAME}}"},
		{text: "{{a b}}", err: "{{a b}} is not {{NAME}}"},
		{text: "{{{a}}}", err: "{{{a}}} is not {{NAME}}"},
	} {
		got, err := parseTemplate(test.text)
		if test.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), test.err) {
				t.Errorf("%s: %v, want %s", test.text, err, test.err)
			}
			continue
		}
		if err != nil || got.shown() != test.want {
			t.Errorf("%s: %s, %v, want %s", test.text, got.shown(), err, test.want)
		}
	}
}

func TestNoArgumentInProgramText(t *testing.T) {
	for _, test := range []struct {
		words []string
		fine  bool
	}{
		{[]string{"sh", "-c", "ls {{a}}"}, false},
		{[]string{"/bin/bash", "-lc", "{{a}}"}, false},
		{[]string{"env", "X=1", "dash", "-e", "-c", "ls {{a}}"}, false},
		{[]string{"python3.12", "-c", "print({{a}})"}, false},
		{[]string{"node", "--eval", "{{a}}"}, false},
		{[]string{"perl", "-e{{a}}"}, false},
		{[]string{"perl", "-e"}, true},
		{[]string{"perl", "-E", "say {{a}}"}, false},
		{[]string{"perl", "-I", "lib", "-e", "{{a}}"}, false},
		{[]string{"bash", "-O", "extglob", "-c", "ls {{a}}"}, false},
		{[]string{"bash", "-euo", "pipefail", "-c", "ls {{a}}"}, false},
		{[]string{"bash", "-euo", "pipefail", "-c", `ls "$1"`, "sh", "{{a}}"}, true},
		{[]string{"bash", "+x", "-c", "ls {{a}}"}, false},
		{[]string{"bash", "-c", "--", "ls {{a}}"}, false},
		{[]string{"bash", "-c", "-x", "ls {{a}}"}, false},
		{[]string{"python3", "-W", "ignore", "-c", "{{a}}"}, false},
		{[]string{"python3", "-W", "ignore", "tool.py", "-c", "{{a}}"}, true},
		{[]string{"ruby", "-r", "json", "-e", "{{a}}"}, false},
		{[]string{"ruby", "-r", "json", "-e", "p ARGV", "{{a}}"}, true},
		{[]string{"php", "-r", "echo 1;", "{{a}}"}, true},
		{[]string{"node", "--eval={{a}}"}, false},
		{[]string{"deno", "eval", "{{a}}"}, false},
		{[]string{"pwsh", "-NoProfile", "-Command", "{{a}}"}, false},
		{[]string{"pwsh", "-NoProfile", "-File", "x.ps1", "{{a}}"}, true},
		{[]string{"Rscript", "-e", "{{a}}"}, false},
		{[]string{"perl", "-pe", "s/a/{{a}}/"}, false},
		{[]string{"sh", "-c", `ls "$1"`, "sh", "{{a}}"}, true},
		{[]string{"python3", "tool.py", "-c", "{{a}}"}, true},
		{[]string{"grep", "-e", "{{a}}"}, true},
		{[]string{"sh", "script", "{{a}}"}, true},
	} {
		_, err := templates(test.words)
		if (err == nil) != test.fine {
			t.Errorf("%q: %v", test.words, err)
		}
	}
	_, err := templates([]string{"sh", "-c", "ls {{a}}"})
	want := `{{a}} stands in the program text of sh -c, where callers could write code of their own; have the text take ` +
		`it as an argument, such as "$1", and put "{{a}}" behind it as a word of its own`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestFill(t *testing.T) {
	for _, test := range []struct {
		name      string
		template  []string
		arguments string
		want      []string // behind the program; nil for an error
		err       string
	}{
		{name: "text", template: []string{"a {{x}} b"}, arguments: `{"x":"it's $HOME \"q\""}`,
			want: []string{`a it's $HOME "q" b`}},
		{name: "an empty text stays a word", template: []string{"{{x}}"}, arguments: `{"x":""}`, want: []string{""}},
		{name: "numbers as written", template: []string{"--n={{x}}"}, arguments: `{"x":12345678901234567890.50}`,
			want: []string{"--n=12345678901234567890.50"}},
		{name: "boolean", template: []string{"--fix={{x}}"}, arguments: `{"x":false}`, want: []string{"--fix=false"}},
		{name: "object", template: []string{"{{x}}"}, arguments: `{"x":{"a": [1]}}`, want: []string{`{"a": [1]}`}},
		{name: "list", template: []string{"{{x}}", "end"}, arguments: `{"x":["a b","",3,true,null,[1]]}`,
			want: []string{"a b", "", "3", "true", "[1]", "end"}},
		{name: "empty list", template: []string{"{{x}}"}, arguments: `{"x":[]}`, want: []string{}},
		{name: "absent", template: []string{"{{x}}", "--x={{x}}", "end"}, arguments: `{}`, want: []string{"end"}},
		{name: "null is absent", template: []string{"{{x}}"}, arguments: `{"x":null}`, want: []string{}},
		{name: "half of a word", template: []string{"{{x}}:{{y}}"}, arguments: `{"x":"a"}`,
			err: "y is missing: it goes into one word with x; nothing was run"},
		{name: "dash", template: []string{"{{x}}"}, arguments: `{"x":"--output=/etc/passwd"}`,
			err: `x gives the word "--output=/etc/passwd", which begins with - and could be taken for an option; nothing was ` +
				`run`},
		{name: "dash before more", template: []string{"{{x}}.go"}, arguments: `{"x":"-rf"}`,
			err: `x gives the word "-rf.go", which begins with - and could be taken for an option; nothing was run`},
		{name: "dash out of nothing and more", template: []string{"{{x}}-rf"}, arguments: `{"x":""}`,
			err: `x gives the word "-rf", which begins with - and could be taken for an option; nothing was run`},
		{name: "dash in a list", template: []string{"{{x}}"}, arguments: `{"x":["a","-b"]}`,
			err: `x gives the word "-b", which begins with - and could be taken for an option; nothing was run`},
		{name: "negative number", template: []string{"{{x}}"}, arguments: `{"x":-9}`,
			err: `x gives the word "-9", which begins with - and could be taken for an option; nothing was run`},
		{name: "dash behind text", template: []string{"--n={{x}}"}, arguments: `{"x":"-9"}`, want: []string{"--n=-9"}},
		{name: "dash behind --", template: []string{"--", "{{x}}"}, arguments: `{"x":"-9"}`, want: []string{"--", "-9"}},
		{name: "a -- of the caller does not count", template: []string{"{{x}}"}, arguments: `{"x":["--","-9"]}`,
			err: `x gives the word "--", which begins with - and could be taken for an option; nothing was run`},
		{name: "list in a text", template: []string{"x={{x}}"}, arguments: `{"x":["a"]}`,
			err: "x is a list, and it goes into the middle of a text; nothing was run"},
		{name: "NUL", template: []string{"{{x}}"}, arguments: `{"x":"a\u0000b"}`,
			err: "x has a NUL character, which no program can be given; nothing was run"},
		{name: "braces in a value stay", template: []string{"{{x}}"}, arguments: `{"x":"{{y}}","y":"z"}`,
			want: []string{"{{y}}"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			words, err := templates(append([]string{"program"}, test.template...))
			if err != nil {
				t.Fatal(err)
			}
			call, err := (&commandLine{words: words}).programCall(&sdk.Request{Arguments: []byte(test.arguments)})
			got := call.words
			if test.err != "" {
				if err == nil || err.Error() != test.err {
					t.Errorf("got  %q, %v\nwant %s", got, err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(append([]string{"program"}, test.want...), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever callers pass, the operator's words are unchanged, and no word of a caller begins with a dash.
func FuzzFill(f *testing.F) {
	f.Add("--fix={{x}}", "{{x}}", `{"x":"a"}`)
	f.Add("{{y}}", "a{{x}}{{y}}", `{"x":["a","-b"],"y":-1}`)
	f.Add("{{{{", "{{x}}", `{"x":{"a":null}}`)
	f.Add("--", "{{x}}", `{"x":"--"}`)
	f.Fuzz(func(t *testing.T, start, second, arguments string) {
		words, err := templates([]string{"program", start, second, "last"})
		if err != nil {
			return
		}
		call, err := (&commandLine{words: words}).programCall(&sdk.Request{Arguments: []byte(arguments)})
		got := call.words
		if err != nil {
			return
		}
		if len(got) < 2 || got[0] != "program" || got[len(got)-1] != "last" {
			t.Fatalf("%q %q %s: %q", start, second, arguments, got)
		}
		for i, word := range got[1 : len(got)-1] {
			switch {
			case strings.ContainsRune(word, 0) && !strings.ContainsRune(start+second, 0):
				t.Fatalf("%q has a NUL", word)
			case strings.HasPrefix(word, "-") && !strings.HasPrefix(start, "-") && !strings.HasPrefix(second, "-"):
				t.Fatalf("%q %q %s: word %d is %q", start, second, arguments, i, word)
			}
		}
	})
}
