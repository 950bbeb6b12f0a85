package shellcmd

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/sdk/filenames"
)

// Uses of harmful programs that are not rated high because of what they are used on: files that are made again,
// temporary ones, containers that are given nothing of the machine.

// findsMade reports find with the names of such files, in folders below its own.
func findsMade(args []Word) (named bool) {
	for i, a := range args {
		switch {
		case !a.Static, a.Text == "-delete" && !named:
			return false
		case i > 0 && args[i-1].Text == "-name":
			if named = made().MatchString(a.Text) || hasWord(args, "-delete") && leftBehind(a.Text); !named {
				return false
			}
		case findTests.Has(a.Text):
		case a.Text == "" || a.Text[0] != '.' && !isWordByte(a.Text[0]) || strings.Contains(a.Text, ".."):
			return false
		}
	}
	return named
}

const findTests lazy.Words = "-name -type -maxdepth -mindepth -prune -depth -print -print0 -delete"

// keepsRights reports a mode by which nobody else may write, and nothing runs as another user.
func keepsRights(args []Word) bool {
	operands, _ := splitOptions(args, "")
	return len(operands) > 1 && ownMode().MatchString(operands[0].Text) &&
		!slices.ContainsFunc(operands, func(a Word) bool { return a.where() == "" && a.kind != glob })
}

var ownMode = lazy.Regexp(`^(0?[67][045][045]|u[+=][rwxX]+|[ugoa]*\+[rxX]+|g?o?-[rwx]+|u=[rwxX]+,go=[rxX]*)$`)

const reachesAll = "it can reach all of the machine, or secrets"

// sparedRows are uses of commands of harmfulUses that do no harm: docker run with options that give the container
// nothing of the machine but its network, variables, and folders of the workspace, the end of containers and images by
// their names, as docker compose down ends them, of the process at a port, and git restore for the index alone.
var sparedRows = []row{
	{"docker|podman|nerdctl run|create|container run|container create", "d i t P detach interactive tty rm init " +
		"read-only publish-all quiet no-healthcheck e= env= env-file= w= workdir= p= publish= expose= name= h= hostname= " +
		"u= user= entrypoint= network= net= network-alias= platform= pull= m= memory= memory-swap= cpus= shm-size= ulimit= " +
		"l= label= tmpfs= add-host= dns= restart= stop-timeout= stop-signal= gpus= cpuset-cpus= pids-limit= cap-drop= " +
		"health-cmd= health-interval= health-retries= health-timeout= v= volume=", spec{first: true, says: true}},
	{"docker|podman|nerdctl rm|rmi|kill|image prune", "f force no-prune", spec{}},
	{"fuser", "k v s 4 6 9 15 TERM KILL INT n=(tcp|udp)", spec{oneDash: true}},
	{"git restore", "S staged q quiet", spec{}},
}

var sparedSpecs = sync.OnceValue(func() map[string]*spec { return addRows(map[string]*spec{}, sparedRows, false) })

// spared reports such a use; of git without the options before the sub-command.
func (c *Command) spared(p workdirs) bool {
	s, n := c.findIn(sparedSpecs())
	if s == nil || c.gainsWords() {
		return false
	}
	u := &invocation{command: c}
	switch {
	case u.read(s, c.Args[n:]) != "":
		return false
	case c.Name == "git":
		return u.has("S", "staged") && !slices.ContainsFunc(u.operands, func(a Word) bool { return !a.Static })
	case c.Name == "fuser":
		return !slices.ContainsFunc(u.operands, func(a Word) bool {
			return !digits(strings.TrimSuffix(strings.TrimSuffix(a.Text, "/tcp"), "/udp"))
		})
	case !s.first: // what is removed
		return !slices.ContainsFunc(u.operands, func(a Word) bool { return !a.Static })
	case len(u.operands) == 0 || !u.operands[0].Static: // the image
		return false
	}
	for _, g := range u.given {
		from, _, two := strings.Cut(g.value.path(), ":")
		switch known := g.value.Static || g.value.kind == folder; g.name {
		case "v", "volume":
			if caches().MatchString(g.value.Text) {
				continue
			}
			if !known || two && !volumeName().MatchString(from) &&
				(!strings.ContainsAny(from[:min(1, len(from))], "./") || p.outside(static(from)) != "") &&
				!p.temporary(static(from)) {
				return false
			}
		case "env-file": // for an image whose name says that others have built it
			if secret(g.value) && strings.Contains(u.operands[0].Text, "/") {
				return false
			}
		case "net", "network":
			if !g.value.Static || from == "host" || two {
				return false
			}
		}
	}
	return true
}

