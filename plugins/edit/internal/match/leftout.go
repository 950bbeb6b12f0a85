package match

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A stub is how sure it is that a line of new_string stands for code that was left out.
type stub int

const (
	noStub     stub = iota
	weakStub        // a comment such as "unchanged": so only where lines of old_string are gone
	dotsOnly        // nothing but dots, which are text or code in some places
	notesDots       // a comment of nothing but dots, or with dots on both sides
	strongStub      // it says so: "... existing code ...", "(unchanged)", "rest of the function"
)

var (
	// What starts and ends comments, or sets a remark apart, in any language; bullets and marks of quotations as well.
	noteStart = regexp.MustCompile(`(?i)^(//+!?|/\*+!?|<!--|--+(\[\[)?|#+\||#+!?|;+|%+|\(\*|\{/\*+|\{-|"""|'''|["'!*+>]+|rem\b|dnl\b|@\*|<%--|<%#?|\{#|\{\{!(--)?|::|\.\.(?:\s|$)|=+|~+)\s*`)
	noteEnd   = regexp.MustCompile(`\s*(\*+/\}?|-->|--%>|%>|\*\)|-\}|"""|'''|#\}|(--)?\}\}|\*@|\]\]|\|#|#+|--+|=+|~+)$`)
	allDots   = regexp.MustCompile(`^[\[({<]?\s*(\.{3,6}|…{1,3}|\.( \.){2,}|⋮|\.{3,}\s+\.{3,})\s*[\])}>]?[,;]?$`)
	dotted    = regexp.MustCompile(`^[\[({<\s]*(\.{3,}|…)|(\.{3,}|…)[\])}>\s]*$`)
	bracketed = regexp.MustCompile(`^(\(.*\)|\[.*\]|<.*>|\{.*\})$`)

	// Words for what stays as it is.
	leftOut = regexp.MustCompile(`(?i)\b(rest|remainder|remaining|existing|unchanged|unmodified|omitted|elided|same as before|as before|previous (code|content)|other (code|methods|functions|fields|imports)|` +
		`more code|your code|original code|snip|truncated|no changes?|stays? the same|remains? the same|for brevity)\b|기존|나머지|생략|省略|既存|其余|其他代码|保持不变`)
	restOf = regexp.MustCompile(`(?i)^(((the|keep|all)( the)? )?(rest|remainder) of (the |this )?(\w+ ){0,2}(code|file|function|method|methods|class|implementation|content|logic|functions|imports|body|config|script|page|document|section|block|module|struct|table|query|tests?|rules|styles|template|markup|list|options|fields)` +
		`|((all|keep)( the)? )?((existing|remaining) (code|content|implementation|methods?|functions?|lines?|logic|imports|fields)|(original|previous) (code|content|implementation|logic))|(code|(the )?rest|everything else|other (code|methods|functions)) ((is|are|remains?|stays?) )?(unchanged|omitted|the same|as is)` +
		`|no changes? (here|below|above))( (here|below|above|goes here|continues|follows|unchanged|omitted|as (is|before)|(remains?|stays?)|(remains?|stays?|is|are) (exactly )?(the same|unchanged|as (is|before)|identical|omitted|kept|here|below|above|intact|untouched))(,? .{0,20})?)?$`)
	unchangedOnly = regexp.MustCompile(`(?i)^((code |lines? |body |implementation |rest )?(is |are |remains? )?(unchanged|unmodified|omitted( for brevity)?|elided|snip(ped)?|truncated)|(same|as) (as )?(before|above)|same( (code|logic|body|implementation))?` +
		`|no (other |further |more )?changes?( needed)?( here| below| above)?|existing|(the|keep the) rest( the same)?|(and )?so on|etc|(your|more|other|existing|previous|remaining|original) (\w+ )?(code|logic|methods?|functions?|imports?|fields?|cases?|lines?|content|items?|entries|keys|rules|styles)( here)?` +
		`|(the )?rest of (\w+ ){0,3}\w+|(\w+ ){1,4}(remains?|stays?)( the same| unchanged| as is)?|(unchanged )?lines? \d+( ?(-|–|to) ?\d+)?( unchanged| omitted)?)$` +
		`|^나머지|동일|유지|^이하|생략|変更なし|省略|不变|不變|其余`)
)

// maxStub is how long a line may be that stands for others, in bytes.
const maxStub = 120

