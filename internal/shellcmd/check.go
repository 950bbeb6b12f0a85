package shellcmd

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The checks look at what options and paths do not tell: operands that are small programs, or that set things.

func join(words []Word) string {
	var b strings.Builder
	for _, x := range words {
		b.WriteString(x.Text + "\n")
	}
	return b.String()
}

// A sed script can write files (w) and run commands (e). These are sure to do neither: printing lines by number or by a plain
// pattern, quitting, deleting, and replacing without the flags that do more.
const (
	sedAddress = `(\d+|\$|/([^/\\\n\[\]]|\[[^/\\\n\[\]]+\])+/)`
	sedEscape  = `\\[.*+?(){}|^$/&0-9swWSbBtn-]`
	sedClass   = `\[\^?([^/|,#@\\\n\[\]^]|\\t|\[:[a-z]+:\])+\]`
	sedCommand = `(` + sedAddress + `(,` + sedAddress + `|,\+\d+)?)?!?`
)

var sedScript = sync.OnceValue(sedScripts)

// sedScripts puts the pattern together: any of a few characters may stand between the parts of a replacement.
func sedScripts() *regexp.Regexp {
	var replaced []string
	for _, mark := range strings.Split("/|,#@", "") {
		plain, escape, quoted := `[^\\\n\[\]`+mark+`]`, sedEscape, regexp.QuoteMeta(mark)
		if mark == "|" {
			escape = strings.ReplaceAll(escape, "|", "")
		}
		replaced = append(replaced, quoted+`(`+plain+`|`+escape+`|`+sedClass+`)*`+quoted+`(`+plain+`|`+escape+`)*`+quoted)
	}
	command := sedCommand + `([pdq=]|s(` + strings.Join(replaced, "|") + `)[gpiI0-9]*)`
	return regexp.MustCompile(`^\s*` + command + `\s*([;\n]\s*` + command + `\s*)*;?\s*$`)
}

func checkSed(u *use) string {
	var scripts []string
	for _, g := range u.given {
		if g.name == "e" || g.name == "expression" {
			scripts = append(scripts, g.value.Text)
		}
	}
	if scripts == nil {
		if len(u.operands) == 0 {
			return ""
		}
		scripts = []string{u.operands[0].Text}
	}
	for _, s := range scripts {
		if !sedScript().MatchString(s) {
			return "a sed script that is not known to be harmless"
		}
	}
	return ""
}

// A name after a dot, as in .env, is a field.
var jqReaches = lazily(`(^|[^.\w])(import|include|env|input_filename|get_search_list|modulemeta|debug|halt|halt_error)\b|\$(\s|#)|\$ENV|\$__`)

func checkJq(u *use) string {
	if len(u.operands) > 0 && (!u.operands[0].Static || jqReaches().MatchString(u.operands[0].Text)) {
		return "a jq filter that looks at more than its input"
	}
	return ""
}

// checkAwk repeats what the walker found out: a rule that lists awk covers the same programs.
func checkAwk(u *use) string {
	if !plainAwk(u.command) {
		return "an awk program that is not known to be harmless"
	}
	return ""
}

var printfSets = lazily(`%[^a-zA-Z%]*[a-zA-Z]*n|%[-+ #0]*\d{5}|%[^%]*\*|\.\d{5}`)

// checkPrintf refuses formats that set variables, and those that make very much of little.
func checkPrintf(u *use) string {
	if len(u.operands) > 0 && (!u.operands[0].Static || strings.Contains(u.operands[0].Text, "%n") || printfSets().MatchString(u.operands[0].Text)) {
		return "a printf format that is not known to be harmless"
	}
	return ""
}

func checkDate(u *use) string {
	for _, o := range u.operands {
		if !strings.HasPrefix(o.Text, "+") {
			return "it sets the clock"
		}
	}
	return ""
}

// noLists is for programs that read more operands, or options, from the file in an operand like @file.
func noLists(u *use) string {
	for _, o := range u.operands {
		if strings.HasPrefix(o.Text, "@") {
			return "what is in " + o.Text[1:] + " is only known when it runs"
		}
	}
	return ""
}

var cargoPasses = lazily(`^--?(nocapture|no-capture|show-output|ignored|include-ignored|exact|list|quiet|q|[DWA]|test-threads(=\d+)?)$`)

