package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// comparedPackages are those whose parts the page names, with their folders.
var comparedPackages = map[string]string{
	"host": "host", "audit": "host/audit", "config": "host/config", "policy": "host/policy", "supervise": "host/supervise",
	"sdk": "sdk", "proctree": "sdk/proctree", "sdktest": "sdk/sdktest", "shellcmd": "internal/shellcmd",
	"workspace": "sdk/workspace",
}

func packageNames() (names []string) {
	for name := range comparedPackages {
		names = append(names, name)
	}
	return names
}

// A whatIs has all names that exist.
type whatIs struct {
	root        *cobra.Command
	names       map[string]bool // of Go, such as host.Options.Policy
	code, tests string          // all of it
}

func newWhatIs(t *testing.T) *whatIs {
	t.Helper()
	w := &whatIs{root: newRoot(&terminal{out: &stdoutWriter{}}), names: map[string]bool{}}
	w.root.InitDefaultCompletionCmd()
	w.readAll(t)
	for name, dir := range comparedPackages {
		w.read(t, name, filepath.Join("../..", dir))
	}
	return w
}

// readAll reads the code of the repository.
func (w *whatIs) readAll(t *testing.T) {
	t.Helper()
	var code, tests strings.Builder
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		to := &code
		if strings.HasSuffix(path, "_test.go") {
			to = &tests
		}
		text, err := os.ReadFile(path)
		to.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.code, w.tests = code.String(), tests.String()
}

// read collects the names of a package from its code.
func (w *whatIs) read(t *testing.T, pkg, dir string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			w.declared(pkg, d)
		}
	}
}

func (w *whatIs) declared(pkg string, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil {
			pkg += "." + receiver(d.Recv.List[0].Type)
		}
		w.names[pkg+"."+d.Name.Name] = true
	case *ast.GenDecl:
		for _, s := range d.Specs {
			w.specified(pkg, s)
		}
	}
}

func receiver(e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

func (w *whatIs) specified(pkg string, s ast.Spec) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			w.names[pkg+"."+n.Name] = true
		}
	case *ast.TypeSpec:
		w.names[pkg+"."+s.Name.Name] = true
		for _, m := range members(s.Type) {
			w.names[pkg+"."+s.Name.Name+"."+m] = true
		}
	}
}

// members are the fields of a struct and the methods of an interface.
func members(e ast.Expr) (names []string) {
	var list *ast.FieldList
	switch e := e.(type) {
	case *ast.StructType:
		list = e.Fields
	case *ast.InterfaceType:
		list = e.Methods
	default:
		return nil
	}
	for _, f := range list.List {
		for _, n := range f.Names {
			names = append(names, n.Name)
		}
	}
	return names
}

func (w *whatIs) goName(name string) string {
	if w.names[name] {
		return ""
	}
	return "there is no " + name
}

// command follows the words down to a command that has none below it; the rest are its arguments.
func (w *whatIs) command(line string) string {
	cmd := w.root
	var flags []string
	for _, word := range strings.Fields(line)[1:] {
		if strings.HasPrefix(word, "--") {
			flags = append(flags, word)
			continue
		}
		if !cmd.HasSubCommands() {
			continue
		}
		next, _, err := cmd.Find([]string{word})
		if err != nil || next == cmd {
			return fmt.Sprintf("%s has no command %q", cmd.CommandPath(), word)
		}
		cmd = next
	}
	for _, f := range flags {
		if cmd.Flag(f[2:]) == nil {
			return fmt.Sprintf("%s has no flag %s", cmd.CommandPath(), f)
		}
	}
	return ""
}

func (w *whatIs) anyFlag(flag string) string {
	var has func(cmd *cobra.Command) bool
	has = func(cmd *cobra.Command) bool {
		if cmd.Flag(flag[2:]) != nil {
			return true
		}
		for _, c := range cmd.Commands() {
			if has(c) {
				return true
			}
		}
		return false
	}
	if has(w.root) {
		return ""
	}
	return "no command has the flag " + flag
}

// quoted looks for a word at the beginning of a string in the code, or as a JSON name.
func (w *whatIs) quoted(word string) string {
	if regexp.MustCompile(`"` + word + `[",]`).MatchString(w.code) {
		return ""
	}
	return "the code knows no " + strconv.Quote(word)
}

func (w *whatIs) setting(text string) string { return w.quoted(strings.TrimSuffix(text, " =")) }

func (w *whatIs) test(name string) string {
	if strings.Contains(w.tests, "\nfunc "+name+"(t *testing.T) {") {
		return ""
	}
	return "there is no test " + name
}

func (w *whatIs) tool(full string) string {
	plugin, tool, _ := strings.Cut(full, "__")
	files, _ := filepath.Glob(filepath.Join("../../plugins", plugin, "*.go"))
	defines := regexp.MustCompile(`\bName:\s+"` + tool + `"`)
	for _, path := range files {
		if text, err := os.ReadFile(path); err == nil && defines.Match(text) {
			return ""
		}
	}
	return "there is no tool " + full
}
