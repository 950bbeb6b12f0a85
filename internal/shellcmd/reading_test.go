package shellcmd

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/testutil"
)

// notSeen are characters that people cannot see, or take for a blank, and a byte that is not UTF-8.
var notSeen = []string{"\u200b", "\u00a0", "\ufeff", "\u202e", "\u2060", "\u2028", "\u2800", "\u3164",
	"\U000e0041", "\r", "\x01", "\x0b", "\x7f", "\xff"}

// hiding are texts in which a word of such characters, as %[1]s, precedes a command, as %[2]s.
var hiding = []string{
	"%[1]s; %[2]s", "%[1]s && %[2]s", "%[1]s || %[2]s", "%[1]s & %[2]s", "%[1]s | %[2]s", "%[1]s\n%[2]s",
	"true%[1]s\n%[2]s",
	"true %[1]s; %[2]s", "( %[1]s ); %[2]s", "{ %[1]s; }; %[2]s", "! %[1]s; %[2]s", "time %[1]s; %[2]s",
	"echo >%[1]s; %[2]s", "echo <%[1]s; %[2]s", "if %[1]s; then :; else %[2]s; fi", "case %[1]s in *) %[2]s;; esac",
	"while ! %[1]s; do %[2]s; done", "for x in %[1]s; do %[2]s; done", "%[1]s() { %[2]s; }; %[1]s",
	"bash -c '%[1]s; %[2]s'", "echo $(%[1]s; %[2]s)", "eval '%[1]s; %[2]s'", "bash <<E\n%[1]s; %[2]s\nE",
	"# %[1]s\\\n%[2]s", "%[1]s\\\n; %[2]s",
}

// unparsed are texts that bash runs, or runs in part, and that the parser reads in part at most.
var unparsed = []string{"((true); %s)", "shopt -s extglob\necho @(a)\n%s", "[[ a == @(b) ]]; %s", "# x\\\n%s",
	"echo a # x\\\n%s", "bash -c '((true); %s)'", "bash -c '# x\\\n%s'",
	strings.Repeat("{ ", maxDepth) + "true" + strings.Repeat("; }", maxDepth) + "; %s"}

// padded are texts of over maxText bytes.
var padded = func() (out []string) {
	for _, n := range []int{maxText + 1, maxLong + 1, 4 * maxLong} {
		word := strings.Repeat("a", n)
		out = append(out, word+"; %s", "echo '"+word+"'; %s", ": "+word+" && %s", "if "+word+"; then :; else %s; fi",
			"A="+word+"; %s", strings.Repeat(":;", n/2)+"%s", strings.Repeat("true\n", n/5)+"%s", "%s; "+word,
			"bash -c '%s; "+word+"'", strings.Repeat("(", n)+"\n%s", "\u200b"+word+"; %s")
	}
	return append(out, "A="+strings.Repeat("a", maxText)+" %s", "bash -c ': "+strings.Repeat("a", maxText)+"; %s'")
}()

// Whatever people cannot see, and whatever the parser cannot read, does not hide a command that is denied.
func TestReadings(t *testing.T) {
	t.Parallel()
	var texts []string
	for _, text := range hiding {
		for _, character := range notSeen {
			texts = append(texts, strings.ReplaceAll(strings.ReplaceAll(text, "%[1]s", character), "%[2]s", "%s"))
		}
	}
	for _, text := range append(append(texts, unparsed...), padded...) {
		destroys, denied := fmt.Sprintf(text, "rm -rf /"), fmt.Sprintf(text, "touch x")
		if Catastrophe(destroys, Context{Dir: "/w", Root: "/w"}) == "" {
			t.Errorf("nothing is wrong with %.200q", destroys)
		}
		if why := Catastrophe(denied, Context{Dir: "/w", Root: "/w"}); why != "" {
			t.Errorf("%.200q is refused: %s", denied, why)
		}
		rules := Rules{Deny: [][]string{{"touch"}}, Otherwise: allow}
		if v := rules.Judge(denied, Context{Dir: "/w", Root: "/w"}); v.Effect != deny {
			t.Errorf("%.200q is %s: %.400v", denied, v.Effect, v.Reasons)
		}
		if v := rules.Judge(destroys, Context{Dir: "/w", Root: "/w"}); v.Effect == deny {
			t.Errorf("%.200q is denied: %.400v", destroys, v.Reasons)
		}
	}
}

// Characters that people cannot see may be in text that is only printed.
func TestReadingsOfWhatIsPrinted(t *testing.T) {
	t.Parallel()
	for _, character := range notSeen {
		for _, text := range []string{"echo '%s; rm -rf /'", "echo \"a%s rm -rf /\"", "cat <<E\nx%s\nrm -rf /\nE",
			"git commit -m 'never%s && rm -rf /'", "# %s; rm -rf /"} {
			if text = fmt.Sprintf(text, character); character == "\r" && text[0] == '#' {
				continue // some end the line there
			}
			if why := Catastrophe(text, Context{Dir: "/w", Root: "/w"}); why != "" {
				t.Errorf("%q is refused: %s", text, why)
			}
		}
	}
}

// No text takes long.
func TestReadingsAreBounded(t *testing.T) {
	testutil.Long(t)
	t.Parallel()
	rules := Rules{Deny: [][]string{{"touch"}}}
	for _, unit := range []string{"(", "$(", "{ ", "a[", "`", "rm x;", "rm;\u200b", "$x ", "if ", "x\n", "'\n", "\"$(",
		"sh -c '", "tmux rm x;", "rm a\\\n"} {
		text, start := "rm "+strings.Repeat(unit, 1<<20/len(unit)), time.Now()
		Catastrophe(text, Context{})
		rules.Judge(text, Context{})
		t.Logf("%q: %v", unit, time.Since(start))
	}
}
