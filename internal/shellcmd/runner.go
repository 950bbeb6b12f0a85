package shellcmd

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/lazy"
)

// shells run the text after -c, and what they read.
const shells lazy.Words = `bash sh dash ash zsh ksh mksh rbash fish csh tcsh`

var (
	// plainText is text that sh and dash certainly read alike.
	plainText = lazy.Regexp(`^[A-Za-z0-9 _./,:@%+"'|;&=-]*$`)
	// bashOnly is what sh and dash take for something else than bash does, and zshOnly what zsh does.
	bashOnly = lazy.Regexp(`[^ -~\n]|\$['"\[]|\(\(|\[\[|&>|>&[^0-9-]|[<>]\(|<<|=\(|;;?&|\|&|&\||[?*+@!]\(|\{[^ }]*(,|\.\.)|` +
		`\b(function|coproc|select|time)\b|\^|!`)
	zshOnly = lazy.Regexp(`(^|[\s;|&({])[=~]|[^\s$;|&({]\(|\$\{?[^\w"'()?#]|>[!|]|[#<\\]|[A-Za-z]\[|(^|[;|&({])\s*-?\s|` +
		`\b([rR]|repeat|noglob|nocorrect|emulate|zmodload|autoload|sched|foreach|always|zargs|private)\b`)
)

// shell lists the commands of a shell.
func (w *walker) shell(at int) {
	c := w.all.commands[at]
	text, found, login, sure := shellText(c.Args)
	switch {
	case checksSyntax(&c):
	case found && !sure:
		w.severe(at, "an option of "+c.Name+" that is not known to be harmless")
		w.string(at, text, c.Name+" -c")
		w.guessTexts(at)
	case found:
		if login {
			w.doubt(at, "the start files of a login shell are not looked into")
		}
		w.otherShell(at, text)
		w.string(at, text, c.Name+" -c")
	case slices.ContainsFunc(c.Args, func(a Word) bool { return !a.Static || a.Text == "" || a.Text[0] != '-' }):
		w.script(at)
		w.guessTexts(at)
	default:
		w.input(at)
	}
}

// otherShell doubts a text that a shell other than bash may read differently.
func (w *walker) otherShell(at int, text Word) {
	name := w.all.commands[at].Name
	if name == "bash" || !text.Static {
		return
	}
	switch {
	case name != "sh" && name != "dash" && name != "zsh", bashOnly().MatchString(text.Text),
		name == "zsh" && zshOnly().MatchString(text.Text):
		w.severe(at, name+" may read the text in another way than bash")
	case name == "zsh", !plainText().MatchString(text.Text):
		w.doubt(at, name+" may read the text in another way than bash")
	}
}

// shellText finds the text after -c. It is not sure when there are options that could matter.
func shellText(args []Word) (text Word, found, login, sure bool) {
	sure = true
	for i := 0; i < len(args); i++ {
		a := args[i]
		option := a.Static && len(a.Text) > 1 && (a.Text[0] == '-' || a.Text[0] == '+')
		switch {
		case found && !option:
			return a, true, login, sure
		case !option && i == 0:
			return Word{}, false, false, sure // a file, and what follows is for it
		case found, !option:
			sure = false
		case a.Text == "--noprofile" || a.Text == "--norc" || a.Text == "--posix":
		case a.Text == "--login":
			login = true
		case strings.HasSuffix(a.Text, "o") && strings.Trim(a.Text, "-euxo") == "" && i+1 < len(args) &&
			setOption.Has(args[i+1].Text):
			i++
		default:
			found = a.Text[1] != '-' && strings.Contains(a.Text, "c")
			login = login || strings.Contains(a.Text, "l")
			sure = sure && strings.Trim(a.Text, "-euxlc") == "" && strings.Count(a.Text, "c") <= 1
		}
	}
	return Word{}, false, login, sure
}

// setOption are the words after -o that make a shell no less safe.
const setOption lazy.Words = `pipefail errexit nounset xtrace`

