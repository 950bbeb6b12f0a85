package bootstrap

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

// wouldRun has a line for each program that would run. Discovery commands come first: the plugins that they name are known
// only once they have run.
func (c *Configuration) wouldRun(ctx context.Context) (lines []string) {
	for _, d := range c.Discovery {
		box := cmp.Or(d.Sandbox, &sandbox.Spec{})
		lines = append(lines, fmt.Sprintf("discovery %s: %s, and every program that it names", d.Name, wrapped(box.Wrapper, d.Command)))
	}
	found := c.find(ctx, nil)
	for _, s := range found.Specs {
		lines = append(lines, pluginLine(s))
	}
	for _, p := range found.Problems {
		lines = append(lines, p.Error())
	}
	if c.Audit != nil && c.Audit.Path != "" {
		lines = append(lines, "record: writes to "+Shortened(c.Audit.Path))
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
			if w = Shortened(w); w != command[0] && !strings.Contains(w, "/") {
				w = "./" + w
			}
		} else if filepath.IsAbs(w) {
			w = Shortened(w)
		}
		if w == "" || strings.ContainsAny(w, " \t\r\n'\"\\") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// Shortened is a path from the current folder, if it leads into it.
func Shortened(path string) string {
	here, err := filepath.Abs(".")
	if err != nil || !filepath.IsAbs(path) {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
