package match

import (
	"strings"
	"testing"
)

const spelled = "package mail\n\nfunc send(to Address, letter Letter) error {\n\tclient := connect(to.Server)\n" +
	"\treturn client.deliver(letter)\n}\n\nfunc State(stage int) {\n}\n"

// An old_string of a line or two is found in spite of a misspelt word, if there is just one word that it can be.
func TestMisspeltWords(t *testing.T) {
	tests := []struct{ name, old, fresh, from, to string }{
		{"a line", "\tcleint := connect(to.Server)", "\tcleint := connect(to.Server, 25)",
			"to.Server)", "to.Server, 25)"},
		{"right in new_string", "\tcleint := connect(to.Server)", "\tclient := connect(to.Server, 25)",
			"to.Server)", "to.Server, 25)"},
		{"two words", "\tcleint := conenct(to.Server)\n\treturn client.deliver(letter)\n}",
			"\tcleint := conenct(to.Server)\n\tdefer cleint.close()\n\treturn client.deliver(letter)\n}",
			"\treturn", "\tdefer client.close()\n\treturn"},
		{"a name made of it", "\tcleint := connect(to.Server)\n\treturn client.deliver(letter)",
			"\tcleintOne := connect(to.Server)\n\treturn client.deliver(letter)", "client := ", "clientOne := "},
		{"blanks alone change", "\tcleint := connect(to.Server)\n\treturn client.deliver(letter)",
			"\tcleint := connect(to.Server)\n\n\treturn client.deliver(letter)", "\treturn", "\n\treturn"},
		{"a letter more", "\tclieent := connect(to.Server)\n\treturn client.deliver(letter)\n}",
			"\tclieent := connect(to.Server)\n\tx()\n\treturn client.deliver(letter)\n}", "\treturn", "\tx()\n\treturn"},
		{"other indentation", "    cleint := connect(to.Server)\n    return client.deliver(letter)",
			"    cleint := connect(to.Server)\n    x()\n    return client.deliver(letter)", "\treturn", "\tx()\n\treturn"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, got := planned(t, "mail.go", spelled, Change{Old: tt.old, New: tt.fresh})
			if want := strings.Replace(spelled, tt.from, tt.to, 1); got != want {
				t.Errorf("%q", got)
			}
			if len(p.Warnings) == 0 || p.Pass != similarPass {
				t.Errorf("pass %d, warnings %q", p.Pass, p.Warnings)
			}
		})
	}
}

func TestMisspeltWordsInDoubt(t *testing.T) {
	two := strings.Replace(spelled, "Letter)", "Letter, clinet bool)", 1)
	tests := []struct{ name, data, old, fresh string }{
		{"little else", spelled, "cleint.deliver(x", "cleint.send(x"},
		{"another word with little else", spelled, "func Stage(stage int) {", "func Stage(stage, more int) {"},
		{"another end", spelled, "\tclients := connect(to.Server)", "\tclients := connect(to.Server, 25)"},
		{"two words that it can be", two, "\tclinent := connect(to.Server)\n\treturn client.deliver(letter)\n}",
			"\tclinent := connect(to.Server)\n\tx()\n\treturn client.deliver(letter)\n}"},
		{"another name on two lines", spelled, "\tcleint := connect(to.Server)\n\treturn cleint.deliver(letter)",
			"\tcleint := connect(to.Server)\n\tx()\n\treturn cleint.deliver(letter)"},
		{"two places", spelled + spelled, "\tcleint := connect(to.Server)", "\tcleint := connect(to.Server, 25)"},
		{"corrected before", spelled, "\tcleint := connect(to.Server)", "\tclient := connect(to.Server)"},
		{"made before", strings.Replace(spelled, "to.Server)", "to.Server)\n\tx()", 1),
			"\tcleint := connect(to.Server)", "\tclient := connect(to.Server)\n\tx()"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			refused(t, "mail.go", tt.data, Change{Old: tt.old, New: tt.fresh})
			refused(t, "mail.go", tt.data, Change{Old: tt.old, New: tt.fresh, Strictness: Safe})
		})
	}
}

// What new_string has as the file has it stays as it is, in whatever words old_string has it.
func TestLinesThatNewStringHasAsTheFile(t *testing.T) {
	const data = "// Load reads all of it. It may be slow, and may fail.\nfunc load(name string) error {\n\topen(name)\n" +
		"\treturn read(name, limit)\n}\n"
	for _, c := range []struct{ name, was, is string }{
		{"a comment in other letters", "// Load reads all of it. It", "// load reads all of it. it"},
		{"a comment in other words", "It may be slow, and may fail", "This takes a while, and can fail"},
	} {
		old := strings.Replace(data, c.was, c.is, 1)
		_, got := planned(t, "a.go", data, Change{Old: old, New: replaced(data, "open(name)", "openAll(name)")})
		if want := replaced(data, "open(name)", "openAll(name)"); got != want {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	for _, was := range []string{"\t// load reads it all, it may be slow, and may fail.\n\treturn read(name, limit)",
		"\t// Load reads all of it. It may be slow, and may fail.\n\tretunr raed(name, limtis)"} {
		const is = "\t// Load reads all of it. It may be slow, and may fail.\n\treturn read(name, limit)"
		const data = "func load(name string) {\n\topen(name)\n\tcheck(name)\n" + is + "\n}\n"
		fresh := replaced(data, is, "\tif name != 0 {\n"+strings.ReplaceAll(is, "\t", "\t\t")+"\n\t}")
		if _, got := planned(t, "a.go", data, Change{Old: replaced(data, is, was), New: fresh}); got != fresh {
			t.Errorf("deeper, not as %q: %s", was, got)
		}
	}
	const quoted = "\n  @Only(\"one\")\n  a = 1\n\n  b = 2\n  c = 3\n"
	c := Change{Old: "\n  @Only(“one”)\n  a = 1\n\n  b = 2\n", New: "\n  @Only(\"one\")\n  a = 1\n\n  b = 4\n"}
	if _, got := planned(t, "a.java", quoted, c); got != replaced(quoted, "b = 2", "b = 4") {
		t.Errorf("quotes: %s", got)
	}
}

// A name that has the word as the file spells it is not spelled in another way.
func TestNamesMadeOfMisspeltWords(t *testing.T) {
	text := NewText("a.go", []byte("MulAdd(x)\n"))
	got := string(text.respell([]byte("MulAddSub MulAd MulAdX"), []substitution{{"MulAd", "MulAdd"}}))
	if got != "MulAddSub MulAdd MulAddX" {
		t.Error(got)
	}
}
