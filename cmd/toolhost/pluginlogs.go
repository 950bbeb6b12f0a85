package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/pluginlog"
	"github.com/toolhost/toolhost/internal/textutil"
)

// followInterval is how often a followed file is read.
const followInterval = 200 * time.Millisecond

func newPluginLogs(g *options) *cobra.Command {
	lines, follow := 100, false
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Show what a plugin has printed and logged",
		Long: "Show what a plugin has printed on standard output and standard error, what its handlers have\n" +
			"logged, and how it crashed, with the stacks of panics. Hosts keep it in the user's state folder, without\n" +
			"what looks like a secret: up to " + fmt.Sprint(2*pluginlog.MaxFile>>20) + " MiB for each plugin. The number\n" +
			"in brackets is the host's process.",
		Example: "  toolhost plugin logs greet --lines 20\n  toolhost plugin logs greet --follow",
		Args:    exactlyOne("name one plugin: toolhost plugin logs NAME"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			dir, err := bootstrap.LogFolder()
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return pluginlog.Plugins(dir), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if lines < 0 {
				return fmt.Errorf("--lines must not be negative: %d", lines)
			}
			return g.showLogs(cmd.Context(), args[0], lines, follow)
		},
	}
	cmd.Flags().IntVar(&lines, "lines", lines, "how many of the last lines")
	cmd.Flags().BoolVar(&follow, "follow", false, "keep printing new lines until interrupted")
	return cmd
}

func (g *options) showLogs(ctx context.Context, name string, lines int, follow bool) error {
	dir, err := bootstrap.LogFolder()
	if err != nil {
		return err
	}
	path, err := pluginlog.Path(dir, name)
	if err != nil {
		return err
	}
	last, end, err := pluginlog.Last(path, lines)
	if errors.Is(err, fs.ErrNotExist) && !follow {
		return fmt.Errorf("there are no logs of a plugin %q%s; a log exists once the plugin has printed something or crashed",
			name, textutil.DidYouMean(name, pluginlog.Plugins(dir)))
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fsutil.FolderError(err, dir, "set XDG_STATE_HOME to another folder")
	}
	for _, line := range last {
		fmt.Fprintln(g.out, line)
	}
	if !follow {
		return nil
	}
	return g.followLog(ctx, path, end)
}

// followLog prints what is written to the file at path behind a position, and to those that replace it.
func (g *options) followLog(ctx context.Context, path string, from int64) error {
	tick := time.NewTicker(followInterval)
	defer tick.Stop()
	var f *os.File
	defer func() { _ = f.Close() }() // no error for nil
	var lines *bufio.Reader
	var begun string // a line that is not complete
	for {
		if f == nil {
			opened, err := fsutil.OpenPrivate(path)
			if err == nil {
				f, lines, begun = opened, bufio.NewReader(opened), ""
				_, err = f.Seek(from, io.SeekStart)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if f != nil {
			replaced := !isAt(f, path) // looked at before it is read to its end
			for {
				part, err := lines.ReadString('\n')
				if begun += part; err != nil {
					break
				}
				fmt.Fprint(replacingWriter{g.out}, begun)
				begun = ""
			}
			if replaced {
				_ = f.Close()
				f, from = nil, 0
				continue
			}
		}
		select {
		case <-ctx.Done():
			return errInterrupted
		case <-tick.C:
		}
	}
}

// isAt reports whether an open file is the one at path.
func isAt(f *os.File, path string) bool {
	own, err := f.Stat()
	now, errNow := os.Lstat(path)
	return err == nil && errNow == nil && os.SameFile(own, now)
}

// authorLogger is the log for the author of a plugin: also what the plugin prints, and stacks line by line. With
// another format or level than the usual ones it is that of all commands.
func (g *options) authorLogger() *slog.Logger {
	if g.logFormat == "json" || g.logLevel == "debug" {
		return g.logger()
	}
	out := replacingWriter{g.err}
	return slog.New(pluginlog.ByPlugin(g.logger().Handler(), func(plugin string, r slog.Record) bool {
		switch {
		case r.Message == "plugin crashed": // pluginRun.printState prints it
			return true
		case plugin == "" || !pluginlog.Said(r):
			return false
		}
		fmt.Fprintf(out, "%s %s\n", plugin, pluginlog.Text(r))
		return true
	}))
}
