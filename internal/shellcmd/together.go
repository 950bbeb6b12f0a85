package shellcmd

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/sdk/filenames"
)

// What one part of a text does with what another one has written or read.

// downloaders fetch the files that they write.
const downloaders lazy.Words = "curl wget wget2 aria2c axel http https xh lwp-download aws"

// archivers unpack what others have packed.
const archivers lazy.Words = "tar bsdtar unzip unar 7z 7za 7zr 7zz unrar cpio ar jar"

// downloads reports such a command, and one that reads on another machine.
func (c *Command) downloads() bool { return downloaders.Has(c.Name) || c.looks || c.fetchesFiles() }

// A fileFlow is what a text has fetched, and written to files, up to one of its commands.
type fileFlow struct {
	script               *Script
	at                   Context
	downloaded, unpacked []string          // files, and folders
	installed            []string          // programs of modules that go has fetched
	computed             []string          // files that hold what another command has computed
	content              map[string]string // the texts in files
	remotes              []string          // of git, that the text adds
	modules              map[string]bool   // names of what was downloaded
	entry                bool              // what builds and agents follow was downloaded
	seen                 map[string]bool   // recipes, and programs in a folder
	recipes              int
}

// ranFiles say which files a text downloads and runs, also from an archive, or writes with a content that could do
// much harm and runs.
func ranFiles(s *Script, c Context) (why []string) {
	flows := map[int]*fileFlow{} // of the text, and of each guess
	for i := range s.Commands {
		part := &s.Commands[i]
		f := flows[part.guess]
		if f == nil {
			f = &fileFlow{script: s, at: c, modules: map[string]bool{}, content: map[string]string{}, seen: map[string]bool{}}
			flows[part.guess] = f
		}
		why = append(why, f.runs(part)...)
		f.follow(i)
	}
	return why
}

// fetches reports commands of which one downloads.
func (s *Script) fetches(in span) bool {
	return slices.ContainsFunc(s.Commands[in.from:in.to], func(c Command) bool { return c.downloads() })
}

// isDownloaded reports a word that is such a file, perhaps behind an option.
func (f *fileFlow) isDownloaded(c *Command, a Word) bool {
	return slices.Contains(f.downloaded, c.found(a.Text[strings.LastIndexByte(a.Text, '=')+1:]))
}

// runs says how a command runs what was fetched or written.
func (f *fileFlow) runs(part *Command) (why []string) {
	ran, at := part.ranFile(), part.found(".")
	asShell := ran != "" && (shells.Has(part.Name) || part.Name == "." || part.Name == "source" ||
		strings.Contains(part.Program.Text, "/"))
	given := func(a Word) bool { return a.Static && program().MatchString(a.Text) && f.isDownloaded(part, a) }
	switch {
	case part.patches() && (f.script.fetches(part.input) || slices.ContainsFunc(part.inputs(), func(a Word) bool {
		return f.isDownloaded(part, a) || a.kind == source && strings.Contains(a.Text, "http")
	})):
		why = append(why, part.Text+": it changes files as what was downloaded says")
	case ran != "" && slices.Contains(f.downloaded, ran), part.runsFrom(f.unpacked),
		(unseen(part) != "" || editors.Has(part.Name)) && slices.ContainsFunc(part.Args, given),
		len(f.modules) > 0 && part.imports(f.modules), slices.Contains(f.installed, part.Name),
		slices.ContainsFunc(f.unpacked, func(folder string) bool { return under(at, folder) }) && part.importsOther(),
		f.entry && unseen(part) != "":
		why = append(why, part.Text+": it runs what was downloaded")
	case databases.Has(part.Name) && f.content[ran] != "" && !plainQuery(f.content[ran]):
		why = append(why, part.Text+": it changes or deletes data")
	case (asShell || databases.Has(part.Name)) && slices.Contains(f.computed, ran):
		why = append(why, part.Text+": it runs what another command has computed")
	case f.content[ran] != "":
		text := f.content[ran]
		line, _, _ := strings.Cut(text, "\n")
		if asShell && (!strings.HasPrefix(line, "#!") || strings.Contains(line, "sh")) {
			f.content[ran] = "" // which ends texts that write and run themselves
			if risk, _ := Assess(text, f.at); risk.Level == "high" {
				why = append(why, part.Text+": "+risk.Reasons[0])
			}
			break
		}
		key := text + "\x00" + at
		if f.seen[key] {
			break
		}
		f.seen[key] = true
		for _, m := range deletesNamed().FindAllStringSubmatch(text, maxWords) { // in another language
			rm := Command{Name: "rm", Program: static("rm"), Args: []Word{static(m[1])}, Text: m[1], dirs: part.dirs}
			if harm(&rm, f.at.workdirs(part.dirs)) != "" {
				why = append(why, part.Text+": it deletes "+shorten(m[1]))
			}
		}
	}
	if len(f.content) == 0 || recipeFiles.of(part.Name) == "" {
		return why
	}
	if f.recipes++; f.recipes > maxRecipes {
		return append(why, part.Text+": what it runs is not looked into any more")
	}
	if text := part.recipe(f.content); text != "" && !f.seen[text] {
		f.seen[text] = true
		if recipe, err := parse(text); err == nil {
			why = append(why, recipe.harms(f.at)...)
		}
	}
	return why
}

