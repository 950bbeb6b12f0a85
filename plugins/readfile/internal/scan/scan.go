// Package scan finds the lines of a text that a regular expression matches, fast and whatever the expression.
//
// Lines are matched one by one, without their line endings (LF or CRLF): ^ and $ are their ends, and nothing matches
// across them. An automaton that is built lazily decides whether a line matches: once its states are built
// a byte costs one look-up, and an expression that makes it learn on and on costs time that is linear, and bounded
// memory. Where every match has to hold some literal text, lines without it are not even looked at.
package scan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// Limits of a pattern.
const (
	maxPattern = 1 << 10 // bytes

	maxProgram = 10_000 // instructions; what a counted repeat such as x{1000} makes
)

// A Pattern is a compiled expression. Many goroutines may use it at once, each with a Scanner of its own.
type Pattern struct {
	prog     *syntax.Prog
	classes  *classes
	literals []literal // each match holds one of them; empty when that is not known
	many     *blocks   // finds them when they are too many to be looked for one by one
	odd      bool      // a match may have a k or an s of another kind in place of that of a literal
	whole    bool      // the only literal is all there is to match
}

// Options say how a pattern is read.
type Options struct {
	Literal    bool // as fixed text
	IgnoreCase bool
}

// A PatternError says what is wrong with a pattern.
type PatternError struct {
	// Offset is where in the pattern, in bytes; -1 when it is nowhere in particular.
	Offset int
	// Problem says what is wrong, and Hint, which may be empty, what to do.
	Problem, Hint string
}

func (e *PatternError) Error() string {
	if e.Offset < 0 {
		return e.Problem
	}
	return fmt.Sprintf("%s at offset %d", e.Problem, e.Offset)
}

// Compile reads a pattern in the syntax of RE2. Its errors are of type *PatternError.
func Compile(pattern string, o Options) (*Pattern, error) {
	if len(pattern) > maxPattern {
		return nil, &PatternError{Offset: -1,
			Problem: fmt.Sprintf("it has %d bytes, at most %d are allowed", len(pattern), maxPattern)}
	}
	flags := syntax.Perl
	if o.Literal {
		flags = syntax.Literal
	}
	if o.IgnoreCase {
		flags |= syntax.FoldCase
	}
	re, err := syntax.Parse(pattern, flags)
	if err != nil {
		return nil, explain(pattern, err)
	}
	if hasLineBreak(re) {
		return nil, &PatternError{Offset: max(strings.Index(pattern, `\n`), strings.IndexByte(pattern, '\n')),
			Problem: "a line break can never match: lines are searched one by one",
			Hint:    "Search for the text of one line, and ask for lines around it."}
	}
	return assemble(re.Simplify())
}

// assemble makes the program and all that makes it fast.
func assemble(re *syntax.Regexp) (*Pattern, error) {
	prog, err := syntax.Compile(re)
	if err == nil && len(prog.Inst) > maxProgram {
		err = fmt.Errorf("it takes %d instructions, at most %d are allowed", len(prog.Inst), maxProgram)
	}
	if err != nil {
		return nil, &PatternError{Offset: -1, Problem: err.Error(), Hint: "Use smaller counts in {}."}
	}
	p := &Pattern{prog: prog, classes: newClasses(prog), literals: required(re)}
	p.whole = len(p.literals) == 1 && !p.literals[0].fold && re.Op == syntax.OpLiteral &&
		p.literals[0].text == string(re.Rune)
	p.odd = slices.ContainsFunc(p.literals, func(l literal) bool { return l.fold && strings.ContainsAny(l.text, "ks") })
	if passes(p.literals) > maxPasses {
		p.many = newBlocks(p.literals)
		p.literals = nil
	}
	return p, nil
}

// hasLineBreak reports whether a match would have to hold a line break that is in the pattern as such.
func hasLineBreak(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral && strings.ContainsRune(string(re.Rune), '\n') {
		return true
	}
	if re.Op == syntax.OpAlternate || re.Op == syntax.OpStar || re.Op == syntax.OpQuest || re.Op == syntax.OpRepeat &&
		re.Min == 0 {
		return false
	}
	return slices.ContainsFunc(re.Sub, hasLineBreak)
}

var (
	lookaround    = lazy.Regexp(`^\(\?<?[=!]`)
	backreference = lazy.Regexp(`^(\\[1-9gk]|\(\?P=)`)
	freeSpacing   = lazy.Regexp(`^\(\?[a-z]*x`)
)

// escapes says how to write those of other dialects.
var escapes = map[string]string{
	`\Z`: "The end of a line is $.", `\h`: `Blanks are [ \t].`, `\u`: `A character by its number is \x{00e9}.`,
	`\K`: "Search for all of it: a match need not be cut down to a part.",
}

