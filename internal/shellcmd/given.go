package shellcmd

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// What a command is given by others, as far as a text shows it: the arguments of a function, the words that xargs,
// parallel, find and a loop read, and texts that are put together for a shell.

const (
	inFunction = "function " // before the name of a function in Via
	wholeTree  = "/**"       // after a folder, for all that is in it
	maxGiven   = 4000        // commands that are examined again; 16 words, or 64 bytes of a text, count as one
	maxWords   = 16          // words that one command is given
)

// An extra is a word that a command adds to those that it runs.
type extra struct {
	word  string
	place string   // the text that it replaces; "" to add it at the end
	by    *Command // the command that adds it
	name  string   // its name
}

// runs reports that a command is one of those, and returns how it is found in them.
func (x extra) runs(c *Command) (via []string, ok bool) {
	n := len(x.by.Via)
	if len(c.Via) <= n || !slices.Equal(c.Via[:n], x.by.Via) {
		return nil, false
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(c.Via[n], "perhaps "), " ") // find -exec
	return c.Via[n+1:], name == x.name
}

// added are the arguments of a command with the word that it is given: wrappers hand that on.
func (f *floor) added(c *Command, args []string) []string {
	if f.extra.by == nil {
		return args
	}
	via, ok := f.extra.runs(c)
	direct := !slices.ContainsFunc(via, func(name string) bool {
		_, wraps := wrappers()[name]
		return !wraps
	})
	replaced := f.extra.place != "" && slices.ContainsFunc(append(slices.Clip(c.Args), c.Program),
		func(x Word) bool { return strings.Contains(x.Text, f.extra.place) })
	if !ok || !direct || replaced {
		return args
	}
	return append(args, strings.Fields(f.extra.word)...)
}

// again examines commands with what they are given.
func (f *floor) again(list []int) (why string) {
	for _, i := range list {
		if *f.left -= 1 + len(f.commands[i].Args)>>4 + len(f.extra.word)>>6; *f.left < 0 {
			return ""
		}
		if why = f.unlessElsewhere(&f.commands[i], f.command(i)); why != "" {
			return why
		}
	}
	return ""
}

// gives examines the commands to which another one gives words.
func (f *floor) gives(i int, name string, args []string) (why string) {
	c := &f.commands[i]
	if body := f.bodies[name]; body != nil && *f.left >= 0 {
		values := maps.Clone(f.values)
		// By other programs, or from a folder, a program of that name is run, perhaps with more arguments.
		if last := len(c.Via) - 1; strings.Contains(c.Program.Text, "/") ||
			last >= 0 && !strings.HasPrefix(c.Via[last], inFunction) {
			f.positional(args, false)
		} else {
			f.arguments(args, body)
		}
		f.bodies[name] = nil // which ends a function that calls itself
		why = f.again(body)
		f.values, f.bodies[name] = values, body
		return why
	}
	var words []string
	place := "{}"
	switch name {
	case "read":
		return f.binds(i, args)
	case "mapfile", "readarray":
		if words = f.reads(i); len(args) > 0 && len(words) > 0 {
			name := args[len(args)-1]
			f.values[name] = strings.Join(words, " ")
			lines := strings.Split(c.document()+streamed(f.commands[c.input.from:c.input.to]), "\n")
			for n, line := range lines[:min(10, len(lines))] {
				f.values[name+"["+strconv.Itoa(n)+"]"] = line
			}
		}
		return ""
	case "find":
		words = found(args)
	case "fd", "fdfind":
		words = f.foundByFd(c)
	case "xargs":
		words = f.reads(i)
		_, place = xargsReads(c.Args)
		for _, g := range wrappers()["xargs"].spec.before("xargs", c.Args).given {
			for n := 0; (g.name == "d" || g.name == "delimiter") && g.value.Text != "" && n < min(len(words), maxWords); n++ {
				words = append(words, strings.Split(words[n], g.value.Text)...)
			}
		}
	case "parallel":
		words = f.reads(i)
		if at := slices.Index(args, ":::"); at >= 0 {
			words = append(words, args[at+1:]...)
		} else if len(args) == 0 {
			for _, w := range words {
				why = cmp.Or(why, f.nested(w))
			}
		}
	default:
		return ""
	}
	had := f.extra
	for _, word := range words[:min(len(words), maxWords)] {
		f.extra = extra{word, place, c, name}
		why = cmp.Or(why, f.again(f.inside(i)))
	}
	f.extra = had
	return why
}

