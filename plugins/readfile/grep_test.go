package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/plugins/readfile/internal/scan"
	"github.com/toolhost/toolhost/sdk"
)

func grepTree(t *testing.T) *fixture {
	t.Helper()
	f := start(t, ".gitignore", "build/\n", "a.txt", "one\ntwo foo\nthree\nfour\nfoo five\nsix\n", "src/b.go",
		"Foo()\r\nbar(foo)\r\n", "src/c_test.go", "foo\n", "src/deep/d.md", "# foo [x]\n", "build/x", "foo\n", ".hidden",
		"foo\n",
		"bin", "foo\x00\n", "key.pem", "foo\n", "new\nline", "foo\n", "legacy", "gr\xFCn foo\n", "utf16",
		"\xFF\xFEf\x00o\x00o\x00 \x00\xAC\x20\n\x00", "bom", "\xEF\xBB\xBFfoo\n", "empty", "")
	check(t, os.Symlink("a.txt", filepath.Join(f.dir, "link")))
	return f
}

func TestGrep(t *testing.T) {
	f := grepTree(t)
	const left = "\n[not searched: 1 binary file, 1 file that by its name or text holds secrets]\n[2 hidden; " +
		"hidden=true shows them]\n[1 ignored by .gitignore or .ignore; ignored=true shows them]"
	const all = "a.txt:2:two foo\na.txt:5:foo five\nbom:1:foo\nlegacy:1:gr\uFFFDn " +
		"foo\n\"new\\nline\":1:foo\nsrc/b.go:2:bar(foo)\nsrc/c_test.go:1:foo\nsrc/deep/d.md:1:# foo [x]\nutf16:1:foo €"
	tests := []struct{ name, arguments, want string }{
		{"everywhere", `"pattern":"foo"`, all + left},
		{"below a directory", `"pattern":"foo","path":"src"`,
			"src/b.go:2:bar(foo)\nsrc/c_test.go:1:foo\nsrc/deep/d.md:1:# foo [x]"},
		{"one file", `"pattern":"foo","path":"a.txt"`, "a.txt:2:two foo\na.txt:5:foo five"},
		{"a file by a link", `"pattern":"five","path":"link"`, "link:5:foo five"},
		{"an ignored file by its name", `"pattern":"foo","path":"build/x"`, "build/x:1:foo"},
		{"included names", `"pattern":"foo","include":"*.go"`, "src/b.go:2:bar(foo)\nsrc/c_test.go:1:foo" +
			strings.Replace(left, "[not searched: 1 binary file, 1 file that by its name or text holds secrets]\n", "", 1)},
		{"included paths", `"pattern":"foo","include":"src/**/*.{md,txt}"`, "src/deep/d.md:1:# foo [x]" +
			strings.Replace(left, "[not searched: 1 binary file, 1 file that by its name or text holds secrets]\n", "", 1)},
		{"excluded names", `"pattern":"foo","path":"src","exclude":"*_test.go"`,
			"src/b.go:2:bar(foo)\nsrc/deep/d.md:1:# foo [x]"},
		{"excluded directories", `"pattern":"foo","path":"src","exclude":"{deep,*_test.go}"`, "src/b.go:2:bar(foo)"},
		{"excluded paths", `"pattern":"foo","path":"src","exclude":"deep/**"`, "src/b.go:2:bar(foo)\nsrc/c_test.go:1:foo"},
		{"ignoring case", `"pattern":"FOO","ignore_case":true,"path":"src/b.go"`, "src/b.go:1:Foo()\nsrc/b.go:2:bar(foo)"},
		{"plain text", `"pattern":"[x]","literal":true,"path":"src"`, "src/deep/d.md:1:# foo [x]"},
		{"expression", `"pattern":"^f\\w+","path":"a.txt"`, "a.txt:4:four\na.txt:5:foo five"},
		{"end of a line that ends with CRLF", `"pattern":"\\)$","path":"src/b.go"`, "src/b.go:1:Foo()\nsrc/b.go:2:bar(foo)"},
		{"begin of a file with a mark", `"pattern":"^foo","path":"bom"`, "bom:1:foo"},
		{"lines before and after", `"pattern":"foo","path":"a.txt","before":1,"after":1`,
			"a.txt-1-one\na.txt:2:two foo\na.txt-3-three\na.txt-4-four\na.txt:5:foo five\na.txt-6-six"},
		{"groups", `"pattern":"one|six","path":"a.txt","after":1`, "a.txt:1:one\na.txt-2-two foo\n--\na.txt:6:six"},
		{"groups of files", `"pattern":"five|Foo","include":"{a.txt,b.go}","before":1,"path":"."`,
			"a.txt-4-four\na.txt:5:foo five\n--\nsrc/b.go:1:Foo()" +
				strings.Replace(left, "[not searched: 1 binary file, 1 file that by its name or text holds secrets]\n", "", 1)},
		{"files", `"pattern":"foo","path":"src","mode":"files"`, "src/b.go\nsrc/c_test.go\nsrc/deep/d.md"},
		{"counts", `"pattern":"(?i)foo","path":"src","mode":"count"`,
			"src/b.go:2\nsrc/c_test.go:1\nsrc/deep/d.md:1\n[4 matching lines in 3 files of 3 searched]"},
		{"nothing", `"pattern":"nowhere","path":"src"`, "[no matches in 3 files]"},
		{"line ends", `"pattern":"x\\r$","path":"src"`,
			"[no matches in 3 files; the CR of a line end CRLF is no part of a line: read says which line ends a file has]"},
		{"nothing in a file", `"pattern":"nowhere","path":"a.txt"`, "[no matches in 1 file]"},
		{"no file", `"pattern":"foo","path":"src","include":"*.rs"`,
			"[no file was searched: none has a name that fits include and exclude]"},
		{"an empty file", `"pattern":"^","path":"empty"`, "[no matches in 1 file]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			result := f.run(t, "grep", `{%s}`, test.arguments)
			if diff := cmp.Diff(test.want, result.Content[0].Text); diff != "" || result.Truncated {
				t.Errorf("(-want +got), truncated %v:\n%s", result.Truncated, diff)
			}
		})
	}
}