// explain finds where a mistake is, and what to do about those that come from other dialects.
func explain(pattern string, err error) *PatternError {
	e, ok := errors.AsType[*syntax.Error](err)
	if !ok {
		return &PatternError{Offset: -1, Problem: err.Error()}
	}
	if e.Expr == "(?P" && strings.Contains(pattern, "(?P=") { // the library stops before the sign
		e.Expr = "(?P="
	}
	out := &PatternError{Offset: strings.Index(pattern, e.Expr), Problem: fmt.Sprintf("%s: %s", e.Code, e.Expr)}
	switch {
	case lookaround().MatchString(e.Expr):
		out.Problem = fmt.Sprintf("lookahead and lookbehind are not in RE2: %s", e.Expr[:min(4, len(e.Expr))])
		out.Hint = "Search for the part that must be there, and pick from the results."
	case backreference().MatchString(e.Expr):
		out.Problem = "backreferences are not in RE2: " + e.Expr
		out.Hint = "Write out what it refers to."
	case e.Code == syntax.ErrInvalidRepeatSize:
		out.Hint = "Counts in {} may be up to 1000, also when multiplied by those around them."
	case e.Expr == "(?>", e.Code == syntax.ErrInvalidRepeatOp && strings.HasSuffix(e.Expr, "+"):
		out.Hint = "Write (?: in place of (?>, and leave out the last +: no pattern takes longer without them."
	case freeSpacing().MatchString(e.Expr):
		out.Hint = "Leave out blanks and comments: of flags there are i, m, s and U."
	default:
		out.Hint = escapes[e.Expr]
	}
	if e.Expr == "" {
		out.Offset = -1
	}
	return out
}

// A Scanner searches one text after another for a pattern. It keeps what it learnt, and up to a few megabytes. One
// goroutine at a time may use it.
type Scanner struct {
	ctx     context.Context
	pattern *Pattern
	finders []*finder
	auto    *automaton
	data    []byte
	blind   bool // the literals of the pattern may be missing where it matches
	next    int  // where the pattern's many literals have the next one
	looked  int  // bytes since ctx was asked
}

// Scanner makes a scanner, which stops when ctx ends.
func (p *Pattern) Scanner(ctx context.Context) *Scanner {
	s := &Scanner{ctx: ctx, pattern: p}
	for _, l := range p.literals {
		s.finders = append(s.finders, newFinder(l))
	}
	return s
}

// Reset gives the scanner a text, which must stay unchanged until the next one.
func (s *Scanner) Reset(data []byte) {
	s.data, s.next = data, unknown
	s.blind = s.pattern.odd && (bytes.Contains(data, []byte(kelvin)) || bytes.Contains(data, []byte(longS)))
	for _, f := range s.finders {
		f.reset()
	}
}

// A Line is a line that matches.
type Line struct {
	Start, End int // where in the text it is, without its line ending
	Next       int // where the next line begins
	MatchEnd   int // where in the text the first match ends; within the line
}

// Next finds the next line that matches. The search begins at from, which is the begin of a line. False says that there
// is none, or that the scanner's ctx ended.
func (s *Scanner) Next(from int) (Line, bool) {
	for from < len(s.data) {
		place := s.candidate(from)
		if place == nowhere {
			return Line{}, false
		}
		line := s.lineAt(from, place)
		if s.matches(&line, place) {
			return line, true
		}
		if s.ended(line.Next - from) {
			return Line{}, false
		}
		from = line.Next
	}
	return Line{}, false
}

// ended reports whether ctx did, and asks it every so many bytes.
func (s *Scanner) ended(more int) bool {
	if s.looked += more; s.looked > 1<<16 {
		s.looked = 0
		return s.ctx.Err() != nil
	}
	return s.auto != nil && s.auto.stopped
}

// candidate is a place in the next line that could match.
func (s *Scanner) candidate(from int) int {
	many := s.pattern.many
	switch {
	case s.blind, many == nil && len(s.finders) == 0:
		return from
	case many != nil:
		if s.next != nowhere && s.next < from {
			s.next = many.find(s.data, from)
		}
		return s.next
	}
	place := nowhere
	for _, f := range s.finders {
		place = earlier(place, f.find(s.data, from))
	}
	return place
}

// lineAt is the line that place is in, when a line begins at from.
func (s *Scanner) lineAt(from, place int) Line {
	line := Line{Start: from + bytes.LastIndexByte(s.data[from:place], '\n') + 1, End: len(s.data), Next: len(s.data)}
	if i := bytes.IndexByte(s.data[place:], '\n'); i >= 0 {
		line.End, line.Next = place+i, place+i+1
	}
	if line.End > line.Start && s.data[line.End-1] == '\r' {
		line.End--
	}
	return line
}

func (s *Scanner) matches(line *Line, place int) bool {
	if s.pattern.whole {
		line.MatchEnd = place + len(s.pattern.literals[0].text)
		return line.MatchEnd <= line.End
	}
	if s.auto == nil {
		s.auto = newAutomaton(s.ctx, s.pattern)
	}
	end, ok := s.auto.match(s.data[line.Start:line.End])
	line.MatchEnd = line.Start + end
	return ok
}
