package shellcmd

import (
	"slices"
	"strings"
)

// A Verdict is what rules say about a text.
type Verdict struct {
	// Effect is "allow", "ask" or "deny": the strictest over all parts of the text.
	Effect string
	// Reasons tell what made it that strict or, for allow, what allows each part.
	Reasons []Reason
}

// A Reason is about one part of a text.
type Reason struct{ Command, Effect, Why string }

// Judge decides about a text. A text that Parse refuses is never allowed.
func (r Rules) Judge(text string, c Context) Verdict {
	s, err := parse(text)
	var reasons []Reason
	for i := range s.Commands {
		part := &s.Commands[i]
		effect, why := r.part(part, c, err != nil)
		reasons = append(reasons, Reason{part.Text, effect, why})
	}
	switch {
	case err != nil:
		reasons = append(reasons, Reason{quoted(text), stricter(ask, r.otherwise()), err.Error()})
	case len(reasons) == 0:
		reasons = append(reasons, Reason{quoted(text), r.otherwise(), "there is no command in it"})
	}
	return strictest(reasons)
}

// quoted shows a text that may hold characters that cannot be seen.
func quoted(text string) string {
	return shorten(strings.Map(func(r rune) rune {
		if hidden(r) {
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

// part decides about one command. Of a text that was refused only what is denied is of interest.
func (r Rules) part(c *Command, at Context, refused bool) (effect, why string) {
	for _, prefix := range r.Deny {
		if denies(prefix, c) {
			return deny, "the rule " + strings.Join(prefix, " ") + " denies it"
		}
	}
	denied, fed := r.mayDeny(c), c.fed(at.place(c.dirs))
	switch {
	case c.maybe:
		return allow, "it is judged with what may run it"
	case refused:
		return stricter(ask, r.otherwise()), "it is part of a text that is not understood"
	case len(c.Doubts) > 0:
		return stricter(ask, r.otherwise()), strings.Join(c.Doubts[:min(3, len(c.Doubts))], "; ")
	case denied != nil:
		return stricter(ask, r.otherwise()), "what the rule " + strings.Join(denied, " ") + " denies may be in it"
	case fed != "":
		return stricter(ask, r.otherwise()), fed
	case len(at.Env) > 0:
		return stricter(ask, r.otherwise()), "the variables given for it can change what runs"
	}
	return r.known(c, at)
}

// mayDeny gives a rule that could deny a command, if the words that are only known when it runs are those of the rule.
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

// known decides about a command without doubts.
func (r Rules) known(c *Command, at Context) (effect, why string) {
	p := at.place(c.dirs)
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
		return r.otherwise(), onlyReads(c, p)
	}
	return r.otherwise(), "no rule is about " + c.Name
}

// listed reports a rule about a command; by says that it allows it, or why says what it does not cover.
func (r Rules) listed(c *Command, at Context, p place) (listed bool, by, why string) {
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

// unsafeUse looks at what every command has: redirects, and folders.
func unsafeUse(c *Command, p place) string {
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
	if c.Name == "cd" || c.Name == "set" || c.Name == "test" || c.Name == "[" || c.Name == "[[" {
		s, n := c.find()
		return s.uncovered(c, n, 0, p)
	}
	return ""
}

var (
	joints     = strings.Fields("cd set test [ : true false break continue exit return wait")
	constructs = strings.Fields("[[ : { ( compound")
)

// plumbing says why a command does nothing but join others.
func plumbing(c *Command) string {
	switch {
	case c.Program.Text != c.Name:
		return ""
	case c.sets:
		return "it only sets variables"
	case c.built && slices.Contains(constructs, c.Name), !c.built && slices.Contains(joints, c.Name):
		return "it only joins others"
	}
	if _, ok := plainRead(c); ok {
		return "it only sets variables"
	}
	if w, ok := wrappers[c.Name]; ok && w.plain && len(c.Args) > 0 {
		return "what it runs is judged by itself"
	}
	if shells[c.Name] && len(c.Args) > 0 && strings.HasPrefix(c.Args[0].Text, "-") && c.Args[0].Text != "--version" {
		return "what it runs is judged by itself" // or there would be a doubt
	}
	if shells[c.Name] && len(c.Args) == 0 {
		return "what it runs is judged by itself"
	}
	return ""
}

// onlyReads says why a command may do more than read.
func onlyReads(c *Command, p place) string {
	s, n := c.reading()
	switch {
	case c.Program.Text != c.Name || c.built:
		return "it is not the system's own " + c.Name
	case tellsVersion(c):
		return unsafeUse(c, p)
	case s == nil || !s.read:
		return c.Name + " is not known to only read"
	}
	if why := unsafeUse(c, p); why != "" {
		return why
	}
	return s.uncovered(c, n, 0, p)
}

// versioned are programs that only say which they are when asked for their version, in these ways. Not among them are those
// that look into the workspace for the program to run, or run what it names: rustc, cargo, yarn, pnpm, wrappers of builds.
var versioned = map[string]string{"node": "--version -v", "npm": "--version -v", "python": "--version -V", "python3": "--version -V", "pip": "--version -V", "pip3": "--version -V",
	"java": "-version --version", "javac": "-version --version", "ruby": "--version -v", "perl": "--version -v", "php": "--version -v", "deno": "--version", "bun": "--version",
	"bash": "--version", "gcc": "--version", "g++": "--version", "clang": "--version", "make": "--version -v", "cmake": "--version", "docker": "--version -v", "podman": "--version -v",
	"kubectl": "--version", "curl": "--version -V", "wget": "--version -V", "tar": "--version", "sqlite3": "--version -version", "psql": "--version -V", "ssh": "-V", "openssl": "version",
	"jq": "--version", "rg": "--version", "fd": "--version", "gh": "--version version", "helm": "version", "terraform": "--version", "tmux": "-V", "vim": "--version", "dotnet": "--version"}

func tellsVersion(c *Command) bool {
	return len(c.Args) == 1 && c.Args[0].Static && slices.Contains(strings.Fields(versioned[c.Name]), c.Args[0].Text)
}