// deletesNamed is a call in other languages that deletes the file with a name.
var deletesNamed = lazy.Regexp(`\b(?:rmtree|rm_rf?|remove_tree|rm(?:dir)?Sync|unlink(?:Sync)?|os\.remove)[\s(]+["']([^"'$]+)["']`)

// follow keeps what the command at i fetches and writes.
func (f *fileFlow) follow(i int) {
	part := &f.script.Commands[i]
	if folder := part.clones(); folder != "" {
		f.unpacked, f.modules[path.Base(folder)] = append(f.unpacked, part.found(folder)), true
	}
	if program := part.foreignModule("install"); program != "" {
		f.installed = append(f.installed, program)
	}
	sub, rest := part.gitArgs()
	if sub == "remote" && len(rest) > 2 && rest[0].Text == "add" && address().MatchString(rest[len(rest)-1].Text) {
		f.remotes = append(f.remotes, rest[len(rest)-2].Text)
	}
	takes := movesTree.Has(sub) && slices.ContainsFunc(rest, func(a Word) bool {
		remote, _, _ := strings.Cut(a.Text, "/")
		return slices.Contains(f.remotes, remote)
	})
	if part.fetchesMany() {
		f.unpacked = append(f.unpacked, ".")
	}
	if takes || part.checksOutOthers() {
		f.unpacked, f.entry = append(f.unpacked, "."), true
	}
	from, files := part.copied()
	files = slices.Concat(part.written(), part.redirected(), files)
	next := min(i+1, len(f.script.Commands)-1)
	wraps := len(f.script.Commands[next].Via) > len(part.Via) && f.script.Commands[next].downloads()
	fetches, copies := part.downloads() || f.script.fetches(part.input) || wraps, part.fetchesFiles()
	for _, a := range part.Args {
		if strings.Contains(a.Text, "/") && downloaders.Has(part.Name) { // wget and curl -O name it like the address
			files = append(files, static(path.Base(a.Text)))
		}
		if _, remote, other := strings.Cut(a.Text, ":"); other && copies { // into a folder, which has its name then
			files = append(files, static(joined(part.Args[len(part.Args)-1].path(), path.Base(remote))))
		}
	}
	given := func(a Word) bool { return f.isDownloaded(part, a) }
	fetches = fetches || slices.ContainsFunc(from, given)
	unpacks := archivers.Has(part.Name) && (fetches || slices.ContainsFunc(part.Args, given))
	moves := slices.ContainsFunc(from, func(a Word) bool {
		return slices.ContainsFunc(f.unpacked, func(folder string) bool { return under(part.found(a.Text), folder) })
	})
	computes := slices.ContainsFunc(from, func(a Word) bool { return slices.Contains(f.computed, part.found(a.Text)) })
	text := ""
	if len(files) > 0 {
		text, computes = writtenText(f.script.Commands, i), computes || writesUnseen(f.script.Commands, i)
	}
	for n := 0; n < len(from) && text == ""; n++ {
		text = f.content[part.found(from[n].Text)]
	}
	for _, file := range files {
		if file.where() == "" {
			continue
		}
		name := part.found(file.where())
		if unpacks || copies || moves && name != part.found(".") {
			f.unpacked = add(f.unpacked, name)
		}
		switch d := dialects()[usualName(part.Name)]; {
		case unpacks:
		case fetches:
			f.downloaded = add(f.downloaded, name)
			f.entry = f.entry || filenames.EntryPoint(name) || containerFiles.Has(path.Base(name))
			if m := module().FindStringSubmatch(name); m != nil {
				f.modules[m[1]] = true
			}
		case d != nil && d.writes != nil && len(part.writes) > 0:
			f.computed = add(f.computed, name)
		case text != "":
			f.content[name] = part.after(f.content[name], text)
		case computes:
			f.computed = add(f.computed, name)
		}
	}
}