// lasts reports a text in quotes whose only variables are files of mktemp, with the same value when a signal comes.
func (w *walker) lasts(text string) bool {
	found := variables().FindAllStringSubmatch(text, 5)
	return len(found) > 0 && len(found) < 5 && len(found) == strings.Count(text, "$") && text[0] == '"' &&
		!strings.ContainsAny(text[1:len(text)-1], "\"\\`") && !slices.ContainsFunc(found, func(m []string) bool {
		return w.variables[m[1]].file != newFile || !w.setOnce(m[1])
	})
}

// string takes apart a text that a command runs.
func (w *walker) string(at int, text Word, via string) {
	outer := w.all.commands[at]
	switch {
	case !text.Static:
		w.severe(at, "the text it runs is only known when it runs")
		return
	case w.level >= maxLevel:
		w.severe(at, "too many shells in shells")
		return
	}
	from := len(w.all.commands)
	inner := walker{src: text.Text, all: w.all, via: append(slices.Clip(outer.Via), via), level: w.level + 1, loop: w.loop,
		built: outer.hidden || !strings.Contains(outer.Text, shorten(text.Text))}
	for _, m := range variables().FindAllStringSubmatch(text.Text, 4) { // those with the same value when a signal comes
		is := w.variables[m[1]]
		if via == "trap" && is.file == newFile && w.setOnce(m[1]) {
			inner.loopVariable(m[1], is)
		}
	}
	had := w.all.err
	if err := checkText(text.Text); err != nil {
		w.all.err = err
	}
	inner.text(outer.dirs)
	for i := range w.all.commands[from:] {
		w.all.commands[from+i].branch = w.all.commands[from+i].branch || outer.branch
	}
	if had == nil && w.all.err != nil { // the inner shell reports that when it runs, not the outer one
		w.all.err = nil
		w.severe(at, "the text it runs is not understood")
		w.guessText(at, text.Text)
		for part := range parts(text.Text) {
			w.guessText(at, part)
		}
	}
}

// script is a shell with a file to run.
func (w *walker) script(at int) {
	first, traced := w.all.commands[at].Args[0], false
	for _, a := range w.all.commands[at].Args[1:] { // bash -ex file
		if traced = len(first.Text) > 1 && first.Static && strings.Trim(first.Text, "euvx") == "-"; !traced {
			break
		}
		first = a
	}
	switch {
	case !first.Static, first.Text == "", first.Text[0] == '-', first.Text[0] == '+':
		w.severe(at, "what it runs is not sure")
	case strings.HasPrefix(path.Clean(first.Text), "/dev/") || strings.HasPrefix(path.Clean(first.Text), "/proc/"):
		w.severe(at, readsCode)
	case traced: // or the option would count as what says what runs
		w.doubt(at, "what it runs is not sure")
	}
	if first.Text == "-s" || first.Text == "/dev/stdin" {
		w.guessHere(at)
	}
	w.printedText(at)
}

// printedText guesses at what the commands in <(...) print for one that runs it.
func (w *walker) printedText(at int) {
	c := w.all.commands[at]
	read := func(r Redirect) bool { return r.Op == "<" && r.Target.kind == source }
	if len(c.Args) > 0 && c.Args[0].kind == source || slices.ContainsFunc(c.Redirects, read) {
		for from := range w.all.commands[at+1:] {
			w.piped(at+1+from, at)
		}
	}
}

// guessTexts treats all words of a shell as texts: one of them may be what it runs.
func (w *walker) guessTexts(at int) {
	for _, a := range w.all.commands[at].Args {
		if a.Static && !strings.HasPrefix(a.Text, "-") {
			w.guessText(at, a.Text)
		}
	}
}

// input is a shell that runs its input.
func (w *walker) input(at int) {
	c := w.all.commands[at]
	for _, r := range c.Redirects {
		if strings.HasPrefix(r.Op, "<<") && r.Target.Static && len(c.Redirects) == 1 && len(c.Args) == 0 {
			w.otherShell(at, r.Target)
			w.string(at, r.Target, c.Name+" "+r.Op)
			return
		}
	}
	if c.inputFile() != "" {
		w.doubt(at, notLookedInto)
		return
	} else if !printsVersion(&c) {
		w.severe(at, readsCode)
	}
	w.guessHere(at)
	w.printedText(at)
}

