package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/sdk"
)

// edited returns the arguments as the person edits them: in the editor that $VISUAL or $EDITOR names, otherwise on
// one line.
func (p *prompter) edited(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
	editor := strings.Fields(cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR")))
	if len(editor) == 0 {
		text, err := p.line(ctx, "The arguments, as one line of JSON ($EDITOR would open an editor): ")
		return bytes.TrimSpace([]byte(text)), err
	}
	dir, remove, err := fsutil.TempDir("", "toolhost-edit-")
	if err != nil {
		return nil, temporaryFolderError(err)
	}
	defer remove()
	return p.inEditor(ctx, editor, filepath.Join(dir, "arguments.json"), arguments)
}

func (p *prompter) inEditor(ctx context.Context, editor []string, path string,
	arguments json.RawMessage) (json.RawMessage, error) {
	if err := os.WriteFile(path, []byte(indented(arguments)+"\n"), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, editor[0], append(editor[1:], path)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.from, p.g.programErr(), p.g.programErr()
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("the editor %s: %w", editor[0], err)
	}
	text, err := fsutil.ReadRegular(path, sdk.MaxArguments)
	return bytes.TrimSpace(text), err
}
