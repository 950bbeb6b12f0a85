package shellcmd

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
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

// ranFiles say which files a text downloads and runs, also from an archive, or writes with a content that could do
// much harm and runs.
func ranFiles(s *Script, c Context) (why []string) {
	var downloaded, unpacked, computed, remotes []string
	modules, content := map[string]bool{}, map[string]string{} // modules are names of what was downloaded
	seen, recipes, entry := map[string]bool{}, 0, false
	fetched := func(in span) bool {
		return slices.ContainsFunc(s.Commands[in.from:in.to], func(c Command) bool { return c.downloads() })
	}
	for i := range s.Commands {
		part := &s.Commands[i]
		ran, at := part.ranFile(), part.found(".")
		asShell := ran != "" && (shells.Has(part.Name) || part.Name == "." || part.Name == "source" ||
			strings.Contains(part.Program.Text, "/"))
		given := func(a Word) bool {
			return a.Static && program().MatchString(a.Text) && slices.Contains(downloaded, part.found(a.Text))
		}
		switch {
		case part.maybe:
			continue
		case part.patches() && (fetched(part.input) || slices.ContainsFunc(part.inputs(), func(a Word) bool {
			return slices.Contains(downloaded, part.found(a.Text)) || a.kind == source && strings.Contains(a.Text, "http")
		})):
			why = append(why, part.Text+": it changes files as what was downloaded says")
		case ran != "" && slices.Contains(downloaded, ran), part.runsFrom(unpacked),
			(unseen(part) != "" || editors.Has(part.Name)) && slices.ContainsFunc(part.Args, given),
			len(modules) > 0 && part.imports(modules),
			slices.ContainsFunc(unpacked, func(f string) bool { return under(at, f) }) && part.importsOther(),
			entry && unseen(part) != "":
			why = append(why, part.Text+": it runs what was downloaded")
		case databases.Has(part.Name) && content[ran] != "" && !plainQuery(content[ran]):
			why = append(why, part.Text+": it changes or deletes data")
		case (asShell || databases.Has(part.Name)) && slices.Contains(computed, ran):
			why = append(why, part.Text+": it runs what another command has computed")
		case asShell && content[ran] != "":
			text := content[ran]
			if line, _, _ := strings.Cut(text, "\n"); strings.HasPrefix(line, "#!") && !strings.Contains(line, "sh") {
				continue // in another language
			}
			content[ran] = "" // which ends texts that write and run themselves
			if risk, _ := Assess(text, c); risk.Level == "high" {
				why = append(why, part.Text+": "+risk.Reasons[0])
			}
		}
		if len(content) > 0 && recipeFiles()[part.Name] != "" {
			if recipes++; recipes > maxRecipes {
				return append(why, part.Text+": what it runs is not looked into any more")
			}
			if text := part.recipe(content); text != "" && !seen[text] {
				seen[text] = true
				if recipe, err := parse(text); err == nil {
					why = append(why, recipe.harms(c)...)
				}
			}
		}
		if folder := part.clones(); folder != "" {
			unpacked, modules[path.Base(folder)] = append(unpacked, part.found(folder)), true
		}
		sub, rest := part.gitArgs()
		if sub == "remote" && len(rest) > 2 && rest[0].Text == "add" && address().MatchString(rest[len(rest)-1].Text) {
			remotes = append(remotes, rest[len(rest)-2].Text)
		}
		takes := movesTree.Has(sub) && slices.ContainsFunc(rest, func(a Word) bool {
			remote, _, _ := strings.Cut(a.Text, "/")
			return slices.Contains(remotes, remote)
		})
		if part.fetchesMany() {
			unpacked = append(unpacked, ".")
		}
		if takes || part.checksOutOthers() {
			unpacked, entry = append(unpacked, "."), true
		}
		files := append(part.written(), part.redirected()...)
		wraps := i+1 < len(s.Commands) && len(s.Commands[i+1].Via) > len(part.Via) && s.Commands[i+1].downloads()
		fetches, copies := part.downloads() || fetched(part.input) || wraps, part.fetchesFiles()
		for _, a := range part.Args {
			if strings.Contains(a.Text, "/") && downloaders.Has(part.Name) { // wget and curl -O name it like the address
				files = append(files, static(path.Base(a.Text)))
			}
			if _, remote, other := strings.Cut(a.Text, ":"); other && copies { // into a folder, which has its name then
				files = append(files, static(joined(part.Args[len(part.Args)-1].path(), path.Base(remote))))
			}
		}
		unpacks := archivers.Has(part.Name) && (fetches || slices.ContainsFunc(part.Args, func(a Word) bool {
			return slices.Contains(downloaded, part.found(a.Text[strings.LastIndexByte(a.Text, '=')+1:]))
		}))
		text, computes := "", false
		if len(files) > 0 {
			text, computes = writtenText(s.Commands, i), writesUnseen(s.Commands, i)
		}
		for _, f := range files {
			if f.where() == "" {
				continue
			}
			name := part.found(f.where())
			if unpacks || copies {
				unpacked = append(unpacked, name)
			}
			if unpacks {
				continue
			}
			if fetches {
				downloaded = append(downloaded, name)
				entry = entry || filenames.EntryPoint(name) || containerFiles.Has(path.Base(name))
				if m := module().FindStringSubmatch(name); m != nil {
					modules[m[1]] = true
				}
			} else if d := dialects()[usualName(part.Name)]; d != nil && d.writes != nil && len(part.writes) > 0 {
				computed = append(computed, name)
			} else if text != "" {
				content[name] = part.after(content[name], text)
			} else if computes {
				computed = append(computed, name)
			}
		}
	}
	return why
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
		return slices.ContainsFunc(rest, func(a Word) bool { return proposed().MatchString(a.Text) })
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
	return (c.Name == "patch" || sub == "apply" || sub == "am") && !slices.ContainsFunc(c.Args, func(a Word) bool {
		return slices.Contains([]string{"--stat", "--numstat", "--summary", "--check", "--dry-run"}, a.Text)
	})
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
	var moved []string
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
		case part.Name == "rm", part.Name == "rmdir", part.Name == "find":
			if len(moved) > maxMoved || slices.ContainsFunc(moved, func(m string) bool {
				return (part.Name == "find" || part.again) && made().MatchString(path.Base(m)) && part.deletesAgain(p) ||
					part.Name != "find" && slices.ContainsFunc(operands, func(o Word) bool {
						name := part.found(o.path())
						return under(m, name) || under(name, m)
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
		if (part.reads || repl) && part.readsInput() && !part.otherDirectory() {
			why = append(why, part.Text+": "+readsCode)
		}
	}
	return why
}

// What a text holds of secrets: the commands that read them, and where it keeps what these print.
type secretsIn struct {
	commands  []Command
	readers   []int             // found once: there may be many that send
	files     map[string]string // with the command that has written to it
	variables map[string][]int  // the readers, and -1 for the value of a secret variable
	functions map[string]bool   // those that print secrets are true
	sourced   []int             // commands that set any variable to what is in a file with secrets
	values    map[string]string // of variables that the text sets itself
	opened    map[int]string    // commands that read from a descriptor for such a file, and what has opened it
}

func (s *Script) secrets() *secretsIn {
	in := &secretsIn{commands: s.Commands, files: map[string]string{}, variables: map[string][]int{},
		functions: map[string]bool{}, values: s.values, opened: map[int]string{}}
	opened := "" // by exec 3< .env
	for i := range s.Commands {
		c := &s.Commands[i]
		reads := in.functions[c.Name] || c.readsSecret()
		redirected := slices.ContainsFunc(c.Redirects, func(r Redirect) bool { return r.Op[0] == '<' })
		switch {
		case (c.Name == "exec" && len(c.Args) == 0 || c.built) && redirected && (reads || slices.ContainsFunc(
			s.Commands[c.input.from:c.input.to], func(c Command) bool { return c.readsSecret() })):
			opened = c.Text
		case opened != "" && (slices.ContainsFunc(c.Redirects, func(r Redirect) bool { return r.Op == "<&" }) ||
			!redirected && c.input == (span{}) && strings.HasPrefix(opened, "exec <")):
			in.opened[i], reads = opened, true
		}
		if reads && (c.Name == "." || c.Name == "source") {
			in.sourced = append(in.sourced, i)
		}
		for _, via := range c.Via {
			if name, ok := strings.CutPrefix(via, inFunction); ok {
				in.functions[name] = in.functions[name] || reads
			}
		}
		fed := len(in.reading(c.input)) > 0
		if reads {
			in.readers = append(in.readers, i)
		}
		files := c.redirected()
		if fed || slices.ContainsFunc(c.Args, secret) {
			files = append(files, c.written()...)
		}
		for n := 0; n < len(files) && (reads || fed); n++ {
			in.files[c.found(files[n].Text)] = c.Text
		}
	}
	for range 3 { // the value of a variable may be that of another one
		for i := range s.Commands {
			in.set(i)
		}
		for _, name := range slices.Sorted(maps.Keys(s.values)) {
			if readers := in.held(s.values[name]); readers != nil {
				in.variables[name] = readers
			}
		}
	}
	return in
}

// set records the variables that a command sets to what a reader prints: of read, and the arguments of a function.
func (in *secretsIn) set(i int) {
	c := &in.commands[i]
	names, texts, readers := c.Args, c.Args, []int(nil)
	_, calls := in.functions[c.Name]
	switch {
	case c.Name == "read" || c.Name == "mapfile" || c.Name == "readarray":
		readers = slices.Concat(in.reading(c.input), in.reading(span{i, i + 1})) // by a redirect
		for _, r := range c.Redirects {
			texts = append(slices.Clip(texts), r.Target)
		}
	case c.Name == "printf" && len(c.Args) > 1 && c.Args[0].Text == "-v":
		names = c.Args[1:2]
	case len(c.Assigns) > 0 && (c.Name == "" || exports.Has(c.Name)):
		names, texts = nil, []Word{{Text: c.Text}}
		for _, name := range c.Assigns {
			names = append(names, static(name))
		}
	case exports.Has(c.Name):
		for _, a := range c.Args { // export $(cat .env)
			in.sourced = append(in.sourced, in.held(a.Text)...)
		}
		in.sourced = slices.Compact(slices.Sorted(slices.Values(in.sourced[:min(len(in.sourced), maxHeld)])))
		return
	case calls || shells.Has(c.Name):
		names = []Word{{Text: "1"}, {Text: "2"}, {Text: "3"}, {Text: "@"}, {Text: "*"}}
	default:
		return
	}
	for n := 0; n < len(texts) && len(readers) == 0; n++ {
		readers = in.held(texts[n].Text)
	}
	for n := 0; n < len(names) && len(readers) > 0; n++ {
		in.variables[names[n].Text] = readers
	}
}

// reading are the readers among some commands.
func (in *secretsIn) reading(s span) []int {
	from, _ := slices.BinarySearch(in.readers, s.from)
	to, _ := slices.BinarySearch(in.readers, s.to)
	return in.readers[from:max(from, to)]
}

const maxHeld = 8 // readers of which a text holds something; more make no difference

// held are the readers whose output is in a text, and -1 for the value of a secret variable.
func (in *secretsIn) held(text string) (readers []int) {
	for _, m := range variables().FindAllStringSubmatch(text, 10) {
		readers = append(readers, in.variables[m[1]]...)
	}
	for i := 0; i < len(in.readers) && len(readers) < maxHeld && strings.ContainsAny(text, "(`"); i++ {
		c := &in.commands[in.readers[i]]
		if strings.Contains(text, c.Text) && (!in.functions[c.Name] || strings.Contains(text, "$("+c.Text) ||
			strings.Contains(text, "`"+c.Text)) {
			readers = append(readers, in.readers[i])
		}
	}
	if hasSecret(text) {
		readers = append(readers, -1)
	}
	slices.Sort(readers)
	readers = slices.Compact(readers)
	return readers[:min(len(readers), maxHeld)]
}

// givenTo says what a command sends of that, "" for nothing.
func (in *secretsIn) givenTo(c *Command, input bool) string {
	own := func(reader int) bool { // for a program of this machine
		return c.local() && (archivers.Has(in.commands[reader].Name) || dumps.Has(in.commands[reader].Name))
	}
	for _, reader := range in.reading(c.input) {
		if input && !own(reader) {
			return "what " + in.commands[reader].Text + " prints"
		}
	}
	for n, a := range c.Args {
		if a.Static {
			continue
		}
		if len(in.sourced) > 0 && c.sendsSourced(n, in.values) {
			return "what " + in.commands[max(0, in.sourced[0])].Text + " sets"
		}
		for _, reader := range in.held(a.Text) {
			switch {
			case reader < 0 && c.sendsVariable(n):
				return a.Text
			case reader >= 0 && !own(reader) && !c.usesToken(n, &in.commands[reader]):
				return "what " + in.commands[reader].Text + " prints"
			}
		}
	}
	return ""
}

// sendsSourced reports a word that sends the value of a variable that the text does not set itself: in a body, behind
// the host of an address, or in front of one. Which host it is, and who logs in, a file with settings may say.
func (c *Command) sendsSourced(n int, values map[string]string) bool {
	text := c.Args[n].Text
	other := func(m []string) bool {
		return values[m[1]] == "" && !inherited().MatchString(m[1]) && !homeVariable(m[1])
	}
	if c.local() || !slices.ContainsFunc(variables().FindAllStringSubmatch(text, 10), other) {
		return false
	}
	option, _, attached := strings.Cut(text, "=")
	if !attached || !strings.HasPrefix(option, "--") {
		option = c.Args[max(0, n-1)].Text
	}
	switch {
	case option == "-H" || option == "--header":
		return !authorizes().MatchString(text)
	case bodyOption().MatchString(option):
		return true
	}
	return besideHost().MatchString(text)
}

var (
	bodyOption = lazy.Regexp(`^(-[dFb]|--(data|form|json|cookie|post|body)[\w-]*|--url-query)$`)
	besideHost = lazy.Regexp(`://[\w.:@-]+[/?].*\$|^"?[^:/]*\$\{?\w+\}?"?\.[\w-]+\.?[\w.-]*"?$`)
)

// selecting are programs that print a part of what they read, or what they are given.
const selecting lazy.Words = "grep egrep rg ag awk gawk sed jq yq cut python python3 node ruby perl php echo printf"

var (
	tokenFile  = lazy.Regexp(`(?i)token|api[_-]?key|jwt|passw`)
	authorizes = lazy.Regexp(`(?i)^"?(authorization|[\w-]*(key|token|auth))\s*:`)
)

// usesToken reports a word that is a header, or a user, with a single secret: it is there to be sent.
func (c *Command) usesToken(n int, reader *Command) bool {
	if n == 0 || !slices.Contains([]string{"-H", "--header", "-u", "--user"}, c.Args[n-1].Text) {
		return false
	}
	return tokenFile().MatchString(textOf(reader.Args)) || selecting.Has(reader.Name) &&
		(strings.HasSuffix(c.Args[n-1].Text, "u") || strings.HasSuffix(c.Args[n-1].Text, "user") ||
			authorizes().MatchString(c.Args[n].Text))
}

// sentSecrets say which commands send what others read from files with secrets, or all variables: what they are given
// on the input, and the substitutions in their words. The value of a header is there to be sent.
func sentSecrets(s *Script) (why []string) {
	secrets := sync.OnceValue(s.secrets)
	var kept []int // commands of git that keep what a push sends
	all := false   // find has named all files
	for i := range s.Commands {
		part := &s.Commands[i]
		switch sub, _ := part.gitArgs(); sub {
		case "add", "stage", "commit", "commit-tree", "tag", "notes", "hash-object":
			kept = append(kept, i)
		case "push":
			for _, at := range kept {
				if from := secrets().keptBy(&s.Commands[at]); from != "" {
					why = append(why, part.Text+": it sends "+from+", which may hold secrets")
					break
				}
			}
			kept = nil
		}
		if part.Name == "find" {
			all = len(wholeTrees(strings.Fields(textOf(part.Args)))) > 0
		}
		first := ""
		if len(part.Args) > 0 {
			first = part.Args[0].Text
		}
		sends := senders.Has(part.Name) && (part.Name != "openssl" || first == "s_client") ||
			part.Name == "git" && strings.Contains(textOf(part.Args), "://")
		if !downloaders.Has(part.Name) && !sends {
			continue
		}
		sendsInput := sends || part.Name == "http" || part.Name == "https" || part.Name == "xh" ||
			slices.ContainsFunc(part.Args, func(a Word) bool { return sendsStdin().MatchString(a.Text) })
		var files []string
		switch _, given := splitOptions(part.Args, "-F --field --body-file --notes-file --input"); part.Name {
		case "gh", "glab", "git": // other words may be about a file
			for _, g := range given {
				files = append(files, g.value.Text[strings.LastIndexByte(g.value.Text, '@')+1:])
			}
		case "openssl": // uses files
		default:
			for _, a := range part.Args {
				if part.Name == "smbclient" { // has commands in a word
					files = append(files, strings.Fields(a.Text)...)
				} else if sends {
					files = append(files, a.Text)
				}
			}
		}
		for _, r := range part.Redirects {
			if r.Op == "<" && sendsInput {
				files = append(files, r.Target.Text)
			}
		}
		for _, file := range files {
			if secret(static(file)) && !part.local() && !strings.Contains(file, " ") && !usesFile().MatchString(file) {
				why = append(why, part.Text+": it sends "+file+", which may hold secrets")
			}
		}
		for _, file := range part.sentFiles() {
			if all && len(part.Via) > 0 && strings.ContainsAny(file, "{$") && !part.local() {
				why = append(why, part.Text+": it sends all files that find names, which may hold secrets")
			}
			if from := secrets().files[part.found(file)]; from != "" {
				why = append(why, part.Text+": it sends what "+from+" prints, which may hold secrets")
			}
		}
		if from := secrets().opened[i]; sendsInput && from != "" {
			why = append(why, part.Text+": it sends what "+from+" has opened, which may hold secrets")
		}
		via := part.Via[max(0, len(part.Via)-1):]
		piped := slices.Contains(via, "xargs") || slices.Contains(via, "parallel")
		if given := secrets().givenTo(part, piped || sendsInput); given != "" {
			why = append(why, part.Text+": it sends "+given+", which may hold secrets")
		}
	}
	return why
}

// keptBy says what a command of git keeps of a secret: in a message, or as a file.
func (in *secretsIn) keptBy(c *Command) string {
	if from := in.givenTo(c, true); from != "" {
		return from
	}
	_, rest := c.gitArgs()
	operands, options := splitOptions(rest, "-F --file -m --message -C -c --author --date -t --template -u --local-user")
	for _, g := range options {
		if g.name == "-F" || g.name == "--file" {
			operands = append(operands, g.value)
		}
	}
	if slices.ContainsFunc(rest, func(a Word) bool { return optionOf(a.Text, "-A -a --all -u") }) {
		operands = append(operands, static("."))
	}
	for _, o := range operands {
		if secret(o) {
			return o.Text
		}
		folder, found := c.found(o.Text), ""
		for file := range in.files {
			if under(file, folder) || folder == "." && !path.IsAbs(file) {
				found = max(found, file) // always the same one
			}
		}
		if found != "" {
			return found
		}
	}
	return ""
}

// senders are other programs that send what is in their words, what they read, or the files that they name.
const senders lazy.Words = `dig nslookup host ping open xdg-open drill kdig delv getent whois traceroute tracepath mtr
	openssl redis-cli logger kcat kafkacat wscat websocat grpcurl gh glab telegram-send slackcat wormhole
	magic-wormhole croc ffsend transfer ncftpput smbclient msmtp swaks`

var (
	variables = lazy.Regexp(`\$\{?(\w+|[@*])`)
	ownHost   = lazy.Regexp(`\b(localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1\]|host\.docker\.internal)\b|^:\d`)
)

// local reports a command with an address on this machine.
func (c *Command) local() bool {
	return slices.ContainsFunc(c.Args, func(a Word) bool { return ownHost().MatchString(a.Text) })
}

// sendsVariable reports a word with the value of a secret variable that is an address, or a body.
func (c *Command) sendsVariable(n int) bool {
	body := n > 0 && slices.Contains([]string{"-d", "--data", "--data-raw", "--data-binary", "--json", "-F", "--form"},
		c.Args[n-1].Text)
	login := c.Name == "git" && loginVariable().MatchString(c.Args[n].Text) // which is there to be sent
	return (body || strings.Contains(c.Args[n].Text, "://") && !login) && !c.local()
}

// hasSecret reports a text with a variable whose name is that of a secret.
func hasSecret(text string) bool {
	m := variables().FindStringSubmatch(text)
	return m != nil && secretVariable(m[1])
}

// loginVariable is an address with a single variable, for who logs in.
var loginVariable = lazy.Regexp(`^"?https://([\w.-]+:)?\$\{?\w+\}?@[\w.-]+/[\w./~-]*"?$`)

var sendsStdin = lazy.Regexp(`([@=<]|^-T|^)(-|/dev/stdin|/dev/fd/\d+|/proc/self/fd/\d+)$`)

// readsFiles is in a program that may read a file whose name it computes.
var readsFiles = lazy.Regexp(`(?i)read|open|load|file|path|dir`)

// readsSecret reports a command that names a file with secrets, or shows a secret variable or all, one that packs many
// files, and a program that is given as text and reads files.
func (c *Command) readsSecret() bool {
	secretWord := func(a Word) bool { return !a.Static && hasSecret(a.Text) }
	says := (c.Name == "echo" || c.Name == "printf") && slices.ContainsFunc(c.Args, secretWord)
	sub, _ := c.gitArgs()
	return says || archivers.Has(c.Name) || dumps.Has(c.Name) || sub == "bundle" || sub == "archive" ||
		slices.Contains(c.Doubts, asProgram) && readsFiles().MatchString(textOf(c.Args)+c.document()) ||
		showsAll.Has(c.Name) && (len(c.Args) == 0 || c.Args[0].Text == "-p" || c.Args[0].Text == "-x" && len(c.Args) == 1) ||
		c.showsKeys(workdirs{dirs: []string{"/"}}) != "" ||
		!downloaders.Has(c.Name) && slices.ContainsFunc(c.Args, func(a Word) bool {
			return (a.Static || a.kind == glob) && secret(a)
		}) || slices.ContainsFunc(c.Redirects, func(r Redirect) bool { return r.Op == "<" && secret(r.Target) })
}

// dumps print all that is in a database, in a folder, or of what was typed.
const dumps lazy.Words = "history fc zip pg_dump pg_dumpall mysqldump mariadb-dump mongodump mongoexport"

// showsAll show all variables when they are given none.
const showsAll lazy.Words = "env printenv set export declare typeset"

// gitRuns are words behind which commands of git take another command.
const gitRuns lazy.Words = "run foreach -x --exec --extcmd --tool"

// runsFrom reports a command that runs a file in one of some folders, or in one below it what the project there holds.
func (c *Command) runsFrom(folders []string) bool {
	if _, rest := c.gitArgs(); c.Name == "git" && !slices.ContainsFunc(rest, func(a Word) bool {
		return gitRuns.Has(a.Text)
	}) { // a new clone has no hooks
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
		c.Name == "tee" && slices.ContainsFunc(c.Args, func(a Word) bool { return optionOf(a.Text, "-a --append") })
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