// guessHere guesses at the here-documents of a shell that runs its input.
func (w *walker) guessHere(at int) {
	for _, text := range w.all.commands[at].documents() {
		w.guessText(at, text)
	}
}

// textRunner is for other commands that run text: the part that can be parsed is listed, and it remains a doubt.
func (w *walker) textRunner(at int) {
	c := w.all.commands[at]
	if c.Name == "trap" && len(c.Args) > 0 && w.lasts(c.Args[0].Text) {
		c.Args[0] = static(strings.ReplaceAll(strings.Trim(c.Args[0].Text, `"`), "'", `"`))
	}
	switch late := func(x Word) bool { return !x.Static }; {
	case c.Name == "eval" && len(c.Args) == 1 && startText().MatchString(c.Args[0].Text):
		w.doubt(at, "it runs text as commands") // of a tool that is asked for it
	case c.Name != "trap" || slices.ContainsFunc(c.Args, late):
		w.severe(at, "it runs text as commands")
	case len(c.Args) > 0 && c.Args[0].Text == "-": // takes the text of a signal away
		w.doubt(at, "it changes what runs at a signal")
		return
	default:
		w.doubt(at, "it runs text as commands") // all of which is parsed below
	}
	u := &invocation{command: &c}
	plain := c.Name == "ssh" && !c.severe && u.read(sshLooks(), c.Args) == ""
	if plain && (len(u.operands) == 0 || len(u.operands) == 1 && plainHost().MatchString(u.operands[0].Text) &&
		strings.HasPrefix(u.operands[0].Text, "git@")) { // it connects to nothing, or only says who one is there
		w.all.commands[at].severe, w.all.commands[at].looks = false, true
	}
	if c.Name != "eval" && c.Name != "trap" {
		w.guessAll(at, c.Args)
	}
	words := c.Args
	if c.Name != "ssh" && len(words) > 0 && words[0].Text == "--" {
		words = words[1:]
	}
	switch c.Name {
	case "trap", "ssh":
		words = words[:min(1, len(words))]
		if c.Name == "ssh" {
			words = afterHost(c.Args)
		}
	case "su", "script":
		words = nil
		if _, texts := splitOptions(c.Args, "-c --command"); len(texts) > 0 {
			words = []Word{texts[0].value}
		}
	}
	all := make([]string, 0, len(words))
	for _, x := range words {
		if !x.Static {
			return
		}
		all = append(all, x.Text)
	}
	if len(all) == 0 {
		return
	}
	from := len(w.all.commands)
	w.string(at, static(strings.Join(all, " ")), c.Name)
	looks := plain && w.all.err == nil && len(w.all.commands) > from
	for i := range w.all.commands[from:] {
		part := &w.all.commands[from+i]
		if part.otherDirectory() && !w.all.commands[at].otherDirectory() { // not on that machine either
			continue
		}
		looks = looks && onlyReads(part, workdirs{any: true}) == "" &&
			(naming.Has(part.Name) || !slices.ContainsFunc(part.inputs(), secret))
	}
	// on the other machine
	if looks && plainHost().MatchString(u.operands[0].Text) {
		w.all.commands[at].severe, w.all.commands[at].looks = false, true
	}
}

// sshLooks has the options of ssh by which it runs nothing here and opens no port.
var sshLooks = sync.OnceValue(func() *spec {
	s := leading("4 6 C n q T t v x l= p= i= o=")
	s.says, s.values = true, map[string]func() *regexp.Regexp{"o": plainSSH, "l": plainHost, "p": plainHost}
	return s
})

