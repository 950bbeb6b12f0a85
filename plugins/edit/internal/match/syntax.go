package match

import (
	"path"
	"strings"
)

// A syntax is how a kind of file marks comments and strings.
type syntax struct {
	line   []string    // what starts a comment to the end of the line
	block  [][2]string // what starts and ends a comment
	quotes []quote
	// layout says that indentation carries meaning.
	layout bool
	// spaced says that a line comment starts at the start of a line or after a blank only.
	spaced bool
}

// A quote is what starts and ends a string.
type quote struct {
	open, end string
	escapes   bool // a backslash takes the next byte along
	multi     bool // goes over lines
}

var (
	double   = quote{`"`, `"`, true, false}
	single   = quote{`'`, `'`, true, false}
	backtick = quote{"`", "`", true, true}
	slashes  = []string{"//"}
	hash     = []string{"#"}
	stars    = [][2]string{{"/*", "*/"}}
	tags     = [][2]string{{"<!--", "-->"}}
	both     = []quote{double, single}
)

var (
	cLike  = &syntax{line: slashes, block: stars, quotes: both}
	goLike = &syntax{line: slashes, block: stars, quotes: []quote{double, single, {"`", "`", false, true}}}
	jsLike = &syntax{line: slashes, block: stars, quotes: []quote{double, single, backtick}}
	rust   = &syntax{line: slashes, block: stars, quotes: []quote{{`r#"`, `"#`, false, true}, {`"`, `"`, true, true}}}
	java   = &syntax{line: slashes, block: stars, quotes: []quote{{`"""`, `"""`, true, true}, double, single}}
	python = &syntax{line: hash, layout: true, quotes: []quote{{`"""`, `"""`, true, true}, {`'''`, `'''`, true, true}, double, single}}
	toml   = &syntax{line: hash, quotes: []quote{{`"""`, `"""`, true, true}, {`'''`, `'''`, false, true}, double, {`'`, `'`, false, false}}}
	yaml   = &syntax{line: hash, layout: true, spaced: true, quotes: []quote{double, {`'`, `'`, false, false}}}
	shell  = &syntax{line: hash, spaced: true, quotes: []quote{{`"`, `"`, true, true}, {`'`, `'`, false, true}}}
	hashed = &syntax{line: hash, spaced: true, quotes: both}
	sql    = &syntax{line: []string{"--"}, block: stars, quotes: []quote{{`'`, `'`, false, true}, {`"`, `"`, false, false}}}
	markup = &syntax{block: tags}
	css    = &syntax{block: stars, quotes: both}
	scss   = &syntax{line: slashes, block: stars, quotes: both}
	lua    = &syntax{line: []string{"--"}, block: [][2]string{{"--[[", "]]"}}, quotes: []quote{{"[[", "]]", false, true}, double, single}}
	hs     = &syntax{line: []string{"--"}, block: [][2]string{{"{-", "-}"}}, layout: true, quotes: []quote{double}}
	php    = &syntax{line: []string{"//", "#"}, block: stars, quotes: both}
	hcl    = &syntax{line: []string{"#", "//"}, block: stars, quotes: []quote{double}}
	ini    = &syntax{line: []string{"#", ";"}, spaced: true}
	lisp   = &syntax{line: []string{";"}, quotes: []quote{{`"`, `"`, true, true}}}
	tex    = &syntax{line: []string{"%"}}
	layout = &syntax{layout: true}
)

var byExtension = extensions(map[*syntax]string{
	goLike: "go", cLike: "c h cc cpp cxx hpp hh hxx m mm cs swift dart groovy proto thrift glsl s zig v sv",
	jsLike: "js jsx ts tsx mjs cjs mts cts jsonc json5 vue svelte", rust: "rs", java: "java kt kts scala", python: "py pyi pyw bzl bazel star",
	toml: "toml", yaml: "yaml yml", shell: "sh bash zsh ksh fish", hashed: "rb pl pm r jl ex exs tcl cmake mk makefile dockerfile gemfile rakefile nix graphql conf properties ps1",
	sql: "sql", markup: "html htm xml xhtml svg xaml csproj md markdown", css: "css", scss: "scss less sass", lua: "lua", hs: "hs elm",
	php: "php", hcl: "hcl tf tfvars", ini: "ini cfg", lisp: "el lisp clj cljs scm rkt", tex: "tex erl", layout: "pug haml slim coffee nim fs fsx rst",
})

func extensions(lists map[*syntax]string) map[string]*syntax {
	all := map[string]*syntax{}
	for s, names := range lists {
		for name := range strings.FieldsSeq(names) {
			all[name] = s
		}
	}
	return all
}

// syntaxOf is nil for a file of a kind that is not known.
func syntaxOf(name string) *syntax {
	base := strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/")))
	ext := strings.TrimPrefix(path.Ext(base), ".")
	if ext == "" {
		ext = base
	}
	return byExtension[ext]
}
