package scan

import (
	"bytes"
	"context"
)

// A Scanner searches one text after another for a pattern. It keeps what it learnt, and up to a few megabytes. One
// goroutine at a time may use it.
type Scanner struct {
	ctx     context.Context
	pattern *Pattern
	finders []*finder
	auto    *automaton
	data    []byte
	looked  int // bytes since ctx was asked
}

// Scanner makes a scanner, which stops when ctx ends.
func (p *Pattern) Scanner(ctx context.Context) *Scanner {
	s := &Scanner{ctx: ctx, pattern: p}
	for _, l := range p.literals {
		s.finders = append(s.finders, newFinder(l))
	}
	return s
}

// Reset gives the scanner a text, which must stay as it is until the next one.
func (s *Scanner) Reset(data []byte) {
	s.data = data
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

// Next finds the next line that matches. The search begins at from, which is the begin of a line. False says that there is
// none, or that the scanner's ctx ended.
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

// ended tells whether ctx did, and asks it every so many bytes.
func (s *Scanner) ended(more int) bool {
	if s.looked += more; s.looked > 1<<16 {
		s.looked = 0
		return s.ctx.Err() != nil
	}
	return s.auto != nil && s.auto.stopped
}

// candidate is a place in the next line that could match.
func (s *Scanner) candidate(from int) int {
	if len(s.finders) == 0 {
		return from
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
