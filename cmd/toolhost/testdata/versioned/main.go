// Command versioned is a plugin for tests of reloads. The last line of its program's file is its version and the names
// of its tools, so that builds of it are made by adding a line. Each call adds a line to the file that is the program's
// first argument before it does anything else, and answers with the version.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

type arguments struct {
	ID  string `json:"id,omitempty"`
	For string `json:"for,omitempty" jsonschema:"A file that the call waits for"`
}

func main() {
	program, err := os.ReadFile("/proc/self/exe") // by its name it may be another by now
	if err != nil {
		program, err = os.ReadFile(os.Args[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	words := strings.Fields(string(program[bytes.LastIndexByte(program, '\n')+1:]))
	p := sdk.New("versioned", words[0])
	for _, word := range words[1:] {
		name, description, _ := strings.Cut(word, "=")
		definition := sdk.Tool{Name: name, Description: "Tells the version. " + description,
			Hints: sdk.Hints{ReadOnly: sdk.Yes}}
		sdk.AddTool(p, definition, func(ctx context.Context, _ *sdk.Request, in arguments) (*sdk.Result, error) {
			return sdk.Text(words[0]), run(ctx, in)
		})
	}
	sdk.Serve(p)
}

func run(ctx context.Context, in arguments) error {
	if len(os.Args) > 1 {
		if err := note(os.Args[1], in.ID); err != nil {
			return err
		}
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for in.For != "" {
		if _, err := os.Stat(in.For); err == nil {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func note(path, id string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(id + "\n")
	return err
}
