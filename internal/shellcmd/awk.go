package shellcmd

import (
	"slices"
	"strings"
)

// awkReaches are the names by which an awk program does more than change text: it runs commands, reads other input, changes
// which files are read, or shows the environment.
var awkReaches = strings.Fields("system getline ARGV ARGC ARGIND ENVIRON PROCINFO SYMTAB FUNCTAB")

// awkBeforePattern are words behind which a / begins a regular expression; behind other words it divides.
var awkBeforePattern = strings.Fields("print printf return in case do else")

// awkProgram is the text of an awk command that is given one, and not a file with it; false when that is not sure.
func awkProgram(args []Word) (string, bool) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case !a.Static:
			return "", false
		case a.Text == "-F" || a.Text == "-v":
			i++
		case strings.HasPrefix(a.Text, "-F") || strings.HasPrefix(a.Text, "-v"):
		case a.Text == "--":
			if i+1 < len(args) && args[i+1].Static {
				return args[i+1].Text, true
			}
			return "", false
		case strings.HasPrefix(a.Text, "-"):
			return "", false
		default:
			return a.Text, true
		}
	}
	return "", false
}

// plainAwk reports an awk command whose program is known to do no more than print.
func plainAwk(c *Command) bool {
	if !slices.Contains([]string{"awk", "gawk", "mawk", "nawk"}, c.Name) {
		return false
	}
	program, ok := awkProgram(c.Args)
	return ok && awkDoubt(program) == ""
}

// awkDoubt says why an awk program may do more than print what it is given, or "". Where awk and this reader could take a
// slash in different ways, what may be code is looked at as code.
func awkDoubt(program string) string {
	const more = "an awk program that is not known to be harmless"
	operand := false // what came last can be divided
	printing := -1   // the depth of brackets at which a print statement is; -1 outside of one
	depth := 0
	for i := 0; i < len(program); {
		c := program[i]
		switch {
		case c == ' ' || c == '\t' || c == '\r':
			i++
			continue
		case c == '\\' && i+1 < len(program) && (program[i+1] == '\n' || program[i+1] == '\r'):
			i += 2
			continue
		case c == '#':
			for i < len(program) && program[i] != '\n' {
				i++
			}
			continue
		case c == '"':
			end := awkEnd(program, i, '"')
			if end < 0 {
				return more
			}
			i, operand = end, true
			continue
		case c == '/' && !operand:
			end := awkEnd(program, i, '/')
			if end < 0 {
				return more
			}
			i, operand = end, true
			continue
		case isWordByte(c):
			end := i
			for end < len(program) && isWordByte(program[end]) {
				end++
			}
			name := program[i:end]
			if slices.Contains(awkReaches, name) {
				return more
			}
			if name == "print" || name == "printf" {
				printing = depth
			}
			i, operand = end, !slices.Contains(awkBeforePattern, name)
			continue
		}
		switch c {
		case '@':
			return more // a function by its name, or another file
		case '|':
			if !strings.HasPrefix(program[i:], "||") {
				return more
			}
			i++
		case '>':
			if printing >= 0 && depth <= printing || strings.HasPrefix(program[i:], ">>") {
				return more
			}
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if c == ';' || c == '}' || c == '\n' && operand { // behind a comma or an operator the next line goes on
			printing = -1
		}
		operand = c == ')' || c == ']' || c == '$' || (c == '+' || c == '-') && i > 0 && program[i-1] == c
		i++
	}
	return ""
}

// awkEnd is behind the string or the regular expression that begins at i; -1 when it does not end on its line. A slash in
// brackets may end it for one awk and not for another, so such an expression counts as not ended.
func awkEnd(program string, i int, mark byte) int {
	bracket := false
	for i++; i < len(program); i++ {
		switch c := program[i]; {
		case c == '\n':
			return -1
		case c == '\\':
			i++
		case mark == '/' && c == '[':
			bracket = true
		case mark == '/' && c == ']':
			bracket = false
		case c == mark && bracket:
			return -1
		case c == mark:
			return i + 1
		}
	}
	return -1
}

func isWordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}
