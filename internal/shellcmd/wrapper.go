package shellcmd

import (
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/textutil"
)

// A wrapper is a program that runs the command in its arguments.
type wrapper struct {
	flags, values string     // short options, without and with a value
	long          lazy.Words // long options; with = those that take a value, with ? those that may have one after =
	skip          int        // operands before the command
	assigns       bool       // NAME=value may come first
	plain         bool       // it does nothing of its own
	own           string     // what is doubtful about itself
	added         string     // what is doubtful about the command in it
}

const otherUser = "it runs as another user"

var wrappers = sync.OnceValue(func() map[string]wrapper {
	return map[string]wrapper{
		"env": {flags: "i0v", values: "uCS", long: "ignore-environment null debug unset= chdir= split-string=", assigns: true,
			plain: true},
		"command": {flags: "pvV", plain: true}, "builtin": {}, "jobs": {flags: "lnprsx"}, "nohup": {}, "rlwrap": {},
		"exec": {flags: "cl", values: "a"}, "busybox": {}, "toybox": {}, "unbuffer": {flags: "p"},
		"nice":   {flags: "0123456789", values: "n", long: "adjustment=", plain: true},
		"ionice": {flags: "t", values: "cn", long: "class= classdata= ignore", plain: true},
		"timeout": {flags: "v", values: "ks", long: "kill-after= signal= preserve-status foreground verbose", skip: 1,
			plain: true},
		"setsid":  {flags: "cfw", long: "ctty fork wait"},
		"stdbuf":  {values: "ioe", long: "input= output= error=", plain: true},
		"time":    {flags: "pvaq", values: "of", long: "portability verbose append quiet output= format="},
		"chrt":    {flags: "abfimorRv", values: "pTPD", skip: 1},
		"taskset": {flags: "ac", values: "p", skip: 1},
		"chroot":  {long: "userspec= groups= skip-chdir", skip: 1, own: "it runs in another file system"},
		"unshare": {flags: "cfimnpruUCT", values: "RSGw", long: "fork map-root-user mount net pid user",
			own: "it runs in a system of its own"},
		"nsenter":    {flags: "aFW", values: "tSG", long: "all target=", own: "it runs in another system"},
		"flock":      {flags: "sxeunoFv", values: "wE", long: "shared exclusive unlock nonblock close timeout=", skip: 1},
		"watch":      {flags: "bcdegptwx", values: "nq", long: "interval= exec", own: "it runs it again and again"},
		"entr":       {flags: "acdnprsz", own: "it runs it again and again"},
		"strace":     {flags: "cfCDiqrtTvVxy", values: "eoOpPsSuE"},
		"ltrace":     {flags: "cfCiLrStT", values: "aAeFlnopsu"},
		"fakeroot":   {flags: "u", values: "lsib"},
		"proot":      {values: "rbwqk"},
		"caffeinate": {flags: "dimsu", values: "tw"},
		"sudo": {flags: "AbBEeHiKklnPSsVv", values: "ughpCrtTUDR", assigns: true, own: otherUser, added: otherUser,
			long: "user= group= preserve-env login shell non-interactive stdin set-home background chdir="},
		"doas":    {flags: "nLs", values: "uC", own: otherUser, added: otherUser},
		"pkexec":  {long: "user=", own: otherUser, added: otherUser},
		"runuser": {values: "ugG", own: otherUser, added: otherUser},
		"gosu":    {skip: 1, own: otherUser, added: otherUser},
		"xargs": {flags: "0rtpxo", values: "InPLdaEsJR", plain: true, long: "null no-run-if-empty verbose interactive exit " +
			"max-args= max-procs= max-lines? replace? delimiter= arg-file= max-chars=",
			added: "xargs adds words to it that are only known when it runs"},
		"parallel": {flags: "0kX", values: "ajIN", own: readsCode,
			added: "parallel adds words to it that are only known when it runs"},
		"systemd-run": {flags: "dGPqrSt", values: "pu", long: "user scope pty unit=", own: "it runs as a service"},
	}
})

