package shellcmd

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/redact"
	"mvdan.cc/sh/v3/syntax"
)

// compound walks the rarer constructs.
func (w *walker) compound(s *syntax.Stmt, dirs []string) folderFlow {
	same := folderFlow{dirs, dirs}
	switch c := s.Cmd.(type) {
	case *syntax.IfClause:
		return w.ifClause(c, dirs)
	case *syntax.WhileClause:
		return w.whileClause(c, dirs)
	case *syntax.ForClause:
		return w.forClause(c, dirs)
	case *syntax.CaseClause:
		return w.caseClause(c, dirs)
	case *syntax.TestClause:
		w.test(c, dirs)
	case *syntax.FuncDecl:
		w.function(c, dirs)
	case *syntax.CoprocClause:
		w.construct("coproc", c, nil, dirs, "a coprocess")
		w.within("coproc").coproc(c, dirs)
	case *syntax.DeclClause:
		w.declare(c, dirs)
	case *syntax.ArithmCmd:
		w.arithmetic("((", c, dirs)
	case *syntax.LetClause:
		w.arithmetic("let", c, dirs)
	default:
		w.refuse(s, "a construct that is not known")
	}
	return same
}

// coproc walks a coprocess. The parser takes the first word of one without a name for it: its words are read again.
func (w *walker) coproc(c *syntax.CoprocClause, dirs []string) {
	stmt := c.Stmt
	for pipe, ok := stmt.Cmd.(*syntax.BinaryCmd); ok; pipe, ok = stmt.Cmd.(*syntax.BinaryCmd) {
		stmt = pipe.X
	}
	if _, call := stmt.Cmd.(*syntax.CallExpr); !call {
		w.stmt(c.Stmt, dirs)
		return
	}
	w.src = w.src[c.Coproc.Offset()+uint(len("coproc")) : max(c.End().Offset(), lastOf(c.Stmt))]
	w.text(dirs)
}

// lastOf is the end of a statement with all that the parser found in it.
func lastOf(s *syntax.Stmt) (end uint) {
	syntax.Walk(s, func(n syntax.Node) bool {
		if n != nil {
			end = max(end, n.End().Offset())
		}
		return true
	})
	return end
}

func (w *walker) whileClause(c *syntax.WhileClause, dirs []string) folderFlow {
	w.endless(c)
	w.forget(c.Cond...)
	w.forget(c.Do...)
	w = w.repeated()
	out := w.stmts(c.Cond, dirs).any()
	if name, ends := w.readsNames(c); name != "" {
		w.loopVariable(name, w.names.each(ends))
	}
	return join(out, w.stmts(c.Do, out))
}

// readsNames returns the variable of while read -r NAME, if it is given names of files, and what ends each: "" where
// read takes the blanks around a name away.
func (w *walker) readsNames(c *syntax.WhileClause) (name, ends string) {
	if w.names.pattern == "" || c.Until || len(c.Cond) != 1 || c.Cond[0].Negated || len(c.Cond[0].Redirs) > 0 {
		return "", ""
	}
	call, ok := c.Cond[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) < 3 || call.Args[1].Lit() != "-r" || len(call.Assigns) > 1 {
		return "", ""
	}
	for _, a := range call.Assigns { // IFS=
		if a.Name.Value != "IFS" || a.Value != nil || a.Append || a.Index != nil || a.Array != nil {
			return "", ""
		}
	}
	read := Command{Name: "read", Program: w.word(call.Args[0]), Args: w.wordList(call.Args[1:])}
	names, ok := plainRead(&read)
	switch {
	case !ok || len(names) != 1:
		return "", ""
	case slices.Equal(read.Args[1:], []Word{static(names[0])}):
		ends = byLine
	case nulRead(read.Args):
		ends = byNUL
	default:
		return "", ""
	}
	if len(call.Assigns) == 0 {
		ends = ""
	}
	return names[0], ends
}

// nulRead reports read -r -d "" NAME.
func nulRead(args []Word) bool { return len(args) == 4 && args[1].Text == "-d" && args[2].Text == "" }

