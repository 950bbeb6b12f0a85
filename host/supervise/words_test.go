//go:build unix

package supervise

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What a host says about a plugin is read by authors in all languages.
func TestMessagesNameNoGo(t *testing.T) {
	goNames := regexp.MustCompile(`\b(sdk|os|fmt)\.[A-Z]|\bmain call`)
	for _, folder := range []string{".", "../../internal/plugincheck"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && goNames.MatchString(text.Value) {
					t.Errorf("%s says %s", fset.Position(text.Pos()), text.Value)
				}
				return true
			})
		}
	}
}