// copied are files of which a command makes others alike, and these where it does not name them as a whole: mv a b/
func (c *Command) copied() (from, to []Word) {
	switch {
	case lazy.Words("mv cp ln install").Has(c.Name):
		operands, options := splitOptions(c.Args, "-t --target-directory -S --suffix -m --mode")
		for _, g := range options {
			if strings.HasPrefix(strings.TrimLeft(g.name, "-"), "t") {
				operands = append(operands, static(g.value.path()))
			}
		}
		from = operands[:max(0, len(operands)-1)]
		for _, a := range from {
			to = append(to, static(joined(operands[len(from)].path(), path.Base(a.Text))))
		}
	case rewriters.Has(c.Name) && len(c.redirected()) > 0:
		from = c.inputs()
	}
	return from, to
}

// rewriters are programs that print what is in files.
const rewriters lazy.Words = ": true echo printf cat sed gsed envsubst head tail grep tr sort uniq cut tee sponge"

// writesUnseen reports a command that prints to a file what neither the text nor a file of its words says.
func writesUnseen(all []Command, i int) bool {
	c := &all[i]
	computes := func(c Command) bool { // one that runs a program of the project trusts that
		own := c.ranFile() != "" && unseen(&c) != "" || c.Name == "go" && deniesAs([]string{"go", "run"}, &c)
		return !rewriters.Has(c.Name) && !own || slices.ContainsFunc(c.Args, func(a Word) bool { return a.kind == source })
	}
	return !c.built && (computes(*c) && len(c.redirected()) > 0 ||
		slices.ContainsFunc(all[c.input.from:c.input.to], computes))
}

// clones is the folder into which a command fetches a repository from an address, "" if it does not.
func (c *Command) clones() string {
	at := slices.IndexFunc(c.Args, func(a Word) bool {
		return a.Text == "clone" || c.Name == "svn" && (a.Text == "checkout" || a.Text == "co" || a.Text == "export")
	})
	if at < 0 || !slices.Contains([]string{"git", "hg", "gh", "glab", "svn"}, c.Name) {
		return ""
	}
	hub := c.Name == "gh" || c.Name == "glab"
	operands, _ := splitOptions(c.Args[at+1:], "-b --branch -o --origin -c --config -u --upload-pack --depth -j --jobs "+
		"--reference --template --filter --separate-git-dir")
	switch {
	case len(operands) == 0 || !hub && operands[0].Static && !address().MatchString(operands[0].Text),
		ownRepository().MatchString(operands[0].Text):
		return ""
	case len(operands) > 1:
		return cmp.Or(operands[1].where(), operands[1].Text)
	}
	from := strings.TrimRight(operands[0].Text, "/")
	return strings.TrimSuffix(from[strings.LastIndexAny(from, "/:")+1:], ".git")
}

// containerFiles say what docker builds or starts.
const containerFiles lazy.Words = "Dockerfile docker-compose.yml docker-compose.yaml compose.yml compose.yaml"

