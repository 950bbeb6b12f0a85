package shellcmd

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// GitFolders returns the folders in which a text runs git for reading, as absolute paths. Git reads the settings of
// the repository there, and those can name programs: a caller that runs such a text without approval must turn them
// off. It returns none when a command of the text has doubts, changes something with git, or runs something of the
// project: such a text runs because a person or a rule wants these effects, hooks and filters among them.
func GitFolders(text string, c Context) (folders []string) {
	s, err := parse(text)
	if err != nil || len(c.Env) > 0 {
		return nil
	}
	for i := range s.Commands {
		part := &s.Commands[i]
		p := c.workdirs(part.dirs)
		switch {
		case part.maybe: // what may run it is a part, too
			continue
		case len(part.Doubts) > 0, (part.Name == "git" || unseen(part) != "") && onlyReads(part, p) != "":
			return nil
		case part.Name != "git":
			continue
		}
		args := part.plainArgs() // those that do not act on settings show them
		shows := len(args) == 0 || slices.Contains([]string{"config", "version", "--version"}, args[0].Text)
		for _, d := range p.dirs {
			if !shows && !slices.Contains(folders, d) {
				folders = append(folders, d)
			}
		}
	}
	return folders
}

// A push is a git push as rules see it: by options in any spelling, and by refspecs.
type push struct {
	force, remove bool     // it overwrites, or deletes, refs of the remote
	many          bool     // it pushes refs that are not named: --all, --mirror, a pattern
	words         []Word   // remote and refspecs, perhaps with values of options among them
	refs          []string // names that refspecs write to, without refs/heads/
}

var (
	pushForces  lazy.Words = `--force --force-with-lease --force-if-includes --mirror`
	pushDeletes lazy.Words = `--delete --prune --mirror`
	pushMany    lazy.Words = `--all --branches --mirror --tags`
)

// gitArgs returns a sub-command of git, and the arguments after it.
func (c *Command) gitArgs() (sub string, rest []Word) {
	for i := 0; c.Name == "git" && i < len(c.Args); i++ {
		a := c.Args[i]
		switch {
		case !a.Static:
			return "", nil
		case globalValues.of("git").Has(a.Text):
			i++
		case strings.HasPrefix(a.Text, "-"):
		default:
			return a.Text, c.Args[i+1:]
		}
	}
	return "", nil
}

// readPush parses a push. Values of options count as refspecs, too: when uncertain, a push does more.
func readPush(args []Word) (p push) {
	options := true
	for _, a := range args {
		switch {
		case options && a.Text == "--":
			options = false
		case options && strings.HasPrefix(a.Text, "--"):
			p.force = p.force || optionOf(a.Text, pushForces)
			p.remove = p.remove || optionOf(a.Text, pushDeletes)
			p.many = p.many || optionOf(a.Text, pushMany)
		case options && len(a.Text) > 1 && a.Text[0] == '-':
			letters, _, _ := strings.Cut(a.Text[1:], "o") // what follows -o is its value
			p.force = p.force || strings.Contains(letters, "f")
			p.remove = p.remove || strings.Contains(letters, "d")
		default:
			p.words = append(p.words, a)
			p.refspec(a.Text)
		}
	}
	return p
}

func (p *push) refspec(text string) {
	spec, plus := strings.CutPrefix(text, "+")
	p.force = p.force || plus
	p.remove = p.remove || len(spec) > 1 && spec[0] == ':'
	p.many = p.many || spec == ":" || strings.ContainsAny(spec, "*?[")
	if _, to, has := strings.Cut(spec, ":"); has {
		spec = to
	}
	p.refs = append(p.refs, strings.TrimPrefix(strings.TrimPrefix(spec, "refs/heads/"), "heads/"))
}

// deniesPush reports that a rule such as "git push --force" denies a push, in any spelling.
func deniesPush(prefix []string, args []Word) bool {
	p := readPush(args)
	var words []string
	for _, token := range prefix {
		switch {
		case token == "-f" || token == "--force":
			if !p.force {
				return false
			}
		case token == "-d" || token == "--delete":
			if !p.remove {
				return false
			}
		case strings.HasPrefix(token, "-") && token != "-":
			if !hasOption(args, token, spellings([]string{"git", "push"})) {
				return false
			}
		default:
			words = append(words, token)
		}
	}
	if len(words) == 0 {
		return true
	}
	if !slices.ContainsFunc(p.words, func(w Word) bool { return w.Text == words[0] }) {
		return false
	}
	return p.many || !slices.ContainsFunc(words[1:], func(ref string) bool {
		return !slices.Contains(p.refs, strings.TrimPrefix(ref, "refs/heads/"))
	})
}