var (
	plainSSH = lazy.Regexp(`^((ConnectTimeout|ConnectionAttempts|StrictHostKeyChecking|BatchMode|LogLevel|` +
		`ServerAlive\w+|User|Port|IdentityFile|IdentitiesOnly|PasswordAuthentication|PreferredAuthentications)=[\w./~,-]+|` +
		`UserKnownHostsFile=(/dev/null|[\w./~-]*known_hosts\w*))$`) // it may write to that file
	// plainHost is the name of a host or user that means nothing to a shell: settings of ssh may give it to one.
	plainHost = lazy.Regexp(`^[\w.@:/%\[\]-]+$`)
)

var sshOptions = sync.OnceValue(func() *spec {
	s := leading("4 6 A a C f G g K k M N n q s T t V v X x Y y B= b= c= D= E= e= F= I= i= J= L= l= m= O= o= p= Q= R= " +
		"S= W= w=")
	s.says = true
	return s
})

func afterHost(args []Word) []Word {
	u := sshOptions().before("ssh", args)
	return u.operands[min(1, len(u.operands)):]
}

// interpreters run programs in a language of their own. The options are those that come before a text to run, and those
// that only print something.
var interpreters = sync.OnceValue(func() map[string]interpreter {
	m := map[string]interpreter{
		"python": {"c", "-V --version"}, "pypy": {"c", "--version"}, "perl": {"eEnpMmi", "-v --version"},
		"ruby": {"enpr", "-v --version"}, "node": {"epr", "-v --version"}, "nodejs": {"epr", "-v --version"},
		"bun": {"e", "--version"}, "deno": {"e", "--version"}, "php": {"rBRE", "-v --version"}, "lua": {"el", "-v"},
		"tclsh": {"", ""}, "Rscript": {"e", "--version"}, "osascript": {"e", ""}, "gdb": {"xe", "--version"},
	}
	for name := range changesMore.All() {
		m[name] = interpreter{"*", "--version"}
	}
	return m
})

// changesMore are other programs and builtins that run or change more than their words show.
const changesMore lazy.Words = `awk gawk mawk nawk ed ex vi vim dc at batch m4 expect source . crontab mapfile
	readarray coproc fc alias enable bind complete compgen unset read let shopt getopts hash pushd popd history declare
	export typeset readonly local`

type interpreter struct{ text, prints string }

// interpreterOf finds the interpreter of a name, perhaps with a version behind it: python3.12, m4.
func interpreterOf(name string) (r interpreter, ok bool) {
	if r, ok = interpreters()[name]; !ok {
		r, ok = interpreters()[strings.TrimRight(name, ".0123456789")]
	}
	return r, ok
}

// syntaxChecks are the options by which shells and interpreters read the file after it, and run nothing. Perl is not
// among them: with -c it runs BEGIN blocks.
var syntaxChecks = table{{"-n", "bash sh dash"}, {"--check", "node"}, {"-c", "node ruby"}, {"-l", "php"}}

func checksSyntax(c *Command) bool {
	return len(c.Args) == 2 && c.Args[0].Static && syntaxChecks.of(c.Name).Has(c.Args[0].Text) &&
		c.Args[1].Static && c.Args[1].Text != "" && c.Args[1].Text[0] != '-'
}

// evaluating are builtins that assign, unset or evaluate the variables that some of their words name. What is in
// brackets after such a name is evaluated, and the substitutions in it run. The letters are the options whose value is
// a name; with * any word may be one.
var evaluating = table{{"v", "printf"}, {"p", "wait"}, {"vR", "test ["},
	{"*", "read mapfile readarray unset getopts let coproc declare typeset local export readonly"}}

// evaluated doubts builtins that set or evaluate variables, and guesses at the substitutions in their words.
func (w *walker) evaluated(at int) {
	c := w.all.commands[at]
	letters := string(evaluating.of(c.Name))
	if _, plain := plainRead(&c); letters == "" || plain {
		return
	}
	args := c.Args
	if c.Name == "printf" { // its options end at the format
		args = args[:min(1, len(args))]
	}
	switch {
	case letters == "*": // interpreted adds the doubt
	case c.Name == "printf" && len(args) > 0 && !args[0].Static:
		w.severe(at, "its format is only known when it runs, and may be an option that sets a variable")
	case c.Name == "printf" && printfCounts().MatchString(textOf(c.Args[:min(2, len(c.Args))])):
		w.severe(at, "%n in the format of printf sets a variable")
	case slices.ContainsFunc(args, func(a Word) bool { return hasLetter(a, letters) }):
		w.severe(at, "an option of "+c.Name+" sets or evaluates a variable, which can change what runs")
	default:
		return
	}
	w.guessEvaluated(at, c.Args)
}