func TestGrepLimits(t *testing.T) {
	f := start(t, "a", strings.Repeat("x\n", 5), "b", strings.Repeat("x\ny\n", 5), "c", "x\n")
	tests := []struct{ name, arguments, want string }{
		{"matches", `"limit":7`, "a:1:x\na:2:x\na:3:x\na:4:x\na:5:x\nb:1:x\nb:3:x\n[cut at 7 matches, there are more: " +
			"narrow path, include or pattern, or raise limit (up to 1000)]"},
		{"matches of one file", `"limit":2`,
			"a:1:x\na:2:x\n[cut at 2 matches, there are more: narrow path, include or pattern, or raise limit (up to 1000)]"},
		{"between files", `"limit":5`,
			"a:1:x\na:2:x\na:3:x\na:4:x\na:5:x\n[cut at 5 matches, there are more: narrow path, include or pattern, or raise " +
				"limit (up to 1000)]"},
		{"with lines around", `"limit":6,"before":1,"after":1,"path":"b"`,
			"b:1:x\nb-2-y\nb:3:x\nb-4-y\nb:5:x\nb-6-y\nb:7:x\nb-8-y\nb:9:x\nb-10-y"},
		{"cut with lines around", `"limit":6,"after":1`,
			"a:1:x\na:2:x\na:3:x\na:4:x\na:5:x\n--\nb:1:x\nb-2-y\n[cut at 6 matches, there are more: narrow path, include or " +
				"pattern, or raise limit (up to 1000)]"},
		{"cut before the lines before", `"limit":6,"before":1`,
			"a:1:x\na:2:x\na:3:x\na:4:x\na:5:x\n--\nb:1:x\n[cut at 6 matches, there are more: narrow path, include or " +
				"pattern, or raise limit (up to 1000)]"},
		{"per file", `"per_file":1`,
			"a:1:x\nb:1:x\nc:1:x\n[2 files have more matches than per_file=1; raise it, or give one as path]"},
		{"files", `"limit":2,"mode":"files"`,
			"a\nb\n[cut at 2 files, there are more: narrow path, include or pattern, or raise limit (up to 1000)]"},
		{"counts", `"limit":1,"mode":"count"`,
			"a:5\n[11 matching lines in 3 files of 3 searched; 2 files not shown: narrow path, include or pattern, or raise " +
				"limit (up to 1000)]"},
		{"just enough", `"limit":11,"mode":"content"`,
			"a:1:x\na:2:x\na:3:x\na:4:x\na:5:x\nb:1:x\nb:3:x\nb:5:x\nb:7:x\nb:9:x\nc:1:x"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			result := f.run(t, "grep", `{"pattern":"x",%s}`, test.arguments)
			if diff := cmp.Diff(test.want, result.Content[0].Text); diff != "" ||
				result.Truncated != strings.HasSuffix(test.want, "]") {
				t.Errorf("(-want +got), truncated %v:\n%s", result.Truncated, diff)
			}
		})
	}
}

