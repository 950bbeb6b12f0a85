// Package shellcmd determines what a shell command would do, before it runs.
// Parse takes a text apart into its simple commands, as bash would. Rules decide about a text, Prefix says which
// later commands an answer may cover, and Assess says how much harm there could be. Nothing is started and no file is
// read: paths are followed as written, so a symbolic link out of the workspace is not seen, and neither is what a
// project's own files make a listed program do, such as a Makefile. Commands of git that only read must be run with
// the settings of the repository turned off, see GitFolders. Judging reduces risk; only a sandbox contains.
// The texts are those of "bash --noprofile --norc -c" with a clean environment. Other shells read some texts
// differently.
// What cannot be determined is never allowed. Anything that is not in the lists of this package counts as unknown:
// syntax, options of programs, sub-commands.
package shellcmd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/lazy"
	"mvdan.cc/sh/v3/syntax"
)

// A Script is a command text, taken apart.
type Script struct {
	Text string
	// Commands are all simple commands in the text, in order: also those in pipes, lists, substitutions, groups,
	// functions, inside wrappers, in the strings of sh -c, and in here-documents for a shell. Of programs that run
	// their arguments, such as tmux or perl -e, it has the commands that they may run, as far as those can be parsed,
	// found in "perhaps NAME". A construct that is more than its parts, such as a function, a background mark or a
	// group with a redirect, is listed under its keyword.
	Commands []Command

	bomb   string            // what starts processes without end
	values map[string]string // known values of variables
	lists  map[string]bool   // those that are the words of a loop
	empty  []emptyPart
}

// A Command is one simple command.
type Command struct {
	// Name is the base name of the program, after unquoting and cleaning its path; that of grm, RM and rm.exe is rm.
	// It is "" when it is only known at run time, or when variables are set and nothing is run.
	Name string
	// Program is the program as written, and Args what follows it.
	Program Word
	Args    []Word
	// Assigns are the variables that are set before it, by name.
	Assigns   []string
	Redirects []Redirect
	// Via is where it was found, outermost first, such as "env", "sh -c" or "$(...)".
	Via []string
	// Text is the command as in the text, on one line and at most some 160 characters long.
	Text string
	// Fed says what adds names of files to it that are only known at run time, such as xargs; "" if nothing does.
	Fed string
	// Doubts say what cannot be determined about it, each in a short phrase; none means that all is known.
	Doubts []string

	sure   bool     // it runs whatever others end with, unless one before it with && fails
	branch bool     // whether it runs, or what runs it, depends on more than constants, although all before it succeeds
	built  bool     // it stands for a construct
	shows  bool     // its assignments change only how it orders and shows things
	sets   bool     // it only sets variables that programs ignore
	severe bool     // one of the doubts is about what would run
	skip   int      // of git: how many words before the sub-command are options that do not matter any more
	kept   []Word   // of find: the arguments without the commands in them; nil for all
	maybe  bool     // it is a guess at what another command runs
	guess  int      // which one, so that those of one text are told apart; 0 for none
	hidden bool     // it is not in the text as it runs: values of variables are in its words
	again  bool     // it is given names of files that are made again, or processes of its own
	reads  bool     // of a guess: it runs what it reads
	looks  bool     // of ssh: what it runs only reads
	script bool     // of a guess: its name is that of a script, or of a sub-command
	dirs   []string // the folders it may run in, relative to the first one or absolute
	writes []Word   // the files that a text in it writes to
	input  span     // the commands that print what it reads
}

// A span is a part of the commands of a text: from the first index on, and before the second.
type span struct{ from, to int }

// A RefusedError says why a text was not parsed. No rule may allow such a text.
type RefusedError struct {
	Offset int // the byte of the error
	Reason string

	whole bool // all of the text was read, perhaps not as bash would
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the command is not understood: %s, at byte %d", e.Reason, e.Offset)
}