// hasLetter reports a word that has one of some short options.
func hasLetter(a Word, letters string) bool {
	return len(a.Text) > 1 && a.Text[0] == '-' && a.Text[1] != '-' && strings.ContainsAny(a.Text, letters)
}

var printfCounts = lazy.Regexp(`%[-+ #0'*.\d]*[hjlLtz]*n`)

// interpreted doubts programs that are given as text, or on the input.
func (w *walker) interpreted(at int) {
	w.evaluated(at)
	c := w.all.commands[at]
	if c.Name == "git" && setsGit(c.Args) {
		w.severe(at, "one of its words names a program to run")
	}
	files, plain := plainProgram(&c)
	if plain && c.scriptOnInput() {
		w.doubt(at, asProgram)
		w.all.commands[at].writes = files
		return
	}
	if c.evaluatesText() && !plain {
		w.severe(at, asProgram)
		w.guessAll(at, c.Args)
	}
	if c.scriptOnInput() {
		w.severe(at, readsCode)
		return
	}
	r, ok := interpreterOf(c.Name)
	if !ok {
		return
	}
	if len(c.Args) == 1 && c.Args[0].Static && lazy.Words(r.prints).Has(c.Args[0].Text) ||
		printsVersion(&c) || checksSyntax(&c) || c.onlyShows() {
		return
	}
	if c.Name == "source" || c.Name == "." || c.Name == "pushd" || c.Name == "popd" {
		if why := c.runsBeside(w.loop); why != "" {
			w.doubt(at, why)
			return
		}
		if folder := w.all.values["NVM_DIR"]; len(c.Args) == 1 && nvmFile().MatchString(c.Args[0].Text) &&
			(folder == "" || startFile().MatchString(strings.Trim(folder, `"`)+"/nvm.sh")) {
			w.doubt(at, notLookedInto)
			return
		}
	}
	plainName := func(a Word) bool {
		return a.Static && variableName().MatchString(a.Text) && !searched().MatchString(a.Text)
	}
	if c.Name == "unset" && !slices.ContainsFunc(c.Args, func(a Word) bool { return !plainName(a) }) {
		w.doubt(at, "it sets variables for what follows")
		for _, a := range c.Args {
			w.lose(a.Text)
		}
		return
	}
	if names, ok := plainRead(&c); ok {
		for _, name := range names {
			w.bind(name, late)
		}
		return
	}
	if plainAwk(&c) || literalProgram(&c) {
		return
	}
	for i, a := range c.Args { // python -m pip is pip
		if a.Text == "-m" && strings.HasPrefix(c.Name, "python") {
			w.guessWords(at, c.Args[i+1:])
			break
		}
	}
	if plain {
		w.doubt(at, asProgram)
		w.all.commands[at].writes = files
		return
	}
	more := func(a Word) bool { return !strings.HasPrefix(a.Text, "-") || a.Text == "-m" }
	if why := asText(r.text, c.Args); why == readsCode && c.inputFile() != "" && !slices.ContainsFunc(c.Args, more) {
		w.doubt(at, notLookedInto)
	} else if why != "" {
		w.severe(at, why)
		if c.Name == "source" || c.Name == "." {
			w.printedText(at)
		}
		for _, a := range c.Args {
			if a.Static {
				w.guessLiterals(at, a.Text)
			}
		}
		for _, text := range c.documents() {
			w.guessLiterals(at, text)
			w.guessText(at, text)
		}
	}
}

