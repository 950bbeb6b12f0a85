package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/wire"
)

// version is set by the Makefile for releases.
var version = "0.1.0-dev"

func newVersion(g *globals) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			if format == "json" {
				return g.printJSON(struct {
					Version  string `json:"version"`
					Go       string `json:"go"`
					OS       string `json:"os"`
					Arch     string `json:"arch"`
					Protocol uint   `json:"plugin_protocol"`
				}{version, runtime.Version(), runtime.GOOS, runtime.GOARCH, wire.ProtocolVersion})
			}
			fmt.Fprintf(g.out, "toolhost %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
	chooseFormat(cmd, &format, "%s", "text", "json")
	return cmd
}
