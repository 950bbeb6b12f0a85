package shellcmd

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/redact"
)

// The checks examine what options and paths do not show: operands that are small programs, or that set things.

// A sed script can write files (w) and run commands (e). These certainly do neither: printing and deleting lines that
// are named by number or by a plain pattern, quitting, moving text between pattern and hold space, replacing without
// the flags that do more, and blocks of these.
const (
	sedNumber = `(\d+(~\d+)?|\$)`
	sedEscape = `\\([.*[\]+?(){}|^$/&0-9swWSbBtn-]|x1[bB])`
	sedFlags  = `[gpiI0-9]*`
	sedSimple = `[pdDgGhHxnNPlFz=]|[qQ]\d{0,3}|y/[^\\\n/]+/[^\\\n/]+/`
)

var sedScript = sync.OnceValue(sedScripts)

// sedScripts builds the pattern: any of a few delimiters may be between the parts of a replacement.
func sedScripts() *regexp.Regexp {
	var replaced []string
	for mark := range strings.SplitSeq("/|,#@", "") {
		quoted := regexp.QuoteMeta(mark)
		escape, part := sedPart(mark)
		plain := `[^\\\n` + mark + `]`
		replaced = append(replaced, quoted+part+`*`+quoted+`(`+plain+`|`+escape+`)*`+quoted)
	}
	_, part := sedPart("/")
	line := `(` + sedNumber + `|/` + part + `*/I?)`
	address := `(` + line + `(,(` + line + `|[+~]\d+))?)?\s*!?\s*`
	command := address + `(` + sedSimple + `|s(` + strings.Join(replaced, "|") + `)` + sedFlags + `)\s*`
	list := func(one string) string { return `[\s;]*` + one + `([;\n][\s;]*` + one + `)*[\s;]*` }
	block := address + `\{` + list(command) + `\}\s*`
	text := address + `[aic]\\?[^\\\n]*` // up to the end of its line
	return regexp.MustCompile(`^` + list(`(`+command+`|`+block+`|`+text+`)`) + `$`)
}

// sedPart are an escape, and an element of a pattern: a character, an escape or a class. A class has no
// delimiter in it, since versions of sed differ in whether it ends there.
func sedPart(mark string) (escape, part string) {
	escape = sedEscape
	if mark == "|" {
		escape = strings.ReplaceAll(escape, "|^", "^")
	}
	class := `\[\^?([^` + mark + `\\\n\[\]^]|\\[tns]|\[:[a-z]+:\])+\]`
	return escape, `([^\\\n\[\]` + mark + `]|` + escape + `|` + class + `)`
}

func checkSed(u *invocation) string {
	scripts, _ := sedTexts(u.operands, u.given)
	if slices.ContainsFunc(scripts, func(s Word) bool { return !sedScript().MatchString(s.Text) }) {
		return "a sed script that is not known to be harmless"
	}
	return ""
}

// A name after a dot, as in .env, is a field.
var jqReaches = lazy.Regexp(`(^|[^.\w]|\.\.)(import|include|env|input_filename|get_search_list|modulemeta|debug|halt|halt_error)\b|\$(\s|#)|\$ENV|\$__`)

func checkJq(u *invocation) string {
	return when(len(u.operands) > 0 && (!u.operands[0].Static || jqReaches().MatchString(u.operands[0].Text)),
		"a jq filter that looks at more than its input")
}

var printfSets = lazy.Regexp(`%[^a-zA-Z%]*[a-zA-Z]*n|%[-+ #0]*\d{5}|%[^%]*\*|\.\d{5}`)

// checkPrintf refuses formats that set variables, and those that produce huge output.
func checkPrintf(u *invocation) string {
	return when(len(u.operands) > 0 && (!u.operands[0].Static || strings.Contains(u.operands[0].Text, "%n") ||
		printfSets().MatchString(u.operands[0].Text)), "a printf format that is not known to be harmless")
}

// when is what is said where something holds.
func when(holds bool, why string) string {
	if holds {
		return why
	}
	return ""
}

