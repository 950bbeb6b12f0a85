package scan

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/internal/testutil"
)

// found are the lines that the scanner finds.
func found(t testing.TB, s *Scanner, text string) (out []string) {
	t.Helper()
	s.Reset([]byte(text))
	for from := 0; ; {
		line, ok := s.Next(from)
		if !ok {
			return out
		}
		if line.Start < from || line.End < line.Start || line.Next <= line.Start || line.MatchEnd < line.Start ||
			line.MatchEnd > line.End {
			t.Fatalf("from %d: %+v", from, line)
		}
		out = append(out, fmt.Sprintf("%d %q", line.Start, text[line.Start:line.End]))
		from = line.Next
	}
}

// plain are the lines that the library finds, one at a time.
func plain(re *regexp.Regexp, text string) (out []string) {
	start := 0
	for line := range strings.Lines(text) {
		body := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if re.MatchString(body) {
			out = append(out, fmt.Sprintf("%d %q", start, body))
		}
		start += len(line)
	}
	return out
}

func library(pattern string, o Options) (*regexp.Regexp, error) {
	if o.Literal {
		pattern = regexp.QuoteMeta(pattern)
	}
	if o.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	return regexp.Compile(pattern)
}

// differ compares one pattern on one text, with the same scanner twice.
func differ(t testing.TB, pattern, text string, o Options) {
	t.Helper()
	re, libraryErr := library(pattern, o)
	p, err := Compile(pattern, o)
	if err != nil {
		e, ok := errors.AsType[*PatternError](err)
		if !ok || e.Problem == "" {
			t.Fatalf("%q: the error is %#v", pattern, err)
		}
		if libraryErr == nil && !strings.Contains(e.Problem, "line break") && !strings.Contains(e.Problem, "instructions") &&
			len(pattern) <= maxPattern {
			t.Fatalf("%q is refused: %v", pattern, err)
		}
		return
	}
	if libraryErr != nil {
		t.Fatalf("%q is taken, and the library says %v", pattern, libraryErr)
	}
	s := p.Scanner(t.Context())
	for range 2 {
		if diff := cmp.Diff(plain(re, text), found(t, s, text)); diff != "" {
			t.Fatalf("%q with %+v in %q (-library +ours):\n%s", pattern, o, text, diff)
		}
	}
}

func TestPatterns(t *testing.T) {
	text := "alpha beta\nBETA\r\n\n\nfoo_bar(x) // todo\nTODO: fix\n\tindented\n  \nkelvin \u212A and " +
		"\u017Fharp\nstra\u00DFe Stra\u1E9Ee\ngr\xFCn\n\uFFFD\n" +
		"日本語 テスト\nend\r\r\naaaa\nab\nab ab\n\x00nul\nlast line without end"
	patterns := []string{
		"", "a", "beta", "BETA", "^", "$", "^$", "^beta$", "beta$", "^alpha", "x?", ".", "..", "a+", "(a|b)+", "foo|todo",
		"foo|.*|todo", "foo|bar|baz|qux|quux|corge|grault",
		`\bab\b`, `\Bb`, `\b`, `\B`, `\bt`, `o\b`, `^\s*$`, `\s`, `\S\s\S`, `[A-Z]{4}`, `[^a-z]`, `\w+\(`, `\d`, `(?i)beta`,
		`(?i)k`, `(?i)s`, `(?i)sharp`, `(?i)kelvin`, `(?i)strasse`, `(?i)straße`, `(?i)TODO:?`, `(?i:t)odo`,
		"\uFFFD", "gr.n", "grün", `\x{FC}`, "日本", "[あ-ん]", `\p{Katakana}+`, `\pL{3}`, `[^\x00-\x7F]`, `(?s).`, `(?m)^beta$`,
		`\A`, `\z`, `a\z`, `(?U)a+`, `a{2,3}`, `(a{2}){2}`, `(?:)`, `()`, "(^a|b$)", `\Qa+b\E`, `end\r`, `end\r?$`, `\r`,
		`\x00`,
		`[[:upper:]]`, `a.*b.*a`, `(alpha|gamma) beta`, `x*y*z*`, `[a-c][a-c]$`, `(foo)(_)(bar)`, `t.*t`, `[\s\S]`, `$^`,
		`^^a`, `a$$`, `\b\b`, `a\b `,
	}
	for _, pattern := range patterns {
		for _, o := range []Options{{}, {Literal: true}, {IgnoreCase: true}, {Literal: true, IgnoreCase: true}} {
			differ(t, pattern, text, o)
		}
	}
}