// checkCargo looks at the options after --, which are for what it runs: tests can write a log file, clippy anything.
func checkCargo(u *use) string {
	for _, o := range u.operands {
		if strings.HasPrefix(o.Text, "-") && !cargoPasses().MatchString(o.Text) {
			return o.Text + " is an option for what it runs"
		}
	}
	return ""
}

var shortSleep = lazily(`^\d{1,3}(\.\d+)?s?$`)

func checkSleep(u *use) string {
	if len(u.operands) != 1 || !shortSleep().MatchString(u.operands[0].Text) {
		return "a long sleep"
	}
	return ""
}

// checkSet accepts what makes scripts stricter.
func checkSet(u *use) string {
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
			if i++; i == len(args) || !setOption[args[i].Text] {
				return "it changes how the shell works"
			}
		}
	}
	return ""
}

var (
	testWords   = strings.Fields("! ( ) ] -a -o = == != < > =~ -nt -ot -ef -e -f -d -r -w -x -s -z -n -L -h -p -S -b -c -k -u -g -O -G -N -t")
	testNumbers = strings.Fields("-eq -ne -lt -le -gt -ge")
)

// checkTest refuses tests of variables, as in [ -v 'a[$(command)]' ], which run what is in the index.
func checkTest(u *use) string {
	args := u.command.Args
	for i, a := range args {
		switch {
		case a.kind == glob:
			return a.Text + " is only known when it runs"
		case slices.Contains(testNumbers, a.Text):
			if i == 0 || i+1 >= len(args) || !numeric(args[i-1]) || !numeric(args[i+1]) {
				return "a comparison of what may be no number"
			}
		case strings.HasPrefix(a.Text, "-") && !digits(a.Text[1:]) && !slices.Contains(testWords, a.Text):
			return "the test " + a.Text + " is not known to be harmless"
		case slices.Contains(testWords, a.Text):
		case u.command.Name != "[[" || !strings.ContainsAny(a.Text, "*?[^|("):
			if why := u.place.path(a); why != "" && strings.ContainsAny(a.Text, "/.") {
				return why
			}
		}
	}
	return ""
}

var testProgram = map[string]bool{"test": true, "[": true, "[[": true}

// testedText reports that a word of a test may be any text: it is in quotes, and what is before and behind it leaves no doubt
// that it is not taken for an operator.
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
	harmless := func(x Word) bool { return x.Static && slices.Contains(textTests, x.Text) }
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

// textTests are tests that only look at text and files.
var textTests = strings.Fields("-n -z -e -f -d -r -w -x -s -L -h = == != < > =~ -nt -ot -ef")

func numeric(x Word) bool { return x.kind == number || digits(strings.TrimPrefix(x.Text, "-")) }

// onlyListed is for git branch and git tag, which make one of a name unless told to list.
func onlyListed(u *use) string {
	if len(u.operands) > 0 && !u.has("l", "list", "contains", "no-contains", "points-at", "merged", "no-merged") {
		return "it would make " + u.operands[0].Text
	}
	if u.command.Name == "git" && u.command.Args[0].Text == "branch" && u.has("l") && !u.has("list") {
		return "-l of git branch made a reflog in old versions; --list is the same in all"
	}
	return ""
}

// gitVerifies are the parts of formats and orders for which git checks signatures, with another program.
var gitVerifies = lazily(`%[-+ ]?G|%\(\*?signature`)

// gitFormats are the formats that git knows by name. Others are names from the settings of a repository, and those can hold anything.
var gitFormats = strings.Fields("oneline short medium full fuller reference email raw mboxrd")

// gitFormat says why a format or an order is more than it seems.
func (u *use) gitFormat(g given) string {
	if u.command.Name != "git" {
		return ""
	}
	text := g.value.Text
	switch g.name {
	case "format", "pretty", "group":
		if gitVerifies().MatchString(text) {
			return "makes git run gpg"
		}
		if u.pretty && g.name != "group" && text != "" && !strings.Contains(text, "%") && !slices.Contains(gitFormats, text) &&
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

func checkGitConfig(u *use) string {
	if !u.has("get", "get-all") {
		return "it may change settings"
	}
	if strings.Contains(strings.ToLower(join(u.operands)), "extraheader") || strings.Contains(strings.ToLower(join(u.operands)), "credential") {
		return "the setting may hold secrets"
	}
	return ""
}

// noAssignments is for make, where NAME=value can change what runs.
func noAssignments(u *use) string {
	for _, o := range u.operands {
		if strings.ContainsAny(o.Text, "=$") {
			return o.Text + " can change what runs"
		}
	}
	return ""
}
