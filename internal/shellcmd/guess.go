package shellcmd

import (
	"cmp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
	"mvdan.cc/sh/v3/syntax"
)

// Commands that a program may run are guessed where its words are not conclusive: deny rules consider all guesses,
// other rules none.

const (
	// maxGuesses is how many guesses are made for one text, where each KiB counts as one; a text with more has a doubt.
	maxGuesses = 100
	// maxGuessed is how many words of one command are guessed at.
	maxGuessed = 40
)

// guess walks a possible command, and lists it as such.
func (w *walker) guess(at, size int, walk func(*walker)) {
	if w.all.guesses > maxGuesses {
		return // which parse makes a doubt
	}
	if w.all.guesses += 1 + size>>10; w.all.guesses > maxGuesses {
		return
	}
	inner, from, had, id := *w, len(w.all.commands), w.all.err, w.all.guesses
	outer := w.all.commands[at]
	inner.via = append(slices.Clip(outer.Via), "perhaps "+outer.Name)
	walk(&inner)
	w.all.err = had
	for i := from; i < len(w.all.commands); i++ {
		c := &w.all.commands[i]
		w.all.unclear = w.all.unclear || c.severe
		// A text for an interpreter is one whoever starts it: uv run python -c.
		text := c.severe && slices.Contains(c.Doubts, asProgram) && dialects()[usualName(c.Name)] != nil
		reads := c.severe && slices.Contains(c.Doubts, readsCode)
		c.maybe, c.severe, c.Doubts, c.guess = true, false, nil, cmp.Or(c.guess, id)
		c.reads = c.reads || reads
		if text && !c.otherDirectory() {
			c.severe, c.Doubts = true, []string{asProgram}
		}
	}
}

// guessAs makes guesses that are found in another name, and reports that one of them cannot be determined.
func (w *walker) guessAs(at int, name string, guess func()) (unclear bool) {
	from, via, had := len(w.all.commands), len(w.all.commands[at].Via), w.all.unclear
	w.all.unclear = false
	guess()
	for i := range w.all.commands[from:] {
		w.all.commands[from+i].Via[via] = "perhaps " + name
	}
	unclear, w.all.unclear = w.all.unclear, w.all.unclear || had
	return unclear
}

// otherSystems are programs whose words run in another system, or may not be commands at all.
const otherSystems lazy.Words = `docker podman nerdctl ctr runc crun kubectl oc lxc-attach lxc-execute machinectl
	systemd-nspawn limactl lxc incus multipass distrobox toolbox vagrant heroku fly ansible salt mail mailx mutt dialog
	whiptail git npm adb colima devcontainer plink`

// otherDirectory reports a guess that, even when it is right, certainly does not run in this system.
func (c *Command) otherDirectory() bool {
	return c.maybe && slices.ContainsFunc(c.Via, func(via string) bool {
		name, guessed := strings.CutPrefix(via, "perhaps ")
		return guessed && otherSystems.Has(name)
	})
}

// guessWords treats all words from some index on as a command.
func (w *walker) guessWords(at int, args []Word) {
	if len(args) == 0 {
		return
	}
	args = args[:min(len(args), maxGuessed)]
	w.guess(at, len(args)<<5, func(inner *walker) {
		outer := w.all.commands[at]
		c := Command{Via: inner.via, dirs: outer.dirs, Text: joinWords(args)}
		for _, r := range outer.Redirects { // it has the same input
			if r.Op[0] == '<' {
				c.Redirects = append(c.Redirects, r)
			}
		}
		inner.fill(&c, args)
		inner.all.commands = append(inner.all.commands, c)
		inner.unwrap(len(inner.all.commands)-1, 1)
	})
}