// fetchesMany reports a command that fetches files into the folder that it does not name.
func (c *Command) fetchesMany() bool {
	many := func(a Word) bool { return optionOf(a.Text, "-r -m -i --recursive --mirror --input-file") }
	return c.Name == "wget" && slices.ContainsFunc(c.Args, many) || deniesAs([]string{"gh", "release", "download"}, c) ||
		deniesAs([]string{"gh", "run", "download"}, c)
}

// movesTree are commands of git by which the folder holds what a branch does.
const movesTree lazy.Words = "pull checkout switch merge rebase reset cherry-pick"

// checksOutOthers reports a command that puts into the folder, or fetches for that, what others propose, or what is at
// an address.
func (c *Command) checksOutOthers() bool {
	sub, rest := c.gitArgs()
	if sub == "fetch" || sub == "pull" {
		return anyMatches(rest, proposed)
	}
	return deniesAs([]string{"gh", "pr", "checkout"}, c) || deniesAs([]string{"gh", "pr", "co"}, c) ||
		deniesAs([]string{"glab", "mr", "checkout"}, c)
}

var proposed = lazy.Regexp(`^\+?(refs/)?(pull|merge-requests|pull-requests|changes)/|://|^[\w.-]+@[\w.-]+:`)

// ownRepository is one of this machine.
var ownRepository = lazy.Regexp(`^"?(file://|\$\(pwd\)|\$\{?PWD\}?|\$\(git rev-parse --show-toplevel\))(/|"?$)`)

// patches reports a command that changes files as the input or a file says.
func (c *Command) patches() bool {
	sub, _ := c.gitArgs()
	return (c.Name == "patch" || sub == "apply" || sub == "am") &&
		!hasWord(c.Args, "--stat --numstat --summary --check --dry-run")
}

// inputs are the words of a command and the files that it reads by a redirect.
func (c *Command) inputs() []Word {
	words := slices.Clip(c.Args)
	for _, r := range c.Redirects {
		if r.Op == "<" {
			words = append(words, r.Target)
		}
	}
	return words
}

// readsInput reports a command that is given input in the text.
func (c *Command) readsInput() bool {
	return c.input.to > c.input.from || slices.ContainsFunc(c.Redirects, func(r Redirect) bool {
		return r.Op[0] == '<' && r.Target.Text != "/dev/null"
	})
}

// movedFiles say which commands delete what another one has moved to a place where files are made again, or to nowhere.
func movedFiles(s *Script, c Context) (why []string) {
	var moved, links []string
	for i := range 2 * len(s.Commands) { // what trap runs comes last
		part := &s.Commands[i%len(s.Commands)]
		if i >= len(s.Commands) && !slices.Contains(part.Via, "trap") {
			continue
		}
		p := c.workdirs(part.dirs)
		sub, args := part.gitArgs()
		if sub == "" {
			args = part.Args
		}
		operands, options := splitOptions(args, "-t --target-directory -S --suffix")
		switch {
		case part.maybe, len(operands) == 0 && len(options) == 0:
		case part.Name == "mv", sub == "mv":
			var to Word
			if n := len(operands) - 1; n > 0 {
				operands, to = operands[:n], operands[n]
			}
			for _, g := range options {
				if strings.HasPrefix(g.name, "-t") || strings.HasPrefix(g.name, "--t") {
					to = static(g.value.path() + "/")
				}
			}
			place := part.found(to.path())
			if place == "/dev/null" {
				why = append(why, part.Text+": it deletes")
			}
			if len(operands) == 0 { // xargs names them
				moved = append(moved, place)
			}
			for _, from := range operands {
				if len(moved) > maxMoved {
					break
				}
				name := part.found(from.path())
				kept := len(moved)
				moved = slices.DeleteFunc(moved, func(m string) bool { return under(m, name) })
				switch {
				case kept == len(moved) && from.Static && (made().MatchString(path.Base(name)) || p.temporary(from)):
				case from.Static && (len(operands) > 1 || strings.HasSuffix(to.path(), "/") || place == "/tmp"):
					moved = append(moved, path.Join(place, path.Base(name)))
				default:
					moved = append(moved, place)
				}
			}
		case part.Name == "ln" && len(links) <= maxMoved:
			_, to := part.copied()
			if len(operands) == 1 {
				to = []Word{static(path.Base(operands[0].path()))}
			}
			for _, link := range append(to, part.written()...) {
				links = add(links, part.found(link.path()))
			}
		case lazy.Words("rm rmdir truncate find").Has(part.Name):
			if slices.ContainsFunc(operands, func(o Word) bool { // what is in a folder, and not the link to it
				return slices.ContainsFunc(links, func(link string) bool {
					return strings.HasPrefix(part.found(o.path()), link+"/")
				})
			}) {
				why = append(why, part.Text+": it deletes what is behind a link")
			}
			if len(moved) > maxMoved || slices.ContainsFunc(moved, func(m string) bool {
				return (part.Name == "find" || part.again) && made().MatchString(path.Base(m)) && part.deletesAgain(p) ||
					part.Name != "find" && slices.ContainsFunc(operands, func(o Word) bool {
						name := part.found(o.path())
						return under(m, name) || under(name, m) || matches(name, m)
					})
			}) {
				why = append(why, part.Text+": it deletes what was moved there")
			}
		}
	}
	return why
}