func TestGrepLongLines(t *testing.T) {
	f := start(t, "min.js", strings.Repeat("é", 1000)+"needle"+strings.Repeat("日", 1000)+"\nneedle\n")
	result := f.run(t, "grep", `{"pattern":"needle"}`)
	text, note, _ := strings.Cut(result.Content[0].Text, "\n[")
	lines := strings.Split(text, "\n")
	if len(lines) != 2 || lines[1] != "min.js:2:needle" || len(lines[0]) > maxLineShown+20 || !result.Truncated {
		t.Errorf("shows %d lines: %.700q", len(lines), text)
	}
	contains(t, lines[0], "min.js:1:…é", "éneedle日", "日…")
	contains(t, note, "1 line cut at 500 bytes around the match")
	many := start(t, "many", strings.Repeat(strings.Repeat("z", 480)+"\n", 400))
	result = many.run(t, "grep", `{"pattern":"z","limit":1000}`)
	contains(t, result.Content[0].Text,
		"[cut at 64 KiB of lines, there are more: narrow path, include or pattern, or ask for fewer lines around matches]")
	if size := len(result.Content[0].Text); size > maxShown+1000 || size < maxShown-1000 {
		t.Errorf("shows %d bytes", size)
	}
}

func TestGrepStructured(t *testing.T) {
	f := start(t, "a", "foo\nbar\nfoo\n", "b", "\x00", ".h", "", "x.key", "", ".ignore", "c\n", "c", "")
	want := grepOutput{Matches: []matchOutput{{"a", 1, "foo"}, {"a", 3, "foo"}}, Total: 2, Searched: 1,
		Skipped: skipped{Binary: 1, Secret: 1}, Hidden: 2, Ignored: 1}
	if diff := cmp.Diff(want, structured[grepOutput](t, f.run(t, "grep", `{"pattern":"foo","before":1}`))); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	want.Matches, want.Files, want.Total = nil, []countOutput{{"a", 2}}, 2
	if diff := cmp.Diff(want,
		structured[grepOutput](t, f.run(t, "grep", `{"pattern":"foo","mode":"count"}`))); diff != "" {
		t.Errorf("count (-want +got):\n%s", diff)
	}
	if got := string(f.run(t, "grep",
		`{"pattern":"zz","path":"a"}`).Structured); got != `{"matches":[],"total":0,"searched_files":1,"skipped_files":{},`+
		`"hidden_entries":0,"ignored_entries":0,"truncated":false}` {
		t.Errorf("nothing is %s", got)
	}
}

func TestGrepSecrets(t *testing.T) {
	f := start(t, "a/.env", "TOKEN=x\n", "a/ok.pem", "TOKEN\n", "a/b.txt", "TOKEN\n")
	check(t, os.Symlink("a", filepath.Join(f.dir, "link")))
	check(t, os.Symlink("a/.env", filepath.Join(f.dir, "plain")))
	f.MustConfigure(t, `{"allow_secrets":["a/ok.pem"]}`)
	for _, at := range []string{"a", "."} {
		got := f.run(t, "grep", `{"pattern":"TOKEN","hidden":true,"path":%q}`, at).Content[0].Text
		if want := "a/b.txt:1:TOKEN\na/ok.pem:1:TOKEN\n[not searched: 1 file that by its name or text holds " +
			"secrets]"; got != want {
			t.Errorf("in %s: %q", at, got)
		}
	}
	f.put(t, "ssh/demo", "TOKEN\n")
	check(t, os.Symlink("ssh", filepath.Join(f.dir, ".ssh")))
	f.MustConfigure(t, `{"allow_secrets":["ssh/*"]}`)
	if got := f.run(t, "grep", `{"pattern":"TOKEN","path":".ssh"}`).Content[0].Text; got != ".ssh/demo:1:TOKEN" {
		t.Errorf("what is allowed by its own path is not searched by a link: %q", got)
	}
	for _, at := range []string{"a/.env", "link/.env", "plain"} {
		contains(t, f.fails(t, "SecretFile", "grep", `{"pattern":"TOKEN","path":%q}`, at).Suggestion, "allow_secrets")
	}
}

