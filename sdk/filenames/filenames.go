// Package filenames tells what a file is by its name alone: whether it holds secrets, whether other programs run what
// is in it without being asked, and whether it is where a build or an agent begins. It is the one list that the file
// tools and the judge of shell commands share; no file is looked at.
//
// Names are paths with slashes, relative to the workspace or absolute. Upper and lower case count alike, as do
// full-width and other forms of a letter; blanks around a name, dots at its end and characters that cannot be seen do
// not count: some file systems leave them out, and no person sees the difference.
package filenames

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// canonical gives a name in the one form that the lists are in.
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

// padded tells of blanks around a part of a path, or dots at its end.
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

func setOf(names string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		set[name] = true
	}
	return set
}

func matchesAny(patterns []string, name string) bool {
	for _, pattern := range patterns {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

// inPlace tells whether a path ends in one of the places, which are files with the folders that make them special.
func inPlace(places []string, name string) bool {
	for _, place := range places {
		if strings.HasSuffix(name, place) && (len(name) == len(place) || name[len(name)-len(place)-1] == '/') {
			return true
		}
	}
	return false
}

func basesOf(places []string) map[string]bool {
	set := map[string]bool{}
	for _, place := range places {
		set[path.Base(place)] = true
	}
	return set
}
