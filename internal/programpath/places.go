package programpath

import (
	"cmp"
	"path/filepath"
	"runtime"
	"strings"
)

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
