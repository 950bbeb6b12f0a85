package shellcmd

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
	"mvdan.cc/sh/v3/syntax"
)

// A Risk says how much harm a text could do.
type Risk struct {
	// Level is "low" (it only reads, inside the workspace), "medium", or "high" (it deletes, escalates, runs what it
	// downloads, writes outside of the workspace, or cannot be determined).
	Level string `json:"level"`
	// Reasons are short sentences, those for the level first; none for "low".
	Reasons []string `json:"reasons"`
}

// Assess says how much harm a text could do, for a person who is asked about it, and returns its commands: none if it
// cannot be parsed.
func Assess(text string, c Context) (Risk, []Command) {
	s, err := parse(text)
	if err != nil {
		return Risk{"high", []string{err.Error()}}, nil
	}
	var high []string
	for i := range s.Commands {
		part := &s.Commands[i]
		if why := harm(part, c.workdirs(part.dirs)); why != "" {
			high = add(high, part.Text+": "+why)
		}
	}
	if len(high) > 0 {
		return Risk{"high", high}, s.Commands
	}
	v := Rules{ReadOnly: true}.judge(s, nil, c)
	if v.Effect == allow {
		return Risk{"low", []string{}}, s.Commands
	}
	var medium []string
	for _, r := range v.Reasons {
		medium = add(medium, r.Command+": "+r.Why)
	}
	return Risk{"medium", medium}, s.Commands
}

func add(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// harmful are programs made to delete, to escalate or to change the machine.
var harmful = reasons{
	{"it deletes", "rm rmdir unlink shred srm wipe truncate trash"},
	{"it writes to devices or file systems",
		"dd mkfs mkswap fdisk sfdisk parted gdisk wipefs blkdiscard hdparm mount umount losetup cryptsetup format diskutil"},
	{"it runs as another user", "sudo doas su pkexec runuser gosu runas gsudo"},
	{"it changes rights or owners", "chown chgrp chattr setfacl setcap"},
	{"it ends processes or the machine", "kill killall pkill shutdown reboot halt poweroff init telinit"},
	{"it changes the system",
		"insmod modprobe rmmod iptables ip6tables nft ufw sysctl systemctl service launchctl useradd userdel usermod " +
			"groupadd passwd chpasswd visudo crontab at batch setenforce defaults csrutil"},
	{"it reaches other machines", "nc ncat netcat socat telnet ssh scp sftp ftp rsync"},
	{"it changes running systems", "terraform kubectl helm aws gcloud az"},
}.byName()

// reasons are pairs of a reason and the names it is for.
type reasons [][2]string

func (r reasons) byName() map[string]string {
	m := map[string]string{}
	for _, pair := range r {
		for name := range strings.FieldsSeq(pair[1]) {
			m[name] = pair[0]
		}
	}
	return m
}

// harmfulUses are commands that are harmful with some words only, written like deny rules.
var harmfulUses = []struct {
	prefix []string
	why    string
}{
	{[]string{"git", "push", "--force"}, "it rewrites what others have"},
	{[]string{"git", "push", "--delete"}, "it deletes"},
	{[]string{"git", "reset", "--hard"}, "it throws changes away"}, {[]string{"git", "clean"}, "it deletes"},
	{[]string{"git", "checkout", "--"}, "it throws changes away"}, {[]string{"git", "restore"}, "it throws changes away"},
	{[]string{"git", "checkout", "."}, "it throws changes away"}, {[]string{"git", "checkout",
		"-f"}, "it throws changes away"},
	{[]string{"git", "switch", "-f"}, "it throws changes away"}, {[]string{"git", "reflog",
		"expire"}, "it deletes"},
	{[]string{"git", "worktree", "remove", "-f"}, "it throws changes away"},
	{[]string{"git", "branch", "-D"}, "it deletes"}, {[]string{"git", "stash", "drop"}, "it deletes"},
	{[]string{"git", "stash", "clear"}, "it deletes"},
	{[]string{"git", "filter-branch"}, "it rewrites history"}, {[]string{"git", "update-ref"}, "it rewrites history"},
	{[]string{"find", "-delete"}, "it deletes"}, {[]string{"chmod", "-R"}, "it changes rights or owners"},
	{[]string{"chmod", "777"}, "it changes rights or owners"},
	{[]string{"npm", "publish"}, "it publishes"}, {[]string{"cargo", "publish"}, "it publishes"},
	{[]string{"docker", "run"}, "it can reach all of the machine"},
	{[]string{"docker", "volume", "rm"}, "it deletes"}, {[]string{"docker", "volume", "prune"}, "it deletes"},
	{[]string{"docker", "rm"}, "it deletes"}, {[]string{"docker", "system", "prune"}, "it deletes"},
	{[]string{"history", "-c"}, "it removes traces"},
	{[]string{"tar", "-x", "-P"}, "it may write outside of the workspace"},
	{[]string{"tar", "--checkpoint-action"}, "it runs programs"}, {[]string{"tar", "--to-command"}, "it runs programs"},
}

// harm says why a command could do much harm, "" if it could not.
func harm(c *Command, p workdirs) string {
	if c.severe {
		return strings.Join(c.Doubts[:min(3, len(c.Doubts))], "; ")
	}
	if why := harmful[c.Name]; why != "" && onlyReads(c, p) != "" {
		return why
	}
	if strings.HasPrefix(c.Name, "mkfs") {
		return harmful["mkfs"]
	}
	for _, u := range harmfulUses {
		if denies(u.prefix, c) {
			return u.why
		}
	}
	if slices.Contains(writers, c.Name) && c.Name != "git" && onlyReads(c, p) != "" {
		if why := p.overwrites(c); why != "" {
			return why
		}
	}
	if name := c.redirectsPrograms(); name != "" {
		return "it sets " + name + ", which changes what programs run"
	}
	for _, r := range c.Redirects {
		if !r.Writes {
			continue
		}
		if r.Target.Static {
			if why := p.overwrites(&Command{Name: "tee", Args: []Word{r.Target}}); why != "" {
				return "it writes to a file, and " + why
			}
		}
		if why := p.write(r.Target); why != "" {
			return "it writes to a file, and " + why
		}
	}
	if c.otherDirectory() || len(c.Doubts) == 0 && onlyReads(c, p) == "" {
		return ""
	}
	for _, x := range c.written() {
		if why := p.write(x); why != "" {
			return "it writes to a file, and " + why
		}
	}
	return ""
}

var homeFolder = lazy.Regexp(`^"?(~|\$HOME\b|\$\{HOME\b)`)

// write says why a file may not be written to. One that is only known when it runs is a doubt of its own.
func (p workdirs) write(x Word) string {
	switch {
	case p.any:
	case !x.Static && homeFolder().MatchString(x.Text):
		return x.Text + " is outside of the workspace"
	case x.Static, x.kind == glob, x.kind == folder:
		return p.path(x)
	}
	return ""
}

var (
	// searched are variables in which programs look for what to run or to load.
	searched = lazy.Regexp(`^(PATH|LD_\w+|DYLD_\w+|BASH_ENV|ENV)$`)
	// searchedLater are those that matter where they are set for all that follows.
	searchedLater = lazy.Regexp(`^(PYTHONPATH|NODE_PATH|PERL5LIB|RUBYLIB)$`)
)

// exports are builtins and programs that set variables for what follows.
var exports = strings.Fields("export declare typeset readonly setx")

// redirectsPrograms returns a variable that a command sets and that makes programs run or load something else.
func (c *Command) redirectsPrograms() string {
	names, later := c.Assigns, slices.Contains(exports, c.Name)
	for _, a := range c.Args {
		name, _, sets := strings.Cut(strings.TrimLeft(a.Text, `"'`), "=")
		if later && (sets || c.Name == "setx") {
			names = append(slices.Clip(names), strings.TrimSuffix(name, "+"))
		}
	}
	for _, name := range names {
		if searched().MatchString(name) || later && searchedLater().MatchString(name) {
			return name
		}
	}
	return ""
}

// A Redirect redirects the input or output of a command.
type Redirect struct {
	Op string // as in the text, such as ">>"
	// Target is a file, a descriptor for >& and <&, and the text for here-documents.
	Target Word
	// Writes is true when a file may be created, cut or written, except for /dev/null.
	Writes bool
}

func (w *walker) redirect(c *Command, list []*syntax.Redirect) {
	for _, r := range list {
		c.Redirects = append(c.Redirects, w.oneRedirect(c, r))
	}
}

func (w *walker) oneRedirect(c *Command, r *syntax.Redirect) Redirect {
	out := Redirect{Op: r.Op.String(), Target: w.word(r.Word)}
	if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
		c.doubt("a redirect that sets the variable " + r.N.Value)
	}
	c.Doubts = append(c.Doubts, w.inside(r.Word, c.dirs)...)
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		out.Target = w.hereDoc(c, r)
		return out
	case syntax.WordHdoc:
	case syntax.RdrIn:
	case syntax.DplIn, syntax.DplOut:
		out.Writes = !descriptor(out.Target)
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.RdrInOut:
		out.Writes = out.Target.Text != "/dev/null"
	default:
		w.refuse(r, "a redirect that bash does not know")
	}
	// [ and * in a target are read as a pattern by bash, and braces as a list
	if out.Target.kind != known && out.Target.kind != source || hasBraces(r.Word) {
		c.doubt("the target of " + out.Op + " is only known when it runs")
	}
	return out
}

