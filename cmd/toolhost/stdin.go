package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/toolhost/toolhost/sdk"
)

// arguments are on the command line, on standard input, or not given.
func (g *globals) arguments(ctx context.Context, args []string) (json.RawMessage, error) {
	switch {
	case len(args) == 0, isArgWord(args[0]): // words are read by the tool's schema
		return nil, nil
	case args[0] != "-":
		return json.RawMessage(args[0]), nil
	}
	if isTerminal(g.in) {
		fmt.Fprintln(g.err, "reading the arguments from the terminal; end with Ctrl-D")
	}
	return readAll(ctx, g.in)
}

type readResult struct {
	text []byte
	err  error
}

// readAll reads arguments. An interrupt ends the wait, not the read, which ends with the process.
func readAll(ctx context.Context, in io.Reader) (json.RawMessage, error) {
	read := make(chan readResult, 1)
	go func() {
		text, err := io.ReadAll(io.LimitReader(in, sdk.MaxArguments+1))
		read <- readResult{text, err}
	}()
	select {
	case <-ctx.Done():
		return nil, errInterrupted
	case r := <-read:
		if r.err != nil {
			return nil, fmt.Errorf("reading the arguments from standard input: %w", r.err)
		}
		return r.text, nil
	}
}