// operandsAre makes a check of each operand.
func operandsAre(ok func(Word) bool, why string) func(*invocation) string {
	return func(u *invocation) string {
		for _, o := range u.operands {
			if !ok(o) {
				return shorten(o.Text) + why
			}
		}
		return ""
	}
}

var (
	checkDate = operandsAre(func(o Word) bool { return strings.HasPrefix(o.Text, "+") }, " would set the clock")
	// noLists is for programs that read more operands, or options, from the file in an operand like @file.
	noLists = operandsAre(func(o Word) bool { return !strings.HasPrefix(o.Text, "@") }, " names what is not looked into")
	// checkCargo checks the options after --, which are for the program that it runs: tests can write a log file,
	// clippy anything.
	checkCargo = operandsAre(func(o Word) bool {
		return !strings.HasPrefix(o.Text, "-") || cargoPasses().MatchString(o.Text)
	}, " is an option for what it runs")
	// checkNumbers accepts digits: shells other than bash evaluate what follows exit or break.
	checkNumbers = operandsAre(numeric, " is no number")
	// checkJobs accepts the numbers of processes and jobs.
	checkJobs = operandsAre(func(o Word) bool {
		return o.kind == number || o.Static && jobName().MatchString(o.Text)
	}, " is neither a process nor a job")
	shortSleep = operandsAre(func(o Word) bool { return seconds().MatchString(o.Text) }, " is a long time")
	// checkSetting refuses settings with passwords and tokens.
	checkSetting = operandsAre(func(o Word) bool { return !secretSetting().MatchString(o.Text) }, " may hold secrets")
	// noAssignments is for make, where NAME=value can change what runs.
	noAssignments = operandsAre(func(o Word) bool { return !strings.ContainsAny(o.Text, "=$") }, " can change what runs")
	// checkTee accepts only /dev/null.
	checkTee = operandsAre(func(o Word) bool { return o.Text == "/dev/null" }, " is a file that it writes to")
	// plainOperands requires operands that are names, and neither paths nor addresses of files.
	plainOperands = operandsAre(func(o Word) bool {
		return !strings.Contains(o.Text, "/") && !strings.HasSuffix(o.Text, ".") && o.kind != glob
	}, " is a file")
	// checkSysctl accepts names: NAME=value sets.
	checkSysctl   = operandsAre(func(o Word) bool { return systemSetting().MatchString(o.Text) }, " may be set")
	namesNoSecret = operandsAre(func(o Word) bool { return o.Static && !redact.Variable(o.Text) }, " may hold a secret")
)

var seconds = lazy.Regexp(`^\d{1,3}(\.\d+)?s?$`)

// checks is a check for all of some.
func checks(list ...func(*invocation) string) func(*invocation) string {
	return func(u *invocation) string {
		for _, check := range list {
			if why := check(u); why != "" {
				return why
			}
		}
		return ""
	}
}

// some is a check for operands.
func some(why string) func(*invocation) string {
	return func(u *invocation) string {
		return when(len(u.operands) == 0, why)
	}
}

// accepts is a check of the whole command.
func accepts(ok func(*Command) bool, why string) func(*invocation) string {
	return func(u *invocation) string {
		return when(!ok(u.command), why)
	}
}

var cargoPasses = lazy.Regexp(`^--?(nocapture|no-capture|show-output|ignored|include-ignored|exact|list|quiet|q|[DWA]|test-threads(=\d+)?)$`)

// checkSet accepts what makes scripts stricter.
func checkSet(u *invocation) string {
	args := u.command.Args
	if len(args) == 0 {
		return "it shows all variables"
	}
	for i := 0; i < len(args); i++ {
		a := args[i].Text
		switch {
		case !args[i].Static || len(a) < 2 || a[0] != '-' && a[0] != '+' || strings.Trim(a[1:], "euxo") != "":
			return "it changes how the shell works"
		case strings.HasSuffix(a, "o"):
			if i++; i == len(args) || !setOption.Has(args[i].Text) {
				return "it changes how the shell works"
			}
		}
	}
	return ""
}

var jobName = lazy.Regexp(`^(\d+|%\d+|%[%+-]?)$`)

