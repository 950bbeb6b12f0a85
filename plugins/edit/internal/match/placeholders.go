package match

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// A placeholder is how sure it is that a line of new_string stands for code that was left out.
type placeholder int

const (
	noPlaceholder placeholder = iota
	weakWords                 // a comment such as "unchanged": so only where lines of old_string are gone
	dotsOnly                  // nothing but dots, which are text or code in some places
	commentDots               // a comment of nothing but dots, or with dots on both sides
	strongWords               // explicit: "... existing code ...", "(unchanged)", "rest of the function"
)

// A text of such words that says a state speaks of code which is not shown.
const (
	restState = `unchanged|unmodified|unaltered|omitted|elided|snip(?:ped)?|truncated|skipped|skipping|hidden|collapsed|` +
		`abbreviated|not shown|left as is|as previously|continues`
	restWord = `(?:the|rest|of|this|your|all|keep|leave|left|other|more|remaining|existing|previous|original|same|code|` +
		`lines?|body|implementation|logic|contents?|functions?|methods?|sections?|blocks?|parts?|fields?|cases?|imports?|` +
		`is|are|remains?|as|from|for|before|above|here|brevity|clarity|n|\d+|` + restState + `)`
)

var (
	// What starts and ends comments, or sets a remark apart, in any language; bullets and marks of quotations as well.
	commentMark = lazy.Regexp(`(?i)^(//+!?|/\*+!?|<!--|--+(\[\[)?|#+\||#+!?|;+|%+|\(\*|\{/\*+|\{-|` +
		`"""|'''|["'!*+>]+|rem\b|dnl\b|@\*|<%--|<%#?|\{#|\{\{!(--)?|::|\.\.(?:\s|$)|=+|~+)\s*`)
	commentEnd = lazy.Regexp(`\s*(\*+/\}?|-->|--%>|%>|\*\)|-\}|"""|'''|#\}|(--)?\}\}|\*@|\]\]|\|#|#+|--+|=+|~+)$`)
	allDots    = lazy.Regexp(`^[\[({<]?\s*(\.{3,6}|…{1,3}|\.( \.){2,}|⋮|\.{3,}\s+\.{3,})\s*[\])}>]?[,;]?$`)
	dotted     = lazy.Regexp(`^[\[({<\s]*(\.{3,}|…)|(\.{3,}|…)[\])}>\s]*$`)
	bracketed  = lazy.Regexp(`^(\(.*\)|\[.*\]|<.*>|\{.*\})$`)

	// Words for what stays unchanged: somewhere beside dots, on their own, and in brackets or a comment.
	wordsBesideDots = lazy.Regexp(`(?i)\b(rest|remainder|remaining|existing|unchanged|unmodified|omitted|elided|` +
		`same as before|as before|previous (code|content)|other (code|methods|functions|fields|imports)|` +
		`more code|your code|original code|snip|truncated|no changes?|stays? the same|remains? the same|for brevity)\b|` +
		`기존|나머지|생략|省略|既存|其余|其他代码|保持不变`)
	wordsAlone = lazy.Regexp(`(?i)^(((the|keep|all)( the)? )?(rest|remainder) of (the |this )?(\w+ ){0,2}` +
		`(code|file|function|method|methods|class|implementation|content|logic|functions|imports|body|config|script|page|` +
		`document|section|block|module|struct|table|query|tests?|rules|styles|template|markup|list|options|fields)|` +
		`((all|keep)( the)? )?((existing|remaining) (code|content|implementation|methods?|functions?|lines?|logic|imports|` +
		`fields)|(original|previous) (code|content|implementation|logic))|` +
		`(code|(the )?rest|everything else|other (code|methods|functions)) ((is|are|remains?|stays?) )?` +
		`(unchanged|omitted|the same|as is)|no changes? (here|below|above))` +
		`( (here|below|above|goes here|continues|follows|unchanged|omitted|as (is|before)|(remains?|stays?)|` +
		`(remains?|stays?|is|are) (exactly )?(the same|unchanged|as (is|before)|identical|omitted|kept|here|below|above|` +
		`intact|untouched))(,? .{0,20})?)?$`)
	wordsSetApart = lazy.Regexp(`(?i)^((` + restWord + ` )*(` + restState + `)( ` + restWord + `)*|` +
		`same( (code|logic|body|implementation|imports))?|(same|as) (as )?(before|above|original)|` +
		`no (other |further |more )?changes?( needed)?( here| below| above)?|` +
		`existing|(the|keep the) rest( the same)?|(and )?so on|etc|` +
		`(your|more|other|existing|previous|remaining|original|\d+ more) (\w+ )?(code|logic|methods?|functions?|imports?|` +
		`fields?|cases?|lines?|content|items?|entries|keys|rules|styles|tests|props)( here)?|(the )?rest of (\w+ ){0,3}\w+|` +
		`(\w+ ){1,4}(remains?|stays?)( the same| unchanged| as is)?|` +
		`(unchanged )?lines? \d+( ?(-|–|to) ?\d+)?( unchanged| omitted)?)$|` +
		`^나머지|동일|유지|^이하|생략|変更なし|省略|不变|不變|其余`)

	// sentenceGoesOn is a line of a text, and remark a comment about data, that may be meant though they name a rest.
	sentenceGoesOn = lazy.Regexp(`(?i)^(\.{3}|…)(and|or|but|so|then|which|while|because)\s`)
	remark         = lazy.Regexp(`(?i)^(//|#|--|/\*)\s*((keep|all)( of)? )?(the )?(rest|remainder) ` +
		`of (the |this )?(\w+ ){0,2}(list|options|fields|query|table|content|rules|tests?)\.?(\s*\*/)?$`)

	// A header is a line of Python that the body of a function can follow, or the end of its docstring.
	header = lazy.Regexp(`(:\s*(#.*)?|"""|''')$`)
	// definition is the start of a line of Python that has a body on the same line.
	definition = lazy.Regexp(`^\s*(async )?(def|class)\b.*:\s*$`)
	// Perl's documentation, and a YAML key whose value is a text of several lines.
	podLine     = lazy.Regexp(`(?m)^=[a-z]+\d?`)
	blockScalar = lazy.Regexp(`(^|[:\-\s])[|>][+-]?\d?[+-]?\s*(#.*)?$`)
)

