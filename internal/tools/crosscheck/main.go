// Command crosscheck checks all packages, tests among them, for another system: their types, and what go vet finds in
// one package by itself:
//
//	crosscheck GOOS/GOARCH [PACKAGE...]
//
// The tests of the packages that are named, by their paths in the module, are left out. It reads all source, that of
// dependencies too, and compiles nothing, which takes a tenth of the time of go vet with empty caches.
package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("crosscheck: ")
	if len(os.Args) < 2 {
		log.Fatal("name a system, such as windows/arm64")
	}
	problems, err := check(os.Args[1], os.Args[2:])
	for _, p := range problems {
		fmt.Fprintln(os.Stderr, p)
	}
	if err == nil && len(problems) > 0 {
		err = fmt.Errorf("%d problems", len(problems))
	}
	if err != nil {
		log.Fatal(err)
	}
}

func check(target string, withoutTests []string) (problems []string, err error) {
	system, arch, _ := strings.Cut(target, "/")
	all, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo |
			packages.NeedTypesSizes | packages.NeedModule,
		Tests: true,
		Env:   append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch),
	}, "./...")
	if err != nil {
		return nil, err
	}
	var sound []*packages.Package
	for _, p := range all {
		path := strings.TrimSuffix(p.PkgPath, "_test")
		isTest := strings.HasSuffix(p.ID, ".test]")
		if isTest && slices.ContainsFunc(withoutTests, func(name string) bool { return strings.HasSuffix(path, "/"+name) }) {
			continue
		}
		for _, e := range p.Errors {
			problems = append(problems, e.Error())
		}
		if len(p.Errors) == 0 && !p.IllTyped {
			sound = append(sound, p)
		}
	}
	if len(sound) == 0 {
		return problems, errors.New("no package could be checked")
	}
	graph, err := checker.Analyze(slices.DeleteFunc(slices.Clone(vet.Suite), needsOthers), sound, nil)
	if err != nil {
		return problems, err
	}
	for _, a := range graph.Roots {
		if a.Err != nil {
			problems = append(problems, fmt.Sprintf("%s of %s: %v", a.Analyzer.Name, a.Package.ID, a.Err))
		}
		for _, d := range a.Diagnostics {
			problems = append(problems, fmt.Sprintf("%s: %s", a.Package.Fset.Position(d.Pos), d.Message))
		}
	}
	slices.Sort(problems) // a package is there once more with its tests
	return slices.Compact(problems), nil
}

// needsOthers reports an analyzer that also looks into what a package imports, and scannererr, which is not in go vet
// of Go 1.26.
func needsOthers(a *analysis.Analyzer) bool {
	return a.Name == "scannererr" || len(a.FactTypes) > 0 || slices.ContainsFunc(a.Requires, needsOthers)
}
