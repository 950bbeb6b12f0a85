package shellcmd

import (
	"slices"
	"strings"
)

// A scanned holds what is known about the arguments of a wrapper.
type scanned struct {
	rest    []Word // from the first operand on
	unknown string // an option that is not in the list; rest is then what follows it
	options bool   // there are options
	lookup  bool   // command -v
	split   Word   // env -S
}

// scan goes through the options of a wrapper.
func scan(r wrapper, args []Word) (s scanned) {
	for i := 0; i < len(args); {
		a := args[i]
		if !a.Static {
			s.rest = args[i:]
			return s
		}
		if a.Text == "--" {
			s.rest = args[i+1:]
			return s
		}
		if len(a.Text) < 2 || a.Text[0] != '-' {
			s.rest = args[i:]
			return s
		}
		s.options = true
		n, ok := s.option(r, args[i:])
		if !ok {
			s.unknown, s.rest = a.Text, args[i+1:]
			return s
		}
		i += n
	}
	return s
}

// option gives how many words an option takes.
func (s *scanned) option(r wrapper, args []Word) (n int, ok bool) {
	text := args[0].Text
	if strings.HasPrefix(text, "--") {
		return s.long(r, args)
	}
	for i := 1; i < len(text); i++ {
		switch {
		case strings.IndexByte(r.values, text[i]) >= 0:
			return s.value(text[i], text[i+1:], args)
		case strings.IndexByte(r.flags, text[i]) < 0:
			return 0, false
		}
		s.lookup = s.lookup || text[i] == 'v' || text[i] == 'V'
	}
	return 1, true
}

func (s *scanned) value(letter byte, attached string, args []Word) (n int, ok bool) {
	n = 1
	value := static(attached)
	if attached == "" {
		if len(args) < 2 || !args[1].Static {
			return 0, false
		}
		n, value = 2, args[1]
	}
	if letter == 'S' {
		s.split = value
	}
	return n, true
}

func (s *scanned) long(r wrapper, args []Word) (n int, ok bool) {
	name, value, has := strings.Cut(args[0].Text[2:], "=")
	switch {
	case slices.Contains(r.long, name) && !has:
		return 1, true
	case !slices.Contains(r.long, name+"="):
		return 0, false
	case name == "split-string" && has:
		s.split = static(value)
	case has:
		return 1, true
	case len(args) < 2 || !args[1].Static:
		return 0, false
	case name == "split-string":
		s.split = args[1]
	}
	if has {
		return 1, true
	}
	return 2, true
}