// Each character that has other cases, by any of the rules for them, is found in all that the library takes for it.
func TestCasesOfAllCharacters(t *testing.T) {
	for r := range rune(unicode.MaxRune) {
		other, low, up := unicode.SimpleFold(r), unicode.ToLower(r), unicode.ToUpper(r)
		if other != r || low != r || up != r {
			differ(t, fmt.Sprintf("_%c", r), fmt.Sprintf("_%c\n_%c\n_%c\n_%c\n_", r, other, low, up),
				Options{IgnoreCase: true})
		}
	}
}

// Alternatives of all sizes, among them more than can be looked for one by one.
func TestManyLiterals(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	word := func(most int) string {
		var b strings.Builder
		for range 1 + r.IntN(most) {
			b.WriteString([]string{"a", "b", "k", "S", "é", "\u212A", "_", "ab"}[r.IntN(8)])
		}
		return b.String()
	}
	for range 3_000 {
		var words []string
		for range r.IntN(20) {
			words = append(words, word(9))
		}
		pattern := []string{"%s", "x(%s)", "(%s)[0-9]", "(%s)(k|_)?b", "^(%s)$", `\b(%s).*a`}[r.IntN(6)]
		pattern = fmt.Sprintf(pattern, strings.Join(words, "|"))
		var text strings.Builder
		for range r.IntN(12) {
			text.WriteString([]string{"", "x", " "}[r.IntN(3)] + word(9) + []string{"", "1", "b", "kb"}[r.IntN(4)] +
				[]string{"\n", "\r\n", " "}[r.IntN(3)])
		}
		differ(t, pattern, text.String(), Options{IgnoreCase: r.IntN(2) == 0})
	}
}

// Patterns and texts of few letters meet in all ways.
func TestGeneratedPatterns(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "b", "K", "k", "s", "_", " ", "é", "\u212A", ".", "^", "$", `\b`, `\B`, `\w`, `\s`, "[ab]",
		"[^a]", "(a|bb)", "(?:k|)", "a*", "b+", "(ab)?", "a{2}", `\d`, "|", "(?i:ab)", "[k-z]", "\uFFFD"}
	letters := []string{"a", "b", "k", "K", "s", "_", " ", "é", "\u212A", "\xFF", "\n", "\r\n", "1", "ab", "\uFFFD", "\r"}
	pick := func(from []string, most int) string {
		var b strings.Builder
		for range r.IntN(most) {
			b.WriteString(from[r.IntN(len(from))])
		}
		return b.String()
	}
	for range 20_000 {
		differ(t, pick(pieces, 6), pick(letters, 30), Options{Literal: r.IntN(8) == 0, IgnoreCase: r.IntN(3) == 0})
	}
}

func FuzzScan(f *testing.F) {
	f.Add("foo|bar", "xx foo\r\nbar", false, false)
	f.Add(`(?i)\bk[^a]+$`, "K\u212A\xFF \n", true, false)
	f.Add("a.c", "a.c\nabc", false, true)
	f.Fuzz(func(t *testing.T, pattern, text string, fold, literal bool) {
		if literal && !utf8.ValidString(pattern) { // the library reads such patterns in its own way
			t.Skip()
		}
		differ(t, pattern, text, Options{IgnoreCase: fold, Literal: literal})
	})
}

func TestMistakes(t *testing.T) {
	tests := []struct{ pattern, want, hint string }{
		{"a(b", "missing closing ): a(b at offset 0", ""}, {"ab)", "unexpected ): ab) at offset 0", ""},
		{"x[a", "missing closing ]: [a at offset 1", ""},
		{"foo(?=bar)", "lookahead and lookbehind are not in RE2: (?= at offset 3", "pick from the results"},
		{"(?<!a)b", "lookahead and lookbehind are not in RE2: (?<! at offset 0", "pick"},
		{`(a)\1`, `backreferences are not in RE2: \1 at offset 3`, "Write out"},
		{`a\y`, `invalid escape sequence: \y at offset 1`, ""},
		{"a{1001}", "invalid repeat count: {1001} at offset 1", "up to 1000"},
		{"(a{100}){100}", "invalid repeat count", "up to 1000"},
		{"**", "missing argument to repetition operator: * at offset 0", ""},
		{`a\nb`, "a line break can never match: lines are searched one by one at offset 1", "lines around"},
		{"a\nb", "a line break can never match: lines are searched one by one at offset 1", "lines around"},
		{strings.Repeat("a", maxPattern+1), "it has 1025 bytes, at most 1024 are allowed", ""},
		{strings.Repeat(`[ab]{1000}`, 20), "it takes 20002 instructions, at most 10000 are allowed", "smaller counts"},
	}
	for _, test := range tests {
		_, err := Compile(test.pattern, Options{})
		e, ok := errors.AsType[*PatternError](err)
		if !ok || !strings.HasPrefix(err.Error(), test.want) || !strings.Contains(e.Hint, test.hint) ||
			(test.hint == "") != (e.Hint == "") {
			t.Errorf("%.20q: %v, %+v", test.pattern, err, e)
		}
	}
}