// A pattern of another dialect that is one here, too, and finds nothing is explained; one that is meant is not.
func TestGrepOtherDialects(t *testing.T) {
	f := start(t, "file", "foo\n")
	for note, all := range map[string][]string{
		`; a \ makes | ( ) { } + ? < > plain`: {`{"pattern":"a\\|b"}`, `{"pattern":"\\<foo\\>"}`, `{"pattern":"[a-z]\\+x"}`,
			`{"pattern":"\\(a\\)\\?x"}`, `{"pattern":"o\\{3\\}"}`},
		"; the slashes around it": {`{"pattern":"/foo/i"}`},
		"; literal takes it as": {`{"pattern":"f.*o","literal":true}`, `{"pattern":"a|foo","literal":true}`,
			`{"pattern":"\\bfoo","literal":true}`},
		"in 1 file]": {`{"pattern":"bar"}`, `{"pattern":"f\\(a, \\[\\]b\\)"}`, `{"pattern":"C\\+\\+"}`,
			`{"pattern":"C:\\\\|D:"}`, `{"pattern":"/usr/lib/x"}`,
			`{"pattern":"f(a.b, c[i])","literal":true}`, `{"pattern":"a || b","literal":true}`, `{"pattern":"x{1,2}"}`},
	} {
		for _, arguments := range all {
			contains(t, f.run(t, "grep", "%s", arguments).Content[0].Text, note)
		}
	}
}

func TestGrepFailures(t *testing.T) {
	f := start(t, "file", "", "bin", "\x00")
	f.Plugin = f.Unchecked()
	tests := []struct{ name, arguments, want, message, suggestion string }{
		{"no pattern", `{"pattern":""}`, "InvalidPattern", "pattern is empty", "use read"},
		{"broken", `{"pattern":"a("}`, "InvalidPattern", `pattern "a(" cannot be used: missing closing ): a( at offset 0`,
			"set literal=true"},
		{"lookahead", `{"pattern":"a(?!b)"}`, "InvalidPattern", "lookahead and lookbehind are not in RE2: (?! at offset 1",
			"Search for the part that must be there"},
		{"backreference", `{"pattern":"(a)\\1"}`, "InvalidPattern", `backreferences are not in RE2: \1 at offset 3`,
			"Write out"},
		{"backreference by name", `{"pattern":"(?P<n>a)(?P=n)"}`, "InvalidPattern",
			"backreferences are not in RE2: (?P= at offset 8", "Write out"},
		{"\\k", `{"pattern":"(a)\\k<n>"}`, "InvalidPattern", "backreferences are not in RE2", "Write out"},
		{"possessive", `{"pattern":"a++"}`, "InvalidPattern", "++ at offset 1", "leave out the last +"},
		{"possessive count", `{"pattern":"a{2}+"}`, "InvalidPattern", "{2}+ at offset 1", "leave out the last +"},
		{"flags", `{"pattern":"(?ix) a"}`, "InvalidPattern", "(?ix at offset 0", "i, m, s and U"},
		{"another mistake beside a plain text", `{"pattern":"\\(?P= [a"}`, "InvalidPattern",
			"missing closing ]: [a at offset 6", ""},
		{"atomic", `{"pattern":"(?>a)"}`, "InvalidPattern", "(?> at offset 0", "Write (?: in place"},
		{"end", `{"pattern":"a\\Z"}`, "InvalidPattern", `\Z at offset 1`, "$"},
		{"number", `{"pattern":"\\u00e9"}`, "InvalidPattern", `\u at offset 0`, `\x{00e9}`},
		{"extended", `{"pattern":"(?x) a"}`, "InvalidPattern", "(?x at offset 0", "i, m, s and U"},
		{"line break", `{"pattern":"a\\nb"}`, "InvalidPattern", "a line break can never match", "lines around it"},
		{"too long", fmt.Sprintf(`{"pattern":%q}`, strings.Repeat("x", 1025)), "InvalidPattern", "at most 1024 are allowed",
			""},
		{"include", `{"pattern":"a","include":"[x"}`, "InvalidPattern", `include "[x" cannot be used: a [ without its ]`,
			"Close each"},
		{"exclude", `{"pattern":"a","exclude":"../x"}`, "InvalidPattern", `exclude "../x" cannot be used: it leads out`,
			"relative to path"},
		{"limit", `{"pattern":"a","limit":1001}`, "InvalidArguments", "from 1 to 1000", ""},
		{"per file", `{"pattern":"a","per_file":-1}`, "InvalidArguments", "from 1 to 1000", ""},
		{"lines around", `{"pattern":"a","before":21}`, "InvalidArguments", "from 0 to 20", ""},
		{"mode", `{"pattern":"a","mode":"lines"}`, "InvalidArguments", "content, files or count", ""},
		{"nothing there", `{"pattern":"a","path":"fil"}`, "FileNotFound", "there is no file", `Did you mean "file"`},
		{"outside", `{"pattern":"a","path":"/etc"}`, "PathOutsideWorkspace", "leads outside", ""},
		{"binary", `{"pattern":"a","path":"bin"}`, "BinaryFile", "bin is not text", "a program that knows"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := f.fails(t, test.want, "grep", "%s", test.arguments)
			contains(t, e.Message, test.message)
			contains(t, e.Suggestion, test.suggestion)
		})
	}
	contains(t, string(f.fails(t, "InvalidPattern", "grep", `{"pattern":"x[a"}`).Details), `"offset":1`)
}