func join(dirs []string, f folderFlow) folderFlow {
	u := union(dirs, f.any())
	return folderFlow{u, u}
}

func (w *walker) ifClause(c *syntax.IfClause, dirs []string) folderFlow {
	cond := folderFlow{dirs, dirs}
	if len(c.Cond) > 0 { // a final else has none
		cond = w.stmts(c.Cond, dirs)
		w = w.chosenBy(c.Cond[len(c.Cond)-1])
	}
	from := len(w.all.commands)
	out := join(cond.bad, w.stmts(c.Then, cond.ok))
	w.keepEmpty(from, true, w.slice(c), c.Cond...)
	if from = len(w.all.commands); c.Else != nil {
		out = join(out.ok, w.ifClause(c.Else, cond.bad))
		w.keepEmpty(from, false, w.slice(c), c.Cond...)
	}
	return out
}

// loopName reports names for a loop's variable; other names mean something to the shell or to programs.
var loopName = lazy.Regexp(`^([A-Z]|[a-z][a-z0-9]*(_[a-oq-z0-9][a-z0-9]*)*)$`)

func (w *walker) forClause(c *syntax.ForClause, dirs []string) folderFlow {
	var doubts []string
	var items []Word
	name := ""
	if iter, ok := c.Loop.(*syntax.WordIter); ok {
		if name = iter.Name.Value; !loopName().MatchString(name) {
			doubts = append(doubts, "a loop that sets the variable "+name)
		}
		w.keepItems(name, iter.Items)
		for _, x := range iter.Items {
			from := len(w.all.commands)
			doubts = append(doubts, w.inside(x, dirs)...)
			items = append(items, w.items(x, w.all.commands[from:])...)
		}
	} else {
		if loop, ok := c.Loop.(*syntax.CStyleLoop); ok && loop.Cond == nil { // for ((;;))
			w.onlyStarts(c.Do)
		}
		doubts = append(doubts, "arithmetic with variables can run commands")
		w.evaluatedIn(c.Loop, dirs)
	}
	if c.Select {
		doubts = append(doubts, "it asks a person")
	}
	if len(doubts) > 0 {
		at := len(w.all.commands)
		w.construct("for", c, nil, dirs, doubts...)
		for _, x := range items {
			w.all.commands[at].Assigns = []string{name}
			x.Text = cmp.Or(x.Text, "$(?)")
			w.variable(at, name, x)
		}
	}
	return w.forEach(name, items, c.Do, dirs)
}

// maxUnrolled is how often the body of a loop is walked, with one item after the other.
const maxUnrolled = 24

// forEach walks the body of a loop once for each item that is known, or once with an item that is not.
func (w *walker) forEach(name string, items []Word, body []*syntax.Stmt, dirs []string) folderFlow {
	w.forget(body...)
	if len(items)*max(w.unrolled, 1) > maxUnrolled || len(items) == 0 {
		items = []Word{late}
	}
	out := folderFlow{dirs, dirs}
	for _, item := range items {
		inner := w.repeated()
		inner.unrolled = max(w.unrolled, 1) * len(items)
		inner.loopVariable(name, item)
		f := join(dirs, inner.stmts(body, dirs))
		out = folderFlow{union(out.ok, f.ok), union(out.bad, f.bad)}
	}
	w.bind(name, late)
	return out
}

// loopVariable gives the variable of a loop a value for the walk of its body, and for that alone.
func (w *walker) loopVariable(name string, is Word) {
	w.variables = maps.Clone(w.variables)
	if w.variables == nil {
		w.variables = map[string]Word{}
	}
	if len(is.Text) > maxValue {
		is = late
	}
	w.variables[name] = is
}

// items are the values of a loop's variable for one of its words, in which there are some commands. Those that print
// names of files give parts of names: the shell splits what they print at blanks.
func (w *walker) items(x *syntax.Word, inside []Command) []Word {
	if _, ok := x.Parts[0].(*syntax.CmdSubst); ok && len(x.Parts) == 1 {
		if names := printsNames(inside); names.pattern != "" {
			return []Word{names.each("")}
		}
	}
	out := w.words(x)
	for i, is := range out {
		if is.kind != known && is.kind != glob || is.odd != "" {
			out[i] = late
		}
		out[i].split = false
	}
	return out
}

