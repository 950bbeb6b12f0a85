package shellcmd

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/lazy"
	"mvdan.cc/sh/v3/syntax"
)

// prompts are variables in which a shell expands substitutions.
const prompts lazy.Words = "PS0 PS1 PS2 PS3 PS4"

// searchedLater are variables in which programs look for what to load: they matter where they are set for all that
// follows, or name a folder for all.
const searchedLater lazy.Words = "PYTHONPATH NODE_PATH PERL5LIB RUBYLIB"

// Programs take the values of some variables for commands, for options, or for places to look for what they run.

var (
	// searched are variables in which programs look for what to run or to load.
	searched = lazy.Regexp(`^(PATH|LD_\w+|DYLD_\w+|BASH_ENV|ENV|PROMPT_COMMAND|GCONV_PATH|PERL5DB|` +
		`PYTHONSTARTUP|PYTHONHOME|(?i:npm_config_(script_shell|shell|git|node_options|userconfig|globalconfig))|` +
		`GIT_EXEC_PATH|GIT_TEMPLATE_DIR|GIT_CONFIG_(COUNT|PARAMETERS|KEY_\w+|VALUE_\w+))$`)
	// commandVariable is one whose value is a command for a shell, or the name of a program.
	commandVariable = lazy.Regexp(`(PAGER|EDITOR|VISUAL|BROWSER|COMMAND|ASKPASS|WRAPPER|RUNNER|_SSH|(^|_)RSH|EXTERNAL_DIFF|` +
		`LESSOPEN|LESSCLOSE|LINKER|LAUNCHER|CONNECT_PROG|CACHEPROG)$|^(SHELL|CC|CXX|LD|AR|MAKE|RUSTC|(G?VIM|EX|LUA_)INIT)$`)
	// settingsPlace is one in which programs look for their settings, which name programs.
	settingsPlace = lazy.Regexp(`^(GIT_(DIR|COMMON_DIR|CONFIG(_GLOBAL|_SYSTEM)?)|MAKEFILES|ZDOTDIR|INPUTRC|LESSKEY\w*|GOENV|` +
		`(OPENSSL|GIT_LFS)_CONF\w*|(PIP|AWS|RIPGREP|ANSIBLE|TF_CLI)_CONFIG\w*|(DOCKER|KUBE)_?CONFIG|PHPRC|PHP_INI_SCAN_DIR|` +
		`R_(PROFILE|ENVIRON)\w*|PSQLRC|CLASSPATH|GOROOT|` +
		`GOTOOLDIR|CMAKE_TOOLCHAIN_FILE|YARN_RC_FILENAME|BUNDLE_GEMFILE|GEM_(HOME|PATH)|JUPYTER_CONFIG_DIR)$`)
)

// buildHome are variables for folders in which builds also keep what they fetch: a new one has no settings.
const buildHome lazy.Words = "CARGO_HOME COMPOSER_HOME GRADLE_USER_HOME"

// mayWriteTo reports a text that may have more to do with the folder in /tmp that it gives a variable.
func (w *walker) mayWriteTo(name, folder string) bool {
	plain := w.all.outer.text
	return strings.Count(plain, "tmp") > strings.Count(folder, "tmp") || !strings.Contains(plain, name+"="+folder)
}

// inTemp reports a list of folders with one in which others may write.
func inTemp(list string) bool {
	return strings.Contains(":"+list+"/", ":/tmp/") || strings.Contains(":"+list, ":/tmp:")
}

// An optionRow is about variables whose values are more options for programs, or addresses that these fetch code from.
type optionRow struct {
	names  func() *regexp.Regexp
	values func() *regexp.Regexp // of those by which nothing else is run or loaded; a blank is before each
}