// inside are the commands that the one at i runs, which adds a word to them.
func (f *floor) inside(i int) (list []int) {
	outer := f.commands[i].Via
	for i++; i < len(f.commands); i++ {
		c := &f.commands[i]
		if len(c.Via) <= len(outer) || !slices.Equal(c.Via[:len(outer)], outer) {
			break
		}
		if _, ok := f.extra.runs(c); ok {
			list = append(list, i)
		}
	}
	return list
}

// binds gives the variables of read each word that it may read, and examines the commands beside it, as in a loop.
func (f *floor) binds(i int, args []string) (why string) {
	c := &f.commands[i]
	var beside []int
	for j := i + 1; j < len(f.commands) && len(c.Redirects) == 0 && f.commands[j].input == c.input; j++ {
		beside = append(beside, j)
	}
	words := f.reads(i)
	for _, f.line = range words[:min(len(words), maxWords)] {
		for _, a := range args {
			f.values[a] = f.line // of options it does no harm
		}
		why = cmp.Or(why, f.again(beside))
	}
	f.line = ""
	return why
}

// reads are the words that a command may read, also from a file that the text has written.
func (f *floor) reads(i int) []string {
	c := &f.commands[i]
	if *f.left < 0 {
		return nil
	}
	words := append(f.here(c), f.prints(c.input)...)
	if _, files := splitOptions(c.Args, "-a --arg-file"); len(files) > 0 && (c.Name == "xargs" || c.Name == "parallel") {
		words = append(words, strings.Fields(f.text(Word{Text: f.files[c.found(files[0].value.Text)]}))...)
		words = append(words, f.prints(span{i + 1, i + 1 + len(substituted(f.commands, i))})...)
	}
	return words
}

// here are the words of its here-documents, and of the files that it reads and the text has written.
func (f *floor) here(c *Command) (words []string) {
	for _, r := range c.Redirects {
		text := ""
		switch {
		case strings.HasPrefix(r.Op, "<<"):
			text = f.text(r.Target)
		case r.Op == "<":
			text = f.text(Word{Text: f.files[c.found(r.Target.Text)]})
		}
		if text != "" {
			words = append(append(words, strings.TrimSpace(text)), strings.Fields(text)...)
		}
	}
	return words
}