// maxPlaceholder is the length of a placeholder line, in bytes.
const maxPlaceholder = 120

// placeholderOf classifies a line of new_string.
func placeholderOf(line string) placeholder {
	s := strings.TrimSpace(line)
	if s == "" || len(s) > maxPlaceholder || startsAsCode(s) {
		return noPlaceholder
	}
	if allDots().MatchString(s) {
		return dotsOnly
	}
	text := commentMark().ReplaceAllString(s, "")
	isComment := text != s
	text = strings.TrimSpace(commentEnd().ReplaceAllString(text, ""))
	if allDots().MatchString(text) {
		return commentDots
	}
	inner := strings.Trim(text, ".… :()[]<>{}-=~*")
	words := len(strings.Fields(inner))
	if words == 0 || words > 9 {
		return noPlaceholder
	}
	dots := len(dotted().FindAllString(text, -1))
	apart := bracketed().MatchString(text)
	most := 9
	if dots == 1 && !apart {
		most = 5 // dots at one end only: a sentence may continue
	}
	switch {
	case !isComment && !apart && (dots == 0 || words == 1 && dots == 1): // one word behind dots is code: ...rest
		return noPlaceholder
	case wordsAlone().MatchString(inner), dots > 0 && words <= most && wordsBesideDots().MatchString(inner),
		apart && wordsSetApart().MatchString(inner):
		return strongWords
	case dots == 2 && (isComment || apart) && words <= 6:
		return commentDots
	case (isComment || dots == 2) && wordsSetApart().MatchString(inner):
		return weakWords
	}
	return noPlaceholder
}

// startsAsCode reports that a line begins with a word that begins no comment, and has no dots: most lines do, and cost
// the most to look at further.
func startsAsCode(s string) bool {
	c := s[0] | 0x20
	return (c >= 'a' && c <= 'z' && c != 'r' && c != 'd' || s[0] == '_') && !strings.Contains(s, "...") &&
		!strings.ContainsAny(s, "…⋮")
}

// elision is a line of old_string that stands for lines which were left out, "" when there is none: the file does not
// have it, and which lines it stands for is not known.
func (t *Text) elision(r *reading) string {
	if r.elided == nil {
		r.elided = new(t.findElision(r.old))
	}
	return *r.elided
}