var (
	// caches are what tools of builds keep in a home folder, and a place in a container.
	caches = lazy.Regexp(`^"?(~|\$HOME|\$\{HOME\}|/root|/(home|Users)/\w[\w.-]*)"?/(\.(m2|gradle|cache|npm|ivy2|sbt|` +
		`pub-cache|pnpm-store|nuget/packages|cargo/(registry|git)|yarn(/berry)?/cache|composer/cache|bun/install/cache)|` +
		`go/pkg)(/\w[\w.-]*)*"?:"?/[\w./-]+(:[a-zA-Z,]+)?"?$`)
	volumeName = lazy.Regexp(`^[A-Za-z0-9][\w.-]+$`)
	ownUser    = lazy.Regexp(`^\$\(id -u\)(:\$\(id -g\))?$`)
)

// temporary reports a path in the folder for temporary files, where nothing is kept: not the folder itself, and not
// what is hidden there or toolhost's own, which are sockets and programs of others.
func temporary(file string) bool {
	name, in := strings.CutPrefix(path.Clean(file), "/tmp/")
	return in && name[0] != '.' && !strings.HasPrefix(name, "toolhost") && !filenames.AutoExecuted(name)
}

// temporary reports a word that certainly is such a path, and not one of a workspace there, or above it.
func (p workdirs) temporary(x Word) bool {
	return x.where() != "" && len(p.dirs) > 0 && !slices.ContainsFunc(p.dirs, func(d string) bool {
		file := joined(d, x.where())
		fresh := under(d, newFile) || under(x.where(), newFile) // which may be beside files that are not temporary
		return fresh && strings.Contains(x.where(), "..") || !temporary(file) || p.inside(file) ||
			strings.HasPrefix(p.root, file+"/")
	})
}

// temporaryNames reports a pattern for such paths: all in a folder, or all that begin with a name.
func (p workdirs) temporaryNames(x Word) bool {
	begin := x.Text[:max(0, strings.IndexAny(x.Text, "*?["))]
	base := begin[strings.LastIndexByte(begin, '/')+1:]
	return x.kind == glob && path.IsAbs(begin) && !strings.ContainsAny(x.Text, "'\"\\$`~{") &&
		!strings.Contains(x.Text, "..") && p.temporary(static(begin)) && !strings.HasPrefix(p.root, begin) &&
		(base == "" || len(base) > 2 && !strings.HasPrefix(base, "too"))
}

// intoTemp reports a command that puts files into the folder itself.
func (p workdirs) intoTemp(c *Command, x Word) bool {
	return len(p.dirs) == 1 && joined(p.dirs[0], x.where()) == "/tmp" &&
		(x.Text == "." || (c.Name == "cp" || c.Name == "mv" || c.Name == "scp") && c.Args[len(c.Args)-1].Text == x.Text)
}

// made are files and folders that a build, a test or an install makes again.
var made = lazy.Regexp(`^(node_modules|dist|target|out|coverage|htmlcov|__pycache__|venv|\.(next|nuxt|output|svelte-kit|` +
	`turbo|parcel-cache|cache|vite|venv|tox|nox|pytest_cache|mypy_cache|ruff_cache|eslintcache|nyc_output|coverage|` +
	`gradle|dart_tool|eggs|DS_Store|terraform|aws-sam|angular|astro|docusaurus|stack-work|hypothesis|zig-cache|build)|` +
	`Pods|bower_components|DerivedData|cdk\.out|storybook-static|test-results|playwright-report|dist-newstyle|` +
	`_build|elm-stuff|\*?[\w.-]*\.(pyc|pyo|class|o|obj|tsbuildinfo|egg-info|log|prof)|cover(age)?\.html|lcov\.info|` +
	`(a|c|nohup|cpu|mem|block|mutex|trace|profile|cover(age)?)\.out|package-lock\.json|pnpm-lock\.yaml|bun\.lockb|` +
	`(yarn|bun|Cargo|poetry|uv|composer|Gemfile|Podfile)\.lock)$`)

