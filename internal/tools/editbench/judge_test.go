package editbench

import (
	"strings"
	"testing"
)

// A small case: two lines are changed, a comment was left out by the model, and one line has blanks at its end.
func small() *Case {
	data := "top\n\tone()\n\t// why\n\ttwo(a) \n\tthree()\nend\n"
	want := "top\n\tone(x)\n\t// why\n\ttwo(a) \n\tnew()\n\tthree()\nend\n"
	return &Case{
		Data: []byte(data), Want: []byte(want), Old: "one()\ntwo(a)\nthree()\n", New: "one(x)\ntwo(a)\nnew()\nthree()\n",
		start: 4, end: len(data) - 4,
		after: []outcome{
			{line{"\tone(x)", "\n"}, true}, {line{"\t// why", "\n"}, false}, {line{"\ttwo(a) ", "\n"}, false},
			{line{"\tnew()", "\n"}, true}, {line{"\tthree()", "\n"}, false},
		},
	}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name, got string
		want      Verdict
	}{
		{"as it should be", "top\n\tone(x)\n\t// why\n\ttwo(a) \n\tnew()\n\tthree()\nend\n", Correct},
		{"blanks at a line end lost", "top\n\tone(x)\n\t// why\n\ttwo(a)\n\tnew()\n\tthree()\nend\n", Sloppy},
		{"a comment lost", "top\n\tone(x)\n\ttwo(a) \n\tnew()\n\tthree()\nend\n", Sloppy},
		{"no indentation", "top\none(x)\ntwo(a)\nnew()\nthree()\nend\n", WrongText},
		{"a changed line indented in another way", "top\n  one(x)\n\t// why\n\ttwo(a) \n\tnew()\n\tthree()\nend\n",
			WrongSpace},
		{"an untouched line indented in another way", "top\n\tone(x)\n\t// why\n  two(a) \n\tnew()\n\tthree()\nend\n",
			WrongSpace},
		{"another line ending", "top\n\tone(x)\r\n\t// why\n\ttwo(a) \n\tnew()\n\tthree()\nend\n", WrongSpace},
		{"a blank line more", "top\n\tone(x)\n\t// why\n\ttwo(a) \n\n\tnew()\n\tthree()\nend\n", WrongSpace},
		{"half of the change", "top\n\tone(x)\n\t// why\n\ttwo(a) \n\tthree()\nend\n", WrongText},
		{"new lines in another order", "top\n\tnew()\n\tone(x)\n\t// why\n\ttwo(a) \n\tthree()\nend\n", WrongText},
		{"an invented line", "top\n\tone(x)\n\t// why\n\tfour()\n\ttwo(a) \n\tnew()\n\tthree()\nend\n", WrongText},
		{"a line before the place", "TOP\n\tone(x)\n\t// why\n\ttwo(a) \n\tnew()\n\tthree()\nend\n", WrongPlace},
		{"a line behind the place lost", "top\n\tone(x)\n\t// why\n\ttwo(a) \n\tnew()\n\tthree()\n", WrongPlace},
		{"white space outside the place", "top \n\tone(x)\n\t// why\n\ttwo(a) \n\tnew()\n\tthree()\nend\n", WrongSpace},
		{"everything gone", "", WrongPlace},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := small().Judge([]byte(c.got))
			if got != c.want {
				t.Errorf("judged %s, want %s", got, c.want)
			}
			if got.Wrong() != strings.HasPrefix(c.want.String(), "wrong") {
				t.Errorf("%s counts as wrong: %t", got, got.Wrong())
			}
		})
	}
}

func TestJudgeRefusals(t *testing.T) {
	edit, refuse := small(), &Case{Data: []byte("a\n"), Old: "b", New: "c"}
	if got := edit.Judge(nil); got != Refused {
		t.Errorf("an edit that was refused is %s", got)
	}
	if got := refuse.Judge(nil); got != Correct {
		t.Errorf("a refusal that was due is %s", got)
	}
	for _, data := range [][]byte{[]byte("a\n"), {}} {
		if got := refuse.Judge(data); got != WrongEdit {
			t.Errorf("the edit %q of what must be refused is %s", data, got)
		}
	}
}

func TestJudgeEverywhere(t *testing.T) {
	c := &Case{All: true, Data: []byte("a\nb\na\n"), Old: "a", New: "x", Want: []byte("x\nb\nx\n")}
	for got, want := range map[string]Verdict{"x\nb\nx\n": Correct, "x\nb\na\n": WrongText, "x\nb\n x\n": WrongSpace} {
		if v := c.Judge([]byte(got)); v != want {
			t.Errorf("%q is %s, want %s", got, v, want)
		}
	}
}

func TestJudgeByTheLetter(t *testing.T) {
	c := &Case{Data: []byte("a = 1\nb = 2\n"), Old: "a = 1\n", New: "a = 5", Want: []byte("a = 5\nb = 2\n"), end: 6}
	if got := c.Judge([]byte("a = 5b = 2\n")); got != Harmful || got.Wrong() {
		t.Errorf("two lines joined by the letter are %s", got)
	}
	if got := c.Judge(c.Want); got != Correct {
		t.Errorf("the break kept is %s", got)
	}
	c.Want = nil
	if got := c.Judge([]byte("a = 5b = 2\n")); got != Harmful {
		t.Errorf("what must be refused, done by the letter, is %s", got)
	}
}
