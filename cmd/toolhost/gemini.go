package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// This file has what Gemini CLI needs besides the list of tools: a discovery that never fails, since Gemini CLI would
// not start then, and settings that name the same configuration for the discovery and for each call.

// listNothing prints an empty list for a discovery that failed, and the reason on standard error.
func (g *options) listNothing(ctx context.Context, why error) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	g.printError(why)
	fmt.Fprintln(g.err, "toolhost: the list is empty, so that Gemini CLI starts all the same; it reads the list again "+
		"when it is started again")
	_, err := fmt.Fprintln(g.out, "[]")
	return err
}

// A geminiSource has the words that both commands of Gemini CLI share.
type geminiSource struct {
	program string   // this one
	flags   []string // of both commands
	only    []string // of the discovery alone
	profile string
}

// geminiSource returns the words for the configuration that was found: Gemini CLI may run the commands in another
// folder, and in GitHub Actions without the variables that name it.
func (g *options) geminiSource(s *bootstrap.Instance, f discoverFlags) (geminiSource, error) {
	program, err := os.Executable()
	if err != nil {
		return geminiSource{}, err
	}
	path, err := filepath.Abs(s.Config().Path)
	if err != nil {
		return geminiSource{}, err
	}
	src := geminiSource{program: program, flags: []string{"--config", path}, profile: f.profile}
	if s.Plugins().NeedsTrust() {
		// otherwise a name on a command line would trust later content of the file too
		src.flags = append(src.flags, "--check-trust")
	}
	if g.workdir != "" {
		workdir, err := filepath.Abs(g.workdir)
		if err != nil {
			return geminiSource{}, err
		}
		src.flags = append(src.flags, "--workdir", workdir)
	}
	for _, p := range f.plugins {
		src.only = append(src.only, "--plugin", p)
	}
	return src, nil
}

func (s geminiSource) discovery() []string {
	words := append(slices.Concat([]string{s.program}, s.flags, []string{"discover", "--format", "gemini"}), s.only...)
	if s.profile != "" {
		words = append(words, "--profile", s.profile)
	}
	return words
}

// script is the call command. Gemini CLI takes that setting for the path of one program, so the flags of
// toolhost-call are in a script.
func (s geminiSource) script(program string) string {
	words := append([]string{program}, s.flags...)
	if s.profile != "" {
		words = append(words, "--profile", s.profile)
	}
	words = append(words, "--approve", string(bootstrap.ApproveClient))
	return "#!/bin/sh\n# The call command of Gemini CLI, written by: toolhost discover --format gemini\n" +
		"# --approve " + string(bootstrap.ApproveClient) + ": Gemini CLI has asked its user. Without it, a call that " +
		"needs approval is refused.\n" +
		"exec " + shellWords(words) + " \"$@\"\n"
}

// save writes the script into the user's own folder and returns its path, which is the same for the same words.
func (s geminiSource) save() (path string, err error) {
	sum := sha256.Sum256([]byte(strings.Join(append(s.discovery(), "\x00"), "\x00")))
	dir, err := bootstrap.StateFolder(filepath.Join("gemini", hex.EncodeToString(sum[:6])))
	if err != nil {
		return "", err
	}
	defer func() { err = fsutil.FolderError(err, dir, "set XDG_STATE_HOME to another folder") }()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	program := filepath.Join(filepath.Dir(s.program), callProgram)
	if _, err := os.Stat(program); err != nil {
		program = filepath.Join(dir, "program", callProgram)
		if now, err := os.Readlink(program); err != nil || now != s.program {
			err = errors.Join(os.MkdirAll(filepath.Dir(program), 0o700), fsutil.Symlink(s.program, program))
			if err != nil {
				return "", err
			}
		}
	}
	path = filepath.Join(dir, callProgram)
	text := s.script(program)
	if now, err := os.ReadFile(path); err == nil && string(now) == text {
		return path, os.Chmod(path, 0o700) //nolint:gosec // it is a program of the user's own
	}
	return path, fsutil.WriteFile(path, []byte(text), 0o700)
}

// printGeminiSettings prints what to add to Gemini CLI's settings.json. It goes to standard error, which Gemini CLI
// does not read.
func (g *options) printGeminiSettings(s *bootstrap.Instance, f discoverFlags) {
	src, err := g.geminiSource(s, f)
	var script string
	if err == nil {
		script, err = src.save()
	}
	if err != nil {
		g.printError(fmt.Errorf("there are no settings for Gemini CLI to show: the script that its call command is cannot "+
			"be written: %w", err))
		return
	}
	fmt.Fprintf(g.err, "For Gemini CLI's settings.json:\n  \"tools\": {\n    \"discoveryCommand\": %s,\n    "+
		"\"callCommand\": %s\n  }\n"+
		"With them the user's approval in Gemini CLI lets a call run that a person is to be asked about; what a rule "+
		"denies\n"+
		"or always asks about stays refused. Remove `--approve %s` from a copy of the script to "+
		"have such calls refused instead.\n",
		sdk.Encode(shellWords(src.discovery())), sdk.Encode(script), string(bootstrap.ApproveClient))
}

// shellWords quotes words so that a shell, and the parser of Gemini CLI for its discovery command, reads the same
// ones.
func shellWords(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w
		if w == "" || strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+,=-") != "" {
			out[i] = textutil.ShellQuoted(w)
		}
	}
	return strings.Join(out, " ")
}

const (
	// geminiPrefix is Gemini CLI's prefix of tool names, and geminiName the longest name that Gemini accepts: it
	// refuses every request with a longer one.
	geminiPrefix = "discovered_tool_"
	geminiName   = 64
	// maxIndented keeps the list below the 10 MiB that Gemini CLI reads: indentation makes it up to ten times as large.
	maxIndented = 1 << 20
)

// tooLongForGemini also reports it.
func (g *options) tooLongForGemini(t *host.Tool) bool {
	most := geminiName - len(geminiPrefix)
	if len(t.Name) <= most {
		return false
	}
	g.printError(fmt.Errorf("tool %s is left out of format gemini: its name has %d characters, at most %d leave room for "+
		"the %s that Gemini CLI puts in front; a shorter name for the plugin helps",
		t.Name, len(t.Name), most, geminiPrefix))
	return true
}