var (
	testWords lazy.Words = `! ( ) ] -a -o = == != < > =~ -nt -ot -ef -e -f -d -r -w -x -s -z -n -L -h -p -S -b -c -k -u -g
		-O -G -N -t`
	testNumbers lazy.Words = `-eq -ne -lt -le -gt -ge`
)

// checkTest refuses tests of variables, as in [ -v 'a[$(command)]' ], which run the command in the index.
func checkTest(u *invocation) string {
	args := u.command.Args
	for i, a := range args {
		switch {
		case a.kind == glob:
			return a.Text + " is only known when it runs"
		case testNumbers.Has(a.Text):
			if i == 0 || i+1 >= len(args) || !numeric(args[i-1]) || !numeric(args[i+1]) {
				return "a comparison of what may be no number"
			}
		case strings.HasPrefix(a.Text, "-") && !digits(a.Text[1:]) && !testWords.Has(a.Text):
			return "the test " + a.Text + " is not known to be harmless"
		case testWords.Has(a.Text):
		case u.command.Name != "[[" || !strings.ContainsAny(a.Text, "*?[^|("):
			if why := u.workdirs.path(a); why != "" && strings.ContainsAny(a.Text, "/.") {
				return why
			}
		}
	}
	return ""
}

const testProgram lazy.Words = `test [ [[`

// testedText reports that a word of a test may be any text: it is in quotes, and the words before and after it rule
// out that it is an operator.
func (c *Command) testedText(i int) bool {
	args := c.Args
	if c.Name == "[" {
		if len(args) == 0 || args[len(args)-1].Text != "]" {
			return false
		}
		args = args[:len(args)-1]
	}
	if i >= len(args) || args[i].split && c.Name != "[[" {
		return false
	}
	if len(args) > 0 && args[0].Text == "!" {
		args, i = args[1:], i-1
	}
	harmless := func(x Word) bool { return x.Static && textTests.Has(x.Text) }
	switch len(args) {
	case 1:
		return true
	case 2:
		return i == 1 && harmless(args[0])
	case 3:
		return i != 1 && harmless(args[1])
	}
	return false
}

// textTests are tests that only examine text and files.
const textTests lazy.Words = `-n -z -e -f -d -r -w -x -s -L -h = == != < > =~ -nt -ot -ef`

func numeric(x Word) bool { return x.kind == number || digits(strings.TrimPrefix(x.Text, "-")) }

// onlyListed is for git branch and git tag, which create a name unless they are asked to list.
func onlyListed(u *invocation) string {
	if len(u.operands) > 0 && !u.has("l", "list", "contains", "no-contains", "points-at", "merged", "no-merged") {
		return "it would make " + u.operands[0].Text
	}
	return when(u.command.Name == "git" && u.command.Args[0].Text == "branch" && u.has("l") && !u.has("list"),
		"-l of git branch made a reflog in old versions; --list is the same in all")
}

// gitVerifies are the parts of formats and orders for which git checks signatures, with another program.
var gitVerifies = lazy.Regexp(`%[-+ ]?G|%\(\*?signature`)

// gitFormats are the formats that git knows by name. Others are names from the settings of a repository, and those
// can hold anything.
const gitFormats lazy.Words = `oneline short medium full fuller reference email raw mboxrd`

// gitFormat says why a format or an order may run something.
func (u *invocation) gitFormat(g given) string {
	if u.command.Name != "git" {
		return ""
	}
	text := g.value.Text
	switch g.name {
	case "format", "pretty", "group":
		if gitVerifies().MatchString(text) {
			return "makes git run gpg"
		}
		if u.pretty && g.name != "group" && text != "" && !strings.Contains(text, "%") && !gitFormats.Has(text) &&
			!strings.HasPrefix(text, "format:") && !strings.HasPrefix(text, "tformat:") {
			return "names a format in the settings"
		}
	case "sort":
		if strings.Contains(strings.ToLower(text), "signature") {
			return "makes git run gpg"
		}
	case "ignore-submodules":
		if text != "" && text != "all" && text != "dirty" {
			return "makes git look into other repositories"
		}
	}
	return ""
}

// settingName is a name with a section, which no sub-command of git config is.
var settingName = lazy.Regexp(`^[A-Za-z][A-Za-z0-9-]*\.(.+\.)?[A-Za-z][A-Za-z0-9-]*$`)

