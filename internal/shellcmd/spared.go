package shellcmd

import (
	"cmp"
	"path"
	"slices"
	"strings"

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
			if named = made().MatchString(a.Text); !named {
				return false
			}
		case !findTests.Has(a.Text) && (!plainPath().MatchString(a.Text) || strings.Contains(a.Text, "..")):
			return false
		}
	}
	return named
}

var plainPath = lazy.Regexp(`^[\w.]`)

const findTests lazy.Words = "-name -type -maxdepth -mindepth -prune -depth -print -print0 -delete"

// keepsRights reports a mode by which nobody else may write, and nothing runs as another user.
func keepsRights(args []Word) bool {
	operands, _ := splitOptions(args, "")
	return len(operands) > 1 && ownMode().MatchString(operands[0].Text) &&
		!slices.ContainsFunc(operands, func(a Word) bool { return a.where() == "" && a.kind != glob })
}

var ownMode = lazy.Regexp(`^(0?[67][045][045]|u[+=][rwxX]+|[ugoa]*\+[rxX]+|g?o?-[rwx]+|u=[rwxX]+,go=[rxX]*)$`)

const reachesAll = "it can reach all of the machine"

// contained reports docker run whose options give the container nothing of the machine but its network, variables, and
// folders of the workspace.
func (c *Command) contained(p workdirs) bool {
	args := c.Args
	if len(args) > 0 && args[0].Text == "container" {
		args = args[1:]
	}
	if len(args) == 0 || args[0].Text != "run" && args[0].Text != "create" {
		return false
	}
	for i := 1; i < len(args); i++ {
		name, text, attached := strings.Cut(args[i].Text, "=")
		value := Word{Text: text, Static: args[i].Static}
		switch {
		case args[i].Text == "" || args[i].Text[0] != '-':
			return args[i].Static // the image
		case args[i].Static && plainFlags().MatchString(name):
			continue
		case !plainValues.Has(name), attached && !args[i].Static:
			return false
		case !attached && i+1 < len(args):
			i++
			value = args[i]
		}
		from, _, two := strings.Cut(value.path(), ":")
		switch known := value.Static || value.kind == folder; { // a folder's own name counts as one word
		case !known && value.split && !ownUser().MatchString(value.Text),
			strings.Contains(name, "-v") && (!known || two && !volumeName().MatchString(from) &&
				(!strings.ContainsAny(from[:min(1, len(from))], "./") || p.outside(static(from)) != "")),
			strings.HasPrefix(name, "--net") && (!value.Static || from == "host" || two):
			return false
		}
	}
	return false
}

// plainValues are options of docker run with a value that give a container nothing of the machine, but for some of -v
// and --network; plainFlags are such options without one.
const plainValues lazy.Words = `-e --env --env-file -w --workdir -p --publish --expose --name -h --hostname -u --user
	--entrypoint --network --net --network-alias --platform --pull -m --memory --memory-swap --cpus --shm-size --ulimit -l
	--label --tmpfs --add-host --dns --restart --stop-timeout --stop-signal --gpus --cpuset-cpus --pids-limit --cap-drop
	--health-cmd --health-interval --health-retries --health-timeout -v --volume`

var (
	plainFlags = lazy.Regexp(`^(-[ditP]+|--(detach|interactive|tty|rm|init|read-only|publish-all|quiet|no-healthcheck))$`)
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
		return !temporary(file) || p.inside(file) || strings.HasPrefix(p.root, file+"/")
	})
}

// intoTemp reports a command that puts files into the folder itself.
func (p workdirs) intoTemp(c *Command, x Word) bool {
	return len(p.dirs) == 1 && joined(p.dirs[0], x.where()) == "/tmp" &&
		(x.Text == "." || (c.Name == "cp" || c.Name == "mv") && c.Args[len(c.Args)-1].Text == x.Text)
}

// made are files and folders that a build, a test or an install makes again.
var made = lazy.Regexp(`^(node_modules|dist|target|out|coverage|htmlcov|__pycache__|venv|\.(next|nuxt|output|svelte-kit|` +
	`turbo|parcel-cache|cache|vite|venv|tox|nox|pytest_cache|mypy_cache|ruff_cache|eslintcache|nyc_output|coverage|` +
	`gradle|dart_tool|eggs|DS_Store)|\*?[\w.-]*\.(pyc|pyo|class|o|obj|tsbuildinfo|egg-info)|package-lock\.json)$`)

// deletesAgain reports a command that deletes nothing but such files of the workspace, and temporary ones, by name.
func (c *Command) deletesAgain(p workdirs) bool {
	operands, _ := splitOptions(c.Args, "")
	switch {
	case c.Name == "find" && findsMade(c.Args),
		c.again && c.Name == "rm" && len(operands) == 1 && operands[0].Text == "{}":
		return !slices.ContainsFunc(p.dirs, func(d string) bool { return !p.inside(d) })
	case c.Name != "rm" && c.Name != "rmdir" || len(c.Via) > 0 || c.Program.Text != c.Name:
		return false
	}
	return len(operands) > 0 && !slices.ContainsFunc(operands, func(a Word) bool {
		text := cmp.Or(a.where(), a.Text)
		sure := a.where() != "" || a.kind == glob && !strings.ContainsAny(text, "'\"\\$`~{")
		inside := p.outside(Word{Text: text, Static: true, kind: known}) == ""
		again := sure && inside && !strings.Contains(text, "..") && made().MatchString(path.Base(text))
		return !again && !p.temporary(a) || !strings.Contains(c.Text, a.Text) // but stands for another word
	})
}
