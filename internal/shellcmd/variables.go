package shellcmd

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
	"mvdan.cc/sh/v3/syntax"
)

// Programs take the values of some variables for commands, for options, or for places to look for what they run.

var (
	// searched are variables in which programs look for what to run or to load.
	searched = lazy.Regexp(`^(PATH|LD_\w+|DYLD_\w+|BASH_ENV|ENV|PROMPT_COMMAND|GCONV_PATH|PERL5OPT|PERL5DB|RUBYOPT|` +
		`PYTHONSTARTUP|PYTHONHOME|(?i:npm_config_(script_shell|shell|git|node_options|userconfig|globalconfig))|` +
		`GIT_EXEC_PATH|GIT_TEMPLATE_DIR|GIT_CONFIG_(COUNT|PARAMETERS|KEY_\w+|VALUE_\w+))$`)
	// searchedLater are those that matter where they are set for all that follows.
	searchedLater = lazy.Regexp(`^(PYTHONPATH|NODE_PATH|PERL5LIB|RUBYLIB)$`)
	// commandVariable is one whose value is a command for a shell, or the name of a program.
	commandVariable = lazy.Regexp(`(PAGER|EDITOR|VISUAL|BROWSER|COMMAND|ASKPASS|WRAPPER|RUNNER|_SSH|_RSH|EXTERNAL_DIFF|` +
		`LESSOPEN|LESSCLOSE|LINKER|CONNECT_PROG)$|^(SHELL|CC|CXX|LD|AR)$`)
	// optionVariable is one whose value is more options for a program, and loads are those that have it run more.
	optionVariable = lazy.Regexp(`^(NODE_OPTIONS|_?JAVA_(TOOL_)?OPTIONS|JDK_JAVA_OPTIONS|(JAVA|MAVEN|GRADLE|SBT)_OPTS|` +
		`LESS|MANOPT|TAR_OPTIONS|MAKEFLAGS|GNUMAKEFLAGS|RUSTFLAGS)$`)
	loads = lazy.Regexp(`(^|\s)(-r|--require|--import|--loader|--experimental-loader|-javaagent|-agentlib|-agentpath|` +
		`-XX:On\w+|\+|-P|--pager|--checkpoint|--to-command|--use-compress|-I|--eval|-f|-C\s*linker)`)
	// gitPlace is one in which git looks for its settings, which name programs.
	gitPlace = lazy.Regexp(`^GIT_(DIR|COMMON_DIR|CONFIG(_GLOBAL|_SYSTEM)?)$`)
	// prompt is one in which a shell expands substitutions.
	prompt = lazy.Regexp(`^PS[0-4]$`)
)

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
		if searched().MatchString(name) || later && searchedLater().MatchString(name) {
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

// variable guesses at the command in the value of a variable that is set.
func (w *walker) variable(at int, name string, value Word) {
	if !value.Static || value.Text == "" {
		return
	}
	switch {
	case commandVariable().MatchString(name):
		w.guessValue(at, name, value.Text)
	case optionVariable().MatchString(name) && loads().MatchString(value.Text):
		w.severe(at, name+" has programs run more than the command")
		w.guessIn(at, value.Text)
	case gitPlace().MatchString(name) && strings.HasPrefix(value.Text, "/tmp/"):
		w.severe(at, name+" has git follow the settings in "+value.Text)
	case prompt().MatchString(name):
		if w.guessAs(at, name, func() { w.guessEvaluated(at, []Word{value}) }) {
			w.severe(at, "what is in "+name+" cannot be determined")
		}
	}
}

// guessValue guesses at a text that a program runs, because it is the value of a variable. It runs here, whatever that
// program does with its other words.
func (w *walker) guessValue(at int, name, value string) {
	unclear := w.guessAs(at, name, func() { w.guessText(at, strings.TrimLeft(value, "|-!@ ")) })
	if unclear && strings.ContainsAny(value, " \t\n$`;|&<>(") { // or it only names a program
		w.severe(at, "what is in "+name+" cannot be determined")
	}
}

// variablesIn guesses at those in words, as env and export have them.
func (w *walker) variablesIn(at int, words []Word) {
	for _, x := range words {
		if name, value, sets := strings.Cut(x.Text, "="); sets && x.Static {
			w.variable(at, name, static(value))
		}
	}
}

// keepValue records a variable's value; the last one counts. That of an array is its elements.
func (w *walker) keepValue(a *syntax.Assign) {
	if a.Name == nil || a.Value == nil && a.Array == nil || a.Append || a.Index != nil {
		return
	}
	var text []string
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