// guessText treats a text as one that a shell runs.
func (w *walker) guessText(at int, text string) {
	if strings.TrimSpace(text) == "" || w.level >= maxLevel {
		return
	}
	for _, reading := range visible(text) {
		if len(reading) > maxText {
			continue
		}
		w.guess(at, len(reading), func(inner *walker) {
			deeper := walker{src: reading, all: w.all, via: inner.via, level: w.level + 1}
			w.all.err = nil
			deeper.text(w.all.commands[at].dirs)
		})
	}
}

// guessEvaluated guesses at the substitutions in words that are evaluated, as in read 'a[$(rm x)]'.
func (w *walker) guessEvaluated(at int, args []Word) {
	for _, a := range args[:min(len(args), maxGuessed)] {
		text := a.Text
		if !a.Static {
			text = unescape(text, "$`\"\\")
		}
		if !strings.ContainsAny(text, "$`") || w.level >= maxLevel || checkText(text) != nil {
			continue
		}
		w.guess(at, len(text), func(inner *walker) {
			w.all.err = nil
			inner.evaluatedText(text, w.all.commands[at].dirs)
		})
	}
}

// evaluatedText walks the substitutions in a text that is evaluated, in quotes or not.
func (w *walker) evaluatedText(text string, dirs []string) {
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash))
	if word, err := parser.Document(strings.NewReader(text)); err == nil {
		deeper := walker{src: text, all: w.all, via: w.via, level: w.level + 1}
		deeper.hiddenIn(word, dirs)
	}
}

// guessAll guesses at all words of a command: as the first word of a command each, and as texts.
func (w *walker) guessAll(at int, args []Word) {
	if len(args) > maxGuessed {
		w.all.guesses = maxGuesses + 1
	}
	for i, a := range args[:min(len(args), maxGuessed)] {
		if !a.Static {
			continue
		}
		if !strings.HasPrefix(a.Text, "-") {
			w.guessWords(at, args[i:])
		}
		w.guessIn(at, a.Text)
	}
}

// textStarts are prefixes of a shell text in the words of programs.
var textStarts = lazy.Regexp(`(?i)(=|!|:|\|+|\.s[a-z]*\s|\bshell\s|\bexec\s|\bspawn\s|\bsystem\s|\brun\s|\bpipe\s|\bexec:|\bsystem:|\be\s)`)

// guessIn guesses at the texts in a word: all of it, and the parts after some signs.
func (w *walker) guessIn(at int, text string) {
	if strings.ContainsAny(text, " \t\n;|&") {
		w.guessText(at, text)
	}
	for _, m := range textStarts().FindAllStringIndex(text, 8) {
		w.guessText(at, strings.TrimRight(strings.TrimLeft(text[m[1]:], "!:|\"' \t"), ")}\"'"))
	}
	w.guessLiterals(at, text)
}

var (
	literal  = lazy.Regexp("\"((?:[^\"\\\\]|\\\\.)*)\"|'((?:[^'\\\\]|\\\\.)*)'|`([^`]*)`|\\(([^()\"'`]+)\\)|\\{([^{}\"'`]+)\\}|\\[([^\\[\\]\"'`]+)\\]|<([^<>\"'`]+)>|\\|([^|\"'`]+)\\||/([^/\"'`]+)/")
	runsCode = lazy.Regexp(`(?i)system|exec|popen|spawn|subprocess|call|run|getline|shell|fork|eval|require|import|qx|%x|\||` +
		"`")
)

// guessLiterals treats the strings in code as texts and as lists of words, if the code seems to run something.
func (w *walker) guessLiterals(at int, code string) {
	if !runsCode().MatchString(code) {
		return
	}
	var list []Word
	end := -1
	for _, m := range literal().FindAllStringSubmatchIndex(code, 40) {
		text := ""
		for g := 2; g < len(m); g += 2 {
			if m[g] >= 0 {
				text = code[m[g]:m[g+1]]
			}
		}
		if end < 0 || strings.Trim(code[end:m[0]], " \t\n\f\r,[") != "" {
			w.guessWords(at, list)
			list = nil
		}
		list, end = append(list, static(text)), m[1]
		w.guessText(at, unescape(text, `"'`))
	}
	w.guessWords(at, list)
}

