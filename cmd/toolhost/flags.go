package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/internal/textutil"
)

// A choice is a flag whose value is one of several words.
type choice struct {
	name  string
	words []string
	is    *string
}

// choose adds a flag that is one of the words, with shell completion: to the command, or as the root's to all. Its
// value stays unchanged when it is not given; usage has the words in place of %s.
func choose(cmd *cobra.Command, is *string, name, usage string, words ...string) {
	flags := cmd.Flags()
	if cmd.Name() == rootName {
		flags = cmd.PersistentFlags()
	}
	flags.Var(choice{name, words, is}, name, fmt.Sprintf(usage, textutil.List(words, "or")))
	complete(cmd, name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// chooseFormat adds the flag --format, which is the first of the words unless it is given.
func chooseFormat(cmd *cobra.Command, is *string, usage string, words ...string) {
	*is = words[0]
	choose(cmd, is, "format", usage, words...)
}

func (c choice) String() string { return *c.is }

// Type shows the flag like any other with a word.
func (c choice) Type() string { return "string" }

// Set accepts the word in capitals too, as levels of logs are often written.
func (c choice) Set(word string) error {
	i := slices.IndexFunc(c.words, func(w string) bool { return strings.EqualFold(w, word) })
	if i < 0 {
		return choiceError{fmt.Errorf("--%s must be %s, not %q", c.name, textutil.List(c.words, "or"), word)}
	}
	*c.is = c.words[i]
	return nil
}

// A choiceError is a complete error about a wrong word.
type choiceError struct{ error }

// callerName is the caller of this program's calls, for rules that name callers.
const callerName = "cli"

func approveFlag(cmd *cobra.Command, to *string) {
	choose(cmd, to, "approve", "who decides about calls that need approval: %s (default: the mode of the configuration)",
		"ask", "always", "never")
}

// clientApproveFlag is approveFlag for a program that clients run, which may have asked already.
func clientApproveFlag(cmd *cobra.Command, to *string) {
	choose(cmd, to, "approve", "who decides about calls that need approval: %s; client: the client has asked its "+
		"user (default: the mode of the configuration)", "ask", "always", "never", string(bootstrap.ApproveClient))
}

func sessionFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "session", "", "count the call for the `session` of this name (default: that of the work "+
		"folder, which ends after an hour without calls)")
	complete(cmd, "session", cobra.NoFileCompletions)
}

// profileFlag lets a command choose a profile.
func (g *options) profileFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "profile", "", "only the tools of this `profile`, under its rules")
	complete(cmd, "profile", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		c, err := g.load()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return slices.Sorted(maps.Keys(c.Profiles)), cobra.ShellCompDirectiveNoFileComp
	})
}

// describedBy is how many columns of description the shell gets beside a name.
const describedBy = 70

// completeTools offers the names of the tools to the shell.
func (g *options) completeTools(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	g.silence()
	o := g.bootstrapOptions()
	if c, err := bootstrap.Load(o); err != nil || !c.Trusted() { // pressing Tab must not run anything untrusted
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
		out = append(out, t.Name+"\t"+fitLine(firstLine(t.Description), describedBy))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completePlugins offers the names of the plugins; it starts none, but runs their discovery, if that is trusted.
func (g *options) completePlugins(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	g.silence()
	c, err := bootstrap.Load(g.bootstrapOptions())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return c.Find(cmd.Context()).Names(), cobra.ShellCompDirectiveNoFileComp
}

// silence prevents a completion from writing into the command line.
func (g *options) silence() {
	g.terminal = &terminal{out: &stdoutWriter{w: io.Discard}, err: io.Discard}
}

// complete makes the shell complete a flag's values.
func complete(cmd *cobra.Command, flag string, values cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, values); err != nil {
		panic(err) // the flag does not exist: a mistake in this package
	}
}
