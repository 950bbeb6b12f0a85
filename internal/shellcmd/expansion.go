package shellcmd

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
	"mvdan.cc/sh/v3/pattern"
)

// This file is what words stand for, for the floor: values of variables, expansions, braces, what echo prints in one.

// emptyItem is in place of an empty item in braces, which rules do not read: /{,*}.
const emptyItem = "=empty="

var emptyItems = strings.NewReplacer("{,", "{"+emptyItem+",", ",}", ","+emptyItem+"}", ",,", ","+emptyItem+",")

func (f *floor) texts(words []Word) (out []string) {
	for _, w := range words {
		text := f.text(w)
		list, ok := braces(emptyItems.Replace(emptyItems.Replace(text))) // the second time for what overlaps
		if f.extra.place != "" && strings.Contains(text, f.extra.place) {
			text, w.Static = strings.ReplaceAll(text, f.extra.place, f.extra.word), false
		}
		switch {
		case w.Static || strings.ContainsAny(text, "$`<"):
			out = append(out, text)
		case ok && len(list) > 1:
			for _, item := range list {
				out = append(out, strings.ReplaceAll(item, emptyItem, ""))
			}
		case !strings.HasPrefix(w.Text, `"`) || strings.Contains(w.Text, "@") || f.isList(w.Text): // it falls apart
			out = append(out, strings.Fields(text)...)
		default:
			out = append(out, text)
		}
	}
	return out
}

// separated examines a command whose words also fall apart at what IFS has.
func (f *floor) separated(c *Command) string {
	separators, falls := f.values["IFS"], false
	if separators == "" {
		return ""
	}
	var words []string
	for _, w := range append([]Word{c.Program}, c.Args...) {
		text := strings.Join(f.texts([]Word{w}), " ")
		if strings.Contains(w.Text, "$") && !strings.ContainsAny(w.Text, `"(`+"`") && strings.ContainsAny(text, separators) {
			falls = true
			text = strings.Map(func(r rune) rune {
				if strings.ContainsRune(separators, r) {
					return ' '
				}
				return r
			}, text)
		}
		words = append(words, text)
	}
	if !falls {
		return ""
	}
	return f.nested(strings.Join(words, " "))
}

var (
	variable = lazy.Regexp(`\$\{(!?[A-Za-z_]\w*|[0-9@*])(?:\[[@*0-9]\])?(:?[-=?+][^}]*|[%#/][^}]*|: ?-?\d[\d:]*|,,?|\^\^?)?\}|` +
		`\$([A-Za-z_]\w*|[0-9@*])`)
	workFolder = lazy.Regexp(`^(?:\$\(pwd\)|\$PWD\b|\$\{PWD\})`)
	fallbacks  = lazy.Regexp(`^:?[-=](.*)$`)
)

// printedBy is what the substitution that a text consists of prints: words, or patterns for names of files.
func (f *floor) printedBy(text string) (out string, known bool) {
	inner := strings.Trim(text, "`")
	if len(text)-len(inner) != 2 && (len(text) < 3 || text[:2] != "$(" || text[2] == '(') || len(text) > maxText {
		return "", false
	} else if text[0] == '$' {
		inner = text[2 : len(text)-1]
	}
	defer func() { f.deep-- }()
	f.outer.walked += 8 + len(text)>>6 // beside f.left, so that harmless ones do not hide what follows
	if f.deep++; f.outer.walked > maxGiven || f.deep > 3 {
		return "", false
	}
	s, err := walk(inner)
	for i := range s.Commands {
		c := &s.Commands[i]
		args := f.texts(c.Args)
		if len(c.Via) > 0 {
			continue
		} else if len(c.Redirects) > 0 || strings.ContainsAny(strings.Join(args, ""), "$`") {
			return "", false
		}
		operands := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a[:min(1, len(a))] == "-" })
		printed := c.prints(args)
		switch c.Name {
		case "ls":
			printed = strings.Join(listed(args, false), " ")
		case "find":
			printed = strings.Join(found(args), " ")
		case "dirname":
			for n, file := range operands {
				operands[n] = path.Dir(strings.Replace(file, "~", "/home/~", 1))
			}
			fallthrough
		case "which", "command", "type", "realpath", "readlink":
			printed = strings.Join(operands, " ")
		case "pwd":
			printed = c.found(".")
		case "true", ":", "echo", "printf", "cd":
		default:
			if m := onlyPrints().FindStringSubmatch(textOf(c.Args)); m != nil {
				printed = m[1]
			} else if printed == "" && (out == "" || decoded(c, out) == out) {
				return "", false
			}
		}
		out = strings.TrimSpace(decoded(c, out+printed))
	}
	return out, err == nil && (len(s.Commands) > 0 || strings.TrimSpace(inner) == "")
}

// onlyPrints is a program for an interpreter that prints one text.
var onlyPrints = lazy.Regexp(`^(?:-[ceE] )?(?:BEGIN\s*\{\s*)?(?:print|puts|console\.log|say)\b[\s(]*["']([^"']*)["'][\s);}]*$`)

// userName is in place of what prints it.
var userName = strings.NewReplacer("$(whoami)", "$USER", "$(id -un)", "$USER", "$(logname)", "$USER")