// harmlessOption is an option of node, python or php that makes it run no more than the file behind it, or the folder.
var harmlessOption = lazy.Regexp(`^(--watch|--hot|--smol|--inspect(-brk)?|--expose-gc|--env-file=[\w./-]+|` +
	`--enable-source-maps|--no-warnings|--trace-\w+|--max-old-space-size=\d+|` +
	`--experimental-(strip-types|vm-modules|test-coverage)|-O|-OO|-S|-q|-b|-bb|--check|-c)$`)

// warning is an option of Python that only changes what it shows, with a value that is no module; it may be apart.
var warning = lazy.Regexp(`^(-W(ignore|default|error|always|module|once|all)(::\w+)?|-X(dev|utf8|importtime|faulthandler|` +
	`tracemalloc)(=\d+)?)$`)

const (
	asProgram     = "it runs a program that is given as text"
	readsCode     = "it runs what it reads"
	notLookedInto = "it runs a file that is not looked into"
)

// textWords are words by which other programs run text, perhaps with it attached.
var textWords = table{
	{"-e", "R julia ghc groovy scala elixir iex clojure clj bb racket swift tsx ts-node luajit jruby qjs"},
	{"--eval", "julia octave elixir iex sbcl tsx ts-node"}, {"-E", "julia"}, {"-p --print", "bun tsx ts-node"},
	{"--print", "julia"}, {"-eval", "erl"}, {"-c", "guile ipython micropython"}, {"eval", "deno bun"},
	{"timeit", "python python3"},
}

func (c *Command) evaluatesText() bool {
	return textWords.of(c.Name).Any(func(word string) bool {
		return slices.ContainsFunc(c.Args, func(a Word) bool {
			return a.Text == word || word[0] == '-' && strings.HasPrefix(a.Text, word)
		})
	})
}

// phpSetting is one that runs nothing.
var phpSetting = lazy.Regexp(`^(-d)?(memory_limit|max_execution_time|display_errors|error_reporting|xdebug\.mode|` +
	`zend\.assertions)=[\w-]*$`)

// codeModules are modules of Python that run what they read.
const codeModules lazy.Words = "code pdb ipdb asyncio IPython bpython ptpython"

// scriptLanguage is the name of an interpreter of the language that a program which runs scripts takes.
func scriptLanguage(program string) string {
	switch program {
	case "uv":
		return "python"
	case "deno", "bun", "tsx", "ts-node":
		return "node"
	}
	return ""
}

// scriptOnInput reports one of them with - in place of the file, perhaps behind the word run.
func (c *Command) scriptOnInput() bool {
	if scriptLanguage(c.Name) == "" {
		return false
	}
	operands, _ := splitOptions(c.Args, "-p --python -w --with --with-requirements --with-editable --extra --group "+
		"--env-file --project --directory --index --index-url --default-index")
	if len(operands) > 0 && operands[0].Text == "run" {
		operands = operands[1:]
	}
	return len(operands) > 0 && (operands[0].Text == "-" || operands[0].Text == "/dev/stdin")
}

// asText says how an interpreter gets a text to run that is not in a file.
func asText(options string, args []Word) string {
	if options == "*" {
		return "it runs or changes more than its words show"
	}
	tests := false
	for i, a := range args {
		switch {
		case a.kind == source, a.Text == "/dev/stdin", strings.HasPrefix(a.Text, "/dev/fd/"),
			strings.HasPrefix(a.Text, "/proc/self/fd/"):
			return readsCode
		case a.Text == "-m" && i+1 < len(args) && codeModules.Has(args[i+1].Text):
			return readsCode
		case i > 0 && args[i-1].Text == "-d" && phpSetting().MatchString(a.Text):
		case options == "c" && (warning().MatchString(a.Text) || i > 0 && warning().MatchString(args[i-1].Text+a.Text) ||
			i+1 < len(args) && warning().MatchString(a.Text+args[i+1].Text)):
		case !a.Static || a.Text == "" || a.Text[0] != '-' || a.Text == "-m":
			return ""
		case a.Text == "-":
			return readsCode
		case strings.ContainsAny(a.Text[1:2], options), strings.HasPrefix(a.Text, "--eval"),
			strings.HasPrefix(a.Text, "--print"):
			return asProgram
		case a.Text == "-u" || a.Text == "-B" || a.Text == "-w" && options != "":
		case strings.HasPrefix(a.Text, "-I") && len(a.Text) > 2 && strings.Contains(options, "n"): // of perl and ruby
		case phpSetting().MatchString(a.Text), a.Text == "-d" && i+1 < len(args) && phpSetting().MatchString(args[i+1].Text):
		case a.Text == "--test" || harmlessOption().MatchString(a.Text):
			tests = tests || a.Text == "--test"
		default:
			return "its option " + a.Text + " is not known to be harmless"
		}
	}
	if tests { // of node: it runs those that it finds
		return ""
	}
	return readsCode
}