// Parse takes a command text apart, as bash would read it. The error is a *RefusedError: the text is not UTF-8, or
// over 16 KiB, or has invisible characters, or is nested too deeply, or bash might not accept it.
func Parse(text string) (*Script, error) {
	s, err := parse(text)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// parse returns, with an error, the commands before it: bash runs a text line by line, and so would run them.
func parse(text string) (*Script, error) {
	if err := checkText(text); err != nil {
		return &Script{Text: text}, err
	}
	return walk(text)
}

// walk takes apart a text that was checked, or a reading of one that was refused.
func walk(text string) (s *Script, err error) {
	s = &Script{Text: text}
	w := &walker{src: text, all: &sharedState{outer: &wholeText{text: unquoted.Replace(text)}}}
	defer func() {
		s.Commands, s.bomb, s.values, s.lists = w.all.commands, w.all.bomb, w.all.values, w.all.lists
		s.empty = w.all.empty
		if w.all.guesses > maxGuesses && len(s.Commands) > 0 {
			s.Commands[0].severeDoubt("more may be run in it than can be looked at")
		}
		if p := recover(); p != nil { // the parser is a third party's; a panic must not end the host
			err = &RefusedError{Reason: "the parser failed on it"}
		}
	}()
	w.text([]string{""})
	w.resolve()
	w.followHomes()
	if w.all.err != nil {
		return s, w.all.err
	}
	return s, nil
}

// statements are those that could be read, and the error after them.
func statements(text string) (list []*syntax.Stmt, err error) {
	if at := tooDeep(text); at >= 0 {
		return nil, &RefusedError{Offset: at, Reason: "it is nested too deeply"}
	}
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))
	file, err := parser.Parse(strings.NewReader(text), "")
	if err != nil {
		return file.Stmts, refusedSyntax(err)
	}
	if e := readDifferently(text, file); e != nil {
		return file.Stmts, e
	}
	return file.Stmts, nil
}

// maxOpen is how many brackets may be open at a time, in quotes or not: the parser takes much stack for each.
const maxOpen = 500

// tooDeep returns where that are more; -1 if they never are.
func tooDeep(text string) int {
	open := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{':
			open++
		case ')', '}':
			open = max(0, open-1)
		}
		if open > maxOpen {
			return i
		}
	}
	return -1
}

// readDifferently finds text that the parser and bash do not read alike.
func readDifferently(text string, file *syntax.File) error {
	if !strings.Contains(text, "\\\n") {
		return endsElsewhere(text, file)
	}
	if at := longComment().FindStringIndex(text); at != nil {
		return &RefusedError{Offset: at[0], whole: true,
			Reason: "a line with # ends with a backslash, and the comment may or may not go on"}
	}
	if at := joinedLine().FindStringIndex(text); at != nil {
		return &RefusedError{Offset: at[0], whole: true,
			Reason: "a backslash joins two lines inside of a word; a blank before it helps"}
	}
	return endsElsewhere(text, file)
}

