package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// A prompter asks the person at the terminal. Anything it does not understand is a no.
type prompter struct {
	g    *options
	from io.Reader // the terminal
	in   *bufio.Reader
	// typed gets the line that is being read; nil when none is. A read cannot be canceled: the next question takes it
	// over.
	typed chan typedLine

	screen *screen
	// Those of the open question:
	out     *rowWriter // the terminal
	subject string     // the tool and the plugins; "" if the question is toolhost's own
}

func newPrompter(g *options, from io.Reader) *prompter {
	s, is := g.err.(*screen)
	if !is {
		s = newScreen(g.err)
	}
	return &prompter{g: g, from: from, in: bufio.NewReader(from), screen: s}
}

// open begins a question once no other is open, and returns what ends it.
func (p *prompter) open(ctx context.Context, subject string) (answered func(), err error) {
	answered, err = p.screen.ask(ctx)
	if err == nil {
		p.out, p.subject = &rowWriter{w: p.screen.w}, escapeForTerminal(subject)
	}
	return answered, err
}

// subjectOf names the tool that a question is about, its plugin, and the one that calls it.
func subjectOf(t *host.Tool, via *host.Via) string {
	subject := t.Name
	if t.Plugin != "" {
		subject += " of plugin " + t.Plugin
	}
	if via != nil {
		subject += ", called by plugin " + via.Plugin
	}
	return subject
}

