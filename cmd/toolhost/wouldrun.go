package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

const (
	maxRuns    = 20  // things that a file would run, of those that are shown
	maxRunning = 300 // characters of one of them
)

// showWhatRuns tells what the configuration would run and write. Nothing is started for it.
func (g *globals) showWhatRuns(ctx context.Context, w io.Writer, c *config.Config) {
	lines := whatRuns(ctx, c)
	if len(lines) == 0 {
		fmt.Fprintln(w, "It would run nothing.")
		return
	}
	fmt.Fprintln(w, "It would run, as you:")
	for _, l := range lines[:min(len(lines), maxRuns)] {
		fmt.Fprintln(w, "  "+cutText(visible(c.References.Hide(l)), maxRunning))
	}
	if more := len(lines) - maxRuns; more > 0 {
		fmt.Fprintf(w, "  and %d more, see the file\n", more)
	}
	if len(c.Policies)+len(c.Profiles) > 0 {
		fmt.Fprintln(w, "Its rules may also allow calls without asking you.")
	}
}

// whatRuns has a line for each thing. Discovery commands come first: what they name is known only once they have run.
func whatRuns(ctx context.Context, c *config.Config) (lines []string) {
	for _, d := range c.Discovery {
		box := cmp.Or(d.Sandbox, &sandbox.Spec{})
		lines = append(lines, fmt.Sprintf("discovery %s: %s, and every program that it names", d.Name, wrapped(box.Wrapper, d.Command)))
	}
	still := findStill(ctx, c)
	for _, s := range still.specs {
		lines = append(lines, pluginLine(s))
	}
	for _, p := range still.problems {
		lines = append(lines, p.Error())
	}
	if c.Audit != nil && c.Audit.Path != "" {
		lines = append(lines, "record: writes to "+shortened(c.Audit.Path))
	}
	return lines
}

func pluginLine(s supervise.Spec) string {
	line := fmt.Sprintf("plugin %s: %s", s.Name, wrapped(s.Sandbox.Wrapper, s.ShownCommand()))
	if s.InheritEnv != nil && *s.InheritEnv {
		line += ", with all of your environment"
	}
	if len(s.Env) > 0 { // the values may be secrets
		line += ", with " + strings.Join(slices.Sorted(maps.Keys(s.Env)), ", ") + " in its environment"
	}
	if s.Config != nil {
		line += ", configured with " + s.ShownConfig()
	}
	return line
}

// wrapped is a command line with that of its wrapper before it, which is what runs.
func wrapped(wrapper, command []string) string {
	if len(wrapper) == 0 {
		return commandLine(command)
	}
	return commandLine(wrapper) + " " + commandLine(command)
}

// commandLine shows where one word ends and the next begins. A program of the current folder is not to be taken for one
// of its name from the PATH.
func commandLine(command []string) string {
	var words []string
	for i, w := range command {
		if i == 0 {
			if w = shortened(w); w != command[0] && !strings.Contains(w, "/") {
				w = "./" + w
			}
		} else if filepath.IsAbs(w) {
			w = shortened(w)
		}
		if w == "" || strings.ContainsAny(w, " \t\r\n'\"\\") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// shortened is a path from the current folder, if it leads into it.
func shortened(path string) string {
	here, err := filepath.Abs(".")
	if err != nil || !filepath.IsAbs(path) {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// cutText makes a text one line of at most n characters, and says how much is left out.
func cutText(text string, n int) string {
	text = strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(text)
	length := utf8.RuneCountInString(text)
	if length <= n {
		return text
	}
	return fmt.Sprintf("%s … and %d more characters, see the file", string([]rune(text)[:n]), length-n)
}
