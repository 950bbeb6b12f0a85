package workspace_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

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