// text is the known text of a word: without quotes, and with the values of variables. A home folder is ~.
func (f *floor) text(w Word) string {
	switch {
	case w.Static:
		return w.Text
	case w.named && f.line != "":
		return strings.ReplaceAll(w.Text, "*", f.line)
	}
	text, known := f.printedBy(strings.Trim(w.Text, `"`))
	if !known {
		text = workFolder().ReplaceAllString(userName.Replace(withoutQuotes.Replace(w.Text)), ".")
	}
	for range 4 {
		expanded := variable().ReplaceAllStringFunc(text, func(found string) string {
			m := variable().FindStringSubmatch(found)
			name := m[1] + m[3]
			if other, indirect := strings.CutPrefix(name, "!"); indirect {
				name = f.values[other]
			}
			value, known := f.values[name]
			if slices.Contains(f.empty, name) && (value == "" || strings.ContainsAny(value, "$`")) {
				value, known = "", true
			}
			switch {
			case known && value == "" && strings.HasPrefix(m[2], ":?"), // it fails
				f.lists[name] && f.noItems(value): // the loop runs for none
				return found
			case known && (value != "" || m[2] == "" || !fallbacks().MatchString(m[2]) || m[2][0] != ':'):
				if index, of := strings.CutPrefix(found, "${"+m[1]+"["); m[1] != "" && of && index[0]-'0' < 10 {
					if line, whole := f.values[name+"["+index[:2]]; whole {
						return line
					}
					fields := strings.Fields(value)
					value = strings.Join(fields[min(int(index[0]-'0'), len(fields)):], " ")
					value, _, _ = strings.Cut(value, " ")
				}
				if out, known := f.printedBy(strings.Trim(value, `"`)); known && m[2] == "" {
					return out
				}
				return f.changed(withoutQuotes.Replace(value), m[2])
			case name == "PWD" && m[2] != "" && f.at.Dir != "":
				return f.changed(f.at.Dir, m[2])
			case homeVariable(name):
				return "~"
			}
			if other := fallbacks().FindStringSubmatch(m[2]); other != nil {
				if strings.HasPrefix(strings.TrimPrefix(m[2], ":"), "=") {
					f.values[name] = other[1]
				}
				return other[1]
			}
			return found
		})
		expanded = inWord().ReplaceAllStringFunc(expanded, func(found string) string {
			if strings.HasPrefix(found, "$((") { // a number may be any
				return "0"
			}
			if out, known := f.printedBy(found); known {
				return out
			}
			return found
		})
		if expanded == text || len(expanded) > maxText {
			break
		}
		text = expanded
	}
	return text
}

// homeVariable reports a variable for the user's home folder; of the last two only /home/$USER counts.
func homeVariable(name string) bool { return name == "HOME" || name == "USER" || name == "LOGNAME" }

// inWord is a substitution, or arithmetic, that may be a part of a word.
var inWord = lazy.Regexp("\\$\\(\\([^()]*\\)\\)|\\$\\([^()$`<>]*\\)|`[^()$`<>]*`")

// changed is a value as an expansion such as ${x%y}, ${x//y/z}, ${x:1:2} or ${x:+y} changes it.
func (f *floor) changed(value, expansion string) string {
	if expansion == "" {
		return value
	}
	rest := strings.TrimLeft(expansion, expansion[:1])
	longest := len(expansion)-len(rest) > 1
	switch expansion[0] {
	case '%':
		if longest {
			return f.replaced(value, "(?:"+shellPattern(rest, true)+")$", "", false)
		}
		return f.replaced(value, "^(.*)(?:"+shellPattern(rest, true)+")$", "${1}", false)
	case '#':
		return f.replaced(value, "^(?:"+shellPattern(rest, longest)+")", "", false)
	case '/':
		from, to, _ := strings.Cut(rest, "/")
		expression := shellPattern(strings.Trim(from, "#%"), true)
		if strings.HasPrefix(from, "#") {
			expression = "^" + expression
		} else if strings.HasPrefix(from, "%") {
			expression += "$"
		}
		return f.replaced(value, expression, strings.ReplaceAll(to, "$", "$$"), longest)
	case ',':
		return strings.ToLower(value)
	case '^':
		return strings.ToUpper(value)
	case '+', ':':
		if to, other := strings.CutPrefix(strings.TrimPrefix(expansion, ":"), "+"); other {
			return to
		}
		from, length, cut := strings.Cut(expansion[1:], ":")
		at, err := strconv.Atoi(strings.TrimSpace(from))
		if at < 0 {
			at += len(value)
		}
		if err != nil || at < 0 || at > len(value) {
			return value
		}
		if n, err := strconv.Atoi(length); cut && err == nil && n >= 0 && n <= len(value)-at {
			return value[at : at+n]
		}
		return value[at:]
	}
	return value
}

// shellPattern is a regular expression for a pattern of a shell.
func shellPattern(text string, longest bool) string {
	expression, err := pattern.Regexp(text, 0)
	if err != nil {
		return regexp.QuoteMeta(text)
	} else if !longest {
		expression = strings.ReplaceAll(expression, ".*", ".*?")
	}
	return expression
}

// replaced is a value with something else where it matches, at first or everywhere.
func (f *floor) replaced(value, expression, to string, everywhere bool) string {
	if *f.left -= 1 + len(value)>>6; *f.left < 0 || len(expression) > maxShown || len(to) > maxShown {
		return value
	}
	e, err := regexp.Compile("(?s)" + expression)
	if err != nil {
		return value
	}
	if everywhere {
		return e.ReplaceAllString(value, to)
	}
	at := e.FindStringSubmatchIndex(value)
	if at == nil {
		return value
	}
	return value[:at[0]] + string(e.ExpandString(nil, to, value, at)) + value[at[1]:]
}
