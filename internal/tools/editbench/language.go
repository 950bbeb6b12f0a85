package editbench

import (
	"path"
	"strings"
)

// A language is what the corpus must know of one to write a line in it and to recognize its comments.
type language struct {
	name    string
	comment string     // starts a comment that ends with the line; "" for none
	inserts [][]string // what may be put between two lines: W is a word of theirs, a tab is one step of indentation
	prose   bool       // words, not statements
	braces  bool       // white space means nothing between tokens
}

var cLike = [][]string{
	{"trace(W);"}, {"count_add(W, 1);", "flush();"}, {"if (!W) {", "\treturn -1;", "}"}, {"check(W, limit);"},
	{"while (more(W)) {", "\tstep(W);", "\ttotal += 2;", "}"},
}

var languages = map[string]*language{
	".go": {name: "go", comment: "//", braces: true, inserts: [][]string{
		{"trace(W)"}, {"defer release(W)"}, {"if skip(W) {", "\treturn", "}"}, {"seen[W] = true", "total++"},
		{`debug("checked", W)`}, {"for range limit {", "\tstep(W)", "}"}, {"probe(W, 3)"}}},
	".c": {name: "c", comment: "//", braces: true, inserts: cLike},
	".h": {name: "c", comment: "//", braces: true, inserts: cLike},
	".java": {name: "java", comment: "//", braces: true, inserts: [][]string{
		{"trace(W);"}, {"seen.add(W);", "total += 1;"}, {"if (W == null) {", "\treturn;", "}"}, {`log("checked", W);`}}},
	".js": {name: "js", comment: "//", braces: true, inserts: [][]string{
		{"trace(W);"}, {"const copy = clone(W);", "seen.add(copy);"}, {"if (!W) {", "\treturn;", "}"}, {"probe(W, 3);"}}},
	".ts": {name: "js", comment: "//", braces: true, inserts: [][]string{
		{"trace(W);"}, {"const copy = clone(W);", "seen.add(copy);"}, {"if (!W) {", "\treturn;", "}"}, {"probe(W, 3);"}}},
	".rs": {name: "rust", comment: "//", braces: true, inserts: [][]string{
		{"trace(&W);"}, {"let copy = W.clone();", "seen.push(copy);"}, {"if skip(&W) {", "\treturn;", "}"}}},
	".py": {name: "python", comment: "#", inserts: [][]string{
		{"trace(W)"}, {"self.seen.add(W)", "self.total += 1"}, {"if not W:", "\tlimit = 3"}, {`debug("checked", W)`}}},
	".pl": {name: "perl", comment: "#", braces: true, inserts: [][]string{
		{"trace($W);"}, {"push @seen, $W;", "$total++;"}, {"if (!$W) {", "\tnext;", "}"}}},
	".sh": {name: "shell", comment: "#", inserts: [][]string{{"echo checked W"}, {"if skip W; then", "\texit 2", "fi"},
		{"total=3", "trace W"}}},
	".bash": {name: "shell", comment: "#", inserts: [][]string{{"echo checked W"}, {"if skip W; then", "\texit 2", "fi"},
		{"total=3", "trace W"}}},
	".s": {name: "asm", comment: "//", inserts: [][]string{
		{"MOVQ AX, BX"}, {"ADDQ $8, SP", "CALL trace_W(SB)"}, {"SUBQ $24, SP"}, {"JMP done_W"}}},
	".sql": {name: "sql", comment: "--", braces: true, inserts: [][]string{{"AND W IS NOT NULL"},
		{"AND W > 3", "AND W < 90"}}},
	".yaml": {name: "yaml", comment: "#", inserts: [][]string{{"W_extra: true"}, {"W_limit: 30", "W_path: /tmp"},
		{"W_options:", "\tfirst: 1", "\tsecond: 2"}}},
	".yml": {name: "yaml", comment: "#", inserts: [][]string{{"W_extra: true"}, {"W_limit: 30", "W_path: /tmp"}}},
	".json": {name: "json", braces: true, inserts: [][]string{{`"W_extra": true,`}, {`"W_limit": 30,`,
		`"W_path": "/tmp",`}}},
	".css":  {name: "css", braces: true, inserts: [][]string{{"margin-top: 3px;"}, {"color: teal;", "padding: 2px;"}}},
	".html": {name: "html", inserts: [][]string{{"<p>W goes here</p>"}, {"<ul>", "\t<li>W</li>", "</ul>"}}},
	".cs": {name: "csharp", comment: "//", braces: true, inserts: [][]string{
		{"Trace(W);"}, {"seen.Add(W);", "total += 1;"}, {"if (W is null)", "{", "\treturn;", "}"}}},
	".kt": {name: "kotlin", comment: "//", braces: true, inserts: [][]string{
		{"trace(W)"}, {"val copy = W.copy()", "seen.add(copy)"}, {"if (W == null) {", "\treturn", "}"}}},
	".swift": {name: "swift", comment: "//", braces: true, inserts: [][]string{
		{"trace(W)"}, {"let copy = W", "seen.append(copy)"}, {"guard ready(W) else {", "\treturn", "}"}}},
	".php": {name: "php", comment: "//", braces: true, inserts: [][]string{
		{"trace($W);"}, {"$seen[] = $W;", "$total++;"}, {"if ($W === null) {", "\treturn;", "}"}}},
	".cpp": {name: "c", comment: "//", braces: true, inserts: cLike},
	".proto": {name: "proto", comment: "//", braces: true, inserts: [][]string{{"string W_extra = 90;"},
		{"// Of W.", "bool W_known = 91;"}}},
	".rb": {name: "ruby", comment: "#", inserts: [][]string{{"trace(W)"}, {"@seen << W", "@total += 1"},
		{"if W.nil?", "\treturn", "end"}}},
	".lua": {name: "lua", comment: "--", inserts: [][]string{{"trace(W)"}, {"local copy = clone(W)",
		"seen[copy] = true"}, {"if not W then", "\treturn 0", "end"}}},
	".tf": {name: "hcl", comment: "#", inserts: [][]string{{`W_extra = true`}, {`W_limit = 30`, `W_path = "/tmp"`},
		{"W_options {", "\tfirst = 1", "}"}}},
	".toml": {name: "toml", comment: "#", inserts: [][]string{{`W_extra = true`}, {`W_limit = 30`,
		`W_path = "/tmp"`}}},
	".xml": {name: "xml", inserts: [][]string{{"<note>W goes here</note>"}, {"<list>", "\t<item>W</item>",
		"</list>"}}},
	"Dockerfile": {name: "docker", comment: "#", inserts: [][]string{{"RUN checked W"}, {"ENV W_LIMIT=30",
		"ENV W_PATH=/tmp"}}},
	".md": {name: "text", prose: true, inserts: [][]string{{"The W is looked at twice."},
		{"See also W, which does the same", "in a single step."}}},
	".txt": {name: "text", prose: true, inserts: [][]string{{"exec checked W"}, {"stdout W-done", "grep W second"},
		{"env W=3"}}},
}

func languageOf(name string) *language { return languages[extension(name)] }

// extension is that of a file's name, or the name where it has none.
func extension(name string) string {
	if ext := path.Ext(name); ext != "" {
		return ext
	}
	return path.Base(name)
}

// split cuts a line into its code and its comment, the blanks between them going with the comment. Sure is false when
// the line is one that a few lines of program should not judge.
func (l *language) split(text string) (code, comment string, sure bool) {
	if l.comment == "" {
		return text, "", false
	}
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case strings.HasPrefix(text[i:], l.comment) && (i == 0 || text[i-1] == ' ' || text[i-1] == '\t'):
			code = strings.TrimRight(text[:i], " \t")
			return code, text[len(code):], !directive(text[i+len(l.comment):])
		}
	}
	return text, "", quote == 0
}

// directive reports whether a comment is one that a program reads.
func directive(comment string) bool {
	if comment == "" || comment[0] != ' ' && comment[0] != '\t' {
		return true
	}
	first, _, _ := strings.Cut(strings.TrimSpace(comment), " ")
	return strings.ContainsAny(first, ":!+") || letters(comment) < 4
}
