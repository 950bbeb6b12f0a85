package shellcmd

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/lazy"
)

// A Verdict is the rules' judgement of a text.
type Verdict struct {
	// Effect is "allow", "ask" or "deny": the strictest over all parts of the text.
	Effect string
	// Reasons say what caused the effect or, for allow, what allows each part.
	Reasons []Reason
}

// A Reason is about one part of a text.
type Reason struct{ Command, Effect, Why string }

// Judge decides about a text. A text that Parse refuses is never allowed.
func (r Rules) Judge(text string, c Context) Verdict {
	s, err := parse(text)
	return r.judge(s, err, c)
}

// judge decides about a parsed text; err is why its rest was not parsed.
func (r Rules) judge(s *Script, err error, c Context) Verdict {
	var reasons []Reason
	for i := range s.Commands {
		part := &s.Commands[i]
		effect, why := r.part(part, c, err != nil)
		reasons = append(reasons, Reason{part.Text, effect, why})
	}
	switch {
	case err != nil:
		reasons = append(reasons, r.deniedIn(s.Text)...)
		reasons = append(reasons, Reason{quoted(s.Text), stricter(ask, r.otherwise()), err.Error()})
	case blanks().MatchString(s.Text):
		reasons = append(reasons, r.deniedIn(s.Text)...)
	case len(reasons) == 0:
		reasons = append(reasons, Reason{quoted(s.Text), r.otherwise(), "there is no command in it"})
	}
	return strictest(reasons)
}

// deniedIn finds the first denied command of a text that was refused, in any reading.
func (r Rules) deniedIn(text string) (reasons []Reason) {
	words := []string{"$'"}
	for _, prefix := range r.Deny {
		for _, one := range append(alike(prefix), prefix) {
			if len(one) > 0 {
				words = append(words, usualName(baseName(one[0])))
			}
		}
	}
	mentions := func(text string) bool { return mentions(text, words) }
	readings(text, mentions, func(s *Script) (done bool) {
		for i := range s.Commands {
			if why := r.denied(&s.Commands[i]); why != "" {
				reasons = []Reason{{s.Commands[i].Text, deny, why}}
				return true
			}
		}
		return false
	})
	return reasons
}

// denied says which rule denies a command, "" if none does.
func (r Rules) denied(c *Command) string {
	for _, prefix := range r.Deny {
		if denies(prefix, c) {
			return "commands that begin with " + strings.Join(prefix, " ") + " are denied"
		}
	}
	return ""
}