// stubOf says what to think of a line of new_string.
func stubOf(line string) stub {
	s := strings.TrimSpace(line)
	if s == "" || len(s) > maxStub {
		return noStub
	}
	if allDots.MatchString(s) {
		return dotsOnly
	}
	text := noteStart.ReplaceAllString(s, "")
	isNote := text != s
	text = strings.TrimSpace(noteEnd.ReplaceAllString(text, ""))
	if allDots.MatchString(text) {
		return notesDots
	}
	inner := strings.Trim(text, ".… :()[]<>{}-=~*")
	words := len(strings.Fields(inner))
	if words == 0 || words > 9 {
		return noStub
	}
	set := dotted.FindAllString(text, -1)
	apart := bracketed.MatchString(text)
	most := 9
	if len(set) == 1 && !apart {
		most = 5 // dots at one end only: a sentence may go on
	}
	switch {
	case !isNote && !apart && (len(set) == 0 || words == 1): // one word behind dots is code: ...rest
		return noStub
	case restOf.MatchString(inner), len(set) > 0 && words <= most && leftOut.MatchString(inner), apart && unchangedOnly.MatchString(inner):
		return strongStub
	case len(set) == 2 && (isNote || apart) && words <= 6:
		return notesDots
	case isNote && unchangedOnly.MatchString(inner):
		return weakStub
	}
	return noStub
}

// A stubHunk is what surrounds a line that may stand for others.
type stubHunk struct {
	old, fresh []string  // all lines of both texts
	at         int       // the line, of fresh
	hunk       hunk      // that it is part of
	near       [2]string // the lines of the file before and behind all of it
}

// leavesOut refuses new_string when a line of it stands for code that was left out and neither old_string nor the file has
// that line at the place: it would be written as it is, and the code would be gone.
func (t *Text) leavesOut(r *reading, places []Range) *Refusal {
	fresh := slices.Collect(strings.SplitSeq(r.new, "\n"))
	if !slices.ContainsFunc(fresh, func(l string) bool { return stubOf(l) != noStub }) {
		return nil
	}
	have := map[string]int{}
	for i := range r.old.lines {
		have[squeeze(r.old.text(i))]++
	}
	for _, p := range places {
		there := map[string]int{}
		from, to := t.span(p)
		for i := from; i < to; i++ {
			there[squeeze(t.text(i))]++
		}
		for l, n := range there {
			have[l] = max(have[l], n)
		}
	}
	old, trimmed := trimmedLines(r.old), make([]string, len(fresh))
	for i, l := range fresh {
		trimmed[i] = strings.TrimRight(l, spaces)
	}
	for _, h := range joined(diffLines(old, trimmed), trimmed) {
		for j := h.na; j < h.nb; j++ {
			kind, key := stubOf(fresh[j]), squeeze([]byte(fresh[j]))
			if kind == noStub {
				continue
			}
			if have[key] > 0 {
				have[key]--
				continue
			}
			if s := (stubHunk{old, trimmed, j, h, t.outside(places)}); t.standsForMore(kind, s, places) {
				return t.stubRefusal(strings.TrimSpace(fresh[j]), places)
			}
		}
	}
	return nil
}

// outside gives the closest lines before and behind the first place that are not blank.
func (t *Text) outside(places []Range) (near [2]string) {
	if len(places) == 0 {
		return near
	}
	from, to := t.span(places[0])
	for i := from - 1; i >= 0 && near[0] == ""; i-- {
		near[0] = strings.TrimSpace(string(t.text(i)))
	}
	for i := to; i < len(t.lines) && near[1] == ""; i++ {
		near[1] = strings.TrimSpace(string(t.text(i)))
	}
	return near
}

// joined makes one of the hunks between which there is nothing but blank lines and brackets: those lie where chance has them.
func joined(hunks []hunk, fresh []string) (out []hunk) {
	for _, h := range hunks {
		n := len(out)
		if n > 0 && !slices.ContainsFunc(fresh[out[n-1].nb:h.na], func(l string) bool { return alnums([]byte(l)) > 0 }) {
			out[n-1].b, out[n-1].nb = h.b, h.nb
			continue
		}
		out = append(out, h)
	}
	return out
}

// stubRefusal words the refusal of a line.
func (t *Text) stubRefusal(line string, places []Range) *Refusal {
	r := &Refusal{Kind: Guard, Message: "new_string has the line " + quoteShort(line) + ", which stands for code left out and is not in the file at that place. It would be written as it is, and the code would be lost.",
		Hint: "Write new_string in full, or choose a smaller old_string that holds only what changes."}
	if len(places) > 0 {
		from, to := t.span(places[0])
		r = t.shown(r, from, to)
	}
	return r
}