// maxMoved is how many moved files are told apart: with more of them all that is deleted may be one.
const maxMoved = 100

// matches reports a pattern that names a file, or a folder that it is in.
func matches(pattern, file string) bool {
	if !strings.ContainsAny(pattern, "*?[") {
		return false
	} else if len(pattern)+len(file) > 256 {
		return true
	}
	folders := strings.Split(file, "/")
	is, err := path.Match(pattern, strings.Join(folders[:min(len(folders), strings.Count(pattern, "/")+1)], "/"))
	return is || err != nil
}

// under reports a path that is a folder, or in it.
func under(file, folder string) bool {
	rest, in := strings.CutPrefix(file, folder)
	return in && (rest == "" || rest[0] == '/' || folder == "/")
}

// repls run what they read when they are given no file.
const repls lazy.Words = `R julia octave guile racket sbcl ghci iex erl irb pry scala groovy ipython bpython ptpython
	swift clojure clj bb tsx ts-node deno bun luajit jshell kotlin gnuplot parallel redis-cli`

// editors install what they are given as an extension.
const editors lazy.Words = "code codium cursor windsurf"

// program is the name of a file that others run or install.
var program = lazy.Regexp(`\.(py|[cm]?[jt]sx?|rb|php|pl|lua|sh|go|jar|gradle|kts|deb|rpm|apk|whl|gem|tgz|tar\.gz|vsix|sql)$`)

// module is the name of a file that others import by the word in front.
var module = lazy.Regexp(`(\w+)\.(py|[cm]?[jt]sx?|rb|php|pm|lua)$`)

// imports reports an interpreter with the name of a module among its words, or in its text.
func (c *Command) imports(modules map[string]bool) bool {
	noLetter := func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	return dialects()[usualName(c.Name)] != nil && slices.ContainsFunc(
		strings.FieldsFunc(textOf(c.Args)+" "+c.document(), noLetter), func(word string) bool { return modules[word] })
}

// importsOther reports an interpreter that imports what may be in its folder.
func (c *Command) importsOther() bool {
	python := dialects()["python"]
	return dialects()[usualName(c.Name)] != nil && slices.ContainsFunc(
		imported().FindAllStringSubmatch(textOf(c.Args)+" "+c.document(), -1), func(m []string) bool {
			return m[1] != "os" && !python.names.Has(m[1])
		})
}

var imported = lazy.Regexp(`(?:\b(?:import|from)\s+|\b(?:require\(|import\(?|from)\s*["']\.+/)(\w+)`)

// leadsOut reports a path that is not below the folder where a command runs.
func leadsOut(a Word) bool { return outward().MatchString(a.Text) }

var outward = lazy.Regexp(`^"?(/|~|\.\.(/|$)|\$\{?HOME)`)