var optionRows = sync.OnceValue(func() (rows []optionRow) {
	for _, r := range [][2]string{
		{"NODE_OPTIONS", `--(max-(old|semi)-space-size=\d+|no-\w[\w-]*|trace-[\w-]+|pending-deprecation|stack-size=\d+|` +
			`unhandled-rejections=\w+|enable-source-maps|openssl-legacy-provider|dns-result-order=\w+|experimental-(fetch|` +
			`vm-modules|(strip|transform)-types|json-modules|sqlite|test-[\w-]+|global-webcrypto|specifier-resolution=\w+)|` +
			`inspect(-brk)?|disable-warning=\w+|use-[a-z-]+|expose-gc|preserve-symlinks(-main)?|throw-deprecation|` +
			`(stack-trace-limit|max-http-header-size)=\d+|tls-(min|max)-v[\d.]+|(cpu-)?prof|test-only|conditions=\w+)`},
		{"_?JAVA_(TOOL_)?OPTIONS|JDK_JAVA_OPTIONS|(JAVA|MAVEN|GRADLE|SBT|JVM|ANT)_OPTS", `-X(mx|ms|mn|ss)\d+[kKmMgG]?|` +
			`-XX:[+-]\w+|-XX:(Max|Min|Initial|Reserved)\w+=\d+(\.\d+)?[kmgKMG]?|-D[\w.]+(=[\w-]*)?|-ea|-server|` +
			`-Djava\.io\.tmpdir=/tmp|-Duser\.timezone=[\w/+-]+|--enable-preview|--add-(opens|exports)=[\w./=,-]+`},
		{"LESS", `-?[A-NP-Za-jl-np-z~\d]+|--(use-color|(?i:raw-control-chars)|quit-if-one-screen|no-init|chop-long-lines|` +
			`ignore-case|mouse|quiet|(tabs|wheel-lines)=\d+)`},
		{"(GNU)?MAKEFLAGS", `-?[jlksBnwirO]*\d*|--(no-print-directory|silent|keep-going|output-sync(=\w+)?|jobs(=\d+)?|` +
			`no-builtin-rules)|V=\d`},
		{"RUST(DOC)?FLAGS", `-[AWDF] ?[\w:-]+|--?(cfg|check-cfg)[ =][\w="]+|-g|-O|-C ?(target-cpu|target-feature|opt-level|` +
			`debuginfo|lto|codegen-units|panic|strip|instrument-coverage|debug-assertions|overflow-checks|` +
			`force-frame-pointers|incremental|embed-bitcode|prefer-dynamic)(=[\w,+-]+)?`},
		{"GOFLAGS", `--?(v|x|race|short|trimpath|work|a|msan|asan|(mod|buildvcs|count|p|vet|cover|timeout|tags|covermode|` +
			`parallel)=[\w,.]+|(gc|ld)flags=(all=)?-?[swlNmC]*(=?-?\w+=(true|false))?)`},
		{"(CGO_)?(C|CXX|CPP|LD)FLAGS", `-([gODUIL][\w=,./+-]*|-coverage|stdlib=libc\+\+|framework \w+|arch \w+|` +
			`isysroot [\w./-]+|l[\w.+-]+|m[\w=.-]+|W[\w=+-]*|Wl,(-z|-O|-rpath|--as-needed|` +
			`--gc-sections)[\w,=./-]*|f([a-oq-zPD][\w=,-]*|pic|pie|permissive)|std=[\w+]+|w|s|pthread|pipe|pedantic|shared|` +
			`static|isystem [\w./-]+)`},
		{"PYTEST_ADDOPTS", `-([qvxs]+|-(tb|color|maxfail|durations|timeout)=\w+|n ?\w+|-no-[a-z-]+|-cov=[\w./-]+|` +
			`-cov-\w+=[\w-]+|-lf|-ff|k ?\w+|m ?\w+( \w+)*|p no:\w+)`},
		{"RUBYOPT", `-W\d?(:[\w-]+)?|-w|-d|-E[\w:-]+|-K\w|-U|--(yjit|jit|(disable|enable)[=-][a-z_-]+)`},
		{"PERL5OPT", `-([wWtT]+|C\w*|M(strict|warnings|utf8))`},
		{"MANOPT|TAR_OPTIONS|ERL_FLAGS|ELIXIR_ERL_OPTIONS|FZF_DEFAULT_OPTS", `--?(color|sort|owner|group|mtime|height|` +
			`layout|numeric-owner|no-same-owner|reverse|border|ansi|i)(=[\w%:@-]*)?`},
		{"DOCKER_(HOST|CONTEXT)|CONTAINER_HOST", ownEngines}, // of this machine
		{"GOPROXY|(PIP|UV)_(EXTRA_|DEFAULT_)?INDEX(_URL)?|(?i:npm_config_registry)|YARN_(NPM_)?REGISTRY(_SERVER)?",
			`((https://[\w.-]+|https?://(localhost|127\.0\.0\.1))(:\d+)?(/[\w./-]*)?|direct|off|[,|])+`}, // not in plain text
	} {
		rows = append(rows, optionRow{lazy.Regexp("^(" + r[0] + ")$"), lazy.Regexp("^( (" + r[1] + "))*$")})
	}
	return rows
})

