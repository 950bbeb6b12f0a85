package schema

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// pattern is a regular expression of the schema. RE2 matches in linear time, times the size of its program.
type pattern struct {
	text string // as the author wrote it
	re   *regexp.Regexp
	size int // instructions
}

func (r *reader) compile(at, s string) (*pattern, error) {
	if len(s) > maxPattern {
		return nil, fault(at, "pattern is %d bytes long, the limit is %d", len(s), maxPattern)
	}
	size, err := programSize(fromECMA(s))
	if err != nil {
		return nil, fault(at, "pattern %s: %v%s", quote(s), err, patternHint(s))
	}
	if size > maxProgram {
		return nil, fault(at, "pattern %s: repeats too much (%d instructions, the limit is %d)", quote(s), size, maxProgram)
	}
	if r.programs += size; r.programs > maxPrograms {
		return nil, fault(at, "pattern %s: the patterns of this schema have more than %d instructions together", quote(s), maxPrograms)
	}
	re, err := regexp.Compile(fromECMA(s))
	if err != nil {
		return nil, fault(at, "pattern %s: %v", quote(s), err)
	}
	return &pattern{text: s, re: re, size: size}, nil
}

func programSize(s string) (int, error) {
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return 0, err
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return 0, err
	}
	return len(prog.Inst), nil
}

func patternHint(s string) string {
	for _, look := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.Contains(s, look) {
			return fmt.Sprintf("; %s...) is not available, patterns here are RE2", look)
		}
	}
	return ""
}

// fromECMA rewrites the escapes of JavaScript that Go spells differently: \u0041 and \cA.
func fromECMA(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		rest := s[i+1:]
		switch {
		case rest[0] == 'u' && len(rest) >= 5 && isHex(rest[1:5]):
			b.WriteString(`\x{` + rest[1:5] + `}`)
			i += 5
		case rest[0] == 'c' && len(rest) >= 2 && isLetter(rest[1]):
			fmt.Fprintf(&b, `\x{%02x}`, rest[1]&0x1f)
			i += 2
		default:
			b.WriteString(s[i : i+2])
			i++
		}
	}
	return b.String()
}

func isHex(s string) bool {
	return strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