func (t *Text) findElision(old *source) string {
	for i := range old.lines {
		l := string(old.text(i))
		if kind := placeholderOf(l); kind > weakWords && !t.dotsAreCode(l, l) && !t.hasLine(l) {
			return strings.TrimSpace(l)
		}
	}
	return ""
}

// A newLine is a line of new_string that may be a placeholder, with what surrounds it.
type newLine struct {
	old, fresh []string      // all lines of both texts
	kinds      []placeholder // of the lines of fresh
	at         int           // the line, in fresh
	hunk       hunk          // that it is part of
	places     []Range
	near       [2]string // the lines of the file before and behind the first place that are not blank
}

// neighbor is the closest line of new_string, in a direction, that is not blank.
func (s newLine) neighbor(step int) string {
	for i := s.at + step; i >= 0 && i < len(s.fresh); i += step {
		if l := strings.TrimSpace(s.fresh[i]); l != "" {
			return l
		}
	}
	return s.near[(step+1)/2]
}

// came counts the lines of the hunk that are new and neither blank nor placeholders.
func (s newLine) came() (n int) {
	for i := s.hunk.na; i < s.hunk.nb; i++ {
		if !isBlankString(s.fresh[i]) && s.kinds[i] == noPlaceholder {
			n++
		}
	}
	return n
}

// gone counts the lines of old_string in the hunk that are not blank.
func (s newLine) gone() (n int) {
	for _, l := range s.old[s.hunk.a:s.hunk.b] {
		if !isBlankString(l) {
			n++
		}
	}
	return n
}

// keepsAll reports that each line of old_string that is gone in the hunk has become a line of its own.
func (s newLine) keepsAll() bool {
	was, is := s.old[s.hunk.a:s.hunk.b], s.fresh[s.hunk.na:s.hunk.nb]
	if len(was)*len(is) > maxPairs {
		return false
	}
	return s.gone() == len(bestPairs(len(was), len(is), func(i, j int) float64 {
		alike := likeness(was[i], is[j])
		if isBlankString(was[i]) || s.kinds[s.hunk.na+j] != noPlaceholder || alike < minSameLine {
			return 0
		}
		return alike
	}))
}

// placeholders refuses new_string when a line of it stands for code that was left out and neither old_string nor the
// file has that line at the place: it would be written literally, and the code would be gone.
func (t *Text) placeholders(r *reading, places []Range) *Refusal {
	fresh := strings.Split(r.new, "\n")
	if !slices.ContainsFunc(fresh, func(l string) bool { return placeholderOf(l) != noPlaceholder }) {
		return nil
	}
	have := map[string]int{} // how often a line is in old_string or at a place, whichever is more
	count := func(s *source, from, to int) {
		for l, n := range s.counts(from, to) {
			have[l] = max(have[l], n)
		}
	}
	count(r.old, 0, len(r.old.lines))
	for _, p := range places {
		from, to := t.span(p)
		count(t.source, from, to)
	}
	s := newLine{old: r.old.rightTrimmed(), fresh: slices.Clone(fresh), places: places, near: t.outside(places)}
	for i, l := range fresh {
		s.fresh[i] = strings.TrimRight(l, spaces)
		kind := placeholderOf(l)
		if kind != noPlaceholder && !slices.ContainsFunc(places, func(at Range) bool {
			return !t.dotsAreCode(l, t.newLine(at, fresh, i))
		}) {
			kind = noPlaceholder
		}
		s.kinds = append(s.kinds, kind)
	}
	for _, s.hunk = range joinHunks(diffLines(s.old, s.fresh), s.fresh) {
		for s.at = s.hunk.na; s.at < s.hunk.nb; s.at++ {
			kind, key := s.kinds[s.at], squeeze([]byte(fresh[s.at]))
			if kind != noPlaceholder && have[key] == 0 && t.standsForMore(kind, s) {
				r := guard("new_string has the line "+quoteShort(strings.TrimSpace(fresh[s.at]))+", which stands for code "+
					"left out and is not in the file at that place. It would be written literally, and the code would be lost.",
					"Write new_string in full, or choose a smaller old_string that holds only what changes.")
				t.show(r, places[0])
				return r
			}
			if kind != noPlaceholder && have[key] > 0 {
				have[key]--
			}
		}
	}
	return nil
}

