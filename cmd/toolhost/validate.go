package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/internal/textutil"
)

func newValidate(g *options) *cobra.Command {
	v := &validation{}
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check the configuration and the plugins that it names",
		Long: "Check the configuration, the rules beside it, and the plugins. A plugin is started only if it has a\n" +
			"config block, which is checked against the schema that it publishes, or if a rule about it reads\n" +
			"arguments, which one of its tools must have. What was not tried is listed; --start starts all\n" +
			"plugins, and reports on each. A file that was found and is not trusted (toolhost trust) starts\n" +
			"nothing.",
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

// A validation has the findings of one run of validate.
type validation struct {
	g      *options
	start  bool
	format string

	Valid    bool                       `json:"valid"`
	Path     string                     `json:"path,omitempty"`
	Trusted  bool                       `json:"trusted"`
	Plugins  []*bootstrap.CheckedPlugin `json:"plugins"`
	Problems []problem                  `json:"problems"`
	Warnings []string                   `json:"warnings"`
}

// A problem is one error. Line and Column are those of a mistake in a configuration, from 1.
type problem struct {
	Message string `json:"message"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// problemsIn splits an error into problems.
func (g *options) problemsIn(err error) []problem {
	out := []problem{}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range several.Unwrap() {
			out = append(out, g.problemsIn(e)...)
		}
	} else if e, ok := errors.AsType[*config.Error](err); ok {
		for _, m := range e.Mistakes {
			out = append(out, problem{m.Message, e.Path, m.Line, m.Column, m.Hint})
		}
	} else if err != nil {
		out = append(out, problem{Message: g.hide(err.Error())})
	}
	return out
}

func (v *validation) run(ctx context.Context) error {
	err := v.check(ctx)
	if errors.Is(err, context.Canceled) {
		return err
	}
	if v.Valid = err == nil; v.format != "json" {
		return err
	}
	v.Problems = v.g.problemsIn(err)
	v.Plugins, v.Warnings = append([]*bootstrap.CheckedPlugin{}, v.Plugins...), append([]string{}, v.Warnings...)
	if failed := v.g.printJSON(v); failed != nil || err == nil {
		return failed
	}
	return &exitError{code: exitCode(err)}
}

func (v *validation) check(ctx context.Context) error {
	c, err := v.g.load()
	if err != nil {
		return err
	}
	v.Path, v.Trusted = c.Path, c.Trusted()
	if _, err := bootstrap.Answers(); err != nil { // no call is made without them
		return err
	}
	found, err := c.Check(ctx, v.start)
	if err = cmp.Or(ctx.Err(), err); err != nil {
		return err
	}
	v.Plugins = found.Plugins
	v.warn(found.Warnings...)
	if len(found.Problems) > 0 {
		if v.start {
			v.printPlugins()
		}
		return errors.Join(found.Problems...)
	}
	subject, checked := v.Path, "is valid"
	if subject == "" {
		subject, checked = "there is no configuration", "to check; the installed plugins are valid"
	}
	if c.Serve != nil && c.Serve.Refused { // a warning has said why; all other commands work
		checked += ", except for toolhost serve"
	}
	if !v.Trusted {
		checked += ", as far as it was checked"
		text := filepath.Base(c.Path) + " was found here and is not trusted, so nothing of it was started"
		if len(found.Unchecked) > 0 {
			text += "; not checked: " + strings.Join(found.Unchecked, ", ")
		}
		v.warn(errors.New(text))
	}
	locked := ""
	if found.Locked >= 0 {
		locked = fmt.Sprintf(", %d locked", found.Locked)
	}
	v.printf("%s %s: %s%s\n", subject, checked, textutil.Count(len(v.Plugins), "plugin"), locked)
	v.printPlugins()
	return nil
}

// printPlugins prints the file that each interpreter runs, and which plugins were started and which not. Of the
// plugins that were to be started it prints the state.
func (v *validation) printPlugins() {
	var started, left []string
	for _, p := range v.Plugins {
		if p.Script != "" {
			v.printf("plugin %q: %s runs %s\n", p.Name, escapeForTerminal(p.Command[0]), escapeForTerminal(p.Script))
		}
		switch {
		case !p.Started && p.OK:
			left = append(left, p.Name)
		case !v.start && p.Started:
			started = append(started, p.Name)
		case v.start && p.OK:
			parts := []string{escapeForTerminal(p.Version), textutil.Count(p.Tools, "tool")}
			v.printf("plugin %q: ok, %s\n", p.Name, strings.Join(slices.DeleteFunc(parts,
				func(s string) bool { return s == "" }), ", "))
		case v.start:
			v.printf("plugin %q: cannot be used\n", p.Name)
		}
	}
	if len(started) > 0 {
		v.printf("started, to check what is configured for them: %s\n", strings.Join(started, ", "))
	}
	if len(left) > 0 && v.Trusted {
		v.printf("not started, so only looked at: %s; `toolhost validate --start` tries them\n", strings.Join(left, ", "))
	}
}

func (v *validation) printf(format string, a ...any) {
	if v.format != "json" {
		fmt.Fprint(v.g.out, v.g.hide(fmt.Sprintf(format, a...)))
	}
}

// warn prints settings that are valid, but probably not meant.
func (v *validation) warn(warnings ...error) {
	for _, w := range warnings {
		v.Warnings = append(v.Warnings, v.g.hide(w.Error()))
		if v.format != "json" {
			v.g.printError(w)
		}
	}
}
