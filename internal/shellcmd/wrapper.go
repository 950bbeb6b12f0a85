package shellcmd

import (
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/textutil"
)

// A wrapper is a program that runs the command in its arguments.
type wrapper struct {
	names   string
	options string // as those of a row
	skip    int    // operands before the command
	assigns bool   // NAME=value may come first
	plain   bool   // it does nothing of its own
	own     string // what is doubtful about itself
	added   string // what is doubtful about the command in it

	spec *spec
}

const otherUser = "it runs as another user"

var wrapperRows = []wrapper{
	{names: "env", options: "i 0 v u= C= S= ignore-environment null debug unset= chdir= split-string=", assigns: true,
		plain: true},
	{names: "command", options: "p v V", plain: true}, {names: "builtin|nohup|rlwrap|busybox|toybox"},
	{names: "jobs", options: "l n p r s x"}, {names: "exec", options: "c l a="}, {names: "unbuffer", options: "p"},
	{names: "nice", options: "0 1 2 3 4 5 6 7 8 9 n= adjustment=", plain: true},
	{names: "ionice", options: "t c= n= class= classdata= ignore", plain: true},
	{names: "timeout", options: "v k= s= kill-after= signal= preserve-status foreground verbose", skip: 1, plain: true},
	{names: "setsid", options: "c f w ctty fork wait"},
	{names: "stdbuf", options: "i= o= e= input= output= error=", plain: true},
	{names: "time", options: "p v a q o= f= portability verbose append quiet output= format="},
	{names: "chrt", options: "a b f i m o r R v p= T= P= D=", skip: 1},
	{names: "taskset", options: "a c p=", skip: 1},
	{names: "chroot", options: "userspec= groups= skip-chdir", skip: 1, own: "it runs in another file system"},
	{names: "unshare", options: "c f i m n p r u U C T R= S= G= w= fork map-root-user mount net pid user",
		own: "it runs in a system of its own"},
	{names: "nsenter", options: "a F W t= S= G= all target=", own: "it runs in another system"},
	{names: "flock", options: "s x e u n o F v w= E= shared exclusive unlock nonblock close timeout=", skip: 1},
	{names: "watch", options: "b c d e g p t w x n= q= interval= exec", own: "it runs it again and again"},
	{names: "entr", options: "a c d n p r s z", own: "it runs it again and again"},
	{names: "strace", options: "c f C D i q r t T v V x y e= o= O= p= P= s= S= u= E="},
	{names: "ltrace", options: "c f C i L r S t T a= A= e= F= l= n= o= p= s= u="},
	{names: "fakeroot", options: "u l= s= i= b="}, {names: "proot", options: "r= b= w= q= k="},
	{names: "caffeinate", options: "d i m s u t= w="},
	{names: "sudo", options: "A b B E e H i K k l n P S s V v u= g= h= p= C= r= t= T= U= D= R= user= group= " +
		"preserve-env login shell non-interactive stdin set-home background chdir=", assigns: true, own: otherUser,
		added: otherUser},
	{names: "doas", options: "n L s u= C=", own: otherUser, added: otherUser},
	{names: "pkexec", options: "user=", own: otherUser, added: otherUser},
	{names: "runuser", options: "u= g= G=", own: otherUser, added: otherUser},
	{names: "gosu", skip: 1, own: otherUser, added: otherUser},
	{names: "xargs", options: "0 r t p x o I= n= P= L= d= a= E= s= J= R= null no-run-if-empty verbose interactive exit " +
		"max-args= max-procs= max-lines? replace? delimiter= arg-file= max-chars=", plain: true,
		added: "xargs adds words to it that are only known when it runs"},
	{names: "parallel", options: "0 k X a= j= I= N=", own: readsCode,
		added: "parallel adds words to it that are only known when it runs"},
	{names: "systemd-run", options: "d G P q r S t p= u= user scope pty unit=", own: "it runs as a service"},
}

var wrappers = sync.OnceValue(func() map[string]wrapper {
	m := map[string]wrapper{}
	for _, r := range wrapperRows {
		r.spec = leading(r.options)
		for name := range strings.SplitSeq(r.names, "|") {
			m[name] = r
		}
	}
	return m
})

// leading is for options before the first operand, behind which they are for something else.
func leading(options string) *spec {
	return (&spec{first: true, digits: true}).readOptions(options)
}

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
	c := Command{Via: append(slices.Clip(outer.Via), via), dirs: outer.dirs, Text: joinWords(words), branch: outer.branch,
		Assigns: append(slices.Clip(outer.Assigns), assigns...)}
	w.fill(&c, words)
	c.hidden = outer.hidden || !strings.Contains(outer.Text, c.Text)
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
func textOf(words []Word) string { return strings.Join(textsOf(words), " ") }

func textsOf(words []Word) []string {
	texts := make([]string, len(words))
	for i, x := range words {
		texts[i] = x.Text
	}
	return texts
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
	s := r.spec.before(c.Name, c.Args)
	split := s.last("S", "split-string")
	folder := s.last("C", "D", "chdir")
	looks := s.has("v", "V")
	switch {
	case looks && c.Name == "command":
		return
	case s.unknown != "":
		w.severe(at, "the option "+s.unknown+" of "+c.Name+" is not known")
		w.commandStarts(at, s.operands)
		w.guessAll(at, c.Args)
		return
	case split.Text != "":
		w.severe(at, c.Name+" splits a text into words")
		for _, x := range s.operands {
			if x.Static {
				x.Text = textutil.ShellQuoted(x.Text)
			}
			split.Text += " " + x.Text
		}
		w.string(at, split, c.Name+" -S")
		return
	case c.Name == "env" && len(s.operands) > 0 && s.operands[0].Text == "-":
		w.doubt(at, "env with options changes what runs") // as with -i
		s.operands = s.operands[1:]
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
	from := len(w.all.commands)
	w.afterOptions(at, r, s.operands, depth)
	if (c.Name == "xargs" || c.Name == "parallel") && s.last("a", "arg-file").Text != "" {
		w.feed(from, span{at, from})
	}
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
		if rest = rest[1:]; !extends(variable, value) {
			assigns = append(assigns, variable)
		}
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
	case w.all.commands[at].gainsWords():
		w.severe(at, "what it runs is only known when it runs")
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