// descriptor reports the targets of >& that are not files.
func descriptor(t Word) bool {
	return t.Static && (t.Text == "-" || digits(strings.TrimSuffix(t.Text, "-")))
}

// hereDoc returns the text of a here-document.
func (w *walker) hereDoc(c *Command, r *syntax.Redirect) Word {
	end := int(r.Word.End().Offset())
	if !plainMark(w.slice(r.Word)) || end < len(w.src) && !strings.ContainsRune(" \t\n;&|()<>", rune(w.src[end])) {
		w.refuse(r, "the end mark of a here-document is not a plain word")
	}
	if r.Hdoc == nil {
		return static("")
	}
	quoted := strings.ContainsAny(w.slice(r.Word), `'"\`)
	var b strings.Builder
	for _, p := range r.Hdoc.Parts {
		l, ok := p.(*syntax.Lit)
		switch {
		case !ok:
			c.doubt("a here-document that is only known when it runs")
			c.Doubts = append(c.Doubts, w.inside(r.Hdoc, c.dirs)...)
			return Word{Text: w.slice(r.Hdoc)}
		case quoted:
			b.WriteString(l.Value)
		default:
			b.WriteString(unescape(l.Value, "$`\\\n"))
		}
	}
	return static(b.String())
}

// plainMark reports delimiters that all shells read alike: EOF, 'EOF', "EOF".
func plainMark(s string) bool {
	if n := len(s); n > 2 && (s[0] == '\'' || s[0] == '"') && s[n-1] == s[0] {
		s = s[1 : n-1]
	}
	return s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") == ""
}
