package shellcmd

import (
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
	"mvdan.cc/sh/v3/syntax"
)

// doubt adds something that cannot be determined; a severe one is about what would run.
func (c *Command) doubt(why string) { c.Doubts = append(c.Doubts, why) }

func (c *Command) severeDoubt(why string) {
	c.doubt(why)
	c.severe = true
}

// call walks a simple command.
func (w *walker) call(s *syntax.Stmt, x *syntax.CallExpr, dirs []string) folderFlow {
	at := w.reserve(x)
	c := Command{Via: w.via, Text: shorten(w.sliceCall(s, x)), dirs: dirs, sure: !w.either && !w.loop, branch: w.chosen,
		hidden: w.built}
	for _, a := range x.Assigns {
		if a.Value != nil || a.Array != nil || len(x.Args) == 0 { // X= a leaves what X is for others
			w.keepValue(a)
		}
		c.Assigns = append(c.Assigns, a.Name.Value)
		c.Doubts = append(c.Doubts, w.assigned(a, dirs)...)
	}
	for _, a := range x.Args {
		c.Doubts = append(c.Doubts, w.inside(a, dirs)...)
	}
	from := len(w.all.commands)
	w.redirect(&c, s.Redirs)
	if slices.ContainsFunc(s.Redirs, readsFrom) {
		c.input = span{from, len(w.all.commands)}
	}
	c.sets = len(x.Args) == 0 && plainSets(x.Assigns)
	c.shows = len(x.Args) > 0 && !slices.ContainsFunc(x.Assigns, func(a *syntax.Assign) bool { return !w.onlyShows(a) })
	w.fill(&c, w.wordList(x.Args))
	if c.sets {
		w.sets(x.Assigns)
	} else if len(x.Args) == 0 {
		w.loseAll(x.Assigns)
		for i, a := range x.Assigns { // which mean something to programs, but stay what they are
			if a.Value != nil && a.Index == nil && !a.Append && tempFile().MatchString(w.slice(a.Value)) &&
				(!inherited().MatchString(a.Name.Value) || strings.HasPrefix(a.Name.Value, "TMP")) {
				w.sets(x.Assigns[i : i+1])
			}
		}
	}
	w.put(at, c)
	if c.Name == "[" || c.Name == "test" {
		w.all.tested = len(w.all.commands)
	}
	for _, a := range x.Assigns {
		if a.Value != nil {
			w.variable(at, a.Name.Value, w.word(a.Value))
		}
		if a.Name.Value == "IFS" && len(x.Args) == 0 {
			w.bind("IFS", late)
		}
	}
	if exports.Has(c.Name) {
		w.variablesIn(at, c.Args)
	}
	from = len(w.all.commands)
	w.unwrap(at, 0)
	if slices.ContainsFunc(s.Redirs, readsFrom) {
		w.feed(from, span{at, from})
	}
	return w.changeDir(w.all.commands[at], at)
}

var (
	showing lazy.Words = `LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES LC_NUMERIC LC_TIME LANG LANGUAGE NO_COLOR CLICOLOR
		COLUMNS LINES TERM TZ`
	shown = lazy.Regexp(`^[A-Za-z0-9._@:-]*$`)
)

// onlyShows reports a variable that only changes how a program orders and shows things.
func (w *walker) onlyShows(a *syntax.Assign) bool {
	if a.Name == nil || !showing.Has(a.Name.Value) || a.Append || a.Index != nil || a.Array != nil || a.Value == nil {
		return false
	}
	is := w.word(a.Value)
	return is.kind == known && is.odd == "" && shown().MatchString(is.Text)
}

// sliceCall is a command with its redirects, but without the text of here-documents.
func (w *walker) sliceCall(s *syntax.Stmt, x *syntax.CallExpr) string {
	from, to := int(s.Pos().Offset()), int(x.End().Offset())
	if len(x.Args) > 0 && s.Negated {
		from = int(x.Pos().Offset())
	}
	for _, r := range s.Redirs {
		to = max(to, int(r.Word.End().Offset()))
	}
	if from > to || to > len(w.src) {
		return ""
	}
	return w.src[from:to]
}

// fill sets the words of a command, and the doubts that they are.
func (w *walker) fill(c *Command, words []Word) {
	// how a line is split
	split := len(words) > 0 && words[0].Text == "read" && slices.Equal(c.Assigns, []string{"IFS"})
	if len(c.Assigns) > 0 && !c.sets && !c.shows && !split {
		c.doubt("variables set for it can change what runs")
	}
	if len(words) == 0 {
		return
	}
	c.Program, c.Args = words[0], words[1:]
	switch p := c.Program; {
	case !p.Static:
		c.severeDoubt("the program is only known when it runs")
	case strings.Trim(p.Text, "/.") == "" && p.Text != ".":
		c.severeDoubt("the program has no name")
	default:
		c.Name = baseName(p.Text)
		if c.Name[0] == '-' { // such as time -o x ls, where the keyword ends at -o and the program does not
			c.severeDoubt("the program is called like an option")
		}
	}
	c.moveGit()
	if c.Program.odd != "" {
		c.doubt(c.Program.odd)
	}
	if _, ok := wrappers()[c.Name]; !ok { // the command of a wrapper is judged by itself
		c.doubtWords()
	}
}

