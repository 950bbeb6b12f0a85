package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/host/supervise"
)

func newValidate(g *globals) *cobra.Command {
	v := &validation{}
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check the configuration and the plugins that it names",
		Long: "Check the configuration, the rules beside it, and the plugins. Only those plugins are started that have a config\n" +
			"block, which is checked against the schema that they publish, or that a rule is about which looks at arguments:\n" +
			"no tool may turn out to have an argument of that name. What was not tried is listed; --start starts all plugins, and\n" +
			"reports on each. Of a file that was found and is not trusted (toolhost trust) nothing is started.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v.g = g
			return v.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&v.start, "start", false, "start every plugin, and report on each")
	chooseFormat(cmd, &v.format, "%s", "text", "json")
	return cmd
}

// A validation is one run of validate, and what it found.
type validation struct {
	g      *globals
	start  bool
	format string

	Valid   bool   `json:"valid"`
	Path    string `json:"path,omitempty"`
	Trusted bool   `json:"trusted"`
	// Plugins are those that were found, in the order of the configuration.
	Plugins  []*checkedPlugin `json:"plugins"`
	Problems []problem        `json:"problems"`
	Warnings []string         `json:"warnings"`

	there *found
}

// A problem is one thing that is wrong. Line and Column are those of a mistake in a configuration, from 1.
type problem struct {
	Message string `json:"message"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// problemsIn takes an error apart.
func (v *validation) problemsIn(err error) []problem {
	out := []problem{}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range several.Unwrap() {
			out = append(out, v.problemsIn(e)...)
		}
	} else if e, ok := errors.AsType[*config.Error](err); ok {
		for _, m := range e.Mistakes {
			out = append(out, problem{m.Message, e.Path, m.Line, m.Column, m.Hint})
		}
	} else if err != nil {
		out = append(out, problem{Message: v.g.hide(err.Error())})
	}
	return out
}

// A checkedPlugin says how far one plugin was checked.
type checkedPlugin struct {
	Name    string   `json:"name"`
	Source  string   `json:"source,omitempty"`
	Command []string `json:"command"`
	Script  string   `json:"script,omitempty"` // that an interpreter runs
	Started bool     `json:"started"`
	Version string   `json:"version,omitempty"`
	Tools   int      `json:"tools"`
	OK      bool     `json:"ok"` // as far as it was checked
}

func (v *validation) run(ctx context.Context) error {
	err := v.check(ctx)
	if ctx.Err() != nil {
		return errInterrupted
	}
	if v.Valid = err == nil; v.format != "json" {
		return err
	}
	v.Problems = v.problemsIn(err)
	v.Plugins, v.Warnings = append([]*checkedPlugin{}, v.Plugins...), append([]string{}, v.Warnings...)
	if failed := v.g.printJSON(v); failed != nil || err == nil {
		return failed
	}
	return &exitError{code: exitCode(err)}
}

func (v *validation) check(ctx context.Context) error {
	c, rules, err := v.loadRules()
	if err != nil {
		return err
	}
	v.Path, v.Trusted = c.Path, v.g.trusts(c)
	if v.start && !v.Trusted {
		return untrusted(c)
	}
	v.there = findToCheck(ctx, c, v.Trusted)
	problems := slices.Clone(v.there.problems)
	v.warn(v.there.unlocked())
	if len(problems) == 0 && (v.Trusted || len(c.Discovery) == 0) { // else the plugin may be one of those that could not be found
		v.warn(rulesForNobody(c, v.there.specs))
	}
	asked, wrong := v.verify(rules)
	problems = append(problems, wrong...)
	if v.Trusted {
		problems = append(problems, v.try(ctx, asked, rules)...)
	}
	if len(problems) > 0 {
		if v.start {
			v.tellPlugins()
		}
		return errors.Join(problems...)
	}
	if !v.Trusted {
		v.tellUnchecked(c, asked)
	}
	v.tellValid()
	v.tellPlugins()
	return nil
}

func (v *validation) tellValid() {
	word := "is valid"
	if !v.Trusted {
		word = "is valid, as far as it was checked"
	}
	v.printf("%s %s: %s%s\n", v.Path, word, counted(len(v.Plugins), "plugin"), v.there.lockedOf())
}

// tellPlugins says which file each interpreter runs, and which plugins were not started; of those that were asked to be
// started, how each is.
func (v *validation) tellPlugins() {
	var left []string
	for _, p := range v.Plugins {
		if p.Script != "" {
			v.printf("plugin %q: %s runs %s\n", p.Name, visible(p.Command[0]), visible(p.Script))
		}
		switch {
		case !p.Started && p.OK:
			left = append(left, p.Name)
		case v.start && p.OK:
			v.printf("plugin %q: ok, %s\n", p.Name, words(visible(p.Version), counted(p.Tools, "tool")))
		case v.start:
			v.printf("plugin %q: cannot be used\n", p.Name)
		}
	}
	if len(left) > 0 && v.Trusted {
		v.printf("not started, so only looked at: %s; `toolhost validate --start` tries them\n", strings.Join(left, ", "))
	}
}

func words(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(word string) bool { return word == "" }), ", ")
}

func (v *validation) printf(format string, a ...any) {
	if v.format != "json" {
		fmt.Fprint(v.g.out, v.g.hide(fmt.Sprintf(format, a...)))
	}
}

// verify looks at the programs, and gives the plugins that must be asked for more, and what is wrong with others.
func (v *validation) verify(rules []policy.Rule) (asked []string, problems []error) {
	for _, spec := range v.there.specs {
		p := &checkedPlugin{Name: spec.Name, Source: spec.Source, Command: spec.ShownCommand(), Script: spec.Script}
		v.Plugins = append(v.Plugins, p)
		if err := supervise.Verify(spec); err != nil {
			problems = append(problems, fmt.Errorf("%s: plugin %q: %w", spec.Source, spec.Name, err))
			continue
		}
		if p.OK = true; v.start || spec.Config != nil || isSpokenOf(spec.Name, v.there.config, rules) {
			asked = append(asked, spec.Name)
		}
	}
	return asked, problems
}

// tellUnchecked says what only programs know that were not started.
func (v *validation) tellUnchecked(c *config.Config, asked []string) {
	var left []string
	for _, d := range c.Discovery {
		left = append(left, fmt.Sprintf("the plugins that plugin_discovery %q names", d.Name))
	}
	for _, name := range asked {
		left = append(left, fmt.Sprintf("the settings and rules of plugin %q", name))
	}
	text := filepath.Base(c.Path) + " was found here and is not trusted as it is now, so nothing of it was started"
	if len(left) > 0 {
		text += "; not checked: " + strings.Join(left, ", ")
	}
	v.warn([]error{errors.New(text)})
}

// loadRules gives the configuration, tells its warnings, and gives all rules that can hold with it.
func (v *validation) loadRules() (*config.Config, []policy.Rule, error) {
	c, err := v.g.load()
	if err != nil {
		return nil, nil, err
	}
	for _, w := range c.Warnings {
		v.warn([]error{errors.New(w.String())})
	}
	standing, err := standingRules()
	return c, allRules(standing, c), err
}

// isSpokenOf says whether the configuration says things of the plugin's tools that only the plugin can tell to be right.
func isSpokenOf(plugin string, c *config.Config, rules []policy.Rule) bool {
	return namesToolsOf(c, plugin) || slices.ContainsFunc(rules, func(r policy.Rule) bool { return looksInto(r, plugin) })
}

// try starts the plugins that know what their config blocks may hold, or what the arguments are that rules look at.
func (v *validation) try(ctx context.Context, names []string, rules []policy.Rule) []error {
	if len(names) == 0 {
		return nil
	}
	s, err := v.g.open(ctx, opening{only: names, lawless: true, found: v.there, refresh: true})
	if err != nil {
		return []error{err}
	}
	defer s.close(v.g)
	tools, problems := s.host.Tools(ctx)
	v.note(s)
	var out []error
	for _, p := range problems {
		out = append(out, located(s.config, p)...)
	}
	if len(problems) == 0 { // else the argument may be one of a tool that is left out
		wrong, doubtful := misnamed(rules, tools)
		v.warn(append(doubtful, unmatched(s.config, tools)...))
		out = append(out, wrong...)
	}
	return append(out, s.unknownTools(tools)...)
}

// note keeps how the plugins are that were started.
func (v *validation) note(s *session) {
	for _, p := range v.Plugins {
		for _, process := range s.processes {
			if status := process.Status(); process.Name() == p.Name {
				p.Started, p.OK = true, status.State == supervise.Ready
				p.Version, p.Tools = status.Version, status.Tools
			}
		}
	}
}

// warn tells what is not wrong, but probably not meant either.
func (v *validation) warn(warnings []error) {
	for _, w := range warnings {
		v.Warnings = append(v.Warnings, v.g.hide(w.Error()))
	}
	if v.format != "json" {
		v.g.warn(warnings)
	}
}

// warn tells what is not wrong, but probably not meant either.
func (g *globals) warn(warnings []error) {
	for _, w := range warnings {
		g.complain(w)
	}
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