func (w *walker) caseClause(c *syntax.CaseClause, dirs []string) folderFlow {
	doubts := w.inside(c.Word, dirs)
	out := dirs
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			doubts = append(doubts, w.inside(p, dirs)...)
		}
		// ;& falls through into the next one, from any of those before
		branch := w.maybeRuns()
		branch.chosen = w.chosen || strings.ContainsAny(w.slice(c.Word), "$`")
		out = union(out, branch.stmts(item.Stmts, out).any())
	}
	if len(doubts) > 0 {
		w.construct("case", c, nil, dirs, doubts...)
	}
	return folderFlow{out, out}
}

func (w *walker) function(c *syntax.FuncDecl, dirs []string) {
	name := ""
	if c.Name != nil {
		name = c.Name.Value
	}
	w.all.bomb, w.all.functions = cmp.Or(isForkBomb(c, name), w.all.bomb), true
	w.construct("function", c, nil, dirs, "a function gives the name "+name+" a new meaning")
	for _, m := range variables().FindAllStringSubmatch(w.slice(c.Body), -1) { // which may have other values at a call
		if w.variables[m[1]].file == newFile && !w.setOnce(m[1]) {
			w.lose(m[1])
		}
	}
	w.within(inFunction+name).repeated().stmt(c.Body, dirs)
}

func (w *walker) declare(c *syntax.DeclClause, dirs []string) {
	at := w.reserve(c)
	d := w.builtin(c.Variant.Value, c, dirs)
	d.sure = !w.unsure && !w.loop && !w.passing && len(w.via) == 0
	for _, a := range c.Args {
		if a.Name != nil && !a.Naked {
			w.keepValue(a)
			if a.Value == nil || !extends(a.Name.Value, w.slice(a.Value)) {
				d.Assigns = append(d.Assigns, a.Name.Value)
			}
		}
		if a.Value != nil && a.Name == nil {
			d.Args = append(d.Args, w.words(a.Value)...)
		}
		d.Doubts = append(d.Doubts, w.assigned(a, dirs)...)
	}
	d.Doubts = append(d.Doubts, "it sets variables for what follows")
	w.put(at, d)
	w.loseAll(c.Args)
	refers := func(a Word) bool { return strings.HasPrefix(a.Text, "-") && strings.Contains(a.Text, "n") }
	if d.Name != "export" && slices.ContainsFunc(d.Args, refers) {
		w.severe(at, "its variable stands for another one")
		for _, a := range c.Args {
			if a.Name != nil && a.Value != nil {
				w.keepText(a.Name.Value, "$"+w.word(a.Value).Text)
			}
		}
	}
	for _, a := range c.Args {
		if a.Name != nil && a.Value != nil {
			w.variable(at, a.Name.Value, w.word(a.Value))
		}
	}
	w.guessEvaluated(at, d.Args)
}

// assigned walks commands in an assignment.
func (w *walker) assigned(a *syntax.Assign, dirs []string) []string {
	if a.Index == nil && a.Array == nil {
		return w.inside(a.Value, dirs)
	}
	w.hiddenIn(a, dirs)
	if a.Index != nil {
		w.quotedIn(a.Index, dirs)
	}
	return []string{"it sets an array, which can run commands"}
}

func (w *walker) arithmetic(name string, n syntax.Node, dirs []string) {
	w.construct(name, n, nil, dirs, "arithmetic with variables can run commands")
	w.evaluatedIn(n, dirs)
}

