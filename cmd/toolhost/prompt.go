package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/toolhost/toolhost/host"
)

// A prompter asks the person at the terminal. What it does not understand is no yes.
type prompter struct {
	g    *globals
	from io.Reader // the terminal
	in   *bufio.Reader
}

func newPrompter(g *globals, from io.Reader) *prompter {
	return &prompter{g: g, from: from, in: bufio.NewReader(from)}
}

// personAt gives the terminal to ask at, or nil: standard input, unless that held the arguments; then whatever terminal
// the process belongs to. Without a terminal for the question itself there is none.
func (g *globals) personAt(argumentsWerePiped bool) io.Reader {
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

// Approve shows the whole call and asks until it has an answer.
func (p *prompter) Approve(ctx context.Context, r *host.ApprovalRequest) (host.Answer, error) {
	type reply struct {
		host.Answer
		error
	}
	replied := make(chan reply, 1)
	go func() { // a read of a terminal cannot be called off; it ends with the process
		p.show(r)
		a, err := p.ask(ctx, r)
		replied <- reply{a, err}
	}()
	select {
	case r := <-replied:
		return r.Answer, r.error
	case <-ctx.Done():
		fmt.Fprintln(p.g.err)
		return host.Answer{}, ctx.Err()
	}
}

func (p *prompter) ask(ctx context.Context, r *host.ApprovalRequest) (host.Answer, error) {
	p.menu(r)
	forgetTyped(p.from)
	for range 10 {
		word, err := p.line(ctx, p.g.paint(bold, "Run it? [y/N] "))
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

// menu lists the answers. Those that hold for good are saved, since this host ends with its one call.
func (p *prompter) menu(r *host.ApprovalRequest) {
	lines := []string{"y  yes, this once", "n  no (the default); you may tell the model why", "e  change the arguments first"}
	if !r.Fresh() {
		lines = append(lines, "a  always, for these very arguments in this folder")
		if r.Prefix != nil {
			lines = append(lines, "p  always, for commands that begin with "+visible(strings.Join(r.Prefix, " "))+", in this folder")
		}
		lines = append(lines, "t  always, for "+r.Tool.Name+" in this folder, whatever its arguments")
	}
	for _, l := range lines {
		fmt.Fprintln(p.g.err, "  "+l)
	}
}

// answer is what a word means; false when it means nothing.
func (p *prompter) answer(ctx context.Context, word string, r *host.ApprovalRequest) (a host.Answer, understood bool, err error) {
	always := func(s host.Scope) (host.Answer, bool, error) {
		return host.Answer{Approved: true, Scope: s, Saved: true}, true, nil
	}
	switch word = strings.TrimSpace(word); {
	case strings.EqualFold(word, "y") || strings.EqualFold(word, "yes"):
		return host.Yes(), true, nil
	case word == "" || strings.EqualFold(word, "n") || strings.EqualFold(word, "no"):
		reason, err := p.line(ctx, "Why not? The model is told (or just press Enter): ")
		return host.No(strings.TrimSpace(reason)), true, err
	case r.Fresh() && (word == "a" || word == "t" || word == "p"):
		fmt.Fprintln(p.g.err, "A rule wants this asked each time: no answer to it is remembered.")
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
	fmt.Fprintf(p.g.err, "%s is none of the answers.\n", visible(fit(word, 20)))
	return host.Answer{}, false, nil
}

// change has the person change the arguments. Whether they fit is the host's to say, which then asks again.
func (p *prompter) change(ctx context.Context, r *host.ApprovalRequest) (host.Answer, bool, error) {
	changed, err := p.edited(ctx, r.Arguments)
	switch {
	case err != nil:
		fmt.Fprintln(p.g.err, "The arguments stay as they are:", visible(err.Error()))
		return host.Answer{}, false, nil
	case len(changed) == 0:
		fmt.Fprintln(p.g.err, "The arguments stay as they are.")
		return host.Answer{}, false, nil
	}
	return host.Answer{Arguments: changed}, true, nil
}

// line reads one line. The end of the input is an error: nobody is there any more.
func (p *prompter) line(ctx context.Context, question string) (string, error) {
	fmt.Fprint(p.g.err, question)
	text, err := p.in.ReadString('\n')
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", fmt.Errorf("the terminal gave no answer: %w", err)
	}
	return text, nil
}

// sure asks a question that has a yes and a no. What is no plain yes is a no.
func (p *prompter) sure(ctx context.Context, question string) (bool, error) {
	type reply struct {
		word string
		err  error
	}
	replied := make(chan reply, 1)
	go func() { // a read of a terminal cannot be called off; it ends with the process
		forgetTyped(p.from)
		word, err := p.line(ctx, p.g.paint(bold, question))
		replied <- reply{strings.TrimSpace(word), err}
	}()
	select {
	case r := <-replied:
		return r.err == nil && (strings.EqualFold(r.word, "y") || strings.EqualFold(r.word, "yes")), r.err
	case <-ctx.Done():
		fmt.Fprintln(p.g.err)
		return false, ctx.Err()
	}
}