// prompterAt returns the terminal to ask at, or nil: standard input, unless that has the arguments; otherwise the
// controlling terminal of the process. Without a terminal for the question itself there is none.
func (g *options) prompterAt(argumentsWerePiped bool) io.Reader {
	switch {
	case !isTerminal(g.err):
		return nil
	case isTerminal(g.in) && !argumentsWerePiped:
		return g.in
	case !argumentsWerePiped:
		return nil
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	return tty // open until the process ends
}

// Approve shows the whole call and asks until it has an answer, or ctx ends.
func (p *prompter) Approve(ctx context.Context, r *host.ApprovalRequest) (host.Answer, error) {
	answered, err := p.open(ctx, subjectOf(r.Tool, r.Via))
	if err != nil {
		return host.Answer{}, err
	}
	defer answered()
	p.show(r)
	a, err := p.ask(ctx, r)
	if ctx.Err() != nil {
		fmt.Fprintln(p.out)
		return host.Answer{}, ctx.Err()
	}
	a.By = terminalName
	return a, err
}

func (p *prompter) ask(ctx context.Context, r *host.ApprovalRequest) (host.Answer, error) {
	p.menu(r)
	p.forgetTyped()
	for range 10 {
		word, err := p.line(ctx, p.last("Run it? [y/N] "))
		if err != nil {
			return host.Answer{}, err
		}
		a, understood, err := p.answer(ctx, word, r)
		if understood || err != nil {
			return a, err
		}
	}
	return host.No(""), nil
}

// menu lists the answers. Permanent approvals are saved, since this host ends with its one call.
func (p *prompter) menu(r *host.ApprovalRequest) {
	lines := []string{"y  yes, this once", "n  no (the default); you may give the model a reason",
		"e  change the arguments first"}
	if !r.Once() {
		lines = append(lines, "a  always, for exactly these arguments in this folder")
		if r.Prefix != nil {
			lines = append(lines, "p  always, for commands that begin with "+escapeLine(strings.Join(r.Prefix, " "))+
				", in this folder")
		}
		lines = append(lines, "t  always, for "+r.Tool.Name+" in this folder, whatever its arguments")
	}
	for _, l := range lines {
		fmt.Fprintln(p.out, "  "+l)
	}
}

// answer returns the meaning of a word; false when it has none.
func (p *prompter) answer(ctx context.Context, word string, r *host.ApprovalRequest) (a host.Answer, understood bool,
	err error) {
	always := func(s host.Scope) (host.Answer, bool, error) {
		return host.Answer{Approved: true, Scope: s, Saved: true}, true, nil
	}
	switch word = strings.TrimSpace(word); {
	case strings.EqualFold(word, "y") || strings.EqualFold(word, "yes"):
		return host.Yes(), true, nil
	case word == "" || strings.EqualFold(word, "n") || strings.EqualFold(word, "no"):
		reason, err := p.line(ctx, "Why not? The model gets the reason (or just press Enter): ")
		if ctx.Err() == nil {
			err = nil // the no is an answer, also where the input ends before the reason
		}
		return host.No(strings.TrimSpace(reason)), true, err
	case r.Fresh() && (word == "a" || word == "t" || word == "p"):
		fmt.Fprintln(p.out, "A rule requires approval of every such call, so the answer cannot be remembered.")
		return host.Answer{}, false, nil
	case r.Once() && (word == "a" || word == "t" || word == "p"):
		fmt.Fprintln(p.out, "This call is made by a plugin, so the answer cannot be remembered. Use a rule to allow "+
			"such calls.")
		return host.Answer{}, false, nil
	case word == "a":
		return always(host.ScopeArguments)
	case word == "t":
		return always(host.ScopeTool)
	case word == "p" && r.Prefix != nil:
		return always(host.ScopePrefix)
	case word == "e":
		return p.change(ctx, r)
	}
	fmt.Fprintf(p.out, "%s is not an answer; type one of the letters above.\n", escapeForTerminal(fitLine(word, 20)))
	return host.Answer{}, false, nil
}

// change lets the person change the arguments. The host validates them, and asks again.
func (p *prompter) change(ctx context.Context, r *host.ApprovalRequest) (host.Answer, bool, error) {
	changed, err := p.edited(ctx, r.Arguments)
	switch {
	case err != nil:
		fmt.Fprintln(p.out, "The arguments stay as they are:", indentRest(escapeForTerminal(err.Error())))
		return host.Answer{}, false, nil
	case len(changed) == 0:
		fmt.Fprintln(p.out, "The arguments stay as they are.")
		return host.Answer{}, false, nil
	}
	return host.Answer{Arguments: changed}, true, nil
}

// A typedLine is a line of the input, or the reason why there is none.
type typedLine struct {
	text string
	err  error
}

// last is the last line of a question. It names the tool if what does so above may have left the terminal.
func (p *prompter) last(question string) string {
	if p.subject != "" && p.out.scrolled() {
		question = p.subject + ": " + question
	}
	return p.g.paint(bold, question)
}

// line reads one line, unless ctx ends. The end of the input is an error.
func (p *prompter) line(ctx context.Context, question string) (string, error) {
	fmt.Fprint(p.out, question)
	p.out.rows++ // the line ends with what is typed
	if p.typed == nil {
		typed := make(chan typedLine, 1)
		go func() {
			text, err := p.in.ReadString('\n')
			typed <- typedLine{text, err}
		}()
		p.typed = typed
	}
	select {
	case l := <-p.typed:
		p.typed = nil
		if l.err != nil && ctx.Err() == nil {
			fmt.Fprintln(p.out) // Ctrl-D moves no cursor
			return "", fmt.Errorf("no answer could be read from the terminal: %w", l.err)
		}
		return l.text, ctx.Err()
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// forgetTyped drops what was typed before a question was shown.
func (p *prompter) forgetTyped() {
	discardTypeahead(p.from)
	select {
	case <-p.typed:
		p.typed = nil
	default:
	}
}

// agree is confirm for what a flag may have agreed to; unasked is the error without a terminal.
func (g *options) agree(ctx context.Context, yes bool, question, refused, unasked string) error {
	if yes {
		return nil
	}
	person := g.prompterAt(false)
	if person == nil {
		return errors.New(unasked)
	}
	return g.confirm(ctx, person, question, refused)
}

// confirm asks a yes-or-no question of toolhost's own. Anything but a yes is an error with the text refused.
func (g *options) confirm(ctx context.Context, person io.Reader, question, refused string) error {
	p := newPrompter(g, person)
	answered, err := p.open(ctx, "")
	yes := false
	if err == nil {
		yes, err = p.yes(ctx, question)
		answered()
	}
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil || !yes:
		return &exitError{exitDenied, refused}
	}
	return nil
}

// yes asks for the answer of an open yes-or-no question. Anything but a plain yes is a no.
func (p *prompter) yes(ctx context.Context, question string) (bool, error) {
	p.forgetTyped()
	word, err := p.line(ctx, p.last(question))
	if ctx.Err() != nil {
		fmt.Fprintln(p.out)
		return false, ctx.Err()
	}
	word = strings.TrimSpace(word)
	return err == nil && (strings.EqualFold(word, "y") || strings.EqualFold(word, "yes")), err
}

// show prints everything that the person decides on. No part of it can move the cursor, hide, or change direction:
// special characters are shown as their numbers.
func (p *prompter) show(r *host.ApprovalRequest) {
	w := p.out
	if r.Problem != "" {
		fmt.Fprintf(w, "\nThe arguments stay as they were: %s\n", indentRest(escapeForTerminal(r.Problem)))
	}
	fmt.Fprintf(w, "\n%s wants to run.\n", p.g.paint(bold, escapeForTerminal(r.Tool.Name)))
	p.field("the tool", described(r.Tool.Description))
	p.field("why asked", r.Decision.Why())
	if r.Caller != "" {
		p.field("caller", r.Caller)
	}
	if r.Via != nil {
		p.field("called by", "plugin "+r.Via.Plugin+", during a call of "+r.Via.Tool)
	}
	if r.Tool.CostTier == sdk.Expensive {
		p.field("cost", "the tool says that a call is expensive")
	}
	p.field("folder", r.Workdir)
	p.field("arguments", indented(r.Arguments))
	if r.Preview == nil {
		return
	}
	if why := r.Preview.Reason; why != "" && why != r.Decision.Reason && !containsReason(r.Preview, why) {
		p.field("the plugin", why)
	}
	for _, c := range r.Preview.Content { // a diff is coloured
		lines := p.g.paintDiff(strings.Split(escapeForTerminal(strings.TrimRight(contentText(c), "\n")), "\n"))
		fmt.Fprintf(w, "  %s\n    %s\n", p.g.paint(dim, "it would:"), strings.Join(lines, "\n    "))
	}
}

// containsReason reports whether the preview itself contains the reason; the text before the first colon is only the
// kind of reason.
func containsReason(p *sdk.Preview, why string) bool {
	_, detail, _ := strings.Cut(why, ": ")
	return slices.ContainsFunc(p.Content, func(c sdk.Content) bool {
		return strings.Contains(c.Text, why) || detail != "" && strings.Contains(c.Text, detail)
	})
}

// maxDescribed is how many characters of a tool's description a question shows: a long one must not push the arguments
// out of sight.
const maxDescribed = 300

// described is the first paragraph of a description, on one line.
func described(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n\n")
	text = strings.Join(strings.Fields(text), " ")
	if short := textutil.CutRunes(text, maxDescribed, ""); short != text {
		return strings.TrimSpace(short) + "…"
	}
	return text
}

func (p *prompter) field(name, text string) {
	text = escapeForTerminal(strings.TrimRight(text, "\n"))
	if strings.Contains(text, "\n") {
		text = "\n    " + strings.ReplaceAll(text, "\n", "\n    ")
	}
	fmt.Fprintf(p.out, "  %s %s\n", p.g.paint(dim, name+":"), text)
}

// indented is the JSON with a line for each member; its tokens are unchanged.
func indented(arguments json.RawMessage) string {
	var out bytes.Buffer
	if err := json.Indent(&out, arguments, "", "  "); err != nil {
		return string(arguments)
	}
	return out.String()
}