// standsForMore decides for one line. Where lines of old_string are gone it does; else it may be text or code.
func (t *Text) standsForMore(kind stub, s stubHunk, places []Range) bool {
	if kind == dotsOnly && t.isBody(s) {
		return false
	}
	isText := t.prose() || kind == dotsOnly && t.kind() == "page" || t.inText(s.fresh, s.at, places)
	if t.prose() && kind == strongStub && !t.shownAsCode(s, places) {
		return true // in a text it says something only within code that is shown
	}
	gone, came := 0, 0
	for _, l := range s.old[s.hunk.a:s.hunk.b] {
		if !isBlank(l) {
			gone++
		}
	}
	for _, l := range s.fresh[s.hunk.na:s.hunk.nb] {
		if !isBlank(l) && stubOf(l) == noStub {
			came++
		}
	}
	before, after := s.neighbor(-1), s.neighbor(+1)
	switch {
	case isText && kind <= notesDots && s.at > s.hunk.na && s.at < s.hunk.nb-1 && stubOf(before) == noStub && stubOf(after) == noStub:
		return false // in a text that is new
	case gone > came:
		return true
	case kind == weakStub, isText, t.unknown():
		return false
	case kind == dotsOnly && strings.HasPrefix(t.kind(), "py") && strings.HasSuffix(s.fresh[s.at], ","): // among arguments or indices
		return false
	case kind == dotsOnly && (strings.HasSuffix(before, ",") && (strings.HasPrefix(after, ")") || t.kind() == "nix" && strings.HasPrefix(after, "}")) || t.kind() == "yaml" && s.fresh[s.at] == "..."):
		return false // the variadic parameter of C, the end of a document
	case isPrompt(before):
		return false
	case commentLike(before) && strings.HasSuffix(before, "..."):
		return false // the sentence of a comment goes on
	}
	return kind != notesDots || !commentLike(before) && !commentLike(after) // else it is in a longer comment
}

// shownAsCode says that a line of new_string comes to stand in a block of code of a text: between fences, or indented.
func (t *Text) shownAsCode(s stubHunk, places []Range) bool {
	n := 0
	if len(places) > 0 {
		from, _ := t.span(places[0])
		n = countFences(t.source, 0, from)
	}
	for _, l := range s.fresh[:s.at] {
		if isFence(l) {
			n++
		}
	}
	return n%2 == 1 || indentLen([]byte(s.fresh[s.at])) > 0
}

// neighbor is the closest line of new_string, in a direction, that is not blank.
func (s stubHunk) neighbor(step int) string {
	for i := s.at + step; i >= 0 && i < len(s.fresh); i += step {
		if l := strings.TrimSpace(s.fresh[i]); l != "" {
			return l
		}
	}
	return s.near[(step+1)/2]
}

// isPrompt says that a line is one of an interactive session, which goes on with dots.
func isPrompt(l string) bool {
	return strings.HasPrefix(l, ">>>") || strings.HasPrefix(l, "... ") || strings.HasPrefix(l, "$ ") || strings.HasPrefix(l, "In [")
}

// commentLike says that a line is a comment, or a part of one.
func commentLike(l string) bool {
	for _, mark := range []string{"//", "#", "*", "--", ";", "%", "/*", "<!--"} {
		if strings.HasPrefix(l, mark) {
			return stubOf(l) != strongStub && !allDots.MatchString(strings.TrimSpace(strings.TrimPrefix(l, mark)))
		}
	}
	return false
}

// A header is a line of Python that the body of a function can follow, or the end of its docstring.
var header = regexp.MustCompile(`(:\s*(#.*)?|"""|''')$`)

