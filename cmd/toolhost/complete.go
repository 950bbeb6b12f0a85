package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/bootstrap"
)

// describedBy is how many columns of a description the shell is given beside a name.
const describedBy = 70

// completeTools offers the names of the tools to the shell.
func (g *globals) completeTools(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	g.silence()
	o := g.options()
	if c, err := bootstrap.Load(o); err != nil || !c.Trusted() { // who presses Tab has not asked for anything to run
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	o.SingleCall = true
	s, err := g.open(cmd.Context(), o)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer g.close(s)
	var out []string
	tools, _ := s.Host().Tools(cmd.Context())
	for _, t := range tools {
		out = append(out, t.Name+"\t"+fit(firstLine(t.Description), describedBy))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completePlugins offers the names of the plugins; none is started for it, but what finds them is, if
// it may be.
func (g *globals) completePlugins(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	g.silence()
	c, err := bootstrap.Load(g.options())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var out []string
	for _, s := range c.Find(cmd.Context()).Specs {
		out = append(out, s.Name)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// silence keeps a completion from writing into the command line.
func (g *globals) silence() { g.terminal = terminal{out: &answer{w: io.Discard}, err: io.Discard} }

// complete makes the shell complete a flag's values.
func complete(cmd *cobra.Command, flag string, values cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, values); err != nil {
		panic(err) // the flag is not there: a mistake in this package
	}
}