// exports are builtins and programs that set variables for what follows.
const exports lazy.Words = `export declare typeset readonly setx`

// redirectsPrograms returns a variable that a command sets and that makes programs run or load something else.
func (c *Command) redirectsPrograms() string {
	names, later := c.Assigns, exports.Has(c.Name)
	for _, a := range c.Args {
		name, value, sets := strings.Cut(strings.TrimLeft(a.Text, `"'`), "=")
		if later && (sets || c.Name == "setx") && !extends(name, value) {
			names = append(slices.Clip(names), strings.TrimSuffix(name, "+"))
		}
	}
	later = later || c.Name == "" || shells.Has(c.Name)
	for _, name := range names {
		if searched().MatchString(name) || later && searchedLater.Has(name) {
			return name
		}
	}
	return ""
}

// extends reports a PATH with folders added behind its own: no program that is there is another one then. Before it may
// be folders in which package managers install programs.
func extends(name, value string) bool {
	return name == "PATH" && extended().MatchString(strings.Trim(value, `"'`))
}

var extended = lazy.Regexp(`^((\$HOME|\$\{HOME\}|~)/(\.(local|cargo|bun|deno|volta|dotnet/tools|krew|pyenv|rbenv|asdf|yarn|` +
	`poetry)|go)(/bin|/shims)*:|/(usr/(local/(go/)?)?|opt/homebrew/)?s?bin:|node_modules/\.bin:)*\$\{?PATH\}?(:|$)`)

// variable doubts a value by which programs run, load or fetch more than the command shows, and guesses at it.
func (w *walker) variable(at int, name string, value Word) {
	text := withoutQuotes.Replace(value.Text)
	row := slices.IndexFunc(optionRows(), func(r optionRow) bool { return r.names().MatchString(name) })
	switch {
	case text == "":
	case commandVariable().MatchString(name):
		w.guessValue(at, name, value)
	case row >= 0:
		own := strings.NewReplacer("${"+name+":-}", " ", "${"+name+"}", " ", "$"+name, " ", "$(nproc)", "",
			"$(sysctl -n hw.ncpu)", "", "-L$HOME/", "-L/", "-I$HOME/", "-I/")
		plain := " " + strings.Join(strings.Fields(own.Replace(text)), " ")
		if plain != " " && !optionRows()[row].values().MatchString(plain) {
			w.severe(at, name+" has programs run more than the command")
			w.guessIn(at, value.Text)
		}
	case inTemp(text) && (settingsPlace().MatchString(name) || searchedLater.Has(name) ||
		buildHome.Has(name) && w.mayWriteTo(name, text)):
		w.severe(at, name+" has programs follow the settings in "+value.Text)
	case (name == "HOME" || name == "XDG_CONFIG_HOME") && inTemp(text):
		if w.all.homes == nil {
			w.all.homes = map[int]string{}
		}
		w.all.homes[at] = name
	case prompts.Has(name):
		from := len(w.all.commands)
		if w.guessAs(at, name, func() { w.guessEvaluated(at, []Word{value}) }) ||
			slices.ContainsFunc(w.all.commands[from:], doesMore) {
			w.severe(at, "what is in "+name+" cannot be determined")
		}
	}
}

// knownValue is the value of a variable, perhaps with another one where it has none, or the path of a program.
var knownValue = lazy.Regexp(`^\$(?:\{?(\w+)(?::?-([^}]*))?\}?|\((?:which|command -v|type -P) ([^)]*)\))$`)

