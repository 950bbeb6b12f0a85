package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// binary gives a small image as such, and refuses all other bytes. Head is the start of the file.
func (r *reading) binary(f *os.File, p *workspace.Place, head []byte) (*view, error) {
	mimeType := sniff(head)
	if !slices.Contains(imageTypes, mimeType) {
		return nil, notText(p, mimeType, head)
	}
	data, err := io.ReadAll(io.NewSectionReader(f, 0, int64(r.images)+1))
	if err != nil {
		return nil, workspace.Explain(p.Path, err)
	}
	if len(data) > r.images {
		return nil, tooLargeImage(p, mimeType, r.images)
	}
	return &view{content: sdk.ImageContent(data, mimeType), notes: []string{mimeType + ", " + count(len(data), "byte")},
		readOutput: readOutput{Path: p.Path, Bytes: len(data), MIMEType: mimeType}}, nil
}

func tooLargeImage(p *workspace.Place, mimeType string, left int) error {
	e := &sdk.Error{Name: "BinaryFile", Message: fmt.Sprintf("%q is an image (%s) of %d bytes; at most %d can be shown", p.Path, mimeType, p.Info.Size(), maxImage),
		Suggestion: "Make a smaller copy and read that."}
	if p.Info.Size() <= maxImage {
		e.Message = fmt.Sprintf("%q is an image (%s) of %d bytes; several files in one call may have %d for images, of which %d are left", p.Path, mimeType, p.Info.Size(), maxImages, left)
		e.Suggestion = "Read it with a call of its own."
	}
	return e
}

// known tells of bytes that by their looks are in some format that is no text.
func known(head []byte) bool {
	mimeType := http.DetectContentType(head)
	return !strings.HasPrefix(mimeType, "text/") && mimeType != "application/octet-stream"
}

// sniff gives the type of bytes by their looks. Those with a NUL are no text, also where the start looks like it.
func sniff(head []byte) string {
	mimeType := http.DetectContentType(head)
	if strings.HasPrefix(mimeType, "text/") && bytes.IndexByte(head, 0) >= 0 {
		return "application/octet-stream"
	}
	return mimeType
}

func notText(p *workspace.Place, mimeType string, head []byte) error {
	e := &sdk.Error{Name: "BinaryFile", Message: fmt.Sprintf("%q is not text: %d bytes, by its looks %s", p.Path, p.Info.Size(), mimeType),
		Suggestion: "Use a program that knows this format, through a shell tool.",
		Details:    sdk.Details(map[string]any{"size": p.Info.Size(), "mime_type": mimeType})}
	if !known(head) && bytes.IndexByte(head, 0) < 0 {
		e.Message = fmt.Sprintf("%q does not look like text (%d bytes): it has many control characters", p.Path, p.Info.Size())
		e.Suggestion = "If it is text all the same, name its encoding, such as encoding=\"windows-1252\"."
	}
	return e
}