// moveGit skips the options before a sub-command of git that only affect display, and follows -C. Redirects are
// relative to the previous folder.
func (c *Command) moveGit() {
	var to []string // joined once: there may be many
	for args := c.Args; c.Name == "git" && len(args) > 0; args = c.Args[c.skip:] {
		switch {
		case args[0].Text == "--no-pager" || args[0].Text == "-P":
			c.skip++
			continue
		case args[0].Text == "-C" && len(args) > 1 && args[1].where() != "" && len(c.Redirects) == 0:
			if path.IsAbs(args[1].where()) {
				to = nil
			}
			to, c.skip = append(to, args[1].where()), c.skip+2
			continue
		}
		break
	}
	if len(to) > 0 {
		c.dirs = slices.Clone(c.dirs)
		for i, d := range c.dirs {
			c.dirs[i] = joined(d, strings.Join(to, "/"))
		}
	}
}

// doubtWords adds the doubts about operands, by the program's use of them.
func (c *Command) doubtWords() {
	s := c.spec()
	for i, a := range c.Args {
		switch {
		case a.odd != "":
			c.doubt(a.odd)
		case (a.kind == number || a.kind == count) && s != nil && s.digits:
		case (a.kind == runtime || a.kind == folder) && s != nil && s.says && a.odd == "":
		case a.kind == folder && s != nil && (!a.split || s.globs != noGlob) && a.odd == "":
		case a.kind == folder && c.Name == "git" && i > 0 && c.Args[i-1].Text == "-C":
		case a.kind == runtime && testProgram.Has(c.Name) && c.testedText(i):
		case a.kind == runtime && c.Name == "jq" && i > 1 && !a.split &&
			(c.Args[i-2].Text == "--arg" || c.Args[i-2].Text == "--argjson"):
		case a.kind == source && s != nil && s.operands == paths && s.max == 0:
		case a.kind == glob:
			if why := c.globDoubt(s, i, a); why != "" {
				c.doubt(why)
			} else if a.split { // a part of a name can be the path of any file
				c.doubt(a.Text + " may fall apart into several words; quotes around the variable help")
			}
		case !a.Static:
			c.doubt(shorten(a.Text) + " is only known when it runs" + a.hint)
		}
	}
}

// globDoubt says why a pattern may match more than names of files in the folders it shows: a file can be called -rf.
func (c *Command) globDoubt(s *spec, at int, x Word) string {
	text := x.Text
	for part := range strings.SplitSeq(text, "/") {
		if strings.HasPrefix(part, ".") && strings.ContainsAny(part, "*?[") {
			return text + " may match the folder above"
		}
	}
	switch {
	case strings.ContainsAny(text, "'\"\\$`"):
		return text + " is only known when it runs"
	case text == "{}": // of find: it begins with a folder that is named
		return ""
	case strings.IndexAny(text, "*?[") > 0 && text[0] != '-':
		return ""
	case slices.ContainsFunc(c.Args[:at], func(w Word) bool { return w.Static && w.Text == "--" }):
		return ""
	case s != nil && (s.globs == anyGlob || s.globs == nameGlob && !strings.Contains(text, "/")):
		return ""
	}
	return text + " may match a file that is called like an option; ./ before it helps"
}

// changeDir is where the shell may be after a command.
func (w *walker) changeDir(c Command, at int) folderFlow {
	same := folderFlow{c.dirs, c.dirs}
	switch {
	case c.Name == "pushd" && c.runsBeside(w.loop) != "" && len(c.dirs) <= 16:
		out := c.dirs
		for _, d := range c.dirs {
			out = union(out, []string{joined(d, c.Args[0].Text)})
		}
		return folderFlow{out, out}
	case c.Name != "cd":
		return same
	case len(c.Args) == 0:
		w.all.commands[at].doubt("where it goes is only known when it runs")
		return folderFlow{[]string{ownHome}, c.dirs}
	case len(c.Doubts) > 0 && len(c.Args) == 1 && homeFolder().MatchString(c.Args[0].Text):
		to := strings.NewReplacer(`"`, "", "}", "").Replace(c.Args[0].Text)
		return folderFlow{[]string{homeFolder().ReplaceAllString(to, ownHome)}, c.dirs}
	case len(c.Doubts) > 0:
		return same
	}
	if why := cdDoubt(c); why != "" || w.loop || len(c.dirs) > 16 {
		w.all.commands[at].doubt("where it goes is only known when it runs")
		if to := c.Args[len(c.Args)-1].where(); why == "" && path.IsAbs(to) {
			return folderFlow{[]string{to}, c.dirs} // each time
		}
		return same
	}
	var out []string
	for _, d := range c.dirs {
		out = union(out, []string{joined(d, c.Args[len(c.Args)-1].where())})
	}
	return folderFlow{out, c.dirs}
}

// ownHome stands for the user's home folder, which is not the workspace.
const ownHome = "/home/(own)"

// where is the path that a word is for sure, or "".
func (x Word) where() string {
	switch {
	case x.Static:
		return x.Text
	case x.kind == folder && !x.split:
		return x.file
	}
	return ""
}

// cdDoubt accepts "cd DIR" and "cd -- DIR" only.
func cdDoubt(c Command) string {
	args := c.Args
	if len(args) == 2 && args[0].Text == "--" {
		args = args[1:]
	}
	return when(len(args) != 1 || args[0].where() == "" || args[0].Text[0] == '-', "where it goes")
}

// joined is a path relative to a folder; a path that leads above its start keeps its dots.
func joined(dir, p string) string {
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Join(dir, p)
}
