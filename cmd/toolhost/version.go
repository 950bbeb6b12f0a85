package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/wire"
)

// version is set by the Makefile for releases.
var version = unreleased

// unreleased is the version of a program that was built from sources of any state.
const unreleased = "0.1.0-dev"

// installedVersion is version, or that of the module where the go command has downloaded and built this program.
func installedVersion(version string, info *debug.BuildInfo) string {
	if version == unreleased && info != nil && info.Main.Sum != "" {
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	return version
}

func versionLine() string {
	return fmt.Sprintf("toolhost %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

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
			fmt.Fprint(g.out, versionLine())
			return nil
		},
	}
	chooseFormat(cmd, &format, "%s", "text", "json")
	return cmd
}
