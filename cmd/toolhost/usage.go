package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/toolhost/toolhost/internal/textutil"
)

// explainUsage has mistakes in what cobra brings told in the words of the rest, and never passed over.
func explainUsage(root *cobra.Command) {
	root.SetFlagErrorFunc(flagMistake)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = helpTopic
		case "completion":
			cmd.Args, cmd.SuggestionsMinimumDistance = unknownCommand, 2
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// helpTopic refuses to help with a command that is not there.
func helpTopic(cmd *cobra.Command, args []string) error {
	found, rest, err := cmd.Root().Find(args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0 && !found.HasSubCommands():
		return fmt.Errorf("%s has no commands of its own, and so no %q", found.CommandPath(), rest[0])
	}
	return unknownCommand(found, rest)
}

var (
	unknownFlag = regexp.MustCompile(`^unknown flag: --([^\s=]+)`)
	flagInUsage = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([\w-]+)`)
)

// flagMistake names the flag that was probably meant, and where all of them are told.
func flagMistake(cmd *cobra.Command, err error) error {
	if wrong, is := errors.AsType[mischoice](err); is {
		return wrong
	}
	text, _, _ := strings.Cut(err.Error(), ": strconv.") // what Go calls it tells nobody anything
	if m := unknownFlag.FindStringSubmatch(text); m != nil {
		if meant := textutil.DidYouMean(m[1], flagsOf(cmd)); meant != "" {
			return errors.New(text + strings.Replace(meant, `mean "`, `mean "--`, 1))
		}
	}
	return fmt.Errorf("%s; `%s --help` tells the flags", text, cmd.CommandPath())
}

func flagsOf(cmd *cobra.Command) (names []string) {
	for _, m := range flagInUsage.FindAllStringSubmatch(cmd.Flags().FlagUsages(), -1) {
		names = append(names, m[1])
	}
	return names
}

// atMostOne refuses more words than one after a command.
func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("use it as: %s", cmd.UseLine())
	}
	return nil
}

// someIDs wants at least one word.
func someIDs(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("name the answers to revoke by their IDs; `toolhost approvals` lists them")
	}
	return nil
}