var (
	plainRef               = lazy.Regexp(`^(@|[A-Za-z0-9_][A-Za-z0-9_./-]*)(:[A-Za-z0-9_][A-Za-z0-9_./-]*)?$`)
	knownRemote lazy.Words = `origin upstream`
)

// checkPush is for a rule that lists git push: it covers pushes that add to a remote with a usual name.
func checkPush(u *invocation) string {
	for i, o := range u.operands {
		switch {
		case i < u.listed:
		case !o.Static:
			return o.Text + " is only known when it runs"
		case i == 0 && !knownRemote.Has(o.Text):
			return "it pushes to " + shorten(o.Text) + ", which the rule does not name"
		case i > 0 && (!plainRef().MatchString(o.Text) || strings.Contains(o.Text, "..")):
			return "the refspec " + shorten(o.Text) + " may overwrite or delete what the remote has"
		}
	}
	return ""
}

// Runs reports whether a text runs what a deny rule is about, such as {"git", "push", "--force"}, as Rules.Deny
// would. It is not sure when that is only known at run time.
func (s *Script) Runs(prefix []string) (yes, sure bool) {
	sure = len(prefix) > 0
	for i := range s.Commands {
		c := &s.Commands[i]
		if denies(prefix, c) {
			return true, true
		}
		dynamic := func(x Word) bool { return !x.Static }
		if c.severe || sure && c.Name == baseName(prefix[0]) && slices.ContainsFunc(c.Args, dynamic) || sure && c.Fed != "" &&
			c.Name == baseName(prefix[0]) {
			sure = false
		}
	}
	return false, sure
}

// pathLike is a word that is a file rather than a branch: it says so, has a pattern, or has the ending of a file.
var pathLike = lazy.Regexp(`^\.{1,2}(/|$)|^[:/]|/$|[*?\[]|[^/]\.[A-Za-z][A-Za-z0-9]{0,7}$`)

// checksOutFiles reports that git checkout puts other content into files: after a commit come files, and alone a word
// may be either.
func checksOutFiles(args []Word) bool {
	var operands []Word
	for _, a := range args {
		switch {
		case !strings.HasPrefix(a.Text, "-"):
			operands = append(operands, a)
		case !strings.HasPrefix(a.Text, "--") && strings.ContainsAny(a.Text, "bBt"), optionOf(a.Text, "--orphan --track"):
			return false // it makes a branch
		}
	}
	return len(operands) > 1 || len(operands) == 1 && pathLike().MatchString(operands[0].Text)
}

// movesBranch reports a refspec by which a fetch overwrites a branch of one's own.
func movesBranch(refspec Word) bool {
	_, to, has := strings.Cut(refspec.Text, ":")
	return has && refspec.Text[0] == '+' && !strings.HasPrefix(to, "refs/remotes/")
}

// plainSetting are settings that name no program, and lead to none.
var plainSetting = lazy.Regexp(`(?i)^(user\.(name|email)|(color|advice|branch|push|pull|fetch|rebase|commit|log)\..*|` +
	`(status|column|rerere|tag|feature|index|pack)\..*|init\.defaultbranch|help\.(autocorrect|format)|gc\.auto.*|` +
	`core\.(autocrlf|eol|safecrlf|filemode|abbrev)|` +
	`core\.(ignorecase|quotepath|longpaths|symlinks|precomposeunicode|compression)|merge\.(ff|conflictstyle|renames)|` +
	`diff\.(algorithm|renames|colormoved|context|mnemonicprefix|noprefix))$`)

// programSetting is one whose value is a command.
var programSetting = lazy.Regexp(`(?i)^(core\.(pager|editor|sshcommand)|pager\.\w+|sequence\.editor|diff\.external)$`)

// setsProgram reports a git config that sets a setting which may name a program, or a file with more settings.
func setsProgram(args []Word) bool {
	at := slices.IndexFunc(args, func(a Word) bool { return settingName().MatchString(a.Text) })
	return at >= 0 && at+1 < len(args) && !plainSetting().MatchString(args[at].Text)
}