func checkGitConfig(u *invocation) string {
	if !u.has("get", "get-all") && !(len(u.operands) == 1 && settingName().MatchString(u.operands[0].Text)) {
		return "it may change settings"
	}
	return checkSetting(u)
}

// secretSetting are settings with passwords and tokens, also inside of addresses, in any section.
var secretSetting = lazy.Regexp(`(?i)extraheader|credential|passw|token|secret|cookie|proxy|^url\.|api-?key|auth[a-z]*$|` +
	`pass$|\.pat$`)

// checkUnpacks requires programs that replace files to print instead. Of -t, -l and -d some follow the last one.
func checkUnpacks(u *invocation) string {
	prints := u.has("c", "stdout", "to-stdout") ||
		u.has("l", "t", "list", "test") && !u.has("d", "decompress", "uncompress")
	return when(!prints && len(u.operands) > 0, "it puts a file in the place of another")
}

// checkUnzip requires it to list, or to print members that are named.
func checkUnzip(u *invocation) string {
	return when(!u.has("l", "v", "Z") && !(u.has("p") && len(u.operands) > 1), "it writes what it unpacks")
}

// checkTar accepts listing an archive, or printing members that are named. A colon in the archive's name is another
// machine, and an option behind a member is a member itself to some.
func checkTar(u *invocation) string {
	const more = "tar does more than list an archive"
	archive := u.last("f", "file")
	archives := 0
	for _, g := range u.given {
		if g.name == "f" || g.name == "file" {
			archives++
		}
	}
	// without a dash the letters take the words behind theirs
	mixedUp := func(letters string) bool {
		return letters[0] != '-' && strings.Contains(strings.TrimSuffix(letters, "f"), "f")
	}
	prints := u.has("x") && u.has("O") && len(u.operands) > 0
	if archives != 1 || archive.Text == "" || strings.Contains(archive.Text, ":") || u.has("t", "list") == u.has("x") ||
		u.has("x") != prints || mixedUp(u.command.Args[0].Text) {
		return more
	}
	for _, m := range u.operands {
		if !m.Static || strings.HasPrefix(m.Text, "-") {
			return more
		}
		if why := (workdirs{root: "/"}).operand(m, mixed); why != "" && prints {
			return why
		}
	}
	return ""
}

var (
	// psShape is what ps is sure to understand at the first try, without the letter e that has no dash, and psFull
	// what it does not understand together with a format.
	psShape = lazy.Regexp(`^((-?[AacdfFHjlLNrTuvwxy]+|\d+|-[pPutgGUqs] [^e ]+|-C \S+|-e(f|F|l|ly|fl|fw+|Lf|fH|jH|j|ww)?|` +
		`-e?(ww)?o \S+|--(no-)?headers|--forest|--(sort|format|ppid|pid)[= ]\S+)( |$))*$`)
	psFull = lazy.Regexp(`^-e?[a-zF]*[fFljL]`)
	psOwn  = lazy.Regexp(`^-(e.*|o|C)$`)
)

// checkPs refuses the letter e without a dash: it prints the variables of other processes. What ps does not
// understand otherwise it reads as if no option had a dash, as in ps -u e when there is no such user, or in ps -ef
// -o cmd.
func checkPs(u *invocation) string {
	each, full, others, seen := false, false, false, map[string]bool{}
	for _, a := range u.command.Args {
		if strings.HasPrefix(a.Text, "-") && !strings.HasPrefix(a.Text, "--") {
			others = others || !psOwn().MatchString(a.Text) || seen[a.Text]
			each, full = each || strings.HasPrefix(a.Text, "-e"), full || psFull().MatchString(a.Text)
			seen[a.Text] = true
		}
	}
	text := textOf(u.command.Args)
	return when(!psShape().MatchString(text) || strings.Contains(strings.ToLower(text), "env") ||
		each && (others || len(u.operands) > 0) || full && u.has("o", "format"), "ps may show the variables of processes")
}

