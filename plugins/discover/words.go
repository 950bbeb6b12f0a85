package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A splitter cuts a command line into words.
type splitter struct {
	text string
	at   int // the next byte
	word strings.Builder
	open bool // a word has begun, maybe an empty one
	out  []string
}

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

// splitWords splits a command line into words the way a shell does, with quotes and backslashes. What a shell would do
// beyond that is an error: there is no shell here, and leaving it out would run something else than was written.
func splitWords(line string) ([]string, error) {
	s := splitter{text: line}
	for s.at < len(s.text) {
		if err := s.step(); err != nil {
			return nil, err
		}
	}
	s.end()
	if len(s.out) > 0 && assignment.MatchString(line[len(line)-len(strings.TrimLeft(line, " \t\r\n")):]) {
		return nil, fmt.Errorf("%s sets a variable, which only a shell does here; it is not run through a shell; write env %s in front, or a script", s.out[0], s.out[0])
	}
	return s.out, nil
}

// step reads one character, or what is in quotes.
func (s *splitter) step() error {
	c := s.text[s.at]
	s.at++
	switch c {
	case ' ', '\t', '\n', '\r':
		s.end()
	case '\'':
		return s.single()
	case '"':
		return s.double()
	case '\\':
		return s.escape()
	default:
		if err := s.plain(c); err != nil {
			return err
		}
		s.add(c)
	}
	return nil
}

func (s *splitter) add(c byte) {
	s.word.WriteByte(c)
	s.open = true
}

func (s *splitter) end() {
	if s.open {
		s.out = append(s.out, s.word.String())
	}
	s.word.Reset()
	s.open = false
}

// plain refuses what is more than itself to a shell.
func (s *splitter) plain(c byte) error {
	switch {
	case strings.IndexByte("|&;<>()$`*?", c) >= 0, strings.IndexByte("#~", c) >= 0 && !s.open:
		return s.shellOnly(c)
	}
	return nil
}

func (s *splitter) shellOnly(c byte) error {
	return fmt.Errorf("%q at character %d means something to a shell, but it is not run through a shell; write a script, or quote it ('%c') to mean the character itself",
		rune(c), utf8.RuneCountInString(s.text[:s.at]), c)
}

func (s *splitter) single() error {
	n := strings.IndexByte(s.text[s.at:], '\'')
	if n < 0 {
		return fmt.Errorf("the ' at character %d is not closed", utf8.RuneCountInString(s.text[:s.at]))
	}
	s.word.WriteString(s.text[s.at : s.at+n])
	s.open = true
	s.at += n + 1
	return nil
}

func (s *splitter) double() error {
	s.open = true
	for begin := s.at; ; {
		if s.at >= len(s.text) {
			return fmt.Errorf("the \" at character %d is not closed", utf8.RuneCountInString(s.text[:begin]))
		}
		c := s.text[s.at]
		s.at++
		switch {
		case c == '"':
			return nil
		case c == '$' || c == '`':
			return s.shellOnly(c)
		case c == '\\' && s.at < len(s.text) && strings.IndexByte("$`\"\\\n", s.text[s.at]) >= 0:
			if c = s.text[s.at]; c != '\n' {
				s.add(c)
			}
			s.at++
		default:
			s.add(c)
		}
	}
}

// escape takes the next character as it is; a line break after a backslash is nothing at all.
func (s *splitter) escape() error {
	if s.at >= len(s.text) {
		return errors.New("it ends with a \\ that has nothing behind it")
	}
	if c := s.text[s.at]; c != '\n' {
		s.add(c)
	}
	s.at++
	return nil
}