// runner guesses at the command of a runner, and adds a doubt. It reports whether the command is one.
func (w *walker) runner(at int) bool {
	c := w.all.commands[at]
	if _, plain := plainRead(&c); plain {
		return false
	}
	switch {
	case strings.HasPrefix(c.Name, "-"):
		w.guessAll(at, c.Args)
	case len(c.Args) == 1 && (c.Args[0].Text == "--version" || c.Args[0].Text == "--help" || c.Args[0].Text == "-V"):
		return false
	case c.onlyShows():
		w.doubt(at, "what it shows or adds is not looked into")
		return true
	case runners()[c.Name] || loader().MatchString(c.Name):
		unclear := w.guessAs(at, c.Name, func() { w.guessAll(at, c.Args) })
		w.launches(at, c.Name+" runs what it is given", launchers.Has(c.Name) && !unclear, c.Args)
		return true
	case packaged()[c.Name]:
		if !otherSystems.Has(c.Name) { // cross-env NAME=value
			w.variablesIn(at, c.Args)
		}
		w.packageRunner(at)
	case c.Name == "make" || c.Name == "gmake":
		w.makefile(at)
	case c.Name == "sed" || c.Name == "gsed":
		w.sed(at)
	case c.Name == "less" || c.Name == "more" || c.Name == "most" || c.Name == "pg":
		for _, a := range c.Args {
			if strings.HasPrefix(a.Text, "+") {
				w.severe(at, a.Text+" is a command for "+c.Name)
				w.guessIn(at, a.Text)
			}
		}
	case c.Name == "ip" && hasWord(c.Args, "exec"):
		w.severe(at, "ip runs what it is given")
		w.guessAll(at, c.Args)
	}
	if c.Name == "tar" && len(c.Args) > 0 && !strings.HasPrefix(c.Args[0].Text, "-") &&
		strings.ContainsAny(c.Args[0].Text, "IF") {
		w.severe(at, "a letter of "+c.Args[0].Text+" names a program to run")
		w.guessAll(at, c.Args[1:])
	}
	w.programOptions(at)
	return false
}

// launches adds a doubt, which is severe unless all that may be run is among the guesses.
func (w *walker) launches(at int, why string, all bool, args []Word) {
	w.doubt(at, why)
	w.all.commands[at].severe = w.all.commands[at].severe || !all ||
		slices.ContainsFunc(args, func(a Word) bool { return !a.Static && a.kind != glob })
}

// packageRunner guesses at the command of a program that runs one of a package, perhaps as a text for a shell. The
// words behind npm exec are commands of this system.
func (w *walker) packageRunner(at int) {
	c, name := w.all.commands[at], w.all.commands[at].Name
	if name == "npm" && len(c.Args) > 0 && (c.Args[0].Text == "exec" || c.Args[0].Text == "x") {
		name = "npm exec"
	}
	if name == "yarn" && len(c.Args) > 2 && c.Args[0].Text == "workspace" {
		w.guessWords(at, append([]Word{c.Program}, c.Args[2:]...))
	}
	from := len(w.all.commands)
	w.guessAs(at, name, func() { w.guessAll(at, c.Args) })
	for i := range w.all.commands[from:] {
		w.all.commands[from+i].script = c.names(&w.all.commands[from+i])
	}
	for i, a := range c.Args[:max(0, len(c.Args)-1)] {
		text := c.Args[i+1]
		if slices.Contains([]string{"-c", "--call", "--run", "--command"}, a.Text) && text.Static &&
			!otherSystems.Has(name) && w.guessAs(at, name, func() { w.guessText(at, text.Text) }) {
			w.severe(at, "the text it runs cannot be determined")
		}
	}
}

// scriptRunners run a script of the project by the name behind run; bun runs other programs there too, and pnpm without
// that word.
const scriptRunners lazy.Words = `npm pnpm yarn`

