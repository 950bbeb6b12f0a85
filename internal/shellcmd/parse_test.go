package shellcmd_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolhost/toolhost/internal/shellcmd"
	"github.com/toolhost/toolhost/internal/testutil"
)

// listing is one line for each command: where it was found, its name and arguments.
func listing(s *shellcmd.Script) (out []string) {
	for _, c := range s.Commands {
		line := c.Name
		for _, a := range c.Args {
			line += " <" + a.Text + ">"
		}
		if len(c.Via) > 0 {
			line = strings.Join(c.Via, " / ") + ": " + line
		}
		out = append(out, line)
	}
	return out
}

func TestParseListsEveryCommand(t *testing.T) {
	for text, want := range map[string][]string{
		"ls -la 'a b'":           {"ls <-la> <a b>"},
		"a | b && c || d; e & f": {"a", "b", "c", "d", "&", "e", "f"},
		"(a; b)":                 {"a", "b"},
		"{ a; } > x":             {"{", "a"},
		"echo $(a `b`) \"$(c)\"": {"echo <$(a `b`)> <\"$(c)\">", "$(...): a <`b`>", "$(...) / $(...): b",
			"$(...): c"},
		"if a; then b; elif c; then d; fi": {"a", "b", "c", "d"},
		"while a; do b; done":              {"a", "b"},
		"case $(a) in b) c;; esac":         {"$(...): a", "c"},
		"f() { a; }":                       {"function", "function f: a"},
		"coproc a":                         {"coproc", "coproc: a"},
		"time a":                           {"time: a"},
		"env -i X=1 a b":                   {"env <-i> <X=1> <a> <b>", "env: a <b>"},
		"sudo -u x env a":                  {"sudo <-u> <x> <env> <a>", "sudo: env <a>", "sudo / env: a"},
		"bash -c 'a; sh -c b'": {"bash <-c> <a; sh -c b>", "bash -c: a", "bash -c: sh <-c> <b>",
			"bash -c / sh -c: b"},
		"eval a 'b; c'": {"eval <a> <b; c>", "eval: a <b>", "eval: c"},
		"find . -exec a {} \\; -ok b {} +": {"find <.> <-exec> <a> <{}> <;> <-ok> <b> <{}> <+>", "find -exec: a <{}>",
			"find -ok: b <{}>"},
		"xargs -n1 a b":                     {"xargs <-n1> <a> <b>", "xargs: a <b>"},
		"sh <<E\na\nb\nE":                   {"sh", "sh <<: a", "sh <<: b"},
		"cat <<E\n$(a)\nE":                  {"cat", "$(...): a"},
		"cat <(a) >(b)":                     {"cat <<(a)> <>(b)>", "<(...): a", ">(...): b"},
		"a {b,c}d e{f,{g,h}}":               {"a <bd> <cd> <ef> <eg> <eh>"},
		"x=1 y=2 a":                         {"a"},
		"x=$(a)":                            {"", "$(...): a"},
		"[[ -f a && b == c ]]":              {"[[ <-f> <a> <b> <c>"},
		"export A=$(b)":                     {"export", "$(...): b"},
		"$x a b":                            {" <a> <b>", "$x being empty: a <b>"},
		"watch 'a | b'":                     {"watch <a | b>", "watch: a", "watch: b"},
		"\\e\"ch\"'o' $'\\x41\\102\\u0043'": {"echo <ABC>"},
		"# nothing":                         nil,
	} {
		s, err := shellcmd.Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, listing(s)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
		if s.Text != text {
			t.Errorf("the text became %q", s.Text)
		}
	}
}

func TestParseReportsWhatIsSet(t *testing.T) {
	s, err := shellcmd.Parse("A=1 B=2 a >> x 2>&1 < y >/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	c := s.Commands[0]
	if diff := cmp.Diff([]string{"A", "B"}, c.Assigns); diff != "" {
		t.Error(diff)
	}
	var redirects []string
	for _, r := range c.Redirects {
		mark := ""
		if r.Writes {
			mark = " writes"
		}
		redirects = append(redirects, r.Op+" "+r.Target.Text+mark)
	}
	if diff := cmp.Diff([]string{">> x writes", ">& 1", "< y", "> /dev/null"}, redirects); diff != "" {
		t.Error(diff)
	}
	if c.Text != "A=1 B=2 a >> x 2>&1 < y >/dev/null" || !c.Program.Static {
		t.Errorf("the command is %q of %v", c.Text, c.Program)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		offset int
		says   string
	}{
		"a control character":     {"ls \x1b", 3, "U+001B"},
		"a carriage return":       {"ls\r", 2, "U+000D"},
		"a blank without width":   {"ab\u200b", 2, "U+200B"},
		"what is not UTF-8":       {"abc\xff", 3, "not UTF-8"},
		"a long text":             {strings.Repeat("x", 16<<10+1), 16 << 10, "longer"},
		"an open quote":           {"ls '", 3, "quote"},
		"an open list":            {"a &&", 2, "&&"},
		"an extended pattern":     {"echo @(a)", 5, "extglob"},
		"a strange mark":          {"cat <<$'a'\nx\na", 4, "here-document"},
		"a group in a group":      {strings.Repeat("$(", 200) + "a" + strings.Repeat(")", 200), 198, "nested"},
		"arithmetic in itself":    {strings.Repeat("((", 4000) + "1" + strings.Repeat("))", 4000), 500, "nested"},
		"brackets without an end": {strings.Repeat("(", 16<<10), 500, "nested"},
		"a here-document's start": {"cat <<EOF", 0, "here-document"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := shellcmd.Parse(c.text)
			e, ok := errors.AsType[*shellcmd.RefusedError](err)
			if !ok || !strings.Contains(e.Error(), c.says) || e.Offset < c.offset || e.Offset > c.offset+6 {
				t.Errorf("the error is %#v, want one about %q at %d", err, c.says, c.offset)
			}
		})
	}
}

// No accepted text overflows the stack or takes long.
func TestParseOfDeepAndWideTexts(t *testing.T) {
	testutil.Long(t)
	const most = 16 << 10
	for _, unit := range []string{"$(", "(", "{ ", "`", "${x:-", "$((", "((", "[[ (", "a[", "!", "! ", "if ", "<(", "\"$(",
		"env ", "a;", "a|", "$x ",
		"env -Z ", "case x in a) ", "while ", "<<a ", "{a,b}", "\\", "'", "a=(", "eval ", "sh -c '", "*", "~", "-", "f(){ ",
		"time ", "coproc ", "[", "$'\\x"} {
		text := strings.Repeat(unit, most/len(unit))
		v := ruleSets["denies"].rules.Judge(text, here)
		if v.Effect == "allow" && unit != "'" {
			t.Errorf("%q again and again is allowed", unit)
		}
		shellcmd.Assess(text, here)
	}
}