// endsElsewhere finds a comment in the middle of a word, and a substitution, or a text in quotes, that ends
// elsewhere for bash: the next backquote ends a substitution, also one in quotes; in double quotes $$( begins one,
// and the single quotes of "${x:-'$(y)'}" are characters. Those in a substitution are its own. It sees each node
// once, however deep expansions are in expansions.
func endsElsewhere(text string, file *syntax.File) (err error) {
	inParam := []bool{false} // for each open node: an expansion is nearer than a substitution
	syntax.Walk(file, func(n syntax.Node) bool {
		switch {
		case err != nil:
			return false
		case n == nil:
			inParam = inParam[:len(inParam)-1]
			return true
		}
		in := inParam[len(inParam)-1]
		switch n := n.(type) {
		case *syntax.Comment: // for bash one begins a word
			at := int(n.Hash.Offset())
			if at > 0 && at <= len(text) && !strings.ContainsRune(" \t\n;&|()", rune(text[at-1])) {
				err = &RefusedError{Offset: at, Reason: "bash may not take this # for the start of a comment"}
			}
		case *syntax.CmdSubst:
			from, to := int(n.Left.Offset())+1, int(n.Right.Offset())
			if n.Backquotes && from < to && to <= len(text) && innerBackquote().MatchString(text[from:to]) {
				err = &RefusedError{Offset: from, Reason: "bash ends the substitution at the first backquote in it; $(...) helps"}
			}
			in = false
		case *syntax.ProcSubst:
			in = false
		case *syntax.ParamExp:
			end := int(n.End().Offset())
			if n.Short && n.Param.Value == "$" && end < len(text) && strings.ContainsRune("({[", rune(text[end])) {
				err = &RefusedError{Offset: end, Reason: "bash may take what follows $$ for a substitution"}
			}
			in = true
		case *syntax.SglQuoted:
			if in && strings.ContainsAny(n.Value, "$`\"\\{}") {
				err = &RefusedError{Offset: int(n.Pos().Offset()),
					Reason: "bash may take these single quotes for characters"}
			}
		}
		inParam = append(inParam, in)
		return err == nil
	})
	return err
}

// innerBackquote is a backquote without a backslash before it.
var innerBackquote = lazy.Regexp("(^|[^\\\\])`")

// joinedLine is a line that continues in the next one without a blank before the backslash: $\ and ( in the next line
// are $( to bash, and two things to the parser.
var joinedLine = lazy.Regexp(`(^|[^ \t\n\\])(\\\\)*\\\n|[ \t\n](\\\\)+\\\n`)

// longComment may be a comment that the parser, unlike bash, continues in the next line.
var longComment = lazy.Regexp(`#[^\n]*\\\n`)

func refusedSyntax(err error) *RefusedError {
	if e, ok := errors.AsType[syntax.ParseError](err); ok {
		return &RefusedError{Offset: int(e.Pos.Offset()), Reason: e.Text}
	}
	if e, ok := errors.AsType[syntax.LangError](err); ok {
		return &RefusedError{Offset: int(e.Pos.Offset()), Reason: e.Feature + " is not for bash"}
	}
	return &RefusedError{Reason: err.Error()}
}

// maxText is the longest text that is parsed, in bytes. No person reads longer ones before approving.
const maxText = 16 << 10

// checkText refuses texts that a person and bash might read differently, or that take long to parse.
func checkText(text string) error {
	if len(text) > maxText {
		return &RefusedError{Offset: maxText, Reason: fmt.Sprintf("it is longer than %d bytes", maxText)}
	}
	for i, r := range text {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(text[i:]); n == 1 {
				return &RefusedError{Offset: i, Reason: "it is not UTF-8"}
			}
		}
		if hasHiddenChars(r) {
			return &RefusedError{Offset: i, Reason: fmt.Sprintf("it holds the character %U, which people cannot see", r)}
		}
	}
	return nil
}

// hasHiddenChars reports characters that are invisible, move others, or look like a blank.
func hasHiddenChars(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20 || r == 0x7f:
		return true
	case r < 0x80:
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) || r == '\u2800' // the braille blank
}

// plainParam reports an expansion that only takes the value of a variable.
func plainParam(p *syntax.ParamExp) bool {
	return p.Param != nil && p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.NestedParam == nil &&
		p.Index == nil && len(p.Modifiers) == 0 && p.Slice == nil && p.Repl == nil && p.Exp == nil && p.Names == 0 &&
		p.Split == syntax.OptUnset && p.GlobSubst == syntax.OptUnset && p.RcExpand == syntax.OptUnset
}