// names reports a guess that begins with the word for a sub-command or a script of the project.
func (c *Command) names(guess *Command) bool {
	at := len(c.Args) - len(guess.Args) - 1
	run := at == 1 && scriptRunners.Has(c.Name) && (c.Args[0].Text == "run" || c.Args[0].Text == "run-script")
	return len(guess.Via) == len(c.Via)+1 && (run || at == 0 && hasSubs.Has(c.Name) && c.Name != "pnpm") &&
		c.Args[at].Text == guess.Program.Text
}

// makefile adds a doubt about a makefile that is read from the input, and guesses at the variables that are set.
func (w *walker) makefile(at int) {
	operands, options := splitOptions(w.all.commands[at].Args, "-f --file --makefile")
	reads := slices.ContainsFunc(options, func(g given) bool {
		return g.value.Text == "-" || strings.HasPrefix(g.value.Text, "/dev/") || strings.HasPrefix(g.value.Text, "<(")
	})
	for _, a := range operands {
		name, value, sets := strings.Cut(a.Text, "=")
		if sets && a.Static {
			w.variable(at, name, static(value))
			unclear := w.guessAs(at, name, func() { w.guessText(at, strings.TrimLeft(value, "|-!@ ")) })
			if unclear && strings.ContainsAny(value, " \t\n$`;|&<>(") { // or it only names a program
				w.severe(at, "what is in "+name+" cannot be determined")
			}
		}
		reads = reads || sets && name == "SHELL"
	}
	if reads {
		w.severe(at, readsCode)
		w.guessHere(at)
	}
}

// loader are the names of the program that starts programs.
var loader = lazy.Regexp(`^(ld(-linux.*|-musl.*|64)?\.so(\.\d+)*|ld-[0-9.]+\.so|ld-musl-.*\.so\.1)$`)

// programOptions adds doubts about options that take a program, and guesses at it.
func (w *walker) programOptions(at int) {
	c := w.all.commands[at]
	options, args, sub := programOptions(c.Name), c.Args, ""
	if c.Name == "git" {
		w.gitPrograms(at)
		sub, args = c.gitArgs()
		options = gitProgramOptions.of(sub)
	}
	for i, a := range args {
		if a.Text == "--" && c.Name == "cargo" {
			break
		}
		for o := range options.All() {
			value, has := optionValue(a.Text, o)
			if value == "" && i+1 < len(args) && args[i+1].Static {
				value = args[i+1].Text
			}
			words := strings.Fields(value)
			if !has || len(words) > 0 && usualValues.of(c.Name).Has(words[0]) && plainCommand(words, false) {
				continue
			}
			// it runs here, whatever git does with other words
			unclear := w.guessAs(at, strings.TrimSpace(c.Name+" "+o), func() {
				if i+1 < len(args) && (value == "" || value == args[i+1].Text) {
					w.guessWords(at, args[i+1:])
				}
				w.guessText(at, value)
				w.guessIn(at, value)
			})
			w.launches(at, a.Text+" names a program to run", !unclear && clearOptions.Has(cmp.Or(sub, c.Name)), args[i:])
		}
	}
}

// clearOptions are programs, and sub-commands of git, whose such options take no more than what they run.
const clearOptions lazy.Words = `fd fdfind rebase bisect submodule`

// optionValue reports that a word is an option, perhaps abbreviated or in a bundle, and returns the attached value.
func optionValue(text, option string) (value string, has bool) {
	name, value, _ := strings.Cut(text, "=")
	switch {
	case text == option || name == option:
		return value, true
	case strings.HasPrefix(option, "--"):
		return value, len(name) > 2 && strings.HasPrefix(option, name)
	case len(option) == 2 && option[0] == '-' && len(text) > 1 && text[0] == '-' && text[1] != '-':
		if at := strings.IndexByte(text, option[1]); at > 0 {
			return text[at+1:], true
		}
	}
	return "", false
}

