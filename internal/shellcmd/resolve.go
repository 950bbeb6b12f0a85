package shellcmd

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/lazy"
)

// resolve puts what is known of the variables in words that are only known when they run: $! for kill, and a path that
// begins with one.
func (w *walker) resolve() {
	w.feedFunctions()
	for i := range w.all.commands {
		c := &w.all.commands[i]
		if from := c.input; c.Name == "kill" && i > 0 && from.to == from.from+1 &&
			killsRead().MatchString(w.all.commands[i-1].Text) {
			c.again = ownProcess().MatchString("$(" + w.all.commands[from.from].Text + ")")
		}
	}
	for i := range w.all.commands {
		c := &w.all.commands[i]
		for n := range c.Redirects {
			w.resolveWord(&c.Redirects[n].Target)
		}
		for n, a := range c.Args {
			w.resolveWord(&c.Args[n])
			if c.Name != "kill" || a.Static {
				continue
			}
			name := strings.Trim(a.Text, `"${}`)
			value := strings.Trim(w.all.values[name], `"`)
			if value == "$!" || ownProcess().MatchString(value) && w.setOnce(name) {
				c.Args = slices.Clone(c.Args)
				c.Args[n].Text = value
			}
		}
	}
	says := sync.OnceValue(w.saysProcesses)
	own := func(a Word) bool { return ownProcess().MatchString(a.Text) }
	for i := range w.all.commands {
		c := &w.all.commands[i]
		if c.Name == "kill" && (c.again || slices.ContainsFunc(c.Args, own)) && says() {
			w.severe(i, "which processes it ends is what the text itself says")
		}
	}
}

// followHomes makes doubts of what runs where the user's settings are in a folder for all.
func (w *walker) followHomes() {
	all, home, depth := "", "", 0 // that for all that follows, and that for a command and what it runs
	for i := range w.all.commands {
		c := &w.all.commands[i]
		if name := w.all.homes[i]; name != "" && c.Name != "" && !c.built && !exports.Has(c.Name) {
			home, depth = name, len(c.Via)
		} else if name != "" {
			all = name
		} else if len(c.Via) <= depth {
			home = ""
		}
		if name := cmp.Or(home, all); name != "" && followers.Has(c.Name) && !c.maybe {
			w.severe(i, name+" has it follow settings that others may write")
		}
	}
}

// followers are programs that run what the user's settings name.
const followers lazy.Words = `git ssh scp sftp rsync hg svn gh vi vim nvim ex emacs less man tmux screen psql mysql gdb lldb
	zsh fish tig`

// saysProcesses reports a text that writes the numbers of other processes than its own where ownProcess reads some.
func (w *walker) saysProcesses() bool {
	for i := range w.all.commands {
		c := &w.all.commands[i]
		started := c.Name == "echo" && strings.Trim(textOf(c.Args), `"`) == "$!"
		if !started && slices.ContainsFunc(append(c.written(), c.redirected()...), func(file Word) bool {
			return !file.Static || strings.Contains(file.Text, ".pid")
		}) {
			return true
		}
	}
	return w.all.functions // which may have the name of a program
}

// feedFunctions records for the commands in functions what the first call with an input gives them.
func (w *walker) feedFunctions() {
	calls := map[string]span{}
	for i := len(w.all.commands) - 1; i >= 0 && w.all.functions; i-- {
		c := &w.all.commands[i]
		if slices.ContainsFunc(c.Redirects, func(r Redirect) bool { return r.Op[0] == '<' }) {
			calls[c.Name] = span{i, i + 1}
		} else if c.input != (span{}) {
			calls[c.Name] = c.input
		}
		for _, via := range c.Via {
			if name, ok := strings.CutPrefix(via, inFunction); ok && c.input == (span{}) {
				c.input = calls[name]
			}
		}
	}
}

// resolveWord sets the path of a word with a variable in front, for the first of the values that it has in a loop.
func (w *walker) resolveWord(x *Word) {
	if x.Static || x.kind == folder {
		return
	}
	m := variableFirst().FindStringSubmatch(x.Text)
	if m == nil {
		return
	}
	value := strings.Trim(w.all.values[m[1]], `"'`)
	if w.all.lists[m[1]] {
		value, _, _ = strings.Cut(value, " ")
	}
	if leadsOut(static(value)) {
		x.file = value + m[2]
	}
}

var variableFirst = lazy.Regexp(`^"?\$\{?(\w+)\}?"?(.*?)"?$`)
