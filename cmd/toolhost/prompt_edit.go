package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/sdk"
)

// edited gives the arguments as the person wants them: from the editor that $VISUAL or $EDITOR names, else from one line.
func (p *prompter) edited(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
	editor := strings.Fields(cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR")))
	if len(editor) == 0 {
		text, err := p.line(ctx, "The arguments, as one line of JSON ($EDITOR would open an editor): ")
		return bytes.TrimSpace([]byte(text)), err
	}
	dir, err := os.MkdirTemp("", "toolhost-edit-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a folder of the system's temporary ones
	return p.inEditor(ctx, editor, filepath.Join(dir, "arguments.json"), arguments)
}

func (p *prompter) inEditor(ctx context.Context, editor []string, path string, arguments json.RawMessage) (json.RawMessage, error) {
	if err := os.WriteFile(path, []byte(indented(arguments)+"\n"), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, editor[0], append(editor[1:], path)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.from, p.g.err, p.g.err
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("the editor %s: %w", editor[0], err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, sdk.MaxArguments+1))
	if len(text) > sdk.MaxArguments {
		err = fmt.Errorf("they have more than %d bytes", sdk.MaxArguments)
	}
	return bytes.TrimSpace(text), err
}
