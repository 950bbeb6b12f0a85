package launcher

import (
	"bytes"
	"fmt"
	"strconv"
	"syscall"
)

// Orders say what the program is to be without, in the kernel's own numbers; package confine makes them of what people ask
// for. The zero value takes nothing away.
type Orders struct {
	Umask           bool // is set to 077
	NoNewPrivileges bool // needed by the ruleset and the filter
	Score           int  // oom_score_adj, at least
	Limits          []Limit
	Drop            bool                 // all capabilities but Keep
	Keep            uint32               // bits of the first 32
	Ruleset         [3]uint64            // struct landlock_ruleset_attr; none without any bit
	Rules           []Rule               // what the ruleset grants all the same
	Filter          []syscall.SockFilter // of system calls; none if empty
}

// A Limit is a resource limit, soft and hard. It is not set above what the launcher has.
type Limit struct {
	Name     string // for errors: RLIMIT_NOFILE
	Resource int
	Most     uint64
}

// A Rule grants rights of Landlock on a path and what is below it. A path that is not there is passed over.
type Rule struct {
	Path   string
	Rights uint64
}

// leastFiles is how many files a launcher may need to have open.
const leastFiles = 64

// apart says whether a stage has to follow the orders, since the launcher cannot do it to itself. What would end or hold up
// its own work is never for it. The rest is, if it is the first process of a namespace; otherwise a program in the same
// domain of Landlock could kill it.
func (o *Orders) apart(first bool) bool {
	for _, l := range o.Limits {
		switch {
		case l.Resource == syscall.RLIMIT_CORE, l.Resource == syscall.RLIMIT_FSIZE:
		case l.Resource == syscall.RLIMIT_NOFILE && l.Most >= leastFiles:
		default:
			return true
		}
	}
	return !first && (o.Drop || o.Ruleset != [3]uint64{} || len(o.Filter) > 0)
}

// encode gives the orders as text without NUL bytes: a line for each, and a last one, so that none can be missing.
func (o *Orders) encode() []byte {
	text := fmt.Appendf(nil, "umask %t\nno_new_privileges %t\ndrop %t\nkeep %d\nscore %d\n", o.Umask, o.NoNewPrivileges, o.Drop, o.Keep, o.Score)
	for _, l := range o.Limits {
		text = fmt.Appendf(text, "limit %q %d %d\n", l.Name, l.Resource, l.Most)
	}
	text = fmt.Appendf(text, "ruleset %d %d %d\n", o.Ruleset[0], o.Ruleset[1], o.Ruleset[2])
	for _, r := range o.Rules {
		text = fmt.Appendf(text, "rule %q %d\n", r.Path, r.Rights)
	}
	text = append(text, "filter"...)
	for _, f := range o.Filter {
		text = fmt.Appendf(text, " %d", uint64(f.Code)<<48|uint64(f.Jt)<<40|uint64(f.Jf)<<32|uint64(f.K))
	}
	return append(text, "\nend"...)
}

// decodeOrders reads what encode wrote, whole or not at all.
func decodeOrders(text []byte) (*Orders, error) {
	o := &Orders{}
	lines := bytes.Split(text, []byte("\n"))
	last := len(lines) - 1
	if string(lines[last]) != "end" {
		return nil, syscall.EBADMSG
	}
	for _, line := range lines[:last] {
		key, value, _ := bytes.Cut(line, []byte(" "))
		if err := o.set(string(key), string(value)); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (o *Orders) set(key, value string) (err error) {
	name := ""
	switch key {
	case "umask":
		o.Umask, err = strconv.ParseBool(value)
		return err
	case "no_new_privileges":
		o.NoNewPrivileges, err = strconv.ParseBool(value)
		return err
	case "drop":
		o.Drop, err = strconv.ParseBool(value)
		return err
	case "limit", "rule":
		if name, value, err = unquoted(value); err != nil {
			return err
		}
	}
	numbers, err := numbersOf(value)
	if err != nil {
		return err
	}
	return o.setNumbers(key, name, numbers)
}

// unquoted parts a text in quotes from what follows it.
func unquoted(value string) (text, rest string, err error) {
	quoted, err := strconv.QuotedPrefix(value)
	if err != nil {
		return "", "", err
	}
	text, err = strconv.Unquote(quoted)
	return text, value[len(quoted):], err
}

func numbersOf(value string) (numbers []uint64, err error) {
	for field := range bytes.FieldsSeq([]byte(value)) {
		n, err := strconv.ParseUint(string(field), 10, 64)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

func (o *Orders) setNumbers(key, name string, n []uint64) error {
	switch {
	case key == "keep" && len(n) == 1:
		o.Keep = uint32(n[0])
	case key == "score" && len(n) == 1:
		o.Score = int(n[0])
	case key == "limit" && len(n) == 2:
		o.Limits = append(o.Limits, Limit{name, int(n[0]), n[1]})
	case key == "ruleset" && len(n) == 3:
		o.Ruleset = [3]uint64(n)
	case key == "rule" && len(n) == 1:
		o.Rules = append(o.Rules, Rule{name, n[0]})
	case key == "filter":
		for _, packed := range n {
			o.Filter = append(o.Filter, syscall.SockFilter{Code: uint16(packed >> 48), Jt: uint8(packed >> 40), Jf: uint8(packed >> 32), K: uint32(packed)})
		}
	default:
		return syscall.EBADMSG
	}
	return nil
}
