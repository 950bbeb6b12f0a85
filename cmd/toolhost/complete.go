package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/supervise"
)

// describedBy is how many columns of a description the shell is given beside a name.
const describedBy = 70

// completeTools offers the names of the tools to the shell.
func (g *globals) completeTools(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	g.silence()
	if !g.mayComplete() {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	s, err := g.open(cmd.Context(), opening{single: true})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer s.close(g)
	var out []string
	tools, _ := s.host.Tools(cmd.Context())
	for _, t := range tools {
		out = append(out, t.Name+"\t"+fit(firstLine(t.Description), describedBy))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// mayComplete is false where a stranger's configuration says what would be started: whoever presses Tab has not asked for
// anything to run.
func (g *globals) mayComplete() bool {
	c, err := g.loadOrShipped()
	return err == nil && g.trusts(c)
}

// completePlugins offers the names of the plugins; none is started for it, but what finds them is, if
// it may be.
func (g *globals) completePlugins(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	g.silence()
	c, err := g.loadOrShipped()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	if !g.trusts(c) {
		c.Discovery = nil
	}
	var out []string
	specs, _ := supervise.Find(cmd.Context(), sources(c))
	for _, s := range specs {
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
