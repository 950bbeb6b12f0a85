package shellcmd

import (
	"slices"
	"strings"
)

// interpreters run programs in a language of their own. The options are those that come before a text to run, and those that
// only print something.
var interpreters = map[string]struct{ text, prints string }{
	"python": {"c", "-V --version"}, "python2": {"c", "-V --version"}, "python3": {"c", "-V --version"}, "pypy3": {"c", "--version"},
	"perl": {"eEnpMmi", "-v --version"}, "ruby": {"enpr", "-v --version"}, "node": {"epr", "-v --version"},
	"nodejs": {"epr", "-v --version"}, "bun": {"e", "--version"}, "deno": {"e", "--version"}, "php": {"rBRE", "-v --version"},
	"lua": {"el", "-v"}, "tclsh": {"", ""}, "Rscript": {"e", "--version"}, "osascript": {"e", ""}, "gdb": {"xe", "--version"},
	"awk": {"*", "--version"}, "gawk": {"*", "--version"}, "mawk": {"*", ""}, "nawk": {"*", ""}, "ed": {"*", "--version"},
	"ex": {"*", ""}, "vi": {"*", ""}, "vim": {"*", "--version"}, "dc": {"*", "--version"}, "at": {"*", ""}, "batch": {"*", ""},
	"m4": {"*", "--version"}, "expect": {"*", ""}, "source": {"*", ""}, ".": {"*", ""}, "crontab": {"*", ""},
	"mapfile": {"*", ""}, "readarray": {"*", ""}, "coproc": {"*", ""}, "fc": {"*", ""}, "alias": {"*", ""}, "enable": {"*", ""},
	"bind": {"*", ""}, "complete": {"*", ""}, "compgen": {"*", ""}, "unset": {"*", ""}, "read": {"*", ""}, "let": {"*", ""}, "shopt": {"*", ""},
	"getopts": {"*", ""}, "hash": {"*", ""}, "pushd": {"*", ""}, "popd": {"*", ""}, "history": {"*", ""},
	"declare": {"*", ""}, "export": {"*", ""}, "typeset": {"*", ""}, "readonly": {"*", ""}, "local": {"*", ""},
}

// interpreted doubts programs that are given as text, or on the input.
func (w *walker) interpreted(at int) {
	c := w.all.commands[at]
	if runsWords(&c) {
		w.grave(at, "one of its words names a program to run")
	}
	r, ok := interpreters[strings.TrimRight(c.Name, ".0123456789")]
	if !ok {
		if r, ok = interpreters[c.Name]; !ok {
			return
		}
	}
	if len(c.Args) == 1 && c.Args[0].Static && slices.Contains(strings.Fields(r.prints), c.Args[0].Text) {
		return
	}
	if names, ok := plainRead(&c); ok {
		for _, name := range names {
			w.bind(name, late)
		}
		return
	}
	if plainAwk(&c) {
		return
	}
	if why := asText(r.text, c.Args); why != "" {
		w.grave(at, why)
		for _, a := range c.Args {
			if a.Static {
				w.guessLiterals(at, a.Text)
			}
		}
		for _, r := range c.Redirects {
			if strings.HasPrefix(r.Op, "<<") && r.Target.Static {
				w.guessLiterals(at, r.Target.Text)
				w.guessText(at, r.Target.Text)
			}
		}
	}
}

// asText says how an interpreter gets a text to run that is no file.
func asText(options string, args []Word) string {
	if options == "*" {
		return "it runs or changes more than its words show"
	}
	for _, a := range args {
		switch {
		case !a.Static || a.Text == "" || a.Text[0] != '-' || a.Text == "-m":
			return ""
		case a.Text == "-":
			return "it runs what it reads"
		case a.Text == "-u" || a.Text == "-B" || a.Text == "-w" && options != "":
		case strings.ContainsAny(a.Text[1:2], options), strings.HasPrefix(a.Text, "--eval"), strings.HasPrefix(a.Text, "--print"):
			return "it runs a program that is given as text"
		default:
			return "its option " + a.Text + " is not known to be harmless"
		}
	}
	return "it runs what it reads"
}

// programWords are options and sub-commands that take a program to run.
var programWords = tokenLists("tar --checkpoint-action", "tar --to-command", "tar --use-compress-program", "tar -I", "tar -F", "tar --rsh-command",
	"sort --compress-program", "rg --pre", "rg --hostname-bin", "rsync -e", "rsync --rsh", "zip -TT", "man -P", "man --pager",
	"git rebase --exec", "git rebase -x", "git bisect run", "git submodule foreach", "git grep -O", "git grep --open-files-in-pager",
	"git difftool -x", "git difftool --extcmd", "git fetch --upload-pack", "git clone --upload-pack", "git clone -c", "git clone --config",
	"go test -exec", "go -toolexec", "go vet -vettool", "fd -x", "fd -X", "fd --exec", "fd --exec-batch")

func tokenLists(list ...string) (out [][]string) {
	for _, s := range list {
		out = append(out, strings.Fields(s))
	}
	return out
}

func runsWords(c *Command) bool {
	return slices.ContainsFunc(programWords, func(prefix []string) bool { return denies(prefix, c) }) || c.Name == "git" && setsGit(c.Args)
}

// setsGit reports settings before the sub-command: they can name programs, and new sub-commands.
func setsGit(args []Word) bool {
	for i := 0; i < len(args); i++ {
		switch name, _, _ := strings.Cut(args[i].Text, "="); {
		case !args[i].Static || args[i].Text == "" || args[i].Text[0] != '-':
			return false
		case name == "-c" || name == "--config-env" || name == "--exec-path":
			return true
		case strings.Contains(globalValues["git"], " "+args[i].Text+" "):
			i++
		}
	}
	return false
}
