package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/shellcmd"
)

// maxListed is how many commands a preview lists; no person reads more.
const maxListed = 50

// A foretold is the structured preview.
type foretold struct {
	Kind     string        `json:"kind"`
	Commands []part        `json:"commands"`
	LeftOut  int           `json:"left_out,omitempty"` // commands that are not listed
	Risk     shellcmd.Risk `json:"risk"`
}

// A part is one simple command in the command line.
type part struct {
	Name   string   `json:"name"`
	Args   []string `json:"args"`
	Via    []string `json:"via"`
	Text   string   `json:"text"`
	Doubts []string `json:"doubts"`
}

// preview tells what a command line would do. It looks at the text alone.
func (s *shell) preview(_ context.Context, r *sdk.Request, in execArgs) (*sdk.Preview, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	f := foretell(in.Command, in.context(r.Workdir), s.config.Load().Shell)
	p := &sdk.Preview{Content: sdk.Text(f.text(in.Command)).Content, Structured: encoded(f)}
	switch {
	case f.Risk.Level == "high":
		p.Effect, p.Reason = "ask", "it could do much harm: "+f.Risk.Reasons[0]
	case s.config.Load().Shell != "bash":
		p.Effect, p.Reason = "ask", f.Risk.Reasons[0]
	}
	return p, nil
}

// context is where the command would run, as far as the text tells.
func (in *execArgs) context(workspace string) shellcmd.Context {
	dir := in.Workdir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(workspace, dir)
	}
	return shellcmd.Context{Dir: dir, Root: workspace, Env: slices.Sorted(maps.Keys(in.Env)), Stdin: in.Stdin != ""}
}

func foretell(command string, c shellcmd.Context, shell string) *foretold {
	f := &foretold{Kind: "command", Commands: []part{}, Risk: shellcmd.Assess(command, c)}
	var foreign []string
	if shell != "bash" {
		foreign = []string{shell + " may read this in another way than bash"}
		f.Risk.Reasons = append(foreign, f.Risk.Reasons...)
		if f.Risk.Level == "low" {
			f.Risk.Level = "medium"
		}
	}
	script, err := shellcmd.Parse(command)
	if err != nil {
		return f // Risk says why
	}
	for _, x := range script.Commands[:min(maxListed, len(script.Commands))] {
		f.Commands = append(f.Commands, newPart(x, foreign))
	}
	f.LeftOut = len(script.Commands) - len(f.Commands)
	return f
}

func newPart(x shellcmd.Command, foreign []string) part {
	p := part{Name: x.Name, Args: []string{}, Via: append([]string{}, x.Via...), Text: x.Text, Doubts: append(foreign[:len(foreign):len(foreign)], x.Doubts...)}
	for _, a := range x.Args {
		p.Args = append(p.Args, a.Text)
	}
	if p.Doubts == nil {
		p.Doubts = []string{}
	}
	return p
}

// text is the preview for a person.
func (f *foretold) text(command string) string {
	var b strings.Builder
	if len(f.Commands) == 0 {
		b.WriteString("The command line, with what cannot be seen written out:\n  " + shown(command) + "\n")
	} else {
		b.WriteString("Would run:\n")
	}
	for _, p := range f.Commands {
		b.WriteString("  " + p.Text)
		if len(p.Via) > 0 {
			b.WriteString("  [in " + strings.Join(p.Via, ", ") + "]")
		}
		if len(p.Doubts) > 0 {
			b.WriteString("  [not sure: " + strings.Join(p.Doubts, "; ") + "]")
		}
		b.WriteString("\n")
	}
	if f.LeftOut > 0 {
		fmt.Fprintf(&b, "  and %d more\n", f.LeftOut)
	}
	b.WriteString("Risk: " + f.Risk.Level)
	for _, why := range f.Risk.Reasons[:min(maxListed, len(f.Risk.Reasons))] {
		b.WriteString("\n  " + why)
	}
	return b.String()
}

// shown writes a text so that nothing in it is hidden.
func shown(text string) string {
	const most = 2000
	quoted := strconv.QuoteToASCII(text[:min(len(text), most)])
	if len(text) > most {
		return quoted + fmt.Sprintf(" and %d bytes more", len(text)-most)
	}
	return quoted
}