// newLine is the line of the file that line i of new_string becomes at a place: the first and the last may be parts of
// one.
func (t *Text) newLine(at Range, fresh []string, i int) string {
	before, after := t.around(at)
	line := fresh[i]
	if i == 0 && t.data[at.Start] != '\n' && t.data[at.Start] != '\r' {
		line = before + line
	}
	if i == len(fresh)-1 && t.data[max(at.Start, at.End-1)] != '\n' {
		line += after
	}
	return line
}

// outside returns the closest lines before and behind the first place that are not blank.
func (t *Text) outside(places []Range) (near [2]string) {
	from, to := t.span(places[0])
	for n, i := range []int{t.closeFilled(from, -1), t.closeFilled(to-1, +1)} {
		if i >= 0 {
			near[n] = strings.TrimSpace(string(t.text(i)))
		}
	}
	return near
}

// joinHunks joins hunks that only blank lines and brackets separate: those were paired by chance.
func joinHunks(hunks []hunk, fresh []string) (out []hunk) {
	says := func(l string) bool { return alnums([]byte(l)) > 0 }
	for _, h := range hunks {
		if n := len(out); n > 0 && !slices.ContainsFunc(fresh[out[n-1].nb:h.na], says) {
			out[n-1].b, out[n-1].nb = h.b, h.nb
			continue
		}
		out = append(out, h)
	}
	return out
}

// standsForMore reports whether a line stands for omitted code: where lines of old_string are missing it does,
// otherwise it may be text or code.
func (t *Text) standsForMore(kind placeholder, s newLine) bool {
	if kind == dotsOnly && t.isBody(s) {
		return false
	}
	if (t.prose() || t.unknown()) && kind == strongWords && !t.shownAsCode(s) &&
		!(sentenceGoesOn().MatchString(s.fresh[s.at]) && s.keepsAll()) {
		return true // in a text it says something only within code that is shown
	}
	isText := t.prose() || kind == dotsOnly && t.kind() == "page" || t.inText(s.fresh, s.at, s.places)
	before, after := s.neighbor(-1), s.neighbor(+1)
	switch {
	case isText && kind <= commentDots && s.at > s.hunk.na && s.at < s.hunk.nb-1 &&
		placeholderOf(before) == noPlaceholder && placeholderOf(after) == noPlaceholder:
		return false // in a text that is new
	case s.gone() > s.came(), isText && kind == dotsOnly && !s.keepsAll():
		return true
	case kind == weakWords, isText, t.unknown(), s.isRemark():
		return false
	case kind == dotsOnly && strings.HasPrefix(t.kind(), "py") && strings.HasSuffix(s.fresh[s.at], ","):
		return false // among arguments or indices
	case kind == dotsOnly && strings.HasSuffix(before, ",") &&
		(strings.HasPrefix(after, ")") || t.kind() == "nix" && strings.HasPrefix(after, "}")):
		return false // the variadic parameter of C
	case kind == dotsOnly && t.kind() == "yaml" && s.fresh[s.at] == "...":
		return false // the end of a document
	case commentLike(before) && strings.HasSuffix(before, "..."):
		return false // the sentence of a comment continues
	}
	return kind != commentDots || s.at == 0 || !commentLike(strings.TrimSpace(s.fresh[s.at-1])) // else it ends a comment
}

// isRemark reports whether a line is a comment on the code below it, such as "keep the rest of the list", and takes no
// code's place.
func (s newLine) isRemark() bool {
	if s.at+1 >= len(s.fresh) || !remark().MatchString(strings.TrimSpace(s.fresh[s.at])) {
		return false
	}
	below := strings.TrimSpace(s.fresh[s.at+1])
	return alnums([]byte(below)) > 0 && !commentLike(below) && s.kinds[s.at+1] == noPlaceholder && s.keepsAll()
}

// shownAsCode reports whether a line comes to be in a block of code of a text: between fences, or indented.
func (t *Text) shownAsCode(s newLine) bool {
	from, _ := t.span(s.places[0])
	n := countFences(t.source, 0, from)
	for _, l := range s.fresh[:s.at] {
		if isFence(l) {
			n++
		}
	}
	return n%2 == 1 || indentLen([]byte(s.fresh[s.at])) > 0
}