// digitArithm reports arithmetic on literal numbers. A name in it could hold text that runs commands when evaluated.
func digitArithm(x syntax.ArithmExpr) bool {
	switch x := x.(type) {
	case *syntax.Word:
		return digits(x.Lit())
	case *syntax.ParenArithm:
		return digitArithm(x.X)
	case *syntax.UnaryArithm:
		return x.Op != syntax.Inc && x.Op != syntax.Dec && digitArithm(x.X)
	case *syntax.BinaryArithm:
		return digitArithm(x.X) && digitArithm(x.Y)
	}
	return false
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// inside walks the commands that expanding a word runs, and returns the doubts about expanding it.
func (w *walker) inside(x *syntax.Word, dirs []string) (doubts []string) {
	if x == nil {
		return nil
	}
	for _, p := range x.Parts {
		doubts = append(doubts, w.insidePart(p, dirs)...)
	}
	return doubts
}

func (w *walker) insidePart(p syntax.WordPart, dirs []string) (doubts []string) {
	switch p := p.(type) {
	case *syntax.Lit, *syntax.SglQuoted:
	case *syntax.DblQuoted:
		for _, q := range p.Parts {
			doubts = append(doubts, w.insidePart(q, dirs)...)
		}
	case *syntax.CmdSubst:
		return w.substitution(p, dirs)
	case *syntax.ProcSubst:
		w.within(p.Op.String()+"...)").inSubshell().stmts(p.Stmts, dirs)
	case *syntax.ParamExp:
		return w.insideParam(p, dirs)
	case *syntax.ArithmExp:
		if !digitArithm(p.X) {
			w.evaluatedIn(p, dirs)
			return []string{"arithmetic with variables can run commands"}
		}
	case *syntax.ExtGlob:
		w.refuse(p, "patterns like "+p.Op.String()+"...) are read differently with and without extglob")
	default:
		return []string{"an expansion that is not known"}
	}
	return doubts
}

func (w *walker) substitution(p *syntax.CmdSubst, dirs []string) (doubts []string) {
	w.within("$(...)").inSubshell().stmts(p.Stmts, dirs)
	switch {
	case p.TempFile || p.ReplyVar:
		return []string{"a substitution that is not known"}
	case p.Backquotes && strings.Contains(w.slice(p), `\`):
		return []string{"a backslash inside of backquotes"}
	}
	return nil
}

func (w *walker) insideParam(p *syntax.ParamExp, dirs []string) (doubts []string) {
	if harmlessParam(p) {
		return nil
	}
	w.hiddenIn(p, dirs)
	for _, x := range indexes(p) {
		w.quotedIn(x, dirs)
	}
	return []string{"the expansion " + shorten(w.slice(p)) + " can run commands or set variables"}
}

// hiddenIn walks the substitutions below a node that is doubtful itself, so that their commands are listed.
func (w *walker) hiddenIn(n syntax.Node, dirs []string) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			w.substitution(n, dirs)
			return false
		case *syntax.ProcSubst:
			w.insidePart(n, dirs)
			return false
		}
		return true
	})
}

// evaluatedIn walks the substitutions below arithmetic: those of quoted text run too, when it is evaluated.
func (w *walker) evaluatedIn(n syntax.Node, dirs []string) {
	w.hiddenIn(n, dirs)
	w.quotedIn(n, dirs)
}

func (w *walker) quotedIn(n syntax.Node, dirs []string) {
	syntax.Walk(n, func(n syntax.Node) bool {
		text := ""
		switch n := n.(type) {
		case *syntax.SglQuoted:
			text = n.Value
		case *syntax.Lit:
			text = unescape(n.Value, "$`\"\\")
		}
		if w.level < maxLevel && strings.ContainsAny(text, "$`") {
			w.evaluatedText(text, dirs)
		}
		return true
	})
}

// indexes are the parts of an expansion that are arithmetic.
func indexes(p *syntax.ParamExp) (out []syntax.Node) {
	if p.Index != nil {
		out = append(out, p.Index)
	}
	if p.Slice != nil && p.Slice.Offset != nil {
		out = append(out, p.Slice.Offset)
	}
	if p.Slice != nil && p.Slice.Length != nil {
		out = append(out, p.Slice.Length)
	}
	return out
}

