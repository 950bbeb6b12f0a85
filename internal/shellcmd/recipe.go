package shellcmd

import (
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// What make and its like run of a file that the same text has written.

// maxRecipes is how many commands of a text may run what it has written.
const maxRecipes = 50

// recipeFiles are the files in which a program finds the commands that it runs.
var recipeFiles = table{{"Makefile makefile GNUmakefile", "make gmake"}, {"build.ninja", "ninja samu"},
	{"justfile Justfile .justfile", "just"}, {"package.json", "npm pnpm yarn bun"}}

// recipe is the text for a shell that such a program runs of the files with a known content.
func (c *Command) recipe(content map[string]string) string {
	files, folder := recipeFiles.of(c.Name), "."
	if files == "" || len(content) == 0 {
		return ""
	}
	shows := strings.HasSuffix(c.Name, "make") && slices.ContainsFunc(c.Args, func(a Word) bool {
		return !hasWord(c.Args, "--") &&
			optionOf(a.Text, "-n --just-print --dry-run --recon") && !optionOf(a.Text, "-f -C -I -o -W")
	})
	operands, options := splitOptions(c.Args, "-f --file --makefile --justfile -C --directory --prefix")
	for _, g := range options {
		if strings.HasSuffix(g.name, "-C") || g.name == "--directory" || g.name == "--prefix" {
			folder = g.value.Text
		} else {
			files = lazy.Words(g.value.Text)
		}
	}
	var names []string
	for _, o := range operands {
		names = append(names, o.Text)
	}
	for file := range files.All() {
		switch text := content[c.found(joined(folder, file))]; {
		case text == "", shows && !runsAnyway().MatchString(text) && !strings.Contains(text, path.Base(file)):
		case file == "package.json":
			return scriptsOf(text, names)
		case file == "build.ninja":
			return strings.Join(assigned(text)["command"], "\n")
		default:
			return recipesOf(text, names)
		}
	}
	return ""
}

// assigned are the values that a file gives names: NAME = VALUE.
func assigned(text string) map[string][]string {
	m := map[string][]string{}
	for line := range strings.Lines(text) {
		if name, value, sets := strings.Cut(line, "="); sets {
			name = strings.Trim(name, " \t:?")
			m[name] = append(m[name], strings.TrimSpace(value))
		}
	}
	return m
}

// scriptsOf are the scripts in a package.json that npm runs by some names, or at an install.
func scriptsOf(text string, names []string) string {
	if len(names) == 0 || slices.Contains([]string{"install", "i", "ci", "add"}, names[0]) {
		names = append(names, "install", "prepare")
	}
	var scripts []string
	for _, m := range jsonPair().FindAllStringSubmatch(text, -1) {
		name := strings.TrimPrefix(strings.TrimPrefix(m[1], "pre"), "post")
		if slices.Contains(names, m[1]) || slices.Contains(names, name) {
			scripts = append(scripts, strings.ReplaceAll(m[2], `\"`, `"`))
		}
	}
	return strings.Join(scripts, "\n")
}

// runsAnyway is where make may run something although it is told to only show recipes, also to remake the makefile.
var runsAnyway = lazy.Regexp(`[+%!$*?\[\\]|MAKE|include|load|define`)

var (
	jsonPair  = lazy.Regexp(`"([\w:.-]+)"\s*:\s*"((?:[^"\\]|\\.)*)"`)
	target    = lazy.Regexp(`^([\w./%-]+)([^:=]*):([^=;]*)(?:;(.*))?$`)
	reference = lazy.Regexp(`\$[({](\w+)[)}]|\$([@<^*+?$])`)
)

// recipesOf are the recipes of some targets in a makefile, or of the first, with those of the targets that they need.
func recipesOf(text string, wanted []string) string {
	recipes, first, at := map[string][]string{}, "", ""
	needs := map[string][]string{}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimLeft(line, " \t") != line {
			recipes[at] = append(recipes[at], strings.TrimLeft(line, " \t@-+"))
		} else if m := target().FindStringSubmatch(line); m != nil {
			at = m[1]
			if first == "" && at[0] != '.' {
				first = at
			}
			needs[at] = strings.Fields(m[3])
			recipes[at] = append(recipes[at], m[4])
		}
	}
	if !slices.ContainsFunc(wanted, func(name string) bool { return recipes[name] != nil }) {
		wanted = []string{first}
	}
	var out []string
	for i := 0; i < len(wanted) && i < 100; i++ {
		out = append(out, recipes[wanted[i]]...)
		delete(recipes, wanted[i])
		wanted = append(wanted, needs[wanted[i]]...)
	}
	values, left := assigned(text), maxText
	return reference().ReplaceAllStringFunc(strings.Join(out, "\n"), func(found string) string {
		m := reference().FindStringSubmatch(found)
		switch value := values[m[1]]; {
		case value != nil && left > len(value[0]):
			left -= len(value[0])
			return value[0]
		case m[2] == "$":
			return "$"
		case m[1] == "RM":
			return "rm -f"
		}
		return "a" + strings.ToLower(m[1]) // of make: $@, or such as $(CC)
	})
}
