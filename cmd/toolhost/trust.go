package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/textutil"
)

func newTrust(g *options) *cobra.Command {
	var revoke, list bool
	cmd := &cobra.Command{
		Use:   "trust [FILE]",
		Short: "Let a project's configuration run its programs",
		Long: "Let a project's configuration run its programs. A config.hcl that toolhost finds in the current\n" +
			"folder may be another person's: until it is trusted, nothing that it names is started, and its\n" +
			"rules allow nothing. What it would run, and what it loosens, is listed first. Trust ends when the\n" +
			"file changes. A file named with --config or $TOOLHOST_CONFIG is always trusted, and so is the one in\n" +
			"the user's own folder. Without FILE, it trusts the file of --config, otherwise config.hcl in the\n" +
			"current folder.\n" +
			"\n" +
			"Only the file is covered: a program that it names, such as ./bin/tool, may change and is still\n" +
			"run. Name its checksum in the file (sha256) to have it covered too. A program that is added to a\n" +
			"folder of plugin_dirs is run as well, unless the file has lock = \"require\".",
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			path := cmp.Or(append(args, g.config, "config.hcl")...)
			switch {
			case list:
				return g.listTrusted()
			case revoke:
				return g.revokeTrust(path)
			}
			return g.trustFile(cmd.Context(), path)
		},
	}
	cmd.Flags().BoolVar(&revoke, "revoke", false, "stop trusting it")
	cmd.Flags().BoolVar(&list, "list", false, "list what is trusted")
	return cmd
}

// trustFile trusts a file that a person chose, after printing what it would run and loosen.
func (g *options) trustFile(ctx context.Context, path string) error {
	o := g.bootstrapOptions()
	o.Config = path
	c, err := bootstrap.Load(o)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no %s to trust; name the file that is meant: toolhost trust FILE", path)
	} else if err != nil {
		return err
	}
	showWhatRuns(&rowWriter{w: g.out}, c.TrustRequest(ctx))
	if err := c.Trust(); err != nil {
		return err
	}
	fmt.Fprintf(g.out, "%s is trusted until it changes\n", escapeForTerminal(fsutil.Shortened(c.Path)))
	return nil
}

func (g *options) revokeTrust(path string) error {
	was, err := bootstrap.RevokeTrust(path)
	switch {
	case err != nil:
		return err
	case was:
		fmt.Fprintf(g.out, "%s is not trusted\n", escapeForTerminal(fsutil.Shortened(path)))
	default:
		fmt.Fprintf(g.out, "%s was not trusted; `toolhost trust --list` lists what is\n",
			escapeForTerminal(fsutil.Shortened(path)))
	}
	return nil
}

func (g *options) listTrusted() error {
	files, err := bootstrap.TrustedFiles()
	if err != nil {
		return err
	}
	if len(files) == 0 {
		fmt.Fprintln(g.err, "nothing is trusted")
	}
	for _, f := range files {
		switch {
		case f.Err != nil:
			fmt.Fprintf(g.out, "%s  (cannot be read now)\n", f.Path)
		case f.Changed:
			fmt.Fprintf(g.out, "%s  (has changed since, and is no longer trusted)\n", f.Path)
		default:
			fmt.Fprintln(g.out, f.Path)
		}
	}
	return nil
}

// askTrust asks the person at the terminal; nil if there is none.
func (g *options) askTrust(person io.Reader) func(context.Context, *bootstrap.TrustRequest) (bool, error) {
	if person == nil {
		return nil
	}
	return func(ctx context.Context, r *bootstrap.TrustRequest) (bool, error) {
		p := newPrompter(g, person)
		answered, err := p.open(ctx, "")
		if err != nil {
			return false, err
		}
		defer answered()
		fmt.Fprintf(p.out, "%s was found here, in %s, and is not trusted.\n", escapeLine(filepath.Base(r.Path)),
			escapeLine(r.Dir))
		showWhatRuns(p.out, r)
		return p.yes(ctx, "Trust it until it changes? [y/N] ")
	}
}

const (
	maxRuns    = 20  // lines that are shown of what a file would run, and of what it loosens
	maxRunning = 300 // characters of a line
)

// showWhatRuns prints what the configuration would run and write, and what it loosens.
func showWhatRuns(w io.Writer, r *bootstrap.TrustRequest) {
	if len(r.Runs) == 0 {
		fmt.Fprintln(w, "It would run nothing.")
	}
	showLines(w, "It would run, as you:", r.Runs)
	showLines(w, "It would loosen what protects you:", r.Loosens)
}

func showLines(w io.Writer, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintln(w, title)
	for _, l := range lines[:min(len(lines), maxRuns)] {
		l = escapeLine(l)
		if start := textutil.CutRunes(l, maxRunning, ""); start != l {
			l = fmt.Sprintf("%s … and %d more characters, see the file", start, utf8.RuneCountInString(l)-maxRunning)
		}
		fmt.Fprintln(w, "  "+l)
	}
	if more := len(lines) - maxRuns; more > 0 {
		fmt.Fprintf(w, "  and %d more, see the file\n", more)
	}
}