// prints are the words that some commands print: names of files as patterns for them.
func (f *floor) prints(s span) (words []string) {
	for i := s.from; i < s.to; i++ {
		c := &f.commands[i]
		if *f.left--; *f.left < 0 {
			return words
		}
		args := f.texts(c.Args)
		words = append(words, f.here(c)...)
		if c.Name == "cat" {
			for _, a := range c.Args {
				words = append(words, strings.Fields(f.text(Word{Text: f.files[c.found(a.Text)]}))...)
			}
		}
		switch {
		case c.maybe:
		case c.Name == "echo" || c.Name == "printf":
			text := strings.ReplaceAll(c.prints(args), "\x00", "\n")
			words = append(append(words, strings.TrimSpace(text)), strings.Fields(text)...)
		case c.Name == "ls":
			words = append(words, listed(args, true)...)
		case c.Name == "find":
			words = append(words, found(args)...)
		case c.Name == "fd" || c.Name == "fdfind":
			words = append(words, f.foundByFd(c)...)
		case c.Name == "tree", c.Name == "rg" && slices.Contains(args, "--files"):
			words = append(words, found(slices.DeleteFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") }))...)
		case !c.built && !passesAll(c.Name, args):
			words = slices.DeleteFunc(words, func(w string) bool { return strings.Contains(w, "*") })
		}
	}
	return words
}

// found is what a find prints that selects all, as patterns.
func found(args []string) (words []string) {
	for _, folder := range wholeTrees(args) {
		words = append(words, strings.TrimSuffix(folder, "/")+wholeTree)
	}
	return words
}

// foundByFd is what an fd prints that selects all, as patterns.
func (f *floor) foundByFd(c *Command) []string {
	u := &invocation{command: c}
	u.read(specs()["fd"], c.Args) // before -x
	folders := u.operands[min(1, len(u.operands)):]
	for _, g := range u.given {
		if g.name == "C" || g.name == "base-directory" || g.name == "search-path" {
			folders = append(folders, g.value)
		}
	}
	if u.has("e", "extension", "S", "size", "changed-within", "changed-before") ||
		len(u.operands) > 0 && strings.Trim(u.operands[0].Text, ".*^$") != "" {
		return nil
	}
	return found(f.texts(folders))
}

// listed are the names that ls prints, as patterns; where they may be meant to be in its folder, also with that.
func listed(args []string, inFolder bool) (words []string) {
	folders := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "-") })
	if len(folders) == 0 {
		folders = []string{"."}
	}
	for _, folder := range folders {
		switch {
		case strings.ContainsAny(folder, "*?["):
			words = append(words, folder)
		case inFolder:
			words = append(words, path.Join(folder, "*"))
			fallthrough
		default:
			words = append(words, "*")
		}
	}
	return words
}

var (
	// sedReplaces and awkPrints are programs that print each line that they read, changed or not.
	sedReplaces = lazy.Regexp(`^s(.)[^;]*$`)
	awkPrints   = lazy.Regexp(`^\{\s*print([^/"]|"[^"]*")*\}$`)
)

// passesAll reports a part of a pipe that prints each line that it reads, in some form.
func passesAll(name string, args []string) bool {
	switch name {
	case "cat", "tac", "sort", "uniq", "shuf", "tee", "tr", "nl", "rev", "column", "pv", "sponge", "xargs":
		return true
	case "grep", "egrep", "fgrep", "rg":
		return optionIn(args, "-v --invert-match")
	case "sed":
		return !optionIn(args, "-n --quiet --silent") && slices.ContainsFunc(args, sedReplaces().MatchString)
	case "awk", "gawk", "mawk":
		return slices.ContainsFunc(args, awkPrints().MatchString)
	}
	w, wraps := wrappers()[name]
	return wraps && w.plain || name == "sudo"
}

// findNarrows are the tests of find that select files.
const findNarrows lazy.Words = `-name -iname -path -ipath -wholename -regex -iregex -newer -newermt -mtime -mmin -atime
	-amin -ctime -cmin -size -empty -user -group -perm -lname -samefile -inum -links -uid -gid -nouser -nogroup`

// wholeTrees are the folders of a find that selects all that is in them: a test that is negated, or that every name
// passes, selects too much to count.
func wholeTrees(args []string) (folders []string) {
	for i, a := range args {
		all := i > 0 && (args[i-1] == "!" || args[i-1] == "-not") ||
			i+1 < len(args) && (matchesAll(args[i+1]) || args[i+1] == "+0")
		if findNarrows.Has(a) && !all {
			return nil
		}
	}
	for _, a := range args {
		if slices.Contains([]string{"-H", "-L", "-P"}, a) {
			continue
		}
		if strings.HasPrefix(a, "-") || a == "(" || a == "!" {
			break
		}
		folders = append(folders, a)
	}
	if len(folders) == 0 {
		return []string{"."}
	}
	return folders
}

// arguments sets $1 and the others, and those that are missing, if all are known and the text does not look at that;
// not where the body of a function may take the value of a variable that holds an argument of its caller.
func (f *floor) arguments(args []string, body []int) {
	f.positional(args, !strings.ContainsAny(strings.Join(args, ""), "$`*?[") && !f.outer.read().tests && !f.outer.sets &&
		(body == nil || !f.holdArguments(func(name string) bool {
			return !slices.ContainsFunc(body, func(i int) bool { return strings.Contains(f.commands[i].Text, name+"=") })
		})))
}