// test lists [[ ]] with its words, as if it were a program.
func (w *walker) test(c *syntax.TestClause, dirs []string) {
	at := w.reserve(c)
	w.all.tested = len(w.all.commands)
	evaluates := false
	t := w.builtin("[[", c, dirs)
	syntax.Walk(c.X, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.UnaryTest:
			t.Args = append(t.Args, static(n.Op.String()))
			if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
				t.Doubts, evaluates = append(t.Doubts, "a test of a variable can run commands"), true
			}
		case *syntax.BinaryTest:
			why := w.comparison(n)
			t.Doubts, evaluates = append(t.Doubts, why...), evaluates || why != nil
		case *syntax.Word:
			t.Args = append(t.Args, w.word(n))
			t.Doubts = append(t.Doubts, w.inside(n, dirs)...)
			return false
		}
		return true
	})
	w.put(at, t)
	if evaluates {
		w.guessEvaluated(at, t.Args)
	}
}

// comparison finds operands that are not digits: they are evaluated, which can run commands.
func (w *walker) comparison(n *syntax.BinaryTest) []string {
	if n.Op < syntax.TsEql || n.Op > syntax.TsGtr {
		return nil
	}
	for _, x := range []syntax.TestExpr{n.X, n.Y} {
		word, ok := x.(*syntax.Word)
		if !ok || !digits(readWord(word, "", nil).Text) && readWord(word, "", nil).kind != number {
			return []string{"arithmetic with variables can run commands"}
		}
	}
	return nil
}

// find and xargs add names of files to a command. A command that only reads, whatever files it is given, may have
// them: a symbolic link can make it read another file, and do no more. That requires a program without any option that
// writes or runs, and that no name is split: a part of one can be the path of any file.

// fileNames reports why a command that is given names may do more than read them, "" if it cannot or gets none.
func (c *Command) fileNames(p workdirs) string {
	if c.Fed == "" || onlyReads(c, p) == "" {
		return ""
	}
	return c.Fed
}

// A names is the names of files that a part of a pipe prints.
type names struct {
	pattern string // one for files with secrets where a command selects those, otherwise that of any name; "" for none
	ends    string // byLine, byNUL, or "" where a name may hold what ends it
}

const (
	byLine = "\n"
	byNUL  = "\x00"
)

// wholeNames says how to keep names whole. A part of a name can be any path: a folder may be called "x " and hold
// folders down to etc/passwd.
const wholeNames = "; a name with a blank or a line break in it falls apart: write find … -exec … {} + or " +
	"find … -print0 | xargs -0, for git also xargs -d '\\n', or while IFS= read -r"

// each is one of the names for a reader that splits at ends: any text where that may not be between two names.
func (n names) each(ends string) Word {
	if ends == "" || ends != n.ends {
		return Word{kind: runtime, hint: wholeNames}
	}
	return Word{Text: n.pattern, kind: glob}
}

// namesOnly reports commands that print names of files below the given folders, and nothing else, and what ends each
// name. Without an option for NUL only git ends a name safely: it quotes those with line breaks.
func namesOnly(c *Command) (ends string, ok bool) {
	if len(c.Doubts) > 0 || c.maybe || c.Fed != "" || len(c.kept) > 0 || !quietRedirects(c) {
		return "", false
	}
	has := func(options ...string) bool {
		return slices.ContainsFunc(c.Args, func(a Word) bool { return slices.Contains(options, a.Text) })
	}
	nul := func(options ...string) string {
		return when(c.invocation().has(options...), byNUL)
	}
	switch c.Name {
	case "find":
		if !has("-print") {
			ends = nul("print0")
		}
		return ends, !has("-printf", "-fprintf", "-ls", "-exec", "-execdir", "-ok", "-okdir")
	case "fd", "fdfind":
		return nul("0", "print0"), true
	case "ls":
		return "", !slices.ContainsFunc(c.Args, func(a Word) bool {
			return len(a.Text) > 1 && a.Text[0] == '-' && strings.Trim(a.Text[1:], "1aAtrRdS") != ""
		})
	case "rg", "grep":
		ends = nul("Z", "null")
		if c.Name == "rg" {
			ends = nul("0", "null")
		}
		return ends, c.invocation().has("l", "files", "files-with-matches", "files-without-match") ||
			c.Name == "grep" && c.invocation().has("L")
	case "git":
		ends = endsOfLines(c.Args)
		switch sub, _ := c.gitArgs(); sub {
		case "ls-files":
			return ends, !has("-s", "--stage", "--eol", "--format", "-v", "-t", "-u")
		case "diff", "ls-tree":
			return ends, has("--name-only")
		case "grep":
			return ends, has("-l", "-lz", "--name-only", "--files-with-matches")
		}
	}
	return "", false
}