// usualValues are the programs that the options of others usually name: by which tar packs and man shows.
var usualValues = table{{compressors, "tar bsdtar"}, {viewers, "man"}}

const compressors lazy.Words = "gzip bzip2 xz zstd zstdmt lz4 lzip lzma lzop pigz pbzip2 pixz plzip pxz unzstd unxz brotli"

// runsBeside says what is doubtful about source with a file of the folder, which is a script as any other, and about
// pushd and popd, which changeDir follows; "" if they do something else.
func (c *Command) runsBeside(loop bool) string {
	switch {
	case c.Name == "popd" && len(c.Args) == 0 && !loop:
		return "where it goes is only known when it runs"
	case len(c.Args) == 1 && startFile().MatchString(c.Args[0].Text):
		return notLookedInto
	case len(c.Args) == 0 || !c.Args[0].Static || !quietRedirects(c):
		return ""
	}
	switch to := path.Clean(c.Args[0].Text); {
	case to[0] == '/' || to[0] == '-' || to[0] == '+' || to[0] == '~' || strings.HasPrefix(to, ".."):
	case c.Name == "pushd" && len(c.Args) == 1 && !loop:
		return "where it goes is only known when it runs"
	case c.Name == "source" || c.Name == ".":
		return notLookedInto
	}
	return ""
}

var (
	// startFile is a file with which a tool is set up in a shell, and startText what such a tool prints for eval.
	startFile = lazy.Regexp(`^"?(~|\$HOME|\$\{HOME\})/\.(nvm/nvm\.sh|cargo/env|sdkman/bin/sdkman-init\.sh|asdf/asdf\.sh|` +
		`ghcup/env|deno/env)"?$`)
	nvmFile   = lazy.Regexp(`^"?\$(NVM_DIR|\{NVM_DIR\})/nvm\.sh"?$`)
	startText = lazy.Regexp(`^"?\$\(((/opt/homebrew|/usr/local|/home/linuxbrew/\.linuxbrew)/bin/)?(pyenv|rbenv|nodenv|jenv|` +
		`fnm|mise|brew|conda|opam|ssh-agent|zoxide|starship|dircolors|minikube docker-env|direnv (hook|export))` +
		`( [\w. =-]+)?\)"?$`)
	variableName = lazy.Regexp(`^[A-Za-z_]\w*$`)
)

// setsGit reports settings before the sub-command: they can name programs, and new sub-commands.
func setsGit(args []Word) bool {
	for i := 0; i < len(args); i++ {
		switch name, _, _ := strings.Cut(args[i].Text, "="); {
		case !args[i].Static || args[i].Text == "" || args[i].Text[0] != '-':
			return false
		case name == "-c" && i+1 < len(args) && args[i+1].Static:
			setting, value, _ := strings.Cut(args[i+1].Text, "=")
			if words := strings.Fields(value); !plainSetting().MatchString(setting) && !(len(words) > 0 &&
				programSetting().MatchString(setting) && viewers.Has(words[0]) && plainCommand(words, false)) {
				return true
			}
			i++
		case name == "-c" || name == "--config-env" || name == "--exec-path":
			return true
		case globalValues.of("git").Has(args[i].Text):
			i++
		}
	}
	return false
}