// quoted shows a text that may have invisible characters.
func quoted(text string) string {
	return shorten(strings.Map(func(r rune) rune {
		if hasHiddenChars(r) {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(text[:min(len(text), 4*maxShown)], "\uFFFD")))
}

func strictest(reasons []Reason) Verdict {
	v := Verdict{Effect: allow}
	for _, r := range reasons {
		v.Effect = stricter(v.Effect, r.Effect)
	}
	for _, r := range reasons {
		if r.Effect == v.Effect {
			v.Reasons = append(v.Reasons, r)
		}
	}
	return v
}

// part judges one command. Of a text that was refused only denied commands matter.
func (r Rules) part(c *Command, at Context, refused bool) (effect, why string) {
	if why := r.denied(c); why != "" {
		return deny, why
	}
	denied, fileNames := r.mayDeny(c), c.fileNames(at.workdirs(c.dirs))
	switch {
	case c.maybe:
		return allow, "it is judged with what may run it"
	case refused:
		return stricter(ask, r.otherwise()), "it is part of a text that is not understood"
	case len(c.Doubts) > 0:
		return stricter(ask, r.otherwise()), strings.Join(c.Doubts[:min(3, len(c.Doubts))], "; ")
	case denied != nil:
		return stricter(ask, r.otherwise()), "what the rule " + strings.Join(denied, " ") + " denies may be in it"
	case fileNames != "":
		return stricter(ask, r.otherwise()), fileNames
	case len(at.Env) > 0:
		return stricter(ask, r.otherwise()), "the variables given for it can change what runs"
	}
	return r.known(c, at)
}

// mayDeny returns a rule that could deny a command, if the words that are only known at run time matched the rule.
func (r Rules) mayDeny(c *Command) []string {
	if !c.Dynamic() {
		return nil
	}
	i := slices.IndexFunc(r.Deny, func(prefix []string) bool { return len(prefix) > 1 && c.Name == baseName(prefix[0]) })
	if i < 0 {
		return nil
	}
	return r.Deny[i]
}

// known judges a command without doubts.
func (r Rules) known(c *Command, at Context) (effect, why string) {
	p := at.workdirs(c.dirs)
	if by := plumbing(c); by != "" {
		if why := unsafeUse(c, p); why != "" {
			return stricter(ask, r.otherwise()), why
		}
		return allow, by
	}
	listed, by, why := r.listed(c, at, p)
	switch {
	case by != "":
		return allow, by
	case r.ReadOnly && onlyReads(c, p) == "":
		return allow, "it only reads"
	case listed:
		return stricter(ask, r.otherwise()), why
	case c.built && c.Name == "&":
		return r.otherwise(), "it runs in the background"
	case r.otherwise() == allow && unseen(c) != "":
		return ask, unseen(c)
	case r.ReadOnly:
		return r.otherwise(), cmp.Or(c.unpacks(), onlyReads(c, p))
	}
	return r.otherwise(), "no rule is about " + c.Name
}

// listed reports a rule about a command; by says that it allows it, or why says what it does not cover.
func (r Rules) listed(c *Command, at Context, p workdirs) (listed bool, by, why string) {
	for _, prefix := range r.Allow {
		if !lists(prefix, c) {
			continue
		}
		listed = true
		if why = uncoveredBy(prefix, c, at.Stdin, p); why == "" {
			return true, "the rule " + strings.Join(prefix, " ") + " allows it", ""
		}
	}
	return listed, "", why
}

// unsafeUse checks the parts that every command has: redirects, and folders.
func unsafeUse(c *Command, p workdirs) string {
	if !p.any && slices.ContainsFunc(p.dirs, func(d string) bool { return !p.inside(d) }) {
		return "it runs outside of the workspace"
	}
	for _, r := range c.Redirects {
		switch {
		case r.Writes:
			return "it writes to " + shorten(r.Target.Text)
		case r.Op == "<":
			if why := p.path(r.Target); why != "" {
				return why
			}
		}
	}
	if joints.Has(c.Name) || constructs.Has(c.Name) {
		if s, n := c.find(); s != nil {
			return s.uncovered(c, n, 0, p)
		}
	}
	return ""
}

// Joints are builtins that are allowed wherever the commands around them are, with the words that readRows covers.
var (
	joints     lazy.Words = `cd set test [ : true false break continue exit return wait`
	constructs lazy.Words = `[[ : { ( compound`
)

// plumbing says why a command only joins others.
func plumbing(c *Command) string {
	switch {
	case c.Program.Text != c.Name:
		return ""
	case c.sets:
		return "it only sets variables"
	case c.built && constructs.Has(c.Name), !c.built && joints.Has(c.Name):
		return "it only joins others"
	}
	if _, ok := plainRead(c); ok {
		return "it only sets variables"
	}
	if w, ok := wrappers()[c.Name]; ok && w.plain && len(c.Args) > 0 {
		return "what it runs is judged by itself"
	}
	if checksSyntax(c) || printsVersion(c) {
		return ""
	}
	// or there would be a doubt
	return when(shells.Has(c.Name) && (len(c.Args) == 0 || strings.HasPrefix(c.Args[0].Text, "-")),
		"what it runs is judged by itself")
}

// onlyReads says why a command may do more than read.
func onlyReads(c *Command, p workdirs) string {
	c, p.reads = c.subFirst(), true
	s, n := c.reading()
	switch {
	case c.Program.Text != c.Name || c.built:
		return "it is not the system's own " + c.Name
	case printsVersion(c):
		return unsafeUse(c, p)
	case s == nil || !s.read:
		return c.Name + " is not known to only read"
	}
	if why := unsafeUse(c, p); why != "" {
		return why
	}
	return s.uncovered(c, n, 0, p)
}

// versioned are programs that only print their name and version with these options. Programs that search the
// workspace for the program to run, or run something it names, are excluded: rustc, cargo, yarn, pnpm, wrappers of
// builds, dotnet --version, which runs the SDK of a global.json.
var versioned = table{
	{"--version", `node npm npx python python3 pip pip3 java javac ruby perl php deno bun bash gcc g++ clang make cmake
			docker podman kubectl curl wget tar sqlite3 psql jq rg fd gh terraform tofu aws vim protoc sed awk gawk find sort
			diff less ldd ld rsync mysql redis-cli shellcheck xxd`},
	{"-v", "node npm npx ruby perl php make docker podman nginx redis-cli unzip zip xxd dig"},
	{"-V", "python python3 pip pip3 curl wget psql ssh tmux nginx mysql"}, {"-version", "java javac sqlite3 ffmpeg"},
	{"version", "openssl gh helm"}, {"--list-sdks --list-runtimes", "dotnet"},
}

// A table has words, or what is said, and the programs that it is for.
type table [][2]lazy.Words

// of are the words for a program, "" for none.
func (t table) of(program string) (words lazy.Words) {
	for _, row := range t {
		switch {
		case !row[1].Has(program):
		case words == "":
			words = row[0]
		default:
			words += " " + row[0]
		}
	}
	return words
}

// indexed is of for tables that are long, or that are asked for each command.
func (t table) indexed() func(program string) lazy.Words {
	index := sync.OnceValue(func() map[string]lazy.Words {
		m := map[string]lazy.Words{}
		for _, row := range t {
			for program := range row[1].All() {
				m[program] = t.of(program)
			}
		}
		return m
	})
	return func(program string) lazy.Words { return index()[program] }
}

// printsVersion reports such a command, and one that prints a help text. That of mysql has the user's settings in it.
func printsVersion(c *Command) bool {
	return len(c.Args) == 1 && c.Args[0].Static && versioned.of(c.Name) != "" && (c.Args[0].Text == "--help" &&
		c.Name != "mysql" || versioned.of(c.Name).Has(c.Args[0].Text))
}

// Rules decide about commands. Allow and Deny are lists of token prefixes: {"git", "log"} stands for git log and what
// may follow it, and not for git logout.
type Rules struct {
	// Deny refuses a command in any disguise, with options in between too.
	Deny [][]string
	// Allow lets a command run when its effects are known: options and paths that could write, execute or leave the
	// workspace are not covered, unless the prefix names them. A program with sub-commands that is listed alone stands
	// for those sub-commands that this package knows.
	Allow [][]string
	// ReadOnly also allows the everyday commands that only read, with the options known to only read.
	ReadOnly bool
	// Otherwise is the effect for all others: "allow", "ask" or "deny"; "" is "ask". A command with doubts needs
	// approval even with "allow", and so does one that runs something not visible here: a file, or something of the
	// project (sh x.sh, make, npm test).
	Otherwise string
}

// The effects, from the most permissive to the strictest.
const (
	allow = "allow"
	ask   = "ask"
	deny  = "deny"
)

// stricter returns the stricter of two effects.
func stricter(a, b string) string {
	order := []string{allow, ask, deny}
	return order[max(slices.Index(order, a), slices.Index(order, b), 0)]
}

func (r Rules) otherwise() string {
	if slices.Contains([]string{allow, deny}, r.Otherwise) {
		return r.Otherwise
	}
	return ask
}

// Check finds mistakes. The error is for rules that cannot match; the warnings are for rules that match more than
// they seem to.
func (r Rules) Check() (warnings []string, err error) {
	if !slices.Contains([]string{"", allow, ask, deny}, r.Otherwise) {
		return nil, fmt.Errorf("otherwise = %q: it must be \"allow\", \"ask\" or \"deny\"", r.Otherwise)
	}
	for _, list := range []struct {
		name  string
		rules [][]string
	}{{allow, r.Allow}, {deny, r.Deny}} {
		for i, prefix := range list.rules {
			if err := checkPrefix(prefix); err != nil {
				return nil, fmt.Errorf("%s[%d]: %w", list.name, i, err)
			}
		}
	}
	for _, prefix := range r.Allow {
		if why := tooGeneral(prefix); why != "" {
			warnings = append(warnings, fmt.Sprintf("allow %q: %s", strings.Join(prefix, " "), why))
		}
	}
	return warnings, nil
}

func checkPrefix(prefix []string) error {
	if len(prefix) == 0 {
		return fmt.Errorf("a rule without words matches nothing; name a program")
	}
	for _, token := range prefix {
		if token == "" || strings.ContainsAny(token, " \t\n") {
			return fmt.Errorf("the word %q is empty or has a blank in it; give one word each", token)
		}
	}
	return nil
}

// runsOthers are programs that run their arguments, or commands of a project.
var runsOthers = table{
	{"sub-commands and settings of git can run programs; name the sub-command", "git"},
	{"find can run and delete; this package covers its harmless uses only", "find"},
	{"it runs what packages or projects say; name the script or the sub-command", "npm yarn pnpm cargo go"},
	{"it downloads and runs", "npx"}, {"it runs what its file says; name the target", "make gradle mvn"},
	{"it can reach all of the machine; name the sub-command", "docker podman"},
	{"it can change clusters; name the sub-command", "kubectl"},
	{"it can run any command", "awk tar vim vi ssh gdb rsync"},
	{"it can write files, and send them away", "curl wget"},
}

func tooGeneral(prefix []string) string {
	name := baseName(prefix[0])
	_, wraps := wrappers()[name]
	kind, _ := interpreterOf(name)
	switch {
	case wraps:
		return name + " runs other commands; those in it are judged by themselves, list them instead"
	case shells.Has(name) && len(prefix) == 1:
		return name + " runs any command; list the commands instead"
	case kind.text != "" && len(prefix) == 1:
		return name + " runs any program; list the script with it"
	case len(prefix) == 2 && slices.Contains([]string{"npm", "yarn", "pnpm"}, name) && prefix[1] == "run":
		return "this is every script of the project; name the script"
	case len(prefix) == 1 && runsOthers.of(name) == "" && hasSubs.Has(name):
		return name + " has sub-commands that change or run things; name the sub-command"
	case len(prefix) == 1:
		return string(runsOthers.of(name))
	case name == prefix[0] && coversAll(prefix):
		if reads := readingUnder(prefix); len(reads) > 0 {
			return "this also covers what changes things; those that are known to only read are " +
				strings.Join(reads[:min(maxNamed, len(reads))], ", ")
		}
	}
	return ""
}

const maxNamed = 12 // sub-commands that a warning names

// coversAll reports that a rule covers any word behind it.
func coversAll(prefix []string) bool {
	s, err := Parse(strings.Join(prefix, " ") + " unknown")
	return err == nil && len(s.Commands) > 0 && lists(prefix, &s.Commands[0]) &&
		uncoveredBy(prefix, &s.Commands[0], false, workdirs{any: true, dirs: []string{""}}) == ""
}

// readingUnder are the sub-commands that begin with some words and are known to only read.
func readingUnder(prefix []string) (out []string) {
	begin := strings.Join(prefix, " ") + " "
	for _, table := range []map[string]*spec{specs(), useSpecs()} {
		for name, s := range table {
			if s.read && strings.HasPrefix(name, begin) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// renamed are programs that go by other names, too: grm and gxargs where another rm is the system's own, RM where
// files have names in any case, rm.exe on Windows.
var renamed = lazy.Set(`rm rmdir unlink shred mv cp ln dd install tee truncate chmod chown chgrp mkdir mkfifo mknod
	touch find xargs env nice nohup timeout stdbuf time tar sed sort split csplit cpio patch kill chroot sudo su doas eval
	sh bash dash zsh mkfs shutdown reboot halt git curl wget ssh docker kubectl powershell pwsh cmd wsl reg schtasks
	wmic diskpart bcdedit netsh taskkill`)

// baseName is the name of a program without its folder; of those with several names, the usual one.
func baseName(program string) string {
	name := path.Base(program)
	usual := strings.TrimSuffix(strings.ToLower(name), ".exe")
	if other, g := strings.CutPrefix(usual, "g"); g && !renamed()[usual] {
		usual = other
	}
	if renamed()[usual] {
		return usual
	}
	return name
}

// lists reports that a rule is about a command: the same program, as written, and the same first words.
func lists(prefix []string, c *Command) bool {
	args := c.plainArgs()
	if len(prefix) == 0 || c.Program.Text != prefix[0] || len(args) < len(prefix)-1 {
		return false
	}
	for i, token := range prefix[1:] {
		if !args[i].Static || args[i].Text != token {
			return false
		}
	}
	return true
}

// uncoveredBy says why a rule that lists a command does not allow it.
func uncoveredBy(prefix []string, c *Command, input bool, p workdirs) string {
	if why := unsafeUse(c, p); why != "" {
		return why
	}
	if file := prefixFile(prefix); file != "" && !p.atRoot() {
		return file + " is another program in another folder"
	}
	if why := isProtected(c, prefix, p); why != "" {
		return why
	}
	words := len(prefix) - 1
	s, n := c.find()
	switch {
	case s != nil && (n > 0 || !tabled()[c.Name]):
		return s.uncovered(c, n, words, p)
	case input:
		return "it is given input, and what it does with it is not known"
	case words == 0 && (tabled()[c.Name] || hasSubs.Has(c.Name) && inspected()[c.Name]):
		if onlyReads(c, p) == "" {
			return ""
		}
		return "the rule names no sub-command, and this one is not known to be harmless"
	}
	rest := *c
	rest.Args = c.plainArgs()
	return uncoveredUnknown(&rest, words, p)
}

// prefixFile is the program of a rule that is found from the current folder, "" if there is none: ./x, and the x of
// python3 x.
func prefixFile(prefix []string) string {
	name := baseName(prefix[0])
	kind, interprets := interpreterOf(name)
	file := prefix[0]
	switch {
	case strings.Contains(file, "/"):
	case (shells.Has(name) || interprets && kind.text != "*") && len(prefix) > 1 && prefix[1][0] != '-':
		file = prefix[1]
	default:
		return ""
	}
	if path.IsAbs(file) {
		return ""
	}
	return file
}

// denies reports that a rule is about a command, in any spelling: by its base name, with global options before the
// sub-command, with short options bundled or apart, with long ones abbreviated, with one in place of the other, with
// another word for the sub-command.
func denies(prefix []string, c *Command) bool {
	return deniesAs(prefix, c) || slices.ContainsFunc(alike(prefix), func(one []string) bool { return deniesAs(one, c) })
}

func deniesAs(prefix []string, c *Command) bool {
	if len(prefix) == 0 || c.Name == "" && c.Program.Text != prefix[0] {
		return false
	}
	if name := path.Base(prefix[0]); c.Name != "" && usualName(c.Name) != usualName(name) &&
		path.Base(c.Program.Text) != name {
		return false
	}
	args := c.dashed()
	if c.Name == "cargo" && len(args) > 0 && strings.HasPrefix(args[0].Text, "+") { // with another toolchain
		args = args[1:]
	}
	if sub, rest := c.gitArgs(); len(prefix) > 1 && prefix[1] == "push" && (sub == "push" || sub == "send-pack") {
		return deniesPush(prefix[2:], rest)
	}
	option := func(token string) bool { return len(token) > 1 && token[0] == '-' }
	words := slices.DeleteFunc(slices.Clone(prefix[1:]), option)
	if len(words) > 0 && !startsWith(args, words, globalValues.of(c.Name)) {
		return false
	}
	same, options := spellings(prefix), args
	if end := slices.IndexFunc(args, func(a Word) bool { return a.Text == "--" }); end >= 0 && writers.Has(c.Name) &&
		(end == 0 || args[end-1].Text == "" || args[end-1].Text[0] != '-' || c.Name == "rm") { // or it may be a value
		options = args[:end+1] // what follows is files, whatever it looks like
	}
	return !slices.ContainsFunc(prefix[1:], func(token string) bool {
		return option(token) && !hasOption(options, token, same)
	})
}

// globalValues are options before a sub-command that take a word with them. Of other programs any option may.
var globalValues = table{
	{"-C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix --attr-source", "git"},
	{"-C", "go"}, {"--color --config -C -Z", "cargo"}, {"-", "rm"}, // none
}

// startsWith reports that the operands begin with some words.
func startsWith(args []Word, words []string, values lazy.Words) bool {
	// whether some number of the words may be before this argument, before the next one, and before the one after that
	here, next, after := make([]bool, len(words)), make([]bool, len(words)), make([]bool, len(words))
	here[0] = true
	for i, a := range args {
		option := len(a.Text) > 1 && a.Text[0] == '-'
		takes := option && (values == "" || values.Has(a.Text))
		for n, may := range here {
			switch {
			case !may || !a.Static:
			case option:
				next[n] = next[n] || !takes || values == ""
				after[n] = takes && !strings.Contains(a.Text, "=") && i+1 < len(args)
			case a.Text == words[n] && n+1 == len(words):
				return true
			case a.Text == words[n]:
				next[n+1] = true
			}
		}
		here, next, after = next, after, here
		clear(after)
	}
	return false
}

// Prefix returns the beginning that an "always" answer to a text may cover, as tokens for Rules.Allow: the program of
// one simple, fully known command, with its sub-command if it has one, such as {"git", "push"}, {"gh", "pr", "list"},
// {"npm", "run", "build"} or {"ls"}. It is nil for everything else: lists and pipes, redirects, interpreters, wrappers,
// commands that could do much harm, and those that such a rule would not cover, because of an option that is not known.
func Prefix(text string) []string {
	s, err := Parse(text)
	if err != nil || len(s.Commands) == 0 ||
		slices.ContainsFunc(s.Commands[1:], func(c Command) bool { return !c.maybe }) {
		return nil
	}
	c := &s.Commands[0]
	if c.Text != shorten(strings.TrimRight(text, " \t\n;")) {
		return nil // there is something around it
	}
	if len(c.Doubts)+len(c.Redirects)+len(c.Via) > 0 || c.kept != nil || runsText(c.Name) || joints.Has(c.Name) {
		return nil
	}
	prefix := c.prefix()
	if prefix == nil || harm(c, workdirs{any: true, dirs: []string{""}}) != "" {
		return nil
	}
	if uncoveredBy(prefix, c, false, workdirs{any: true, dirs: c.dirs}) != "" {
		return nil
	}
	return prefix
}

// runsText reports programs for which a prefix would cover anything.
func runsText(name string) bool {
	_, wraps := wrappers()[name]
	_, interprets := interpreterOf(name)
	return name == "" || wraps || interprets || shells.Has(name) ||
		slices.Contains([]string{"eval", "trap", "ssh", "su", "script", "npx", "&"}, name)
}

// groups are sub-commands whose next word says what is done: docker volume rm, gh pr merge.
const groups lazy.Words = `run exec compose stash remote worktree mod reflog bisect notes submodule lfs config env
	cache container image volume network system context builder buildx plugin secret service stack swarm node trust
	manifest pr issue release repo workflow label auth gist project variable ssh-key gpg-key codespace extension alias
	ruleset org pkg token access team owner profile dist-tag hook pip tool python toolchain component target override self
	nuget sln services tap state workspace rollout certificate set create addr link route neigh rule`

// targets are programs whose sub-commands are what a project calls them.
const targets lazy.Words = `make gmake just gradle mvn bazel`

// prefix is the program, and the sub-command. Of a program that also does other things, the words by which this
// command is known to read are the least, and there is no prefix where only the operands tell that.
func (c *Command) prefix() (out []string) {
	args := c.plainArgs()
	s, n := c.find()
	if s == nil || !s.read || n == 0 && tabled()[c.Name] {
		n = 0
		if use, words := c.findIn(useSpecs()); use != nil && onlyReads(c, workdirs{any: true, dirs: c.dirs}) == "" {
			if n = words; n == 0 && (use.check != nil || use.max != 0 || len(use.values) > 0) {
				return nil
			}
		}
		if n < 2 && len(args) > 0 && groups.Has(args[0].Text) && hasSubs.Has(c.Name) && !targets.Has(c.Name) {
			n = 2
		}
	}
	if n == 0 && (hasSubs.Has(c.Name) || hasSubs.Has(c.Program.Text)) {
		n = 1
	}
	out = []string{c.Program.Text}
	for i := range n {
		if i == len(args) || !args[i].Static || args[i].Text == "" || args[i].Text[0] == '-' ||
			strings.ContainsAny(args[i].Text, " =\t\n") {
			return nil
		}
		out = append(out, args[i].Text)
	}
	inside := func(word string) bool { return word == "exec" || word == "run" || word == "shell" }
	if packaged()[c.Name] && (len(out) == 1 ||
		otherSystems.Has(c.Name) && c.Name != "npm" && slices.ContainsFunc(out[1:], inside)) {
		return nil // any command behind it, or there
	}
	return out
}
