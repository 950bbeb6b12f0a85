package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

type countArgs struct {
	Path string `json:"path" jsonschema:"The file: relative to the workspace, or absolute inside it."`
}

// count is the handler of a tool that counts the lines of a file.
func count(_ context.Context, r *sdk.Request, in countArgs) (*sdk.Result, error) {
	w, err := workspace.Open(r.Workdir)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	p, err := w.Find(in.Path)
	if err != nil {
		return nil, err
	}
	f, err := p.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return nil, workspace.Explain(p.Path, err)
	}
	return sdk.Textf("%s has %d lines", p.Path, bytes.Count(text, []byte("\n"))), nil
}

func Example() {
	dir, err := os.MkdirTemp("", "workspace")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	_ = os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("one\ntwo\n"), 0o644)
	_ = os.Symlink("/etc/passwd", filepath.Join(dir, "link"))

	for _, path := range []string{"notes.txt", "note.txt", "../notes.txt", "link", "."} {
		result, err := count(context.Background(), &sdk.Request{Workdir: dir}, countArgs{Path: path})
		if e, ok := errors.AsType[*sdk.Error](err); ok {
			fmt.Println(e.Name)
			continue
		}
		fmt.Println(result.Content[0].Text)
	}
	// Output:
	// notes.txt has 2 lines
	// FileNotFound
	// PathOutsideWorkspace
	// PathOutsideWorkspace
	// IsADirectory
}

// shout makes the text of a file upper case, unless someone else changes the file meanwhile.
func shout(w *workspace.Root, path string) error {
	p, text, err := read(w, path)
	if err != nil {
		return err
	}
	return p.Write(bytes.ToUpper(text), func() error {
		if _, now, err := read(w, path); err != nil || !bytes.Equal(now, text) {
			return &sdk.Error{Name: "FileChanged", Message: path + " was changed meanwhile; nothing was written",
				Retryable: true}
		}
		return nil
	})
}

func read(w *workspace.Root, path string) (*workspace.Place, []byte, error) {
	p, err := w.Find(path)
	if err != nil {
		return nil, nil, err
	}
	f, err := p.OpenWritable()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	return p, text, workspace.Explain(p.Path, err)
}

func ExamplePlace_Write() {
	dir, err := os.MkdirTemp("", "workspace")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	_ = os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("quiet\n"), 0o644)
	w, err := workspace.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Close()

	fmt.Println(shout(w, "notes.txt"))
	text, _ := os.ReadFile(filepath.Join(dir, "notes.txt"))
	fmt.Printf("%s", text)
	// Output:
	// <nil>
	// QUIET
}
