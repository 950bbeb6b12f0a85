// Package programpath finds a program where a person's shell would find it, for a process whose PATH is bare, such as
// one that a desktop application started.
package programpath

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A Program is a program that was found, and the PATH to run it with.
type Program struct {
	// Path is the absolute path of the file.
	Path string
	// PATH has the program's folder, which may hold what it runs itself, as that of npx holds node; then what PATH was;
	// then the usual folders that exist.
	PATH string
	// Usual is true when the program is not in PATH, but in a usual folder.
	Usual bool
}

// A NotFoundError says that a program is in no folder, and lists them.
type NotFoundError struct {
	Name string
	// Path are the folders of PATH, Usual those where the installers of programs put them.
	Path, Usual []string
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("%s is not found; looked in PATH (%s) and in %s", e.Name, listed(e.Path), listed(e.Usual))
}

func listed(folders []string) string {
	if len(folders) == 0 {
		return "empty"
	}
	return strings.Join(folders, ", ")
}

// Is makes the error one of fs.ErrNotExist and exec.ErrNotFound.
func (e *NotFoundError) Is(target error) bool {
	return target == fs.ErrNotExist || target == exec.ErrNotFound
}

// Find finds the program called name with the PATH and the HOME of env, which has the form of os.Environ. A name with a
// slash is a path, which is not looked up. The error is a *NotFoundError.
func Find(name string, env []string) (*Program, error) {
	inPath, usual := folders(env)
	if strings.ContainsRune(filepath.ToSlash(name), '/') {
		folder := filepath.Dir(name)
		if !filepath.IsAbs(folder) {
			return &Program{Path: name, PATH: join(inPath, usual)}, nil
		}
		return &Program{Path: name, PATH: join(inPath, usual, []string{folder})}, nil
	}
	for i, folder := range slices.Concat(inPath, usual) {
		if !filepath.IsAbs(folder) { // what it holds depends on where the program runs
			continue
		}
		path, err := exec.LookPath(filepath.Join(folder, name))
		if err != nil {
			continue
		}
		return &Program{Path: path, PATH: join([]string{folder}, inPath, usual), Usual: i >= len(inPath)}, nil
	}
	return nil, &NotFoundError{Name: name, Path: inPath, Usual: tried(env)}
}

// folders returns those of PATH, and the usual ones that exist and are not among them.
func folders(env []string) (inPath, usual []string) {
	for _, folder := range filepath.SplitList(value(env, "PATH")) {
		if folder != "" && !slices.Contains(inPath, folder) {
			inPath = append(inPath, folder)
		}
	}
	for _, pattern := range patterns(env) {
		for _, folder := range expand(pattern) {
			if !slices.Contains(inPath, folder) && !slices.Contains(usual, folder) {
				usual = append(usual, folder)
			}
		}
	}
	return inPath, usual
}

// expand returns the folders that fit a pattern, of versions the latest first.
func expand(pattern string) []string {
	found, _ := filepath.Glob(pattern) // the only error is that of a bad pattern
	slices.SortFunc(found, func(a, b string) int { return compareVersions(b, a) })
	return slices.DeleteFunc(found, func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || !info.IsDir()
	})
}

// tried are the usual folders for an error: patterns, where ~ stands for the home folder.
func tried(env []string) (out []string) {
	for _, pattern := range patterns(env) {
		if home := home(env); home != "" {
			if rest, ok := strings.CutPrefix(pattern, home+string(filepath.Separator)); ok {
				pattern = filepath.Join("~", rest)
			}
		}
		if !slices.Contains(out, pattern) {
			out = append(out, pattern)
		}
	}
	return out
}

func join(lists ...[]string) string {
	var out []string
	for _, folder := range slices.Concat(lists...) {
		if !slices.Contains(out, folder) {
			out = append(out, folder)
		}
	}
	return strings.Join(out, string(filepath.ListSeparator))
}

// value returns that of a variable, the last if it is there twice.
func value(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		key, value, ok := strings.Cut(entry, "=")
		if ok && (key == name || runtime.GOOS == "windows" && strings.EqualFold(key, name)) {
			return value
		}
	}
	return ""
}

