package main

import (
	"fmt"
	"strings"
)

// notes say what the lines are, what was left out, and how to get at it.
func (g *grepping) notes() []string {
	return []string{g.emptyNote(), g.countNote(), g.fullNote(), g.perFileNote(), g.cutLinesNote(), g.skippedNote(), crowdedNote(g.left)}
}

func (g *grepping) emptyNote() string {
	switch {
	case len(g.files) > 0 || g.full != "":
		return ""
	case g.searched == 0 && (g.include != nil || g.exclude != nil):
		return "no file was searched: none has a name that fits include and exclude"
	case g.searched == 0:
		return "no file was searched"
	}
	return "no matches in " + count(g.searched, "file")
}

func (g *grepping) countNote() string {
	if g.in.Mode != "count" || g.with == 0 {
		return ""
	}
	note := fmt.Sprintf("%s in %s of %d searched", countOf(g.matches, "matching line", "matching lines"), count(g.with, "file"), g.searched)
	if more := g.with - len(g.files); more > 0 {
		note += fmt.Sprintf("; %s not shown: narrow path, include or pattern%s", count(more, "file"), g.raise())
	}
	return note
}

func (g *grepping) fullNote() string {
	if g.full == "" {
		return ""
	}
	note := fmt.Sprintf("cut at %s, there are more: narrow path, include or pattern", g.full)
	if strings.Contains(g.full, "KiB") {
		return note + ", or ask for fewer lines around matches"
	}
	return note + g.raise()
}

func (g *grepping) raise() string {
	if g.in.Limit < maxMatches {
		return fmt.Sprintf(", or raise limit (up to %d)", maxMatches)
	}
	return ""
}

func (g *grepping) perFileNote() string {
	if g.perFile == 0 {
		return ""
	}
	return fmt.Sprintf("%s more matches than per_file=%d; raise it, or give one as path", countOf(g.perFile, "file has", "files have"), g.in.PerFile)
}

func (g *grepping) cutLinesNote() string {
	n := g.cutLines()
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s cut at %d bytes around the match; read the file at that line for the whole of it", countOf(n, "line", "lines"), maxLineShown)
}

// skippedNote counts the files that were not searched, by why.
func (g *grepping) skippedNote() string {
	var parts []string
	part := func(n int, one, many string) {
		if n > 0 {
			parts = append(parts, countOf(n, one, many))
		}
	}
	part(g.skipped.Binary, "binary file", "binary files")
	part(g.skipped.Secret, "file that by its name or text holds secrets", "files that by their names or texts hold secrets")
	part(g.skipped.Large, "file over 50 MB (give it as path)", "files over 50 MB (give one as path)")
	part(g.skipped.Unreadable, "file that cannot be read", "files that cannot be read")
	if len(parts) == 0 {
		return ""
	}
	return "not searched: " + strings.Join(parts, ", ")
}