func TestGrepLargeFiles(t *testing.T) {
	f := start(t)
	sparse(t, f, "huge", "foo\n", maxSearched+1)
	if text := f.run(t, "grep",
		`{"pattern":"foo"}`).Content[0].Text; text != "[no file was searched]\n[not searched: 1 file over 50 MB (give it "+
		"as path)]" {
		t.Errorf("says %q", text)
	}
	var text strings.Builder
	for i := range 1_200_000 {
		fmt.Fprintf(&text, "line %040d\n", i)
	}
	f.put(t, "large", text.String()+"needle\nafter") // 55 MB
	got := f.run(t, "grep", `{"pattern":"needle|0000(524287|99999)$","path":"large","before":1,"after":1}`).Content[0].Text
	contains(t, got, fmt.Sprintf("large:524288:line %040d", 524287),
		fmt.Sprintf("large-1200000-line %040d\nlarge:1200001:needle\nlarge-1200002-after", 1199999))
}

// A file that grows all the time has an end: where it was when the search began.
func TestGrepGrowingFile(t *testing.T) {
	p, err := scan.Compile("needle", scan.Options{})
	check(t, err)
	text := strings.Repeat("line\n", 2<<20) // over two pieces
	s := newSearcher(t.Context(), p, fileLimits{lines: -1})
	m, err := s.search(strings.NewReader(text+"needle\n"), int64(len(text)))
	if err != nil || m.matches != 0 {
		t.Errorf("%+v, %v", m, err)
	}
}

// Lines before a match are shown from their begin also when they are in the piece before, and long.
func TestGrepLongLinesInThePieceBefore(t *testing.T) {
	f := start(t)
	long := strings.Repeat("begin "+strings.Repeat("x", 20<<10)+"\n", pieceSize/(20<<10))
	f.put(t, "a", long+"needle\n"+strings.Repeat("y", 99)+"\n")
	contains(t, f.run(t, "grep", `{"pattern":"needle","before":3}`).Content[0].Text, "a-202-begin", "a-203-begin",
		"a-204-begin", "a:205:needle")
	for n := range 60 {
		f.put(t, "a", strings.Repeat("z\n", n*(1<<10))+long+"needle\n")
		if got := f.run(t, "grep", `{"pattern":"needle","before":3}`).Content[0].Text; strings.Count(got, "-begin") != 3 {
			t.Fatalf("with %d lines before: %.300q", n, got)
		}
	}
}

// Files of one long line take memory one after the other.
func TestGrepLongLinesTakeTurns(t *testing.T) {
	was := longLine
	defer func() { longLine = was }()
	p, err := scan.Compile("xx$", scan.Options{})
	check(t, err)
	text := strings.Repeat("x", 3*pieceSize)
	synctest.Test(t, func(t *testing.T) {
		longLine = make(chan struct{}, 1)
		longLine <- struct{}{} // by another search
		var found *fileMatches
		go func() {
			found, _ = newSearcher(t.Context(), p, fileLimits{lines: 1}).search(strings.NewReader(text), int64(len(text)))
		}()
		if synctest.Wait(); found != nil {
			t.Error("the search did not wait for its turn")
		}
		<-longLine
		if synctest.Wait(); found == nil || found.matches != 1 || len(longLine) > 0 {
			t.Errorf("found %+v, turns taken: %d", found, len(longLine))
		}
	})
}