// patterns are the usual folders of programs, existing or not, in the order in which they are looked through: those of
// version managers first, since a person who has one means its programs. Stars stand for versions.
func patterns(env []string) []string {
	if runtime.GOOS == "windows" {
		return windowsPatterns(env)
	}
	var out []string
	add := func(root string, below ...string) {
		if filepath.IsAbs(root) && !strings.ContainsAny(root, `*?[\`) {
			out = append(out, filepath.Join(append([]string{root}, below...)...))
		}
	}
	home := home(env)
	under := func(variable string, below ...string) string { // a folder that a variable may move
		if moved := value(env, variable); moved != "" || home == "" {
			return moved
		}
		return filepath.Join(append([]string{home}, below...)...)
	}
	add(under("VOLTA_HOME", ".volta"), "bin")
	for _, fnm := range []string{value(env, "FNM_DIR"), under("", ".local", "share", "fnm"),
		under("", "Library", "Application Support", "fnm"), under("", ".fnm")} {
		add(fnm, "aliases", "default", "bin")
	}
	add(under("NVM_DIR", ".nvm"), "versions", "node", "v*", "bin")
	add(under("ASDF_DATA_DIR", ".asdf"), "shims")
	add(under("MISE_DATA_DIR", ".local", "share", "mise"), "shims")
	add(under("N_PREFIX", "n"), "bin")
	add(under("", ".local"), "bin") // uv and pipx too
	add(under("CARGO_HOME", ".cargo"), "bin")
	add(under("BUN_INSTALL", ".bun"), "bin")
	add(under("DENO_INSTALL", ".deno"), "bin")
	add(under("PYENV_ROOT", ".pyenv"), "shims")
	add(value(env, "PNPM_HOME"))
	add(under("", ".local", "share"), "pnpm")
	add(under("", "Library"), "pnpm")
	add(under("GOPATH", "go"), "bin")
	add(under("", "bin"))
	add("/opt/homebrew/bin")
	add("/home/linuxbrew/.linuxbrew/bin")
	add("/usr/local/bin")
	add("/usr/bin")
	add("/bin")
	add("/snap/bin")
	add("/nix/var/nix/profiles/default/bin")
	return out
}

func windowsPatterns(env []string) (out []string) {
	for _, place := range [][2]string{{"NVM_SYMLINK", ""}, {"VOLTA_HOME", "bin"}, {"LOCALAPPDATA", `Volta\bin`},
		{"ProgramFiles", "nodejs"}, {"APPDATA", "npm"}, {"USERPROFILE", `.local\bin`}, {"USERPROFILE", `.cargo\bin`},
		{"USERPROFILE", `.bun\bin`}, {"USERPROFILE", `.deno\bin`}, {"USERPROFILE", `scoop\shims`},
		{"LOCALAPPDATA", `Microsoft\WinGet\Links`}, {"LOCALAPPDATA", `pnpm`}} {
		if root := value(env, place[0]); filepath.IsAbs(root) {
			out = append(out, filepath.Join(root, place[1]))
		}
	}
	return out
}

func home(env []string) string {
	if runtime.GOOS == "windows" {
		return value(env, "USERPROFILE")
	}
	return value(env, "HOME")
}

// compareVersions compares texts with the numbers in them as numbers.
func compareVersions(a, b string) int {
	for a != "" && b != "" {
		numberA, restA := leadingNumber(a)
		numberB, restB := leadingNumber(b)
		switch {
		case numberA != "" && numberB != "":
			numberA, numberB = strings.TrimLeft(numberA, "0"), strings.TrimLeft(numberB, "0")
			if c := cmp.Or(cmp.Compare(len(numberA), len(numberB)), cmp.Compare(numberA, numberB)); c != 0 {
				return c
			}
			a, b = restA, restB
		case a[0] != b[0]:
			return cmp.Compare(a[0], b[0])
		default:
			a, b = a[1:], b[1:]
		}
	}
	return cmp.Compare(len(a), len(b))
}

func leadingNumber(s string) (number, rest string) {
	rest = strings.TrimLeft(s, "0123456789")
	return s[:len(s)-len(rest)], rest
}
