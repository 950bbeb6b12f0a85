package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// A choice is a flag whose value is one of a few words.
type choice struct {
	name  string
	words []string
	is    *string
}

// choose adds a flag that is one of the words, to the command and those below it, and has the shell complete them. It stays as
// it is when it is not given; usage has them in the place of %s.
func choose(cmd *cobra.Command, is *string, name, usage string, words ...string) {
	cmd.PersistentFlags().Var(choice{name, words, is}, name, fmt.Sprintf(usage, either(words)))
	complete(cmd, name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// chooseFormat adds the flag --format, which is the first of the words unless it is given.
func chooseFormat(cmd *cobra.Command, is *string, usage string, words ...string) {
	*is = words[0]
	choose(cmd, is, "format", usage, words...)
}

func (c choice) String() string { return *c.is }

// Type has the flag shown as any other that takes a word.
func (c choice) Type() string { return "string" }

// Set takes the word in capitals too, as many write levels of logs.
func (c choice) Set(word string) error {
	i := slices.IndexFunc(c.words, func(w string) bool { return strings.EqualFold(w, word) })
	if i < 0 {
		return mischoice{fmt.Errorf("--%s must be %s, not %q", c.name, either(c.words), word)}
	}
	*c.is = c.words[i]
	return nil
}

// A mischoice says all that there is to say of a wrong word.
type mischoice struct{ error }

// either lists words as a sentence does.
func either(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
