package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/shellcmd"
	"github.com/toolhost/toolhost/sdk"
)

// maxListed is how many commands a preview lists; people do not read more.
const maxListed = 50

// A previewData is the structured preview.
type previewData struct {
	Kind        string           `json:"kind"`
	Interpreter string           `json:"interpreter,omitempty"` // of a script
	Background  bool             `json:"background,omitempty"`
	PTY         bool             `json:"pty,omitempty"`
	Commands    []previewCommand `json:"commands"`
	LeftOut     int              `json:"left_out,omitempty"` // number of commands that are not listed
	Risk        shellcmd.Risk    `json:"risk"`
}

// A previewCommand is one simple command in the command line.
type previewCommand struct {
	Name   string   `json:"name"`
	Args   []string `json:"args"`
	Via    []string `json:"via"`
	Text   string   `json:"text"`
	Doubts []string `json:"doubts"`
}

// previewExec says what a command line would do. It examines the text alone.
func (s *shell) previewExec(_ context.Context, r *sdk.Request, in execArgs) (*sdk.Preview, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	if err := in.checkBackground(r); err != nil {
		return nil, err
	}
	shell := s.config.Load().Shell
	f := newPreviewData(in.Command, in.context(r.Workdir), shell)
	f.Background, f.PTY = in.Background, in.PTY
	return f.preview(in.Command, shell), nil
}

// previewScript says what a script would do, if it is for a shell. Other languages are not parsed.
func (s *shell) previewScript(_ context.Context, r *sdk.Request, in scriptArgs) (*sdk.Preview, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	name := in.interpreter()
	var f *previewData
	if shells[name] != nil {
		f = newPreviewData(in.Command, in.context(r.Workdir), name)
	} else {
		why := fmt.Sprintf("it runs %s code that is not looked into", name)
		f = &previewData{Kind: "command", Commands: []previewCommand{},
			Risk: shellcmd.Risk{Level: "high", Reasons: []string{why}}}
	}
	f.Interpreter = name
	return f.preview(in.Command, name), nil
}

func (f *previewData) preview(command, shell string) *sdk.Preview {
	p := &sdk.Preview{Content: sdk.Text(f.text(command)).Content, Structured: sdk.Encode(f)}
	switch {
	case shells[shell] == nil:
		p.Effect, p.Reason = "ask", f.Risk.Reasons[0]
	case f.Risk.Level == "high":
		p.Effect, p.Reason = "ask", "it could do much harm: "+f.Risk.Reasons[0]
	case shell != "bash":
		p.Effect, p.Reason = "ask", f.Risk.Reasons[0]
	}
	return p
}

// context is where it would run, as far as the text says.
func (in *execContext) context(workspace string) shellcmd.Context {
	dir := in.Workdir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(workspace, dir)
	}
	c := shellcmd.Context{Dir: dir, Root: workspace, Stdin: in.Stdin != ""}
	for _, name := range slices.Sorted(maps.Keys(in.Env)) {
		c.Env = append(c.Env, name+"="+in.Env[name])
	}
	return c
}

func newPreviewData(command string, c shellcmd.Context, shell string) *previewData {
	risk, commands := shellcmd.Assess(command, c)
	f := &previewData{Kind: "command", Commands: []previewCommand{}, Risk: risk}
	var foreign []string
	if shell != "bash" {
		foreign = []string{shell + " may read this in another way than bash"}
		f.Risk.Reasons = append(foreign, f.Risk.Reasons...)
		if f.Risk.Level == "low" {
			f.Risk.Level = "medium"
		}
	}
	for _, x := range commands[:min(maxListed, len(commands))] {
		f.Commands = append(f.Commands, newPart(x, foreign))
	}
	f.LeftOut = len(commands) - len(f.Commands)
	return f
}

func newPart(x shellcmd.Command, foreign []string) previewCommand {
	p := previewCommand{Name: x.Name, Args: []string{}, Via: append([]string{}, x.Via...), Text: x.Text,
		Doubts: append(foreign[:len(foreign):len(foreign)], x.Doubts...)}
	for _, a := range x.Args {
		p.Args = append(p.Args, a.Text)
	}
	if p.Doubts == nil {
		p.Doubts = []string{}
	}
	return p
}

// text is the preview for a person.
func (f *previewData) text(command string) string {
	var b strings.Builder
	switch {
	case f.Interpreter != "" && shells[f.Interpreter] == nil:
		fmt.Fprintf(&b, "Would run %s code:\n%s\n", f.Interpreter, indented(command))
	case len(f.Commands) == 0:
		b.WriteString("The command line, with what cannot be seen written out:\n  " + shownAll(command) + "\n")
	default:
		b.WriteString("Would run:\n")
	}
	for _, p := range f.Commands {
		p.write(&b)
	}
	if f.LeftOut > 0 {
		fmt.Fprintf(&b, "  and %d more\n", f.LeftOut)
	}
	if f.Background {
		b.WriteString("In the background: it continues after the call, until it ends or is stopped.\n")
	}
	if f.PTY {
		b.WriteString("On a terminal: stdin is typed into whatever reads from it.\n")
	}
	b.WriteString("Risk: " + f.Risk.Level)
	for _, why := range f.Risk.Reasons[:min(maxListed, len(f.Risk.Reasons))] {
		b.WriteString("\n  " + why)
	}
	return b.String()
}

func (p *previewCommand) write(b *strings.Builder) {
	b.WriteString("  " + p.Text)
	if len(p.Via) > 0 {
		b.WriteString("  [in " + strings.Join(p.Via, ", ") + "]")
	}
	if len(p.Doubts) > 0 {
		b.WriteString("  [not sure: " + strings.Join(p.Doubts, "; ") + "]")
	}
	b.WriteString("\n")
}

const maxShownText = 2000 // most bytes of a text in a preview

// shownAll writes a text so that nothing in it is hidden.
func shownAll(text string) string {
	quoted := strconv.QuoteToASCII(text[:min(len(text), maxShownText)])
	if len(text) > maxShownText {
		return quoted + fmt.Sprintf(" and %d bytes more", len(text)-maxShownText)
	}
	return quoted
}

// indented shows a text line by line, also so that nothing in it is hidden.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text[:min(len(text), maxShownText)]) {
		quoted := strconv.QuoteToGraphic(strings.TrimSuffix(line, "\n"))
		b.WriteString("  " + strings.ReplaceAll(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`), `\\`, `\`) + "\n")
	}
	if len(text) > maxShownText {
		fmt.Fprintf(&b, "  and %d bytes more\n", len(text)-maxShownText)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