// optionOf reports that a word is one of some options.
func optionOf(text string, options lazy.Words) bool {
	for option := range options.All() {
		if _, has := optionValue(text, option); has {
			return true
		}
	}
	return false
}

// gitPrograms adds doubts about settings, transports and sub-commands of git that name programs.
func (w *walker) gitPrograms(at int) {
	c := w.all.commands[at]
	for i, a := range c.Args {
		if transport := strings.Index(a.Text, "ext::"); transport >= 0 {
			w.severe(at, a.Text+" names a program to run")
			w.guessAs(at, "git ext::", func() {
				w.guessText(at, strings.ReplaceAll(a.Text[transport+5:], "% ", `\ `))
				w.guessText(at, strings.ReplaceAll(a.Text[transport+5:], "% ", " "))
			})
		}
		if a.Text == "-c" && i+1 < len(c.Args) || a.Text == "--config-env" {
			w.guessAs(at, "git -c", func() { w.guessIn(at, c.Args[min(i+1, len(c.Args)-1)].Text) })
		}
	}
	if sub, rest := c.gitArgs(); sub == "config" || sub == "hook" || sub == "for-each-repo" {
		w.guessAll(at, rest)
	}
}

var sedRuns = lazy.Regexp(`^[0-9,$!~+\s]*e\s*`)

// sed adds doubts about scripts that are not known to be harmless, and guesses at the commands in them.
func (w *walker) sed(at int) {
	args := slices.DeleteFunc(slices.Clone(w.all.commands[at].Args),
		func(a Word) bool { return strings.HasPrefix(a.Text, "-i") })
	operands, options := splitOptions(args, "-e -f -l --expression --file --line-length")
	scripts, file := sedTexts(operands, options)
	if file {
		w.severe(at, "the script of sed is in a file")
	}
	for _, s := range scripts {
		w.sedScript(at, s)
	}
}

// sedTexts are the scripts of sed: the first operand, or those of -e, and whether one is in the file of -f.
func sedTexts(operands []Word, options []given) (scripts []Word, file bool) {
	for _, g := range options {
		letter := strings.TrimLeft(g.name, "-")[0]
		if file = file || letter == 'f'; letter == 'e' {
			scripts = append(scripts, g.value)
		}
	}
	if scripts == nil && !file {
		scripts = operands[:min(1, len(operands))]
	}
	return scripts, file
}

func (w *walker) sedScript(at int, s Word) {
	switch {
	case !s.Static:
		w.severe(at, "the script of sed is only known when it runs")
		return
	case sedScript().MatchString(s.Text):
		return
	case strings.ContainsAny(s.Text, sedWrites):
		w.severe(at, "the script of sed may run commands or write files")
	}
	pieces := append(sedPieces().Split(s.Text, 40), s.Text)
	if hidden := hideEscaped.Replace(s.Text); hidden != s.Text {
		for _, piece := range sedPieces().Split(hidden, 40) {
			pieces = append(pieces, showEscaped.Replace(piece))
		}
	}
	for _, piece := range pieces {
		w.guessText(at, piece)
		w.guessText(at, sedRuns().ReplaceAllString(piece, ""))
	}
}

var sedPieces = lazy.Regexp(`[/|,;#@:\n{}]`)

// In a text between the separators of a command of sed, one with a backslash is a plain character: s/x/rm -rf \//e.
var (
	hideEscaped = strings.NewReplacer(`\/`, "\ue000", `\|`, "\ue001", `\,`, "\ue002", `\;`, "\ue003", `\#`, "\ue004",
		`\@`, "\ue005", `\:`, "\ue006")
	showEscaped = strings.NewReplacer("\ue000", "/", "\ue001", "|", "\ue002", ",", "\ue003", ";", "\ue004", "#",
		"\ue005", "@", "\ue006", ":")
)

// sedWrites are letters that may be the commands e, w and W, or the flags e and w.
const sedWrites = "eEwW"
