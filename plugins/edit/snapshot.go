package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

const maxFile = 10 << 20 // bytes; larger files are not edited

// A snapshot is a file as it was at one moment.
type snapshot struct {
	data []byte
	info fs.FileInfo
}

// load reads the file at p, which must be one that this process may also write.
func load(p *workspace.Place) (*snapshot, error) {
	f, err := p.OpenWritable()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, workspace.Explain(p.Path, err)
	}
	if len(data) > maxFile {
		return nil, tooLarge(p.Path, fmt.Sprintf("has %d bytes", p.Info.Size()))
	}
	return &snapshot{data: data, info: p.Info}, nil
}

func tooLarge(path, why string) error {
	return &sdk.Error{Name: "FileTooLarge", Message: fmt.Sprintf("%q %s; at most %d can be edited", path, why, maxFile),
		Suggestion: "Change it with a program, such as sed through a shell tool."}
}

// unchanged checks that the file is still the one that was read: by the same path, the same inode and mode, and byte for
// byte the same content. That says more than its size and time, whose grain some systems have in milliseconds.
func (e *edit) unchanged(w *workspace.Root) error {
	p, err := w.Find(e.place.Path)
	if err != nil {
		return err
	}
	if p.Info == nil || p.Real() != e.place.Real() || !os.SameFile(p.Info, e.before.info) {
		return fileChanged(p.Path)
	}
	now, err := load(p)
	if err != nil {
		return err
	}
	if now.info.Mode() != e.before.info.Mode() || !os.SameFile(now.info, e.before.info) || !bytes.Equal(now.data, e.before.data) {
		return fileChanged(p.Path)
	}
	return nil
}

func fileChanged(path string) error {
	return &sdk.Error{Name: "FileChanged", Message: strconv.Quote(path) + " was changed by someone else during this call; nothing was written",
		Suggestion: "Read the file again, then repeat the edit if it still fits.", Retryable: true}
}