// commentLike reports whether a line is a comment, or a part of one.
func commentLike(l string) bool {
	for _, mark := range []string{"//", "#", "*", "--", ";", "%", "/*", "<!--"} {
		if strings.HasPrefix(l, mark) {
			return placeholderOf(l) != strongWords && !allDots().MatchString(strings.TrimSpace(strings.TrimPrefix(l, mark)))
		}
	}
	return false
}

// isBody reports whether dots are all that a function has, as in Python and Perl, and take no code's place.
func (t *Text) isBody(s newLine) bool {
	before, after := s.neighbor(-1), s.neighbor(+1)
	depth, inLine := indentLen([]byte(s.fresh[s.at])), false // of lines that would belong to the body
	if s.at == 0 {                                           // the header may be on the same line
		if head, _ := t.around(s.places[0]); definition().MatchString(head) {
			before, depth, inLine = strings.TrimSpace(head), indentLen([]byte(head))+1, true
		}
	}
	switch t.kind() {
	case "py", "pyi":
		if !header().MatchString(before) {
			return false
		}
		rest := s.fresh[s.at+1:]
		next := slices.IndexFunc(rest, func(l string) bool { return !isBlankString(l) })
		if next >= 0 && indentLen([]byte(rest[next])) >= depth {
			return false
		}
		if t.kind() == "pyi" && !inLine {
			return true
		}
	case "pl":
		if !strings.HasSuffix(before, "{") || !strings.HasPrefix(after, "}") {
			return false
		}
	default:
		return false
	}
	gone := 0
	for _, l := range s.old[s.hunk.a:s.hunk.b] {
		if l = strings.TrimSpace(l); l != "" && l != "pass" && !strings.HasPrefix(l, "raise NotImplementedError") &&
			!strings.HasPrefix(l, "#") {
			gone++
		}
	}
	return gone <= s.came()
}

// inText reports whether line i of new_string, or the first for -1, comes to stand within a string or a comment of
// several lines.
func (t *Text) inText(fresh []string, i int, places []Range) bool {
	if t.syntax == nil {
		return false
	}
	at := places[0]
	after := slices.Concat(t.data[:at.Start], []byte(strings.Join(fresh, "\n")), t.data[at.End:])
	offset := at.Start
	for _, l := range fresh[:max(i, 0)] {
		offset += len(l) + 1
	}
	if t.syntax.within(after, offset) {
		return true
	}
	switch t.kind() {
	case "yaml":
		return inBlockScalar(string(after), offset)
	case "pl":
		pod := podLine().FindAllString(string(after[:offset]), -1)
		return len(pod) > 0 && pod[len(pod)-1] != "=cut"
	}
	return false
}

// inBlockScalar reports whether the line at an offset is in a YAML text of several lines.
func inBlockScalar(data string, offset int) bool {
	depth := indentLen([]byte(firstLine(data[offset:])))
	above := strings.Split(data[:offset], "\n")
	for i := len(above) - 2; i >= 0 && depth > 0; i-- {
		if n := indentLen([]byte(above[i])); !isBlankString(above[i]) && n < depth {
			if blockScalar().MatchString(above[i]) {
				return true
			}
			depth = n
		}
	}
	return false
}

// kinds are kinds of files by extension, as far as they matter for what may be text.
var kinds = byWord(map[string]string{
	"page": "html htm xhtml", "yaml": "yaml yml", "pl": "pl pm raku t", "py": "py pyw bzl", "nix": "nix", "pyi": "pyi",
	"rst": "rst", "patch": "patch diff rej",
	"prose": "md markdown mdx mdown mkd mdc rmd qmd adoc asciidoc txt text tex org textile rdoc pod wiki po",
	"code": "json ipynb csv tsv env lock mod sum work bat cmd vb vbs f f90 f95 for pas ada adb ads plist gradle sln " +
		"rego cue sol cr vhd vhdl asm wat ml mli re res purs idr lean cls cob cbl abap jl awk sed vim gitignore " +
		"dockerignore editorconfig geojson webmanifest xctestplan pbxproj",
})

func (t *Text) kind() string { return kinds[t.ext] }

// prose reports whether the file is text for people, which may show code and leave some of it out; unknown, whether
// it may be, as nothing is known of its kind.
func (t *Text) prose() bool   { return t.kind() == "prose" || t.kind() == "rst" }
func (t *Text) unknown() bool { return t.syntax == nil && t.kind() == "" }
