package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"

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
	data, err := readAll(f, p)
	return &snapshot{data: data, info: p.Info}, err
}

// look reads the file at p, which may be read-only.
func look(p *workspace.Place) ([]byte, error) {
	f, err := p.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readAll(f, p)
}

func readAll(f *os.File, p *workspace.Place) ([]byte, error) {
	if p.Info.Size() > maxFile {
		return nil, tooLarge(p.Path, fmt.Sprintf("has %d bytes", p.Info.Size()))
	}
	var data bytes.Buffer
	data.Grow(int(p.Info.Size()) + bytes.MinRead)
	if _, err := data.ReadFrom(io.LimitReader(f, maxFile+1)); err != nil {
		return nil, workspace.Explain(p.Path, err)
	}
	if data.Len() > maxFile { // it grew meanwhile
		return nil, tooLarge(p.Path, "grows while it is read")
	}
	return data.Bytes(), nil
}

func tooLarge(path, why string) error {
	return &sdk.Error{Name: "FileTooLarge", Message: fmt.Sprintf("%q %s; at most %d bytes can be edited. Nothing was changed", path, why, maxFile),
		Suggestion: "Change it with a program, such as sed through a shell tool."}
}

// matches checks the etag that a model has read the file with. None checks nothing.
func (s *snapshot) matches(path, ifMatch string) error {
	wanted := strings.ToLower(strings.Trim(ifMatch, "\" "))
	switch {
	case ifMatch == "":
		return nil
	case !etagForm.MatchString(wanted): // also quotes around nothing: a check was meant
		return &sdk.Error{Name: "InvalidEtag", Message: fmt.Sprintf("if_match %.80q is no etag, which has 12 hexadecimal digits; nothing was written", ifMatch),
			Suggestion: "Give the etag that reading the file gave, or leave if_match out to edit the file whatever it holds by now."}
	case s == nil:
		return changedSince(path, strconv.Quote(path)+" does not exist, so it cannot be the file that was read", wanted, "",
			"Check the path. To create the file leave if_match out.")
	}
	if now := workspace.Etag(s.data); now != wanted {
		return changedSince(path, fmt.Sprintf("%q was changed since it was read: its etag is %s, not %s", path, now, wanted), wanted, now,
			"Read the file again, then repeat the edit with the new etag if it still fits.")
	}
	return nil
}

var etagForm = regexp.MustCompile(`^[0-9a-f]{12}$`)

func changedSince(path, message, wanted, now, advice string) error {
	return &sdk.Error{Name: "FileChanged", Message: message + "; nothing was written", Suggestion: advice,
		Details: sdk.Details(map[string]string{"path": path, "if_match": wanted, "etag": now})}
}

// unchanged checks that the file is still the one that was read: by the same path, the same inode and mode, and byte for
// byte the same content. That says more than its size and time, whose grain some systems have in milliseconds.
func (c *change) unchanged(w *workspace.Root) error {
	p, err := w.Find(c.place.Path)
	if err != nil {
		return err
	}
	if c.before == nil {
		if p.Info != nil || p.Real() != c.place.Real() {
			return fileExists(c.place.Path)
		}
		return nil
	}
	if p.Info == nil || p.Real() != c.place.Real() || !os.SameFile(p.Info, c.before.info) {
		return fileChanged(p.Path)
	}
	now, err := load(p)
	if err != nil {
		return err
	}
	if now.info.Mode() != c.before.info.Mode() || !os.SameFile(now.info, c.before.info) || !bytes.Equal(now.data, c.before.data) {
		return fileChanged(p.Path)
	}
	return nil
}

func fileChanged(path string) error {
	return &sdk.Error{Name: "FileChanged", Message: strconv.Quote(path) + " was changed by someone else during this call; nothing was written",
		Suggestion: "Read the file again, then repeat the edit if it still fits.", Retryable: true}
}

func fileExists(path string) error {
	return &sdk.Error{Name: "FileExists", Message: strconv.Quote(path) + " exists already; nothing was written",
		Suggestion: "Use replace to change a part of it, or overwrite=true to replace all of it."}
}