// unwrap lists the commands that a command runs.
func (w *walker) unwrap(at, depth int) {
	c := w.all.commands[at]
	if depth >= maxWrappers {
		w.severe(at, "too many wrappers around each other")
		return
	}
	switch {
	case c.Name == "":
		w.maybeEmpty(at, depth)
	case shells.Has(c.Name):
		w.shell(at)
	case c.Name == "eval" || c.Name == "trap" || c.Name == "ssh" || c.Name == "su" || c.Name == "script":
		w.textRunner(at)
	case c.Name == "find":
		w.findExec(at, depth)
	default:
		if r, ok := wrappers()[c.Name]; ok {
			w.wrapped(at, r, depth)
			return
		}
		w.runner(at)
		w.interpreted(at)
	}
}

func (w *walker) doubt(at int, why string) { w.all.commands[at].doubt(why) }

func (w *walker) severe(at int, why string) { w.all.commands[at].severeDoubt(why) }

// maybeEmpty lists what runs if the first word turns out to be nothing.
func (w *walker) maybeEmpty(at, depth int) {
	c := w.all.commands[at]
	if !c.Program.Static && len(c.Args) > 0 && strings.HasPrefix(c.Program.Text, "$") {
		w.inner(at, c.Program.Text+" being empty", c.Args, "", depth)
	}
}

// inner lists a command that is in the arguments of another.
func (w *walker) inner(at int, via string, words []Word, doubt string, depth int, assigns ...string) {
	outer := w.all.commands[at]
	c := Command{Via: append(slices.Clip(outer.Via), via), dirs: outer.dirs, Text: joinWords(words),
		Assigns: append(slices.Clip(outer.Assigns), assigns...)}
	w.fill(&c, words)
	if doubt != "" {
		c.doubt(doubt)
	}
	if slices.Contains([]string{"cd", "pushd", "popd", "export", "declare", "typeset", "readonly", "local"}, c.Name) {
		c.doubt("it changes the shell from behind " + via)
	}
	w.all.commands = append(w.all.commands, c)
	if len(w.all.commands) > maxCommands {
		w.all.err = &RefusedError{Reason: "it has too many commands"}
		return
	}
	w.unwrap(len(w.all.commands)-1, depth+1)
}

// textOf is the text that a program makes of several words.
func textOf(words []Word) string {
	texts := make([]string, len(words))
	for i, x := range words {
		texts[i] = x.Text
	}
	return strings.Join(texts, " ")
}

// joinWords shows words on one line.
func joinWords(words []Word) string {
	var b strings.Builder
	for _, x := range words {
		if b.Len() > maxShown {
			break
		}
		b.WriteString(x.Text + " ")
	}
	return shorten(b.String())
}

// wrapped finds the command in the arguments of a wrapper.
func (w *walker) wrapped(at int, r wrapper, depth int) {
	c := w.all.commands[at]
	if r.own != "" {
		w.doubt(at, r.own)
	}
	s := scan(r, c.Args)
	split, _ := s.value("S", "split-string")
	folder, _ := s.value("C", "D", "chdir")
	_, looks := s.value("v", "V")
	switch {
	case looks && c.Name == "command":
		return
	case s.unknown != "":
		w.severe(at, "the option "+s.unknown+" of "+c.Name+" is not known")
		w.commandStarts(at, s.rest)
		w.guessAll(at, c.Args)
		return
	case split.Text != "":
		w.severe(at, c.Name+" splits a text into words")
		for _, x := range s.rest {
			if x.Static {
				x.Text = textutil.ShellQuoted(x.Text)
			}
			split.Text += " " + x.Text
		}
		w.string(at, split, c.Name+" -S")
		return
	case c.Name == "env" && len(s.rest) > 0 && s.rest[0].Text == "-":
		w.doubt(at, "env with options changes what runs") // as with -i
		s.rest = s.rest[1:]
	case c.Name == "env" && len(s.given) > 0:
		w.doubt(at, "env with options changes what runs")
	}
	if (c.Name == "env" || c.Name == "sudo") && folder.Text != "" {
		dirs := make([]string, len(c.dirs))
		for i, d := range c.dirs {
			dirs[i] = joined(d, folder.Text)
		}
		w.all.commands[at].dirs = dirs
	}
	for _, a := range c.Args { // strace -o '|command'
		if strings.HasSuffix(c.Name, "trace") && a.Static && len(a.Text) > 1 && strings.ContainsAny(a.Text[:1], "|!") {
			w.severe(at, "what is after "+a.Text[:1]+" may be run")
			w.guessText(at, a.Text[1:])
		}
	}
	if slices.Contains([]string{"parallel", "systemd-run", "entr", "unbuffer", "time"}, c.Name) {
		unclear := w.guessAs(at, c.Name, func() { w.guessAll(at, c.Args) })
		if unclear && c.Name == "parallel" {
			w.severe(at, "what it runs cannot be determined")
		}
	}
	w.afterOptions(at, r, s.rest, depth)
}