var fewLines = lazy.Regexp(`^(-[0-9nruVzdv]+|-n|--lines=\d+|\d+|--unique|--reverse)$`)

// endsOfLines is byNUL with the option z, by which git quotes no names and filters read what ends with NUL.
func endsOfLines(args []Word) string {
	if slices.ContainsFunc(args, func(a Word) bool { return hasLetter(a, "z") || a.Text == "--null" }) {
		return byNUL
	}
	return byLine
}

// passesNames reports commands that print some of their input lines unchanged, or with -z some of what NUL ends.
func passesNames(c *Command) (ends string, ok bool) {
	if len(c.Doubts) > 0 || c.maybe || !quietRedirects(c) {
		return "", false
	}
	ends = endsOfLines(c.Args)
	switch c.Name {
	case "head", "tail", "sort", "uniq":
		return ends, !slices.ContainsFunc(c.Args, func(a Word) bool { return !a.Static || !fewLines().MatchString(a.Text) })
	case "grep", "egrep", "fgrep":
		operands := 0
		for _, a := range c.Args {
			if strings.HasPrefix(a.Text, "-") && strings.Trim(a.Text, "-viEFwxz") != "" {
				return "", false
			}
			if !strings.HasPrefix(a.Text, "-") {
				operands++
			}
		}
		return ends, operands == 1
	}
	return "", false
}

// quietRedirects reports a command that reads from a pipe and prints into one.
func quietRedirects(c *Command) bool {
	return !slices.ContainsFunc(c.Redirects,
		func(r Redirect) bool { return r.Op[0] == '<' || r.Target.Text != "/dev/null" })
}

// printsNames returns the names that a part of a pipe prints, if all its commands print names; none for other parts.
func printsNames(list []Command) (n names) {
	for i := range list {
		prints := passesNames
		if i == 0 {
			prints = namesOnly
		}
		ends, ok := prints(&list[i])
		switch {
		case !ok:
			return names{}
		case i == 0:
			n.ends = ends
		case n.ends != ends:
			n.ends = "" // it may begin in the middle of a name
		}
	}
	if len(list) > 0 {
		n.pattern = cmp.Or(namesSecret(list), "*")
	}
	return n
}

// passesFileNames reports an xargs that passes only names of files to a program that they can only make read.
func (w *walker) passesFileNames(at int, words []Word) bool {
	c := w.all.commands[at]
	if w.names.pattern == "" || !quietRedirects(&c) || len(words) == 0 {
		return false
	}
	if w.passesMore(at, words) {
		return false
	}
	inner := Command{}
	w.fill(&inner, words)
	s := inner.spec()
	return s != nil && s.read && s.globs != noGlob && len(inner.Doubts) == 0
}

// passesMore reports an xargs that does more than add its input to the words of a program: it may read from a file, or
// ask, or put what it reads into the name of the program or an option.
func (w *walker) passesMore(at int, words []Word) bool {
	args := w.all.commands[at].Args
	args = args[:len(args)-len(words)]
	if _, place := xargsReads(args); place != "" && slices.ContainsFunc(words, func(x Word) bool {
		return strings.Contains(x.Text, place) && (x.Text == words[0].Text || strings.HasPrefix(x.Text, "-"))
	}) {
		return true
	}
	return wrappers()["xargs"].spec.before("xargs", args).has("a", "p", "o", "arg-file", "interactive")
}

// xargsReads returns what ends a word for the options of an xargs: "" for the default, by which blanks, quotes and
// backslashes count, as they do with -I; and the text that words are put in the place of, "" for none.
func xargsReads(args []Word) (ends, place string) {
	for _, g := range wrappers()["xargs"].spec.before("xargs", args).given {
		switch g.name {
		case "0", "null":
			ends = byNUL
		case "d", "delimiter":
			ends = map[string]string{`\n`: byLine, "\n": byLine, `\0`: byNUL}[g.value.Text]
		case "I", "J", "replace":
			place = cmp.Or(g.value.Text, "{}")
		}
	}
	return ends, place
}

