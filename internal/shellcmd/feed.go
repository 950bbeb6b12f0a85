package shellcmd

import (
	"slices"
	"strings"
)

// What find and xargs put into a command are names of files. A command that only reads, whatever files it is given, may have them: a
// name can make it read another file, as a symbolic link can, and do no more. For xargs, which splits names at blanks, that takes
// a program without any option that writes or runs.

// fed reports why a command that is given names may do more than read them, "" if it may not or gets none.
func (c *Command) fed(p place) string {
	if c.Fed == "" || onlyReads(c, p) == "" {
		return ""
	}
	return c.Fed
}

// namesOnly reports commands that print names of files below the folders that they are given, and nothing else.
func namesOnly(c *Command) bool {
	if len(c.Doubts) > 0 || c.maybe || c.Fed != "" || len(c.kept) > 0 || !quietRedirects(c) {
		return false
	}
	has := func(options ...string) bool {
		return slices.ContainsFunc(c.Args, func(a Word) bool { return slices.Contains(options, a.Text) })
	}
	switch c.Name {
	case "find":
		return !has("-printf", "-fprintf", "-ls", "-exec", "-execdir", "-ok", "-okdir")
	case "fd", "fdfind":
		return true
	case "ls":
		return !slices.ContainsFunc(c.Args, func(a Word) bool {
			return len(a.Text) > 1 && a.Text[0] == '-' && strings.Trim(a.Text[1:], "1aAtrRdS") != ""
		})
	case "rg", "grep":
		return has("-l", "-rl", "-rln", "-lr", "-ril", "-rli", "-Rl", "-li", "-il", "-L", "-rL", "--files", "--files-with-matches", "--files-without-match")
	case "git":
		switch sub, _ := c.gitArgs(); sub {
		case "ls-files":
			return !has("-s", "--stage", "--eol", "--format", "-v", "-t", "-u")
		case "diff", "show", "ls-tree", "log":
			return has("--name-only") && (sub == "diff" || sub == "ls-tree")
		case "grep":
			return has("-l", "--name-only", "--files-with-matches")
		}
	}
	return false
}

var fewLines = lazily(`^(-[0-9nruVzdv]+|-n|--lines=\d+|\d+|--unique|--reverse)$`)

// passesNames reports commands that print some of the lines that they read, as they are.
func passesNames(c *Command) bool {
	if len(c.Doubts) > 0 || c.maybe || !quietRedirects(c) {
		return false
	}
	switch c.Name {
	case "head", "tail", "sort", "uniq":
		return !slices.ContainsFunc(c.Args, func(a Word) bool { return !a.Static || !fewLines().MatchString(a.Text) })
	case "grep", "egrep", "fgrep":
		operands := 0
		for _, a := range c.Args {
			if strings.HasPrefix(a.Text, "-") && strings.Trim(a.Text, "-viEFwx") != "" {
				return false
			}
			if !strings.HasPrefix(a.Text, "-") {
				operands++
			}
		}
		return operands == 1
	}
	return false
}

// quietRedirects reports a command that reads what is piped to it and prints into the pipe.
func quietRedirects(c *Command) bool {
	return !slices.ContainsFunc(c.Redirects, func(r Redirect) bool { return r.Op[0] == '<' || r.Target.Text != "/dev/null" })
}

// printsNames reports a part of a pipe, all commands of it, that prints names.
func printsNames(list []Command) bool {
	for i := range list {
		if i == 0 && !namesOnly(&list[i]) || i > 0 && !passesNames(&list[i]) {
			return false
		}
	}
	return len(list) > 0
}

// feedsNames reports an xargs that gives names of files, and nothing else, to a program that they cannot make do more than read.
func (w *walker) feedsNames(at int, words []Word) bool {
	c := w.all.commands[at]
	if !w.names || !quietRedirects(&c) || len(words) == 0 {
		return false
	}
	for _, a := range c.Args[:len(c.Args)-len(words)] {
		long := strings.HasPrefix(a.Text, "--")
		if long && strings.ContainsAny(a.Text[:min(3, len(a.Text))], "aoi") || !long && strings.HasPrefix(a.Text, "-") && strings.ContainsAny(a.Text, "apo") {
			return false // it may read names elsewhere, or ask
		}
	}
	inner := Command{}
	w.fill(&inner, words)
	s := inner.spec()
	return s != nil && s.read && s.globs != noGlob && len(inner.Doubts) == 0
}

// findExec lists the commands that find runs.
func (w *walker) findExec(at, depth int) {
	c := w.all.commands[at]
	var kept []Word
	for i := 0; i < len(c.Args); i++ {
		a := c.Args[i]
		if !a.Static || !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, a.Text) {
			kept = append(kept, a)
			continue
		}
		end := i + 1
		for end < len(c.Args) && c.Args[end].Text != ";" && c.Args[end].Text != "+" {
			end++
		}
		words, whole := slices.Clone(c.Args[i+1:end]), end < len(c.Args) && a.Text == "-exec" && end > i+2
		for n, x := range words {
			switch {
			case x.Static && x.Text == "{}":
				words[n] = Word{Text: x.Text, kind: glob} // not known, and as many as + makes of it
			case strings.Contains(x.Text, "{}"):
				whole = false
			}
		}
		if !whole {
			w.doubt(at, "it runs a command for each file that it finds")
		}
		if from := len(w.all.commands); end > i+1 {
			doubt := "find puts names into it that are only known when it runs"
			if whole {
				w.inner(at, "find "+a.Text, words, "", depth)
				w.all.commands[from].Fed = doubt
			} else {
				w.inner(at, "find "+a.Text, c.Args[i+1:end], doubt, depth)
			}
		}
		i = end
	}
	if len(kept) < len(c.Args) {
		w.all.commands[at].kept = append([]Word{}, kept...)
		if kept == nil {
			w.all.commands[at].kept = []Word{static(".")}
		}
	}
}