// ownShell is where a command is found that runs here with the words that it shows.
const ownShell lazy.Words = "trap sh bash dash time timeout nice command env $(...)"

// images are what dd makes.
const images lazy.Words = ".img .bin .dat .raw .iso /dev/null"

// copiesTo are the files that dd writes to, if it reads from files of the folder, or what makes such.
func copiesTo(args []Word) (files []Word, ok bool) {
	for _, a := range args {
		switch name, file, _ := strings.Cut(a.Text, "="); {
		case !a.Static || name == "if" && path.IsAbs(file) && !lazy.Words("/dev/zero /dev/urandom /dev/random").Has(file):
			return nil, false
		case name == "of":
			files = append(files, static(file))
		}
	}
	return files, true
}

// records reports folders in which logs may be the records of a machine.
func (p workdirs) records() bool { return p.lost || under("/var/log", p.root) }

// leftBehind reports files that merging and patching leave; a folder with such a name is a copy that someone made.
func leftBehind(base string) bool {
	return lazy.Words(".orig .rej").Has(path.Ext(base)) && !strings.ContainsAny(strings.TrimPrefix(base, "*"), "*?[ {")
}

// rebuilt are such folders as a whole, in which there may be other files than those. Another one is bin, beside obj.
const rebuilt lazy.Words = "build obj"

// deletesAgain reports a command that deletes nothing but such files of the workspace, and temporary ones, by name.
func (c *Command) deletesAgain(p workdirs) bool {
	operands, _ := splitOptions(c.Args, "-s --size")
	later := slices.ContainsFunc(c.Via, func(via string) bool { // in whatever folder
		return via == "trap" || strings.HasPrefix(via, inFunction)
	})
	switch {
	case c.Name == "find" && findsMade(c.Args),
		c.again && c.Name == "rm" && len(operands) == 1 && operands[0].Text == "{}":
		return !((c.again || strings.Contains(textOf(c.Args), ".log")) && p.records()) &&
			!slices.ContainsFunc(p.dirs, func(d string) bool { return !p.inside(d) })
	case !lazy.Words("rm rmdir truncate dd").Has(c.Name) || c.Program.Text != c.Name || c.maybe || c.hidden && !later ||
		c.gainsWords() || slices.ContainsFunc(c.Via, func(via string) bool {
		return !ownShell.Has(strings.TrimSuffix(via, " -c")) && !strings.HasPrefix(via, inFunction)
	}):
		return false
	case c.Name == "dd":
		files, ok := copiesTo(c.Args)
		if !ok || len(files) == 0 {
			return ok
		}
		operands = files
	}
	// the workspace may be in a folder with such a name, or have it
	inRoot := func(a Word) string { // with build/* as build
		return strings.TrimPrefix(path.Clean(strings.TrimSuffix(cmp.Or(a.where(), a.Text), "/*")), p.root+"/")
	}
	beside := map[string]bool{}
	for _, a := range operands {
		beside[inRoot(a)] = true
	}
	deep := optionIn(textsOf(c.Args), "-r -R --recursive")
	return len(operands) > 0 && !slices.ContainsFunc(operands, func(a Word) bool {
		text := cmp.Or(a.where(), a.Text)
		sure := a.where() != "" || a.kind == glob && !strings.ContainsAny(text, "'\"\\$`~{")
		inside := p.outside(Word{Text: text, Static: true, kind: known}) == ""
		file := inRoot(a)
		folder, base := path.Split(file)
		whole := rebuilt.Has(base) || base == "bin" && beside[folder+"obj"]
		again := sure && inside && file != p.root && !strings.Contains(text, "..") && (made().MatchString(base) &&
			(path.Ext(base) != ".log" || !p.records()) || c.Name == "dd" && images.Has(cmp.Or(path.Ext(base), text)) ||
			whole && !p.lost && !isHome(path.Join(p.root, folder)) || leftBehind(base) && !deep ||
			!strings.Contains(folder, "node_modules/") && // in which there may be links to sources
				slices.ContainsFunc(strings.Split(folder, "/"), made().MatchString))
		again = (again || c.Name == "rmdir" && sure && inside) && !later || // which deletes no file
			p.temporary(a) && (!later && !p.lost || path.IsAbs(a.where())) || p.temporaryNames(a)
		return !again || !strings.Contains(c.Text, a.Text) // but stands for another word
	})
}
