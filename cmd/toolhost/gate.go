package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host/config"
)

// admit lets a configuration be used, or says why nothing of it is: one that was found in the current folder can be
// anybody's, so it starts nothing before it is trusted as it is now. A person who can be asked is asked, once.
func (g *globals) admit(ctx context.Context, c *config.Config, person io.Reader) error {
	if g.trusts(c) {
		return nil
	}
	if person == nil {
		person = g.personAt(false)
	}
	if person == nil {
		return untrusted(c)
	}
	name := filepath.Base(c.Path)
	fmt.Fprintf(g.err, "%s was found here, in %s, and is not trusted as it is now.\n", name, visible(c.Dir))
	g.showWhatRuns(ctx, g.err, c)
	yes, err := newPrompter(g, person).sure(ctx, "Trust it as it is now? [y/N] ")
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil || !yes:
		return &exitError{exitDenied, name + " is not trusted, so nothing of it was run"}
	}
	return remember(c)
}

// remember notes that what was read of the file, and shown, is trusted.
func remember(c *config.Config) error {
	if strings.ContainsAny(c.Path, "\r\n") {
		return fmt.Errorf("%q cannot be trusted: the list of trusted files has one to a line, and the name has a line break", c.Path)
	}
	return changeTrusted(func(known map[string]string) error {
		known[c.Path] = c.SHA256
		return nil
	})
}

// untrusted is what those hear whom nobody can ask.
func untrusted(c *config.Config) error {
	name := filepath.Base(c.Path)
	return &exitError{exitDenied, fmt.Sprintf("%s was found here and is not trusted as it is now, so nothing of it is run\n"+
		"  Look at the file. `toolhost trust` trusts it until it changes; --config %s uses it this once.", name, name)}
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

// trustFile trusts a file that a person has chosen to, and tells first what it would run.
func (g *globals) trustFile(ctx context.Context, path string) error {
	c, err := g.loadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no %s to trust; name the file that is meant: toolhost trust FILE", path)
	} else if err != nil {
		return err
	}
	g.showWhatRuns(ctx, g.out, c)
	if err := remember(c); err != nil {
		return err
	}
	fmt.Fprintf(g.out, "%s is trusted, as it is now\n", visible(shortened(c.Path)))
	return nil
}

// admittedRecord is the record of the configuration, "" when it names none. That of one that is not trusted is not looked for.
func (g *globals) admittedRecord() (string, error) {
	c, err := g.load()
	if err != nil || c.Audit == nil || c.Audit.Path == "" {
		return "", nil //nolint:nilerr // without a configuration there is still the user's own record
	}
	if !g.trusts(c) {
		return "", errors.Join(untrusted(c), errors.New("name the record to look at it: toolhost audit tail FILE"))
	}
	return c.Audit.Path, nil
}
