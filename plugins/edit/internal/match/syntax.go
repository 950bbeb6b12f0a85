package match

import (
	"bytes"
	"cmp"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// A syntax is how a language marks comments and strings.
type syntax struct {
	line   []string    // what starts a comment to the end of the line
	block  [][2]string // what starts and ends a comment
	quotes []quote
	// layout marks languages whose indentation carries meaning.
	layout bool
	// spaced marks languages whose line comments start at the start of a line or after a blank only.
	spaced bool
}

// A quote has the marks that start and end a string.
type quote struct {
	open, end string
	escapes   bool // a backslash escapes the next byte
	multi     bool // goes over lines
}

var (
	double   = quote{`"`, `"`, true, false}
	single   = quote{`'`, `'`, true, false}
	backtick = quote{"`", "`", true, true}
	doubles  = quote{`"""`, `"""`, true, true}
	rawQuote = quote{`'`, `'`, false, false}
	long     = quote{`"`, `"`, true, true}
	rawLong  = quote{`'`, `'`, false, true}
	slashes  = []string{"//"}
	hash     = []string{"#"}
	dashes   = []string{"--"}
	stars    = [][2]string{{"/*", "*/"}}
	both     = []quote{double, single}
)

var (
	cLike  = &syntax{line: slashes, block: stars, quotes: both}
	goLike = &syntax{line: slashes, block: stars, quotes: []quote{double, single, {"`", "`", false, true}}}
	jsLike = &syntax{line: slashes, block: stars, quotes: []quote{double, single, backtick}}
	rust   = &syntax{line: slashes, block: stars, quotes: []quote{{`r#"`, `"#`, false, true}, long}}
	java   = &syntax{line: slashes, block: stars, quotes: []quote{doubles, double, single}}
	python = &syntax{line: hash, layout: true, quotes: []quote{doubles, {`'''`, `'''`, true, true}, double, single}}
	toml   = &syntax{line: hash, quotes: []quote{doubles, {`'''`, `'''`, false, true}, double, rawQuote}}
	yaml   = &syntax{line: hash, layout: true, spaced: true, quotes: []quote{double, rawQuote}}
	shell  = &syntax{line: hash, spaced: true, quotes: []quote{long, rawLong}}
	hashed = &syntax{line: hash, spaced: true, quotes: both}
	sql    = &syntax{line: dashes, block: stars, quotes: []quote{rawLong, {`"`, `"`, false, false}}}
	markup = &syntax{block: [][2]string{{"<!--", "-->"}}}
	css    = &syntax{block: stars, quotes: both}
	scss   = &syntax{line: slashes, block: stars, quotes: both}
	sass   = &syntax{line: slashes, block: stars, quotes: both, layout: true}
	lua    = &syntax{line: dashes, block: [][2]string{{"--[[", "]]"}},
		quotes: []quote{{"[[", "]]", false, true}, double, single}}
	hs     = &syntax{line: dashes, block: [][2]string{{"{-", "-}"}}, layout: true, quotes: []quote{double}}
	php    = &syntax{line: []string{"//", "#"}, block: stars, quotes: both}
	hcl    = &syntax{line: []string{"#", "//"}, block: stars, quotes: []quote{double}}
	ini    = &syntax{line: []string{"#", ";"}, spaced: true}
	lisp   = &syntax{line: []string{";"}, quotes: []quote{long}}
	tex    = &syntax{line: []string{"%"}}
	layout = &syntax{layout: true}
)

var syntaxes = byWord(map[*syntax]string{
	goLike: "go", cLike: "c h cc cpp cxx hpp hh hxx m mm cs swift dart groovy gradle jenkinsfile proto thrift glsl hlsl " +
		"wgsl metal cu s zig zon v sv sol prisma bicep fbs d",
	jsLike: "js jsx ts tsx mjs cjs mts cts jsonc json5 vue svelte astro", rust: "rs", java: "java kt kts scala",
	python: "py pyi pyw pyx bzl bazel star snakefile", toml: "toml", yaml: "yaml yml",
	shell: "sh bash zsh ksh fish bats nu",
	hashed: "rb gemspec podspec podfile vagrantfile pl pm r jl ex exs tcl cmake mk makefile gnumakefile dockerfile " +
		"containerfile gemfile rakefile justfile nix graphql graphqls gql conf properties ps1 psm1",
	sql: "sql psql", css: "css pcss", scss: "scss less", sass: "sass styl",
	markup: "html htm xml xhtml svg xaml csproj fsproj vbproj props targets nuspec resx storyboard xib xsd xsl xslt md " +
		"markdown ejs heex leex jsp cshtml razor hbs mjml twig",
	lua: "lua", hs: "hs hs-boot elm purs", php: "php", hcl: "hcl tf tfvars nomad", ini: "ini cfg gitmodules",
	lisp: "el lisp clj cljs cljc edn scm rkt", tex: "tex sty erl hrl",
	layout: "pug haml slim coffee nim fs fsx rst",
})

// byWord turns lists of words around.
func byWord[T comparable](lists map[T]string) map[string]T {
	all := map[string]T{}
	for v, words := range lists {
		for w := range strings.FieldsSeq(words) {
			all[w] = v
		}
	}
	return all
}

// interpreters are what a script can name in its first line, by the extension of such scripts.
var interpreters = byWord(map[string]string{"py": "python python3", "sh": "sh bash zsh dash ksh", "rb": "ruby",
	"pl": "perl", "js": "node", "php": "php"})

// extensionOf is what tells the language of a file: its extension or name, or the interpreter that a script names.
func extensionOf(name string, data []byte) string {
	base := strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/")))
	ext := strings.TrimPrefix(path.Ext(base), ".")
	first, _, _ := strings.Cut(base, ".")
	switch {
	case ext == "" && syntaxes[base] != nil:
		return base
	case syntaxes[ext] != nil || kinds[ext] != "":
	case strings.HasSuffix(first, "file") && syntaxes[first] != nil: // Dockerfile.dev
		return first
	case bytes.HasPrefix(data, []byte("#!")):
		for _, word := range strings.Fields(strings.ReplaceAll(firstLine(string(data)), "/", " ")) {
			ext = cmp.Or(interpreters[word], ext)
		}
	}
	return ext
}

// starters are the bytes that comments and strings begin with.
func (x *syntax) starters() (set [256]bool) {
	for _, l := range x.line {
		set[l[0]] = true
	}
	for _, b := range x.block {
		set[b[0][0]] = true
	}
	for _, q := range x.quotes {
		set[q.open[0]] = true
	}
	return set
}

// token returns the end of the comment or string at an offset, or of the byte there.
func (x *syntax) token(data []byte, at int) (end int, comment bool) {
	rest := data[at:]
	if at > 0 && data[at-1] == '\\' {
		return at + 1, false
	}
	for _, b := range x.block {
		if bytes.HasPrefix(rest, []byte(b[0])) {
			if i := bytes.Index(rest[len(b[0]):], []byte(b[1])); i >= 0 {
				return at + len(b[0]) + i + len(b[1]), true
			}
			return len(data), true
		}
	}
	for _, l := range x.line {
		if bytes.HasPrefix(rest, []byte(l)) && (!x.spaced || at == 0 || bytes.IndexByte([]byte(" \t\n"), data[at-1]) >= 0) {
			return at + lineLen(rest), true
		}
	}
	for _, q := range x.quotes {
		if bytes.HasPrefix(rest, []byte(q.open)) {
			return at + q.length(rest), false
		}
	}
	return at + 1, false
}

// length is the length of the string that b starts with. One that does not end where it must is the quote alone.
func (q quote) length(b []byte) int {
	for i := len(q.open); i < len(b); i++ {
		switch {
		case q.escapes && b[i] == '\\':
			i++
		case b[i] == '\n' && !q.multi:
			return len(q.open)
		case b[i] == q.end[0] && bytes.HasPrefix(b[i:], []byte(q.end)):
			return i + len(q.end)
		}
	}
	return len(q.open)
}

// tokens returns the comments and strings of a text, which is taken to start outside of both.
func (x *syntax) tokens(data []byte) iter.Seq2[Range, bool] {
	starts := x.starters()
	return func(yield func(r Range, comment bool) bool) {
		for at := 0; at < len(data); {
			if !starts[data[at]] {
				at++
				continue
			}
			end, comment := x.token(data, at)
			if !yield(Range{at, end}, comment) {
				return
			}
			at = end
		}
	}
}

// directive matches comments that programs read. To take one for prose could change what the code does.
var directive = lazy.Regexp(`^(#!|//[a-z]+:[a-z]|//nolint|//export |//line |/\*line |// \+build|# ?type:|` +
	`# ?noqa|# ?pragma|# ?pylint|# ?mypy|# -\*-|# ?frozen_string|# ?shellcheck|# ?rubocop|# ?fmt:|# ?syntax ?=|` +
	`(//|/\*) ?(eslint|prettier|@ts-|@jsx|istanbul|webpack|NOLINT|clang-format|go:)|///? ?<reference|/\*!|<!--\[if)`)

// scan finds the comments of a text, except directives.
func (x *syntax) scan(data []byte) (out []Range) {
	for r, comment := range x.tokens(data) {
		if comment && !directive().Match(data[r.Start:min(r.End, r.Start+80)]) {
			out = append(out, r)
		}
	}
	return out
}

// within reports whether an offset at the start of a line is inside a string or comment that began on a line before.
func (x *syntax) within(data []byte, offset int) bool {
	for r := range x.tokens(data) {
		if r.Start >= offset {
			break
		}
		if r.End > offset && bytes.IndexByte(data[r.Start:min(offset, len(data))], '\n') >= 0 {
			return true
		}
	}
	return false
}

// comments returns the comments that are so for certain, without directives. The text may start within a string, and
// a quote in a regular expression or a here-document may look like a string: so a comment must be one also when its
// line is read alone.
func (s *source) comments() []Range {
	if !s.scanned {
		s.scanned = true
		if s.syntax != nil {
			s.certain = slices.DeleteFunc(s.syntax.scan(s.data), func(r Range) bool { return !s.commentInLine(r) })
		}
	}
	return s.certain
}

// maybeComments returns all that may be a comment, whether the text is read as a whole or line by line.
func (s *source) maybeComments() []Range {
	if s.syntax == nil {
		return nil
	}
	all := s.syntax.scan(s.data)
	for _, l := range s.lines {
		for _, r := range s.syntax.scan(s.data[l.start:l.end]) {
			all = append(all, Range{l.start + r.Start, l.start + r.End})
		}
	}
	slices.SortFunc(all, func(a, b Range) int { return cmp.Or(a.Start-b.Start, b.End-a.End) })
	out := all[:0]
	for _, r := range all {
		if n := len(out); n == 0 || r.End > out[n-1].End {
			out = append(out, r)
		}
	}
	return out
}

// commentInLine reports whether a comment is one when its line is read alone, with no unpaired quote before it.
func (s *source) commentInLine(r Range) bool {
	l := s.lines[s.lineAt(r.Start)]
	at := l.start + indentLen(s.data[l.start:l.end])
	if at == r.Start {
		return true
	}
	if bytes.IndexByte([]byte(" \t;{}(),"), s.data[r.Start-1]) < 0 {
		return false
	}
	for at < r.Start {
		rest := s.data[at:l.end]
		opens := func(q quote) bool { return bytes.HasPrefix(rest, []byte(q.open)) }
		if i := slices.IndexFunc(s.syntax.quotes, opens); i >= 0 {
			q := s.syntax.quotes[i]
			n := q.length(rest)
			if n == len(q.open) {
				return false
			}
			at += n
			continue
		}
		at, _ = s.syntax.token(s.data[:l.end], at)
	}
	return at == r.Start
}

// commentsFrom returns the index of the first comment that ends after an offset.
func (s *source) commentsFrom(offset int) []Range {
	all := s.comments()
	i, _ := slices.BinarySearchFunc(all, offset, func(c Range, offset int) int {
		if c.End > offset {
			return 1
		}
		return -1
	})
	return all[i:]
}

// commentOnly reports whether line i is a comment, or a part of one, and nothing else.
func (s *source) commentOnly(i int) bool {
	l, found := s.lines[i], false
	at := l.start + indentLen(s.text(i))
	for _, c := range s.commentsFrom(at) {
		if c.Start >= l.end {
			break
		}
		if !isBlank(s.data[at:max(at, min(c.Start, l.end))]) {
			return false
		}
		found, at = true, min(l.end, c.End)
	}
	return found && isBlank(s.data[at:l.end])
}

// blankOrComment reports whether line i has no code.
func (s *source) blankOrComment(i int) bool { return isBlank(s.text(i)) || s.commentOnly(i) }

// commentStart is where the comment starts that ends line i after code, or the end of the line.
func (s *source) commentStart(i int) int {
	l := s.lines[i]
	for _, c := range s.commentsFrom(l.start) {
		if c.Start >= l.end {
			break
		}
		if c.End >= l.end && c.Start >= l.start {
			return c.Start
		}
	}
	return l.end
}

// code is line i without the comment that ends it.
func (s *source) code(i int) []byte {
	return bytes.TrimRight(s.data[s.lines[i].start:s.commentStart(i)], blanks)
}

// comment is the comment that line i is or ends with, squeezed.
func (s *source) comment(i int) string {
	if s.commentOnly(i) {
		return s.key(i)
	}
	return squeeze(s.data[s.commentStart(i):s.lines[i].end])
}

// commentLines returns those of some lines that are comments.
func (s *source) commentLines(from, to int) (out []string) {
	for i := from; i < to; i++ {
		if s.commentOnly(i) {
			out = append(out, string(s.text(i)))
		}
	}
	return out
}