// awkReaches are the names by which an awk program does more than change text: it runs commands, reads other input,
// changes which files are read, or shows the environment.
const awkReaches lazy.Words = `system getline ARGV ARGC ARGIND ENVIRON PROCINFO SYMTAB FUNCTAB`

// awkBeforePattern are words behind which a / begins a regular expression for every awk.
const awkBeforePattern lazy.Words = `print printf return exit in do else`

// awkProgram is the text of an awk command's program, if it is not in a file; false when that is uncertain.
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

// plainAwk reports an awk command whose program is known to only print.
func plainAwk(c *Command) bool {
	if !slices.Contains([]string{"awk", "gawk", "mawk", "nawk"}, c.Name) {
		return false
	}
	program, ok := awkProgram(c.Args)
	return ok && awkOnlyPrints(program)
}

// awkOnlyPrints reports an awk program that only prints its input.
func awkOnlyPrints(program string) bool {
	readings := 64 // of a rest, because of a slash that may be two things
	return awkHarmless(program, false, -1, 0, &readings)
}

// awkHarmless reads a rest of such a program: whether what is before it can be divided, the depth of brackets at which
// its print statement is, -1 outside of one, and that of the rest. After what can be divided a slash may still begin a
// regular expression: each awk decides that in its own way, as after x++ and exit, and what one takes for a string
// another runs. So both readings must be harmless; an expression that does not end on its line is a mistake, and runs
// nothing.
func awkHarmless(rest string, operand bool, printing, depth int, readings *int) bool {
	for i := 0; i < len(rest); {
		c, from, end := rest[i], i, -1
		if c == '"' || c == '/' {
			end = awkEnd(rest, i, c)
		}
		if c == '/' && operand {
			if line, _, _ := strings.Cut(rest[i+1:], "\n"); strings.Contains(line, "/") {
				*readings--
				if end < 0 || *readings < 0 || !awkHarmless(rest[end:], true, printing, depth, readings) {
					return false
				}
			}
		}
		next := byte(' ')
		if i++; i < len(rest) {
			next = rest[i]
		}
		switch {
		case c == ' ' || c == '\t' || c == '\r':
		case c == '\\' && (next == '\n' || next == '\r'):
			i++
		case c == '#':
			for i < len(rest) && rest[i] != '\n' {
				i++
			}
		case c == '"', c == '/' && !operand:
			if i, operand = end, true; end < 0 {
				return false
			}
		case isWordByte(c):
			for i < len(rest) && isWordByte(rest[i]) {
				i++
			}
			if name := rest[from:i]; awkReaches.Has(name) {
				return false
			} else if operand = !awkBeforePattern.Has(name); name == "print" || name == "printf" {
				printing = depth
			}
		default:
			switch { // @ is for a function by its name, or another file
			case c == '@', c == '|' && next != '|', c == '>' && (printing >= 0 && depth <= printing || next == '>'):
				return false
			case c == '|':
				i++
			case strings.IndexByte("([{", c) >= 0:
				depth++
			case strings.IndexByte(")]}", c) >= 0:
				depth--
			}
			if c == ';' || c == '}' || c == '\n' && operand { // behind a comma or an operator the next line continues
				printing = -1
			}
			operand = c == ')' || c == ']' || c == '$' || (c == '+' || c == '-') && from > 0 && rest[from-1] == c
		}
	}
	return true
}

// awkEnd is the position after the string or the regular expression that begins at i; -1 when it does not end on its
// line. A slash in brackets may end it for one awk and not for another, so such an expression counts as not ended.
func awkEnd(program string, i int, mark byte) int {
	bracket := false
	for i++; i < len(program); i++ {
		switch c := program[i]; {
		case c == '\n':
			return -1
		case c == '\\':
			i++
		case mark == '/' && bracket && c == '[' && i+1 < len(program) && strings.IndexByte(":.=", program[i+1]) >= 0:
			n := strings.Index(program[i:], ":]") // of a class such as [:alpha:]
			if n < 0 || program[i+1] != ':' {
				return -1
			}
			i += n + 1
		case mark == '/' && bracket && c == ']' && strings.IndexByte("[^", program[i-1]) >= 0:
			return -1 // it ends the bracket for one awk and not for another
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
