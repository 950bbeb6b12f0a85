// Package filenames classifies files by their names alone: whether they hold secrets, whether other programs run what
// is in it without being asked, and whether it is where a build or an agent begins. It is the one list that the file
// tools and the judge of shell commands share; no file is examined.
// Names are paths with slashes, relative to the workspace or absolute. Upper and lower case count alike, as do
// full-width and other forms of a letter; blanks around a name, dots at its end and characters that cannot be seen do
// not count: some file systems leave them out, and no person sees the difference.
package filenames

import (
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/lazy"
	"golang.org/x/text/unicode/norm"
)

// canonical returns a name in the form of the lists.
func canonical(name string) string {
	name = path.Clean(name)
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			name = foreign(name)
			break
		}
	}
	name = strings.ToLower(name)
	if !padded(name) {
		return name
	}
	parts := strings.Split(name, "/")
	for i, part := range parts {
		if trimmed := strings.TrimRight(strings.TrimSpace(part), " ."); trimmed != "" {
			parts[i] = trimmed
		}
	}
	return strings.Join(parts, "/")
}

// padded reports blanks around a part of a path, or dots at its end.
func padded(name string) bool {
	const odd = " .\t"
	for i := range len(name) {
		last := i == len(name)-1 || name[i+1] == '/'
		first := i == 0 || name[i-1] == '/'
		if last && strings.IndexByte(odd, name[i]) >= 0 || first && (name[i] == ' ' || name[i] == '\t') {
			return true
		}
	}
	return false
}

// foreign makes all forms of a letter one, and leaves out what cannot be seen. A few letters (ſ) have an upper case
// only by way of another one.
func foreign(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			return -1
		}
		return r
	}, norm.NFKC.String(name))
	return path.Clean(strings.ToUpper(name))
}

func matchesAny(patterns []string, name string) bool {
	for _, pattern := range patterns {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

// inPlace reports whether a path ends in one of the places, which are files with the folders that make them special.
func inPlace(places []string, name string) bool {
	for _, place := range places {
		if strings.HasSuffix(name, place) && (len(name) == len(place) || name[len(name)-len(place)-1] == '/') {
			return true
		}
	}
	return false
}

// SecretPattern reports whether a pattern of a shell, such as *.env or [i]d_rsa, is for secret files: it matches the
// name of one, and none of the ordinary names that a pattern for all kinds of files does, as * and *.json do.
func SecretPattern(pattern string) bool {
	pattern = canonical(strings.ReplaceAll(classes(pattern), "[!", "[^"))
	if Secret(wildcards.Replace(pattern)) {
		return true
	}
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		if !strings.ContainsAny(part, "*?[") {
			continue
		}
		names := secretSamples()
		if i < len(parts)-1 {
			names = folderSamples()
		}
		matches := func(name string) bool {
			ok, _ := path.Match(part, name)
			return ok
		}
		if slices.ContainsFunc(names, matches) && !ordinary.Any(matches) {
			return true
		}
	}
	return false
}

// wildcards replaces wildcards by a letter.
var wildcards = strings.NewReplacer("*", "x", "?", "x", "[", "x", "]", "x")

// classes puts one wildcard in place of a named class, which path.Match does not know: [[:lower:]] is ? then.
func classes(pattern string) string {
	for {
		from := strings.Index(pattern, "[[:")
		if from < 0 {
			return pattern
		}
		length := strings.Index(pattern[from:], ":]]")
		if length < 0 {
			return pattern
		}
		pattern = pattern[:from] + "?" + pattern[from+length+3:]
	}
}

var secretSamples = sync.OnceValue(func() []string {
	names := []string{".env", ".env.local", ".env.prod", ".env.production", ".envrc", "prod.env", "local.env",
		"id_rsa.old", "service-account.json", "client_secret.json"}
	names = slices.AppendSeq(names, maps.Keys(secretNames()))
	for ending := range secretEndings.All() {
		names = append(names, "server"+ending, "private"+ending, "my"+ending)
	}
	return names
})

var folderSamples = sync.OnceValue(func() []string {
	return slices.AppendSeq(slices.Collect(secretFolders.All()), codeFolders.All())
})

// SecretMatch returns the name of a file with secrets that a test of names accepts, such as the match of an expression.
// It is "" for a test that accepts no such name, or also ordinary names, or those of code about such files.
func SecretMatch(accepts func(name string) bool) string {
	for _, name := range plainSecrets() {
		if accepts(name) {
			if ordinary.Any(accepts) || slices.ContainsFunc(secretTopics(), accepts) {
				return ""
			}
			return name
		}
	}
	return ""
}

// plainSecrets are samples without words that other names have too, such as local.
var plainSecrets = sync.OnceValue(func() []string {
	names := append(slices.Collect(maps.Keys(secretNames())), ".env")
	for ending := range secretEndings.All() {
		names = append(names, "server"+ending)
	}
	slices.Sort(names)
	return names
})

// secretTopics are names of code about files with secrets, such as history.go for .bash_history.
var secretTopics = sync.OnceValue(func() (names []string) {
	for name := range secretNames() {
		names = append(names, strings.TrimPrefix(name, ".")+".go")
		for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return !unicode.IsLetter(r) }) {
			names = append(names, word+".go")
		}
	}
	return names
})

// ordinary are names that patterns for all kinds of files match too.
const ordinary lazy.Words = `main.go readme.md readme package.json makefile index.html data.csv app.py src test docs lib build cmd main.c style.css log.txt
	server.go server.log server.js server.ts my.go my.txt private.go test_main.py main_test.go config.toml a.ex a.el
	a.erl main.kt a.pl a.php a.proto a.sql a.sh
	a.tsx .gitignore .github .dockerignore .prettierrc .babelrc tokens.go credentials.go secrets.go credentials.py secret.go`