// guessValue guesses at a text that a program runs, because it is the value of a variable, and doubts it unless it
// certainly is a program that only does what such programs do. It runs here, whatever that program does else.
func (w *walker) guessValue(at int, name string, value Word) {
	text, from := value.Text, len(w.all.commands)
	if m := knownValue().FindStringSubmatch(withoutQuotes.Replace(text)); m != nil &&
		(m[1] == "" || m[1] == name || commandVariable().MatchString(m[1])) { // whose own values are judged
		text, value.Static = m[2]+m[3], true
	}
	if !value.Static && !w.all.lists["HOME"] && w.all.values["HOME"] == "" {
		text = inHome.Replace(text)
		value.Static = !strings.ContainsAny(text, "$`")
	}
	if m := variableFirst().FindStringSubmatch(text); m != nil && !value.Static && compilers.Has(name) &&
		toolPath().MatchString(m[2]) && !w.mentionsSetting(m[1]) {
		text, value.Static = "/opt"+m[2], true // of a tool whose place the environment says
	}
	unclear := !value.Static || w.guessAs(at, name, func() { w.guessText(at, strings.TrimLeft(text, "|-!@ ")) })
	if ownCommand().MatchString(name) {
		if unclear && strings.ContainsAny(text, " \t\n$`;|&<>(") {
			w.severe(at, "what is in "+name+" cannot be determined")
		}
		return
	}
	if words := strings.Fields(text); value.Static && (len(words) == 0 || plainCommand(words, name == "SHELL")) {
		return
	}
	if unclear || len(w.all.commands) == from || slices.ContainsFunc(w.all.commands[from:], doesMore) {
		w.severe(at, "what is in "+name+" cannot be determined")
	}
}

// mentionsSetting reports a variable that the whole text may set.
func (w *walker) mentionsSetting(name string) bool {
	f := floor{outer: w.all.outer}
	return !f.unset(name) || strings.Contains(f.outer.text, "{"+name+"=") || strings.Contains(f.outer.text, "{"+name+":=")
}

// compilers are the variables for programs of builds.
const compilers lazy.Words = "CC CXX LD AR RUSTC"

var (
	// toolPath is the path of one, in a folder for programs below that of a variable.
	toolPath = lazy.Regexp(`^(/\.?[\w+-][\w.+-]*)*/bin/[\w.+-]+$`)
	// inHome is a path in the home folder, which stays the same.
	inHome = strings.NewReplacer("$HOME/", "~/", "${HOME}/", "~/", `"`, "")
	// ownCommand is a variable of which the project says what it is for, and not a common program.
	ownCommand = lazy.Regexp(`^((START|RUN|BUILD|TEST|INSTALL|DEV|HEALTH_?CHECK|CMAKE)_COMMAND|COMMAND|` +
		`(TEST|TASK)_RUNNER)$`)
)

func doesMore(c Command) bool { return c.Name != "sed" && onlyReads(&c, workdirs{any: true}) != "" }

// plainCommand reports words that begin with a program of the machine, such as a pager, an editor or a compiler, with
// options behind it: none that runs what it is given, unless that is what a shell is for.
func plainCommand(words []string, shell bool) bool {
	folder, name := path.Split(words[0])
	if folder != "" && !programFolders.Has(path.Clean(folder)) && !installed().MatchString(path.Clean(folder)) {
		return false
	}
	options := make([]Word, len(words)-1)
	for i, text := range words[1:] {
		options[i] = static(text)
	}
	switch {
	case shell && shells.Has(name):
		return len(options) == 0
	case name == "ssh":
		u := &invocation{command: &Command{Name: name}}
		return u.read(sshLooks(), options) == "" && len(u.operands) == 0 &&
			!strings.ContainsAny(textOf(options), "$`;|&<>(){}'\"\\*?!#\n")
	case compilerCaches.Has(name):
		return len(options) == 0 || plainCommand(words[1:], false)
	}
	unclear := func(a Word) bool { return !plainOption().MatchString(a.Text) }
	return (viewers.Has(name) || starters.Has(name)) && len(options) == 0 || plainProgramName().MatchString(name) &&
		!program().MatchString(name) && harmful(name) == "" && !runsText(name) && !runners()[name] && !packaged()[name] &&
		!projects.Has(name) && !loader().MatchString(name) && !slices.ContainsFunc(options, unclear)
}

// viewers are programs that show or edit a file.
const viewers lazy.Words = "cat less more most delta diff-so-fancy difft bat batcat head true false : nano vi vim nvim code ssh"

// starters are editors and browsers that a variable may name.
const starters lazy.Words = "emacs emacsclient open xdg-open"

const compilerCaches lazy.Words = "ccache sccache distcc icecc"

var (
	installed        = lazy.Regexp(`^(/(usr|opt|nix/store|Library|Applications)/|~/\.(local|cargo|volta)/bin$)`)
	plainProgramName = lazy.Regexp(`^[A-Za-z0-9_][\w.+-]*$`)
	// plainOption writes no file, and loads none: less -ox, less -kx, gcc -Bx, gcc -fplugin=x
	plainOption = lazy.Regexp(`^(-[AC-NP-Za-jl-np-z]{0,4}\d*|-O\w?|--[a-z]+(-[a-z]+)*(=(\d\w*|always|never|auto|plain|\.))?|` +
		`-(std|march|mtune|mcpu)=[\w+.-]+|-(W|fno-)[\w=-]+|-fsanitize=[\w,]+|-fPIC|-target|--target=[\w-]+|-[pT]\d+|\d+|` +
		`\w+-linux-(gnu|musl)\w*|c(c|\+\+))$`)
)