// textsOnly reports an xargs with a program that prints its words, whatever they are.
func (w *walker) textsOnly(at int, words []Word) bool {
	if w.passesMore(at, words) {
		return false
	}
	inner := Command{}
	w.fill(&inner, words)
	s := inner.spec()
	return s != nil && s.read && s.operands == texts && s.says && !s.first && len(inner.Doubts) == 0
}

// doubtNames doubts a command that is given names of files with secrets.
func (w *walker) doubtNames(at int, pattern string) {
	if secretPattern(pattern) {
		w.doubt(at, "it is given files like "+pattern+", which may hold secrets")
	}
}

const findAdds = "find puts names into it that are only known when it runs"

// findExec lists the commands that find runs.
func (w *walker) findExec(at, depth int) {
	c := w.all.commands[at]
	var kept []Word
	secret := sync.OnceValue(c.selectsSecret) // which looks at all words
	for i := 0; i < len(c.Args); i++ {
		a := c.Args[i]
		if !a.Static || !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, a.Text) {
			kept = append(kept, a)
			continue
		}
		end := i + 1
		for end < len(c.Args) && c.Args[end].Text != ";" && c.Args[end].Text != "+" {
			end++
		}
		words, whole := slices.Clone(c.Args[i+1:end]), end < len(c.Args) && a.Text == "-exec" && end > i+2
		for n, x := range words {
			switch {
			case x.Static && x.Text == "{}":
				words[n] = Word{Text: x.Text, kind: glob} // unknown, and + makes any number of it
			case strings.Contains(x.Text, "{}"):
				whole = false
			}
		}
		if !whole {
			w.doubt(at, "it runs a command for each file that it finds")
		}
		if from := len(w.all.commands); end > i+1 {
			if whole {
				w.inner(at, "find "+a.Text, words, "", depth)
				w.all.commands[from].Fed, w.all.commands[from].again = findAdds, len(kept) == i && findsMade(kept)
				w.doubtNames(from, secret())
			} else {
				w.inner(at, "find "+a.Text, c.Args[i+1:end], findAdds, depth)
			}
		}
		i = end
	}
	if len(kept) < len(c.Args) {
		w.all.commands[at].kept = append([]Word{}, kept...)
		if kept == nil {
			w.all.commands[at].kept = []Word{static(".")}
		}
	}
}

// late stands for a value that is only known at run time.
var late = Word{kind: runtime}

// maxValue is the longest value of a variable that is followed, in bytes: x=$x$x doubles it each time.
const maxValue = 1 << 10

// bind records the value of a variable from here on.
func (w *walker) bind(name string, is Word) {
	if w.variables == nil {
		w.variables = map[string]Word{}
	}
	if w.unsure || w.loop || len(is.Text) > maxValue {
		is = late
	}
	w.variables[name] = is
}

// plainSets are assignments that only set variables which programs ignore: those with names in lower case, and of
// one letter.
func plainSets(assigns []*syntax.Assign) bool {
	for _, a := range assigns {
		if a.Name == nil || !loopName().MatchString(a.Name.Value) || a.Append || a.Index != nil || a.Array != nil || a.Naked {
			return false
		}
	}
	return len(assigns) > 0
}

// sets binds the variables of such assignments.
func (w *walker) sets(assigns []*syntax.Assign) {
	for _, a := range assigns {
		is := static("")
		if a.Value != nil {
			is = w.word(a.Value)
		}
		if a.Value != nil && !w.all.functions && tempFile().MatchString(w.slice(a.Value)) {
			is = Word{kind: folder, file: newFile}
		} else if is.kind != known || is.odd != "" || a.Value != nil && hasBraces(a.Value) {
			is = late
		}
		w.bind(a.Name.Value, is)
	}
}

const newFile = "/tmp/(mktemp)"