// afterOptions continues with the operands of a wrapper.
func (w *walker) afterOptions(at int, r wrapper, words []Word, depth int) {
	name := w.all.commands[at].Name
	skipped, rest := words[:min(r.skip, len(words))], words[min(r.skip, len(words)):]
	if slices.ContainsFunc(skipped, func(x Word) bool { return !x.Static }) {
		w.severe(at, "a word before the command is only known when it runs")
	}
	switch {
	case name == "flock" && len(rest) > 1 && (rest[0].Text == "-c" || rest[0].Text == "--command"):
		w.string(at, rest[1], "flock -c")
	case name == "watch" && len(rest) > 0: // as words they would be looked at twice for each watch in a watch
		w.string(at, static(textOf(rest)), "watch")
	default:
		w.rest(at, r, rest, depth)
	}
}

func (w *walker) rest(at int, r wrapper, rest []Word, depth int) {
	name := w.all.commands[at].Name
	var assigns []string
	if r.assigns {
		w.variablesIn(at, rest)
	}
	from, shows := len(w.all.commands), true
	for r.assigns && len(rest) > 0 && strings.Contains(rest[0].Text, "=") {
		variable, value, _ := strings.Cut(rest[0].Text, "=")
		shows = shows && rest[0].Static && showing.Has(variable) && shown().MatchString(value)
		assigns, rest = append(assigns, variable), rest[1:]
	}
	switch {
	case shows && len(assigns) > 0 && len(rest) > 0 && r.added == "":
		w.inner(at, name, rest, "", depth)
		w.all.commands[from].Assigns = append(slices.Clip(w.all.commands[from].Assigns), assigns...)
	case len(rest) > 0 && name == "xargs" && w.textsOnly(at, rest):
		w.inner(at, name, rest, "", depth)
	case len(rest) > 0 && name == "xargs" && w.passesFileNames(at, rest):
		from := len(w.all.commands)
		w.inner(at, name, rest, "", depth)
		w.all.commands[from].Fed = r.added
		w.doubtNames(from, w.names.pattern)
		ends, _ := xargsReads(w.all.commands[at].Args)
		if each := w.names.each(ends); each.hint != "" {
			w.doubt(from, r.added+each.hint)
		}
	case len(rest) > 0:
		w.inner(at, name, rest, r.added, depth, assigns...)
		_, place := xargsReads(w.all.commands[at].Args)
		if whole := func(x Word) bool { return x.Text == place }; name == "xargs" && place != "" &&
			(strings.Contains(rest[0].Text, place) || shells.Has(baseName(rest[0].Text)) && slices.ContainsFunc(rest, whole)) {
			w.severe(at, readsCode)
		}
	case name == "xargs":
		w.doubt(at, "what it prints is only known when it runs")
	default:
		w.doubt(at, name+" is given no command")
	}
}

// commandStarts lists what may run when it is not sure where the command begins: rules that deny should see it.
func (w *walker) commandStarts(at int, rest []Word) {
	outer := w.all.commands[at]
	found := 0
	for i, x := range rest {
		if x.Static && strings.HasPrefix(x.Text, "-") {
			continue
		}
		c := Command{Via: append(slices.Clip(outer.Via), outer.Name), dirs: outer.dirs, Text: joinWords(rest[i:])}
		w.fill(&c, rest[i:])
		c.severeDoubt("it may be the command, or a word for " + outer.Name)
		w.all.commands = append(w.all.commands, c)
		if found++; found == 3 {
			return
		}
	}
}
