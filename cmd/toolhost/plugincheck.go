package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/plugincheck"
)

const checkLong = "Start a plugin as a host does, in any language, and test it against the plugin protocol, item by " +
	"item:\n" +
	"handshake, token, definitions, bad and large arguments, repeats, parallel calls, its end. Each finding\n" +
	"says how to fix it.\n" +
	"\n" +
	"Only calls that you give are made, as 'TOOL {\"argument\": 1}'. --call is for calls that succeed and may be\n" +
	"made many times, each in a new, empty work folder; the other calls show one behavior each. Items that need a\n" +
	"call that you do not give are skipped.\n\n" +
	"Exit codes: 0 nothing failed; 1 an item failed; 2 usage; 130 interrupted."

func newPluginCheck(g *options) *cobra.Command {
	var o plugincheck.Options
	var format, junit, config string
	cmd := &cobra.Command{
		Use:   "check BIN [-- ARGS]",
		Short: "Test a plugin against the protocol",
		Long:  checkLong,
		Example: "  toolhost plugin check ./bin/toolhost-plugin-greet --call 'hello {\"name\": \"Ada\"}'\n" +
			"  toolhost plugin check ./weather.js --call 'forecast {\"city\": \"Lima\"}' --junit report.xml",
		Args: func(cmd *cobra.Command, args []string) error {
			if config != "" {
				o.Config = json.RawMessage(config)
				if !json.Valid(o.Config) || o.Config[0] != '{' {
					return errors.New("--plugin-config takes a JSON object")
				}
			}
			if strings.HasPrefix(g.config, "{") {
				return errors.New("--config names a file of toolhost's; the plugin's own configuration is --plugin-config")
			}
			if before := cmd.ArgsLenAtDash(); len(args) == 0 || before < 0 && len(args) > 1 || before > 1 {
				return errors.New("name one program: toolhost plugin check BIN; its own arguments come after --")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Command = args
			if !fsutil.HasFolder(args[0]) {
				o.Command[0] = "./" + args[0]
			}
			return g.checkPlugin(cmd, o, format, junit)
		},
	}
	flags := cmd.Flags()
	flags.Var((*callsFlag)(&o.Examples), "call",
		"a call that succeeds and may be made many times; more than once for more")
	flags.Var((*callsFlag)(&o.Wait), "wait", "a call that runs until it is canceled")
	flags.Var((*callsFlag)(&o.Panic), "panic", "a call whose handler fails badly")
	flags.Var((*callsFlag)(&o.Events), "events", "a call that sends very many events")
	flags.Var((*callsFlag)(&o.Large), "large", "a call with a result of more than 256 KiB")
	flags.Var((*callsFlag)(&o.Print), "print", "a call that prints a line of 1 MiB")
	flags.StringVar(&config, "plugin-config", "", "the plugin's configuration, a JSON `object`")
	flags.DurationVar(&o.Timeout, "timeout", 10*time.Second, "how long a start or a call may take")
	flags.BoolVar(&o.Sandboxed, "sandbox", true, "make the --call calls at the sandbox levels confined and isolated too")
	flags.StringVar(&junit, "junit", "", "write a report in JUnit's XML to this `file`")
	chooseFormat(cmd, &format, "%s", "text", "json")
	return cmd
}

// A callsFlag is a list of calls, each as a person types it.
type callsFlag []plugincheck.Call

// String is empty: there are no calls by default.
func (*callsFlag) String() string { return "" }

// Type is shown in help texts.
func (*callsFlag) Type() string { return "call" }

// Set adds a call.
func (f *callsFlag) Set(text string) error {
	tool, arguments, _ := strings.Cut(strings.TrimSpace(text), " ")
	if arguments = strings.TrimSpace(arguments); arguments == "" {
		arguments = "{}"
	}
	raw := json.RawMessage(arguments)
	if tool == "" || !json.Valid(raw) || raw[0] != '{' {
		return fmt.Errorf("a call is the name of a tool and a JSON object, such as 'hello {\"name\": \"Ada\"}', not %.100q",
			text)
	}
	*f = append(*f, plugincheck.Call{Tool: tool, Arguments: raw})
	return nil
}

func (g *options) checkPlugin(cmd *cobra.Command, o plugincheck.Options, format, junit string) error {
	dir, remove, err := fsutil.TempDir("", "toolhost-check-work-")
	if err != nil {
		return temporaryFolderError(err)
	}
	defer remove()
	o.Workdir = dir
	report, err := plugincheck.Run(cmd.Context(), o)
	if err != nil {
		return err
	}
	if format == "json" {
		err = g.printJSON(report)
	} else {
		err = report.Text(g.out)
	}
	if err == nil && junit != "" {
		var b bytes.Buffer
		if err = report.JUnit(&b); err == nil {
			write := fsutil.WriteFile
			if info, missing := os.Lstat(junit); missing == nil && !info.Mode().IsRegular() {
				write = os.WriteFile // a link, a pipe or a device stays what it is
			}
			err = write(junit, b.Bytes(), 0o644)
		}
		if err = fsutil.FolderError(err, filepath.Dir(junit), "name another file"); err != nil {
			return fmt.Errorf("the report %s cannot be written: %w", junit, err)
		}
	}
	if err == nil && report.Failed() {
		return &exitError{exitDiffers, ""}
	}
	return err
}