// tempFile is a substitution that prints the name of a new file, or folder, for temporary files.
var tempFile = lazy.Regexp(`^"?\$\(mktemp( (-[dq]+|--directory|-t|--tmpdir|--suffix=[.\w]+|(/tmp/|"?\$\{TMPDIR:-/tmp\}/)?` +
	`[\w.-]*X{3,}[\w.-]*"?))*\)"?$`)

// forget makes variables that are set somewhere below a node unknown: it may have run before.
func (w *walker) forget(nodes ...*syntax.Stmt) {
	for _, s := range nodes {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Assign:
				if n.Name != nil {
					w.lose(n.Name.Value)
				}
			case *syntax.WordIter:
				w.lose(n.Name.Value)
			case *syntax.CallExpr:
				for _, a := range n.Args { // of read; other words do no harm
					w.lose(a.Lit())
				}
				for _, a := range n.Assigns {
					if a.Name != nil && a.Name.Value == "IFS" && len(n.Args) == 0 {
						w.bind("IFS", late)
					}
				}
			}
			return true
		})
	}
}

// loseAll is for assignments that add to values, set elements, or are in declarations.
func (w *walker) loseAll(assigns []*syntax.Assign) {
	for _, a := range assigns {
		if a.Name != nil && !a.Naked {
			w.lose(a.Name.Value)
		}
	}
}

// lose makes a known variable unknown.
func (w *walker) lose(name string) {
	if _, there := w.variables[name]; there {
		w.variables[name] = late
	}
}

var readSpec = &spec{options: map[string]arity{"r": flag, "d": value, "t": flag, "p": value}, first: true}

// plainRead reports a read or mapfile that only sets variables in lower case: read, read -r, read -d with a line end.
func plainRead(c *Command) (names []string, ok bool) {
	u := &invocation{command: c}
	lines := c.Name == "mapfile" || c.Name == "readarray"
	if c.Name != "read" && !lines || c.Program.Text != c.Name || u.read(readSpec, c.Args) != "" || u.ended ||
		u.has("t") && !lines || u.has("r", "p") && lines || lines && len(u.operands) > 1 {
		return nil, false
	}
	for _, o := range u.operands {
		if !o.Static || !loopName().MatchString(o.Text) {
			return nil, false
		}
		names = append(names, o.Text)
	}
	return names, len(names) > 0
}

// harmlessParam reports an expansion that only takes the value of a variable, or derives another text from it. Those
// that set variables, use the value as a name or a prompt, or evaluate something are excluded.
func harmlessParam(p *syntax.ParamExp) bool {
	if plainParam(p) {
		return true
	}
	q := *p
	q.Exp, q.Length = nil, false
	if !plainParam(&q) || p.Length && p.Exp != nil {
		return false
	}
	if p.Exp == nil {
		return true
	}
	ops := []syntax.ParExpOperator{syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset,
		syntax.DefaultUnsetOrNull, syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix}
	return slices.Contains(ops, p.Exp.Op) && harmlessWord(p.Exp.Word)
}

func harmlessWord(x *syntax.Word) bool { return x == nil || harmlessParts(x.Parts) }

func harmlessParts(parts []syntax.WordPart) bool {
	return !slices.ContainsFunc(parts, func(p syntax.WordPart) bool { return !harmlessPart(p) })
}

func harmlessPart(p syntax.WordPart) bool {
	switch p := p.(type) {
	case *syntax.Lit:
		return !strings.ContainsAny(p.Value, "<>(){}")
	case *syntax.SglQuoted:
		return !p.Dollar
	case *syntax.DblQuoted:
		return !p.Dollar && harmlessParts(p.Parts)
	case *syntax.ParamExp:
		return plainParam(p) && !redact.Variable(p.Param.Value)
	}
	return false
}

// Dynamic reports a command of which a part is only known at run time: because of a doubt, of names that it is given,
// or of a word that may be anything or split into several.
func (c *Command) Dynamic() bool {
	return len(c.Doubts) > 0 || c.Fed != "" ||
		slices.ContainsFunc(c.Args, func(a Word) bool { return a.kind == runtime || a.split })
}