const maxBraces = 64

var (
	braceLike  = lazy.Regexp(`(?s)\{.*(,|\.\.).*\}`)
	braceChars = lazy.Regexp(`^[A-Za-z0-9_./,={}*?+~-]*$`)
)

// hasBraces reports a word that bash might expand, such as a{b,c}.
func hasBraces(x *syntax.Word) bool {
	var b strings.Builder
	for _, p := range x.Parts {
		if l, ok := p.(*syntax.Lit); ok {
			b.WriteString(l.Value)
		}
	}
	return strings.Contains(b.String(), "{") && braceLike().MatchString(b.String())
}

// braces expands plain lists like a{b,c}d. It gives up on everything that a shell might read differently: sequences,
// empty elements, lone braces, quotes, or more than maxBraces words.
func braces(s string) (out []string, ok bool) {
	if m := numberRange().FindStringSubmatch(s); m != nil {
		return numbered(m[1], m[2], m[3], m[4])
	}
	if strings.Count(s, "{") > 6 || strings.Contains(s, "..") || !braceChars().MatchString(s) {
		return nil, false
	}
	open := strings.IndexByte(s, '{')
	if open < 0 {
		return []string{s}, !strings.Contains(s, "}")
	}
	list, end := elements(s[open+1:])
	if len(list) < 2 || strings.Contains(s[:open], "}") {
		return nil, false
	}
	tails, ok := braces(s[open+1+end:])
	if !ok {
		return nil, false
	}
	for _, e := range list {
		middles, ok := braces(e)
		if !ok || e == "" || len(out)+len(middles)*len(tails) > maxBraces {
			return nil, false
		}
		for _, m := range middles {
			for _, t := range tails {
				out = append(out, s[:open]+m+t)
			}
		}
	}
	return out, true
}

var numberRange = lazy.Regexp(`^([A-Za-z0-9_./=-]*)\{(0|[1-9]\d{0,3})\.\.(0|[1-9]\d{0,3})\}([A-Za-z0-9_./=-]*)$`)

// numbered expands a range of numbers like {1..5}.
func numbered(head, from, to, tail string) (out []string, ok bool) {
	i, _ := strconv.Atoi(from)
	last, _ := strconv.Atoi(to)
	step := 1
	if last < i {
		step = -1
	}
	if (last-i)*step >= maxBraces {
		return nil, false
	}
	for ; i != last+step; i += step {
		out = append(out, head+strconv.Itoa(i)+tail)
	}
	return out, true
}

// elements splits the text after an opening brace at the commas of its own level; end is after its closing brace.
func elements(s string) (list []string, end int) {
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case ',':
			if depth == 0 {
				list, from = append(list, s[from:i]), i+1
			}
		case '}':
			if depth == 0 {
				return append(list, s[from:i]), i + 1
			}
			depth--
		}
	}
	return nil, len(s)
}

var ansiEscape = lazy.Regexp(`(?s)\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|.|$)`)

// ansi evaluates the inside of $'...'. It gives up on escapes that depend on the locale or end the text early.
func ansi(s string) (text string, ok bool) {
	ok = true
	text = ansiEscape().ReplaceAllStringFunc(s, func(escape string) string {
		if i := strings.Index(`abeEfnrtv\'"?`, escape[1:]); len(escape) == 2 && i >= 0 {
			return "\a\b\x1b\x1b\f\n\r\t\v\\'\"?"[i : i+1]
		}
		digits, base := strings.TrimLeft(escape[1:], "xuU"), 16
		if len(digits) == len(escape)-1 {
			base = 8
		}
		c, err := strconv.ParseUint(digits, base, 32)
		ok = ok && err == nil && c > 0 && c <= 0x7e
		return string(rune(c))
	})
	return text, ok
}