// variablesIn guesses at those in words, as env and export have them.
func (w *walker) variablesIn(at int, words []Word) {
	for _, x := range words {
		if name, value, sets := strings.Cut(x.Text, "="); sets {
			w.variable(at, name, Word{Text: value, Static: x.Static, kind: x.kind})
		}
	}
}

// keepValue records a variable's value; the last one counts. That of an array is its elements.
func (w *walker) keepValue(a *syntax.Assign) {
	if a.Name == nil || a.Append && a.Array != nil || a.Index != nil {
		return
	}
	var text []string
	if a.Value == nil && a.Array == nil { // X= is empty if nothing else sets or reads it
		if _, has := w.all.values[a.Name.Value]; !has && a.Name.Value != "IFS" && w.namedOnce(a.Name.Value) {
			w.keepText(a.Name.Value, "")
		}
		return
	}
	if a.Append {
		w.keepText(a.Name.Value, w.all.values[a.Name.Value]+readWord(a.Value, w.slice(a.Value), nil).Text)
		return
	}
	if a.Value != nil {
		text = append(text, readWord(a.Value, w.slice(a.Value), nil).Text)
	} else {
		for _, e := range a.Array.Elems {
			if e.Value != nil {
				text = append(text, readWord(e.Value, w.slice(e.Value), nil).Text)
			}
		}
	}
	w.keepText(a.Name.Value, strings.Join(text, " "))
}

// setOnce reports a variable that the text sets once, and nothing else in it sets, unsets or reads.
func (w *walker) setOnce(name string) bool {
	if w.computed == nil {
		w.computed = sync.OnceValue(func() bool { return computedName().MatchString(w.src) })
	}
	return w.namedOnce(name) && !w.computed()
}

// namedOnce reports a name that the text has once but to take its value.
func (w *walker) namedOnce(name string) bool {
	if once, known := w.once[name]; known {
		return once
	}
	if w.once == nil {
		w.once = map[string]bool{}
	}
	w.once[name] = timesNamed(name, w.src, 2) == 1
	return w.once[name]
}

// timesNamed is how often, or the most that counts, a text names a variable but to take its value.
func timesNamed(name, text string, most int) (times int) {
	for from := 0; times < most; {
		at := strings.Index(text[from:], name)
		if at < 0 {
			break
		}
		at += from
		before := text[:at]
		if from = at + len(name); (at == 0 || !isWordByte(text[at-1])) && (from == len(text) || !isWordByte(text[from])) &&
			!strings.HasSuffix(before, "$") && !strings.HasSuffix(before, "/") &&
			(!strings.HasSuffix(before, "${") || fallbackSets(text[from:])) &&
			!strings.HasSuffix(before, " -") { // as in mktemp -d
			times++
		}
	}
	return times
}

// fallbackSets reports what follows a name in ${X:=a}.
func fallbackSets(rest string) bool { return strings.HasPrefix(strings.TrimPrefix(rest, ":"), "=") }

// computedName is in a text that sets or unsets a variable whose name is only known when it runs.
var computedName = lazy.Regexp(`\b(?:read|declare|typeset|local|export|readonly|unset|mapfile|readarray)` +
	`(?:\s+(?:-\w+|\w+(?:=\S*)?))*\s+["']?\w*["']?[$` + "`" + `]`)

func (w *walker) keepText(name, value string) {
	if len(w.all.values) < 100 && len(value) <= 256 {
		if w.all.values == nil {
			w.all.values = map[string]string{}
		}
		w.all.values[name] = value
	}
}

// keepItems records the words of a loop for its variable. It is a list: the body of the loop runs for each.
func (w *walker) keepItems(name string, items []*syntax.Word) {
	var text []string
	for _, x := range items {
		text = append(text, readWord(x, w.slice(x), nil).Text)
	}
	w.keepText(name, strings.Join(text, " "))
	if w.all.lists == nil {
		w.all.lists = map[string]bool{}
	}
	w.all.lists[name] = true
}