// isBody says that dots are all that a function has, as Python and Perl have it, and that they take no code's place.
func (t *Text) isBody(s stubHunk) bool {
	before, after := s.neighbor(-1), s.neighbor(+1)
	switch t.kind() {
	case "py", "pyi":
		for i := s.at - 1; i >= 0 && strings.HasPrefix(before, "#"); i-- {
			before = strings.TrimSpace(s.fresh[i])
		}
		if !header.MatchString(before) {
			return false
		}
		indent := indentLen([]byte(s.fresh[s.at]))
		for _, l := range s.fresh[s.at+1:] {
			if !isBlank(l) {
				if indentLen([]byte(l)) >= indent {
					return false
				}
				break
			}
		}
		if t.kind() == "pyi" {
			return true
		}
	case "pl":
		if !strings.HasSuffix(before, "{") || !strings.HasPrefix(after, "}") {
			return false
		}
	default:
		return false
	}
	headers, gone := 0, 0
	for _, l := range s.old[s.hunk.a:s.hunk.b] {
		if l = strings.TrimSpace(l); l == "" || l == "pass" || strings.HasPrefix(l, "raise NotImplementedError") || strings.HasPrefix(l, "#") {
			continue
		}
		gone++
	}
	for _, l := range s.fresh[s.hunk.na:s.hunk.nb] {
		if !isBlank(l) && stubOf(l) == noStub {
			headers++
		}
	}
	return gone <= headers
}

// inText says that line i of new_string comes to stand within a string or a comment of several lines.
func (t *Text) inText(fresh []string, i int, places []Range) bool {
	if len(places) == 0 || t.syntax == nil {
		return false
	}
	at := places[0]
	after := slices.Concat(t.data[:at.Start], []byte(strings.Join(fresh, "\n")), t.data[at.End:])
	offset := at.Start
	for _, l := range fresh[:i] {
		offset += len(l) + 1
	}
	return t.syntax.within(after, offset) || t.kind() == "yaml" && inScalar(string(after), offset) || t.kind() == "pl" && inPod(string(after[:offset]))
}

// inPod says that the text behind some lines of Perl is documentation.
func inPod(before string) bool {
	all := podLine.FindAllString(before, -1)
	return len(all) > 0 && all[len(all)-1] != "=cut"
}

var podLine = regexp.MustCompile(`(?m)^=[a-z]+\d?`)

// inScalar says that the line at an offset is in a text of several lines of YAML.
func inScalar(data string, offset int) bool {
	line := data[offset : offset+lineLen([]byte(data[offset:]))]
	depth := indentLen([]byte(line))
	above := strings.Split(data[:offset], "\n")
	for i := len(above) - 2; i >= 0 && depth > 0; i-- {
		if n := indentLen([]byte(above[i])); !isBlank(above[i]) && n < depth {
			if blockScalar.MatchString(above[i]) {
				return true
			}
			depth = n
		}
	}
	return false
}

var blockScalar = regexp.MustCompile(`(^|[:\-\s])[|>][+-]?\d?[+-]?\s*(#.*)?$`)

// within says that an offset at the start of a line is inside a string or a comment that began on a line before.
func (x *syntax) within(data []byte, offset int) bool {
	starts := x.starters()
	for at := 0; at < min(offset, len(data)); {
		if !starts[data[at]] {
			at++
			continue
		}
		end, _ := x.token(data, at)
		if end > offset && bytes.IndexByte(data[at:min(offset, len(data))], '\n') >= 0 {
			return true
		}
		at = end
	}
	return false
}

// prose says that the file is text for people, which may show code and leave some of it out.
func (t *Text) prose() bool { return t.kind() == "prose" || t.kind() == "rst" }

// unknown says that nothing is known of the kind of file: it may be text.
func (t *Text) unknown() bool { return t.syntax == nil && t.kind() == "" }

var kinds = kindsOf(map[string]string{
	"page": "html htm xhtml", "yaml": "yaml yml", "pl": "pl pm raku t", "py": "py pyw bzl", "nix": "nix", "pyi": "pyi", "rst": "rst",
	"prose": "md markdown mdx mdown mkd mdc rmd qmd adoc asciidoc txt text tex org textile rdoc pod wiki po",
	"code": "json ipynb csv tsv env lock mod sum work bat cmd vb vbs f f90 f95 for pas ada adb ads plist gradle sln rego cue sol cr vhd vhdl asm wat ml mli " +
		"re res purs idr lean cls cob cbl abap jl awk sed vim gitignore dockerignore editorconfig",
})

func kindsOf(lists map[string]string) map[string]string {
	all := map[string]string{}
	for kind, names := range lists {
		for name := range strings.FieldsSeq(names) {
			all[name] = kind
		}
	}
	return all
}

// kind is the kind of file by its extension, as far as it matters for what may be text.
func (t *Text) kind() string {
	return kinds[strings.TrimPrefix(strings.ToLower(path.Ext(t.name)), ".")]
}