// ranInput says which commands run what they read, show what is secret elsewhere, or push to an address they set.
func ranInput(s *Script, c Context) (why []string) {
	moves, shown := false, false
	for i := range s.Commands {
		part := &s.Commands[i]
		operand := func(a Word) bool {
			return !a.Static || a.Text == "" || a.Text == "--version" || a.Text[0] != '-' && a.Text != "run"
		}
		repl := repls.Has(part.Name) && !part.scriptOnInput() && !slices.ContainsFunc(part.Args, operand)
		name, out := part.selectsSecret(), slices.ContainsFunc(part.Args, leadsOut)
		if name == "" && listers.Has(part.Name) {
			name, _, out = strings.Cut(c.workdirs(part.dirs).keys(part.Args), " may ")
		}
		looped, listed := false, false // by while read, by mapfile
		for j := 0; j < len(s.Commands) && name != "" && !shown; j++ {
			other := &s.Commands[j]
			piped := i >= other.input.from && i < other.input.to
			looped = looped || piped && other.Name == "read"
			listed = listed || piped && (other.Name == "mapfile" || other.Name == "readarray")
			given := j > i && (other.Fed != "" || len(other.Via) > len(part.Via)) ||
				slices.ContainsFunc(other.Args, func(a Word) bool {
					return !a.Static && (listed || piped && looped || strings.Contains(a.Text, part.Text))
				})
			if shown = given && !naming.Has(other.Name) && !other.maybe && (out || downloaders.Has(other.Name)); shown {
				why = append(why, other.Text+": "+name+" may hold secrets")
			}
		}
		sub, rest := part.gitArgs()
		moves = moves || sub == "remote" && len(rest) > 2 && (rest[0].Text == "add" || rest[0].Text == "set-url")
		if sub == "push" && moves {
			why = append(why, part.Text+": it sends the code to an address that the text sets")
		}
		if (part.reads || repl) && part.readsInput() && (!part.otherDirectory() ||
			s.Commands[part.input.from].maybe && s.fetches(part.input)) {
			why = append(why, part.Text+": "+readsCode)
		}
	}
	return why
}

var (
	variables = lazy.Regexp(`\$\{?(\w+|[@*])`)
	ownHost   = lazy.Regexp(`\b(localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1\]|host\.docker\.internal)\b|^:\d`)
)

// local reports a command with an address on this machine.
func (c *Command) local() bool {
	return anyMatches(c.Args, ownHost)
}

// readsFiles is in a program that may read a file whose name it computes.
var readsFiles = lazy.Regexp(`(?i)read|open|load|file|path|dir`)

// dumps print all that is in a database, in a folder, or of what was typed.
const dumps lazy.Words = "history fc zip pg_dump pg_dumpall mysqldump mariadb-dump mongodump mongoexport"

// showsAll show all variables when they are given none.
const showsAll lazy.Words = "env printenv set export declare typeset"

// gitRuns are words behind which commands of git take another command.
const gitRuns lazy.Words = "run foreach -x --exec --extcmd --tool"

// runsFrom reports a command that runs a file in one of some folders, or in one below it what the project there holds.
func (c *Command) runsFrom(folders []string) bool {
	if _, rest := c.gitArgs(); c.Name == "git" && !hasWord(rest, gitRuns) { // a new clone has no hooks
		return false
	}
	in := func(file string) bool {
		return slices.ContainsFunc(folders, func(folder string) bool {
			return under(file, folder) || folder == "." && !path.IsAbs(file) && !strings.HasPrefix(file, "..")
		})
	}
	ran, at := c.ranFile(), c.found(".")
	if ran != "" && in(ran) || unseen(c) == "" || at != "." && in(at) {
		return ran != "" && in(ran) || unseen(c) != ""
	}
	for i, a := range c.Args { // make -C a, npm --prefix=a, go run ./a
		option, value, attached := strings.Cut(a.Text, "=")
		if !attached {
			option, value = c.Args[max(0, i-1)].Text, cmp.Or(a.where(), a.Text)
		}
		file, into := c.found(value), slices.Contains([]string{"-C", "--directory", "--prefix", "--cwd"}, option)
		if file != "." && slices.ContainsFunc(folders, func(folder string) bool {
			return folder != "." && under(file, folder) || folder == "." && into && in(file)
		}) {
			return true
		}
	}
	return false
}