// holdArguments reports variables, of those that count, whose values are arguments by their numbers.
func (f *floor) holdArguments(counts func(name string) bool) bool {
	for name, value := range f.values {
		for _, part := range strings.Split(value, "$")[1:] {
			if number := strings.TrimPrefix(part, "{"); number != "" && '1' <= number[0] && number[0] <= '9' && counts(name) {
				return true
			}
		}
	}
	return false
}

// positional sets $1 and the others; with all those that are missing are empty.
func (f *floor) positional(args []string, all bool) {
	for i := range 9 {
		delete(f.values, strconv.Itoa(i+1))
		if i < len(args) {
			f.values[strconv.Itoa(i+1)] = args[i]
		} else if all {
			f.values[strconv.Itoa(i+1)] = ""
		}
	}
	f.values["@"] = strings.Join(args, " ")
	f.values["*"] = f.values["@"]
}

// shift drops the first of them, or as many as its operand says.
func (f *floor) shift(operands []string) {
	n := 1
	if len(operands) > 0 {
		n, _ = strconv.Atoi(operands[0])
	}
	var rest []string
	for i := n + 1; i <= 9; i++ {
		if value, ok := f.values[strconv.Itoa(i)]; ok {
			rest = append(rest, value)
		}
	}
	last, all := f.values["9"]
	for all && len(rest) > 0 && rest[len(rest)-1] == "" { // it is missing
		rest = rest[:len(rest)-1]
	}
	f.positional(rest, all && last == "" && !f.holdArguments(func(string) bool { return true }))
}

// shellArguments sets those of bash -c TEXT NAME ARGUMENTS, and of bash -s ARGUMENTS.
func (f *floor) shellArguments(args []string) {
	if i := slices.IndexFunc(args, func(a string) bool { return optionOf(a, "-c") }); i >= 0 {
		if i+2 < len(args) {
			f.values["0"] = args[i+2]
			f.positional(args[i+3:], false)
		}
	} else if i := slices.Index(args, "-s"); i >= 0 {
		f.positional(args[i+1:], false)
	}
}

// computed examines the text of eval or sh -c, or the command of a wrapper, that is put together from what the text
// itself sets and prints.
func (f *floor) computed(c *Command, name string, args []string) string {
	late := func(x Word) bool { return !x.Static }
	var text string
	found := slices.ContainsFunc(c.Args, late)
	switch _, wraps := wrappers()[name]; {
	case late(c.Program):
		text, found = name+" "+strings.Join(args, " "), wraps || shells.Has(name)
	case name == "eval":
		text = strings.Join(args, " ")
	case shells.Has(name):
		i := slices.IndexFunc(args, func(a string) bool { return optionOf(a, "-c") })
		text, found = strings.Join(args[i+1:], " "), found && i >= 0
	default:
		return ""
	}
	if !found {
		return ""
	}
	return f.nested(text)
}

// nested examines a text that a command runs.
func (f *floor) nested(text string) string {
	if *f.left -= 1 + len(text)>>6; *f.left < 0 {
		return ""
	}
	return catastropheIn(text, f.outer, f.at, f.left)
}

// noItems reports the words of a loop that are surely none: an array, or a variable that falls apart, without a value.
func (f *floor) noItems(words string) bool {
	m := variable().FindStringSubmatch(words)
	return words == "" || m != nil && m[0] == strings.Trim(words, `"`) && m[2] == "" && !homeVariable(m[1]+m[3]) &&
		(words[0] == '$' || strings.Contains(words, "@")) &&
		(f.values[m[1]+m[3]] == "" || slices.Contains(f.empty, m[1]+m[3]))
}

// isList reports a word with a variable of a loop, which is given its words one by one.
func (f *floor) isList(text string) bool {
	listed := func(m []string) bool { return f.lists[m[1]+m[3]] }
	return slices.ContainsFunc(variable().FindAllStringSubmatch(text, -1), listed)
}
