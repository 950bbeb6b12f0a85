//go:build man

package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// With the tag man there is a command that writes the manual pages; see the Makefile. The normal build does without
// the libraries for it.
func init() {
	extend = func(root *cobra.Command) {
		root.AddCommand(&cobra.Command{
			Use: "man DIR", Hidden: true, Args: cobra.ExactArgs(1),
			RunE: func(_ *cobra.Command, args []string) error {
				if err := os.MkdirAll(args[0], 0o755); err != nil {
					return err
				}
				root.DisableAutoGenTag = true
				hideCompletions(root)
				return doc.GenManTree(root, &doc.GenManHeader{Title: "TOOLHOST", Section: "1", Source: "toolhost " + version},
					args[0])
			},
		})
	}
}

// hideCompletions leaves completions out of the manual: `toolhost completion --help` describes the setup of each
// shell.
func hideCompletions(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		for _, shell := range cmd.Commands() {
			shell.Hidden = true
		}
	}
}
