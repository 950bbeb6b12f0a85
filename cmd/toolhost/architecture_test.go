package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const architecture = "../../docs/architecture.md"

var (
	routeLists = regexp.MustCompile(`(?:outside|known|inside) := \[\]Middleware\{([^}]*)\}`)
	tableStep  = regexp.MustCompile("(?m)^\\| ([a-zA-Z]+) \\| (?:`|the embedder)")
)

func TestEveryStepIsDocumented(t *testing.T) {
	lists := routeLists.FindAllStringSubmatch(readText(t, "../../host/chain.go"), -1)
	if len(lists) != 3 {
		t.Fatal("host/chain.go has no lists of steps any more")
	}
	route := lists[0][1] + ", h.middleware, " + lists[1][1] + ", " + lists[2][1] + ", h.dispatch"
	steps := strings.Split(strings.Join(strings.Fields(strings.ReplaceAll(route, "h.", "")), " "), ", ")
	_, table, _ := strings.Cut(readText(t, architecture), "## The route of a call")
	var reported []string
	for _, m := range tableStep.FindAllStringSubmatch(table[:strings.Index(table, "\n## ")], -1) {
		reported = append(reported, m[1])
	}
	if diff := cmp.Diff(steps, reported); diff != "" {
		t.Errorf("docs/architecture.md has another route:\n%s", diff)
	}
}

// layersOf reads the table of packages: the place of the layer of each folder, "*" at the end for what is below it.
func layersOf(t *testing.T) map[string]int {
	_, table, _ := strings.Cut(readText(t, architecture), "| layer | packages | purpose |\n|---|---|---|\n")
	table, _, ok := strings.Cut(table, "\n\n")
	if !ok {
		t.Fatal("the table of packages is missing")
	}
	folders, layer := map[string]int{}, 0
	for _, row := range strings.Split(table, "\n") {
		cells := strings.Split(row, "|")
		if strings.TrimSpace(cells[1]) != "" {
			layer++
		}
		for _, m := range regexp.MustCompile("`([a-z/*-]+)`").FindAllStringSubmatch(cells[2], -1) {
			folders[strings.TrimSuffix(m[1], "/*")] = layer
		}
	}
	return folders
}

// The sentence above the table of packages holds, and the table has all of them.
func TestPackagesImportLowerLayers(t *testing.T) {
	folders := layersOf(t)
	layer := func(importPath string) int {
		room := strings.TrimPrefix(importPath, module+"/")
		for folder := room; folder != "."; folder = path.Dir(folder) {
			below := strings.TrimPrefix(room, folder+"/")
			if at, listed := folders[folder]; listed && (folder != "host" || below == room || within(below, "internal")) {
				return at
			}
		}
		t.Errorf("docs/architecture.md has no row for %s", room)
		return 0
	}
	for _, p := range packages(t) {
		own := layer(p.ImportPath)
		for _, i := range p.Imports {
			if strings.HasPrefix(i, module+"/") && layer(i) > own {
				t.Errorf("%s imports %s, whose layer is above its own by docs/architecture.md", p.ImportPath, i)
			}
		}
	}
}

var (
	namedFile   = regexp.MustCompile("`([a-z_0-9*/]+\\.go)`")
	namedInFile = regexp.MustCompile("`([A-Za-z]+)` (?:in|\\() ?`([a-z_0-9/]+\\.go)`")
)

// File names in prose exist, and have what prose says is in them. A name without a folder may be in any folder.
func TestFilesThatProseNames(t *testing.T) {
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range packages(t) {
		files, _ := filepath.Glob(filepath.Join("../..", strings.TrimPrefix(p.ImportPath, module), "*.go"))
		all = append(all, files...)
	}
	for _, doc := range append(docs, "../../README.md", "../../CONTRIBUTING.md") {
		for _, m := range namedFile.FindAllStringSubmatch(readText(t, doc), -1) {
			if !slices.ContainsFunc(all, func(file string) bool { return isNamed(m[1], file) }) {
				t.Errorf("%s names %s, which is not there", doc, m[1])
			}
		}
		for _, m := range namedInFile.FindAllStringSubmatch(readText(t, doc), -1) {
			if !slices.ContainsFunc(all, func(file string) bool {
				return isNamed(m[2], file) && strings.Contains(readText(t, file), m[1])
			}) {
				t.Errorf("%s names %s in %s, which is not there", doc, m[1], m[2])
			}
		}
	}
}

// isNamed matches as many of the last elements of the file's path as the name has.
func isNamed(name, file string) bool {
	elements := strings.Split(file, "/")
	n := min(strings.Count(name, "/")+1, len(elements))
	ok, err := path.Match(name, strings.Join(elements[len(elements)-n:], "/"))
	return err == nil && ok
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