// Searching by pieces finds what searching at once would, with the same numbers and lines around, wherever a piece
// ends.
func TestGrepPieces(t *testing.T) {
	text := strings.Repeat("a\nbb needle\n\nccc\r\n", 40) + strings.Repeat("long ", 20_000) + "needle\nend needle"
	want := linesAround(text, regexp.MustCompile("needle"), 2, 3)
	p, err := scan.Compile("needle", scan.Options{})
	check(t, err)
	for _, size := range []int{1, 2, 3, 7, 64, 1000, 1 << 20} {
		s := newSearcher(t.Context(), p, fileLimits{lines: 1000, before: 2, after: 3, text: true})
		s.buf = make([]byte, 0, size)
		m, err := s.search(&slowReader{text: text, most: size}, -1)
		check(t, err)
		var got []string
		for _, l := range m.lines {
			got = append(got, fmt.Sprint(l.number, l.match))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("by %d bytes (-want +got):\n%s", size, diff)
		}
	}
}

// linesAround says which lines are to be shown.
func linesAround(text string, re *regexp.Regexp, before, after int) (out []string) {
	lines := strings.Split(text, "\n")
	for i := range lines {
		near := false
		for j := max(i-after, 0); j <= min(i+before, len(lines)-1); j++ {
			near = near || re.MatchString(lines[j])
		}
		if near {
			out = append(out, fmt.Sprint(i+1, re.MatchString(lines[i])))
		}
	}
	return out
}

// A slowReader gives a text in small parts.
type slowReader struct {
	text string
	most int
}

func (r *slowReader) Read(b []byte) (int, error) {
	n := copy(b[:min(len(b), r.most)], r.text)
	r.text = r.text[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func TestGrepUTF16OfSeveralPieces(t *testing.T) {
	var text bytes.Buffer
	text.WriteString("\xFE\xFF")
	for _, u := range utf16.Encode([]rune(strings.Repeat("日本語 🙂\n", 700_000) + "needle 🙂\n")) {
		text.Write([]byte{byte(u >> 8), byte(u)})
	}
	f := start(t, "wide", text.String())
	if got := f.run(t, "grep",
		`{"pattern":"needle","before":1}`).Content[0].Text; got != "wide-700000-日本語 🙂\nwide:700001:needle 🙂" {
		t.Errorf("found %q", got)
	}
}

// Letters beyond ASCII are found in files of any encoding; what a pattern of ASCII finds is searched as it is.
func TestGrepLegacyEncodings(t *testing.T) {
	text := "# проверить значение\nx = 1 # вернуть результат\n"
	f := start(t, "cyrillic", encoded(t, "windows-1251", text), "declared", "# coding: koi8-r\n"+
		encoded(t, "koi8-r", "# да\n"), "utf8", text, "binary", "\xFF\xFE\xFD\x00результат",
		"large", strings.Repeat(encoded(t, "windows-1251", text), 100_000)+encoded(t, "windows-1251", "конец\n"))
	for pattern, want := range map[string]string{
		`"результат","exclude":"large"`:       "cyrillic:2:x = 1 # вернуть результат\nutf8:2:x = 1 # вернуть результат",
		`"\\p{Cyrillic}+$","path":"declared"`: "declared:2:# да",
		`"конец","path":"large"`:              "large:200001:конец",
		`"x = 1","path":"cyrillic"`:           "cyrillic:2:x = 1 # \uFFFD \uFFFD",
	} {
		if got := f.run(t, "grep", `{"pattern":%s}`, pattern).Content[0].Text; !strings.HasPrefix(got, want) {
			t.Errorf("%s found %q", pattern, got)
		}
	}
}

func TestGrepEndsWithTheCall(t *testing.T) {
	f := start(t, "a/b", strings.Repeat("ab", 1<<20))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, at := range []string{".", "a/b"} {
		if _, err := newConfig().grep(ctx, &sdk.Request{Workdir: f.dir},
			grepInput{Pattern: "[ab]{900}c", Path: at}); err != context.Canceled {
			t.Errorf("going on in %s after the end of the call: %v", at, err)
		}
	}
}