// ranFile is the file that a command runs: a program, a script of a shell or an interpreter, or of source.
func (c *Command) ranFile() string {
	kind, interprets := interpreterOf(c.Name)
	text := kind.text + "m" // the letters of options behind which no file is
	if shells.Has(c.Name) {
		text = "c"
	}
	switch {
	case strings.Contains(c.Program.Text, "/") && c.Program.Static:
		return c.found(c.Program.Text)
	case databases.Has(c.Name):
		if _, options := splitOptions(c.Args, "-f --file"); len(options) > 0 {
			return c.found(options[0].value.Text)
		}
		return c.inputFile()
	case !shells.Has(c.Name) && !interprets && c.Name != ".":
		return ""
	}
	for _, a := range c.Args {
		switch {
		case a.Static && a.Text != "" && a.Text[0] != '-':
			return c.found(a.Text)
		case hasLetter(a, text):
			return ""
		}
	}
	return c.inputFile()
}

// inputFile is the file with a program that a command is given as its only input, "" if it is not.
func (c *Command) inputFile() (file string) {
	for _, r := range c.Redirects {
		if r.Op[0] == '<' {
			if file != "" || r.Op != "<" || !r.Target.Static || !program().MatchString(r.Target.Text) {
				return ""
			}
			file = c.found(r.Target.Text)
		}
	}
	return file
}

// found is a file as it is seen from the folder in which the text starts.
func (c *Command) found(file string) string {
	if len(c.dirs) == 0 {
		return path.Clean(file)
	}
	return joined(c.dirs[0], file)
}

// redirected are the targets of its redirects that write.
func (c *Command) redirected() (files []Word) {
	for _, r := range c.Redirects {
		if r.Writes {
			files = append(files, r.Target)
		}
	}
	return files
}

// prints is the text that a command is sure to write: a here-document, or the words of echo and printf.
func (c *Command) prints(words []string) string {
	if text := c.document(); text != "" && (c.Name == "cat" || c.Name == "tee") {
		return text
	}
	switch c.Name {
	case "echo", "yes", "expr":
		if len(words) > 0 && c.Name == "echo" && strings.Trim(words[0], "neE") == "-" {
			words = words[1:]
		}
		text, _ := ansi(strings.Join(words, " "))
		return text
	case "printf":
		return formatted(words)
	}
	return ""
}

// formatted is what printf prints of a format and other words: it begins again while some are left.
func formatted(words []string) string {
	if len(words) > 1 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	format, _ := ansi(words[0])
	parts := strings.Split(strings.ReplaceAll(format, "%b", "%s"), "%s")
	rest := words[1:]
	if len(parts) == 1 {
		return strings.TrimSpace(format + " " + strings.Join(rest, " "))
	}
	var b strings.Builder
	for {
		for n, part := range parts {
			b.WriteString(part)
			if n+1 < len(parts) && len(rest) > 0 {
				text, _ := ansi(rest[0])
				b.WriteString(text)
				rest = rest[1:]
			}
		}
		if len(rest) == 0 || b.Len() >= maxText {
			return b.String()
		}
	}
}

// after is what a file holds after a command has written a text to it, behind what was there if it appends.
func (c *Command) after(was, text string) string {
	appends := slices.ContainsFunc(c.Redirects, func(r Redirect) bool { return strings.HasSuffix(r.Op, ">>") }) ||
		c.Name == "tee" && givenOption(c.Args, "-a --append")
	if was != "" && appends && len(was)+len(text) < maxText/16 {
		return was + "\n" + text
	}
	return text
}

// document is the text of its first here-document.
func (c *Command) document() string {
	for _, text := range c.documents() {
		return text
	}
	return ""
}

// documents are the texts of its here-documents that are known.
func (c *Command) documents() (texts []string) {
	for _, r := range c.Redirects {
		if strings.HasPrefix(r.Op, "<<") && r.Target.Static {
			texts = append(texts, r.Target.Text)
		}
	}
	return texts
}
