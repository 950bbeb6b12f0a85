// Package commandline finds the paths in the command of a plugin: arguments that are files, and the script of an
// interpreter.
package commandline

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ResolvePaths makes the arguments of a command that are paths absolute, relative to dir. These are paths: a word that
// begins with ./ or ../, the script of an interpreter, and a word with a slash or an extension that names a file in
// dir; also behind an option's equals sign. The script is that of ScriptAt.
func ResolvePaths(command []string, dir string) (resolved []string, script int) {
	script = ScriptAt(command)
	for i, word := range command {
		if path := pathFrom(dir, word, i == script); i > 0 && path != "" {
			word = path
		}
		resolved = append(resolved, word)
	}
	return resolved, script
}

// SearchesWorkdir reports whether a command runs an interpreter that looks for modules in the folder that it starts
// in: its name, and the option that makes it do so.
func SearchesWorkdir(command []string) (name, option string) {
	for i, word := range command {
		name = programName(word)
		python := name == "python" || name == "pypy"
		if i == 0 && !python && !runners[name] {
			return "", ""
		}
		if !python {
			continue
		}
		for _, option := range command[i+1:] {
			switch {
			case option == "-P", option == "-I", option == "-IP", !strings.HasPrefix(option, "-"):
				return "", ""
			case option == "-m", option == "-c":
				return name, option
			}
		}
		break
	}
	return "", ""
}

// pathFrom makes a word absolute if it is a relative path; "" if it is not.
func pathFrom(dir, word string, script bool) string {
	if option, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "-") {
		if path := pathFrom(dir, value, false); path != "" {
			return option + "=" + path
		}
		return ""
	}
	switch {
	case word == "" || filepath.IsAbs(word) || strings.ContainsRune(word, 0):
		return ""
	case script, strings.HasPrefix(word, "./"), strings.HasPrefix(word, "../"):
		return filepath.Join(dir, word)
	case strings.HasPrefix(word, "-"):
		return ""
	case !strings.Contains(word, "/") && filepath.Ext(word) == "":
		return ""
	}
	path := filepath.Join(dir, word)
	info, err := os.Stat(path)
	if err != nil || info.IsDir() && !strings.Contains(word, "/") {
		return ""
	}
	return path
}

// An interpreter runs a file that its command names. Inline are the options that give a program or a module instead,
// and valued those whose value is the next word. Verb is a word before the file.
type interpreter struct{ inline, valued, verb string }

var interpreters = map[string]interpreter{
	"python": {"-c -m", "-W -X --check-hash-based-pycs", ""}, "pypy": {"-c -m", "-W -X", ""},
	"node": {"-e --eval -p --print -pe",
		"-r --require --import --loader --experimental-loader -C --conditions --env-file --title", ""},
	"deno": {"", "-c --config --import-map --lock -L --log-level", "run"},
	"bun":  {"-e --eval -p --print", "-c --config -r --preload --cwd --env-file", "run"},
	"tsx":  {"-e --eval", "--tsconfig -r --require --import", ""}, "ts-node": {"-e -p", "-P --project -r --require", ""},
	"ruby": {"-e", "-I -r -C -E", ""}, "perl": {"-e -E", "-I", ""}, "php": {"-r -B -R", "-d -c -z", ""},
	"sh": {"-c", "-o +o", ""}, "bash": {"-c", "-o +o -O +O --rcfile --init-file", ""}, "dash": {"-c", "-o +o", ""},
	"zsh": {"-c", "-o +o", ""}, "ksh": {"-c", "-o +o", ""}, "fish": {"-c --command", "-C --init-command", ""},
	"pwsh": {"-c -Command", "-ExecutionPolicy -WorkingDirectory", ""}, "lua": {"-e", "-l", ""},
	"luajit": {"-e", "-l -j -O", ""},
	"tclsh":  {"", "-encoding", ""}, "Rscript": {"-e", "", ""}, "guile": {"-c", "-l -L -e", ""},
	"elixir": {"-e --eval", "-r -pr -pa -pz -S", ""}, "escript": {"", "", ""}, "osascript": {"-e", "-l", ""},
	"java": {"", "-cp -classpath --class-path -p --module-path -m --module", ""},
}

// runners run the program that follows their own arguments.
var runners = map[string]bool{
	"env": true, "nice": true, "nohup": true, "timeout": true, "stdbuf": true, "setsid": true, "ionice": true,
	"sudo": true,
	"time": true, "chrt": true, "taskset": true, "unbuffer": true, "uv": true, "poetry": true, "pipenv": true,
	"bundle": true,
	"npx":    true, "pnpm": true, "yarn": true, "mise": true, "asdf": true, "direnv": true, "firejail": true,
	"bwrap":     true,
	"catchsegv": true, "xvfb-run": true,
}

// programName is the name of a program without its folder, its version and .exe.
func programName(word string) string {
	name := strings.TrimRight(strings.TrimSuffix(filepath.Base(word), ".exe"), "0123456789.")
	if name == "nodejs" {
		return "node"
	}
	return name
}

// ScriptAt returns the index of the word of a command that names the script of an interpreter; 0 for none.
func ScriptAt(words []string) int {
	for i, word := range words {
		name := programName(word)
		if known, ok := interpreters[name]; ok {
			return scriptOf(known, name, words, i+1)
		}
		if i == 0 && !runners[name] {
			return 0
		}
	}
	return 0
}

func scriptOf(known interpreter, name string, words []string, at int) int {
	inline, valued := strings.Fields(known.inline), strings.Fields(known.valued)
	for i := at; i < len(words); i++ {
		word := words[i]
		option, _, _ := strings.Cut(word, "=")
		switch {
		case word == "-" || word == "" || slices.Contains(inline, option) || bundled(inline, word):
			return 0
		case name == "java" && word == "-jar", name == "php" && word == "-f", word == "--":
			if i+1 < len(words) && words[i+1] != "" {
				return i + 1
			}
			return 0
		case slices.Contains(valued, word):
			i++
		case word[0] == '-' || word[0] == '+':
		case word == known.verb && known.verb != "":
		case name == "java" && !strings.HasSuffix(word, ".java"): // the name of a class
			return 0
		default:
			return i
		}
	}
	return 0
}

// bundled finds an option of one letter after others, as in -uc or -lc.
func bundled(inline []string, word string) bool {
	if len(word) < 2 || word[0] != '-' || word[1] == '-' || strings.Contains(word, "=") {
		return false
	}
	for _, option := range inline {
		if len(option) == 2 && strings.ContainsRune(word[1:], rune(option[1])) && len(word) <= 4 {
			return true
		}
	}
	return false
}