func TestRequired(t *testing.T) {
	tests := []struct{ pattern, want string }{
		{"foo", "[{foo false}]"}, {"(?i)foo", "[{foo true}]"}, {"foo.*barbaz", "[{barbaz false}]"},
		{"foo|ba", "[{foo false} {ba false}]"}, {"(foo)+x", "[{foo false}]"}, {"(foo)*", "[]"}, {"foo|.", "[]"},
		{"(?i)session", "[{session true}]"}, {"(?i)kk", "[{kk true}]"}, {"(?i)_1_", "[{_1_ false}]"},
		{"a\uFFFDbc", "[{bc false}]"}, {`x(foo|bar)?`, "[{x false}]"}, {"(?i)éa", "[{a true}]"},
		{`\bTODO\b`, "[{TODO false}]"}, {"(?i)İx", "[{İx true}]"}, {"[Tt]odo", "[{todo true}]"},
		{"(?i)ba[rz]", "[{bar true} {baz true}]"}, {"read|readlink|rename|close", "[{read false} {readlink false} " +
			"{rename false} {close false}]"}, {"func (a|b[cd])[0-9]", "[{func a false} {func bc false} {func bd false}]"}, {"[a-z]x|[0-9]y", "[{x false} {y false}]"},
		{"(a|b|c|d|e|f|g|h)(i|j)..(k|l|m|n|o|p|q)xyz", "[{kxyz false} {lxyz false} {mxyz false} {nxyz false} {oxyz false} " +
			"{pxyz false} {qxyz false}]"}, {"(get|set)(Name|Age)[A-Z]", "[{getName false} {getAge false} " +
			"{setName false} {setAge false}]"},
	}
	for _, test := range tests {
		re, err := syntax.Parse(test.pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(required(re.Simplify())); got != test.want {
			t.Errorf("%q requires %s, want %s", test.pattern, got, test.want)
		}
	}
}

// A table that is full is begun again, and the answers stay right.
func TestAutomatonForgets(t *testing.T) {
	pattern := `(a|b)*a(a|b){12}c|\pL{3}x`
	p, err := Compile(pattern, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	var text strings.Builder
	for range 40_000 {
		text.WriteByte("aaabbbbc\n"[r.IntN(9)])
	}
	s := p.Scanner(t.Context())
	if diff := cmp.Diff(plain(regexp.MustCompile(pattern), text.String()), found(t, s, text.String())); diff != "" {
		t.Error(diff)
	}
	if len(s.auto.table) > maxTable {
		t.Errorf("the table has %d entries", len(s.auto.table))
	}
}

// The states of a long program are large; there are fewer of them then.
func TestAutomatonWithLargeStatesForgets(t *testing.T) {
	testutil.Long(t)
	pattern := strings.Repeat("[ab]{900}", 9) + "[cd]"
	p, err := Compile(pattern, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := p.Scanner(t.Context())
	text := strings.Repeat("ab", 1000) + "\n" + strings.Repeat("b", 8100)
	if got := len(found(t, s, text+"\n"+text+"c")); got != 1 {
		t.Errorf("found %d lines", got)
	}
	size := 0
	for _, state := range s.auto.kinds {
		size += 4 * len(state.insts)
	}
	if most := maxSets + 10*4*len(p.prog.Inst); size > most {
		t.Errorf("the states take %d bytes, at most %d are allowed", size, most)
	}
}

// The slowest pattern that is allowed ends with its call, also in the middle of a line.
func TestScanEndsWithItsContext(t *testing.T) {
	for _, text := range []string{strings.Repeat("ab", 1<<20), strings.Repeat("ab\n", 1<<20)} {
		ctx, cancel := context.WithCancel(t.Context())
		p, err := Compile(`(?:[ab]{900}a[ab]{900}[ab]{900}c){1}`, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := p.Scanner(ctx)
		s.Reset([]byte(text))
		cancel()
		if _, ok := s.Next(0); ok || s.looked > len(text)/2 && s.auto.learnt > 2048 {
			t.Errorf("found %v, learnt %d steps", ok, s.auto.learnt)
		}
	}
}
