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

// readBinary gives a small image as such, and refuses all other bytes. Head is the start of the file.
func readBinary(f *os.File, p *workspace.Place, head []byte) (*sdk.Result, error) {
	mimeType := sniff(head)
	if !slices.Contains(imageTypes, mimeType) {
		return nil, notText(p, mimeType)
	}
	data, err := io.ReadAll(io.NewSectionReader(f, 0, maxImage+1))
	if err != nil {
		return nil, workspace.Explain(p.Path, err)
	}
	if len(data) > maxImage {
		return nil, &sdk.Error{Name: "BinaryFile", Message: fmt.Sprintf("%q is an image (%s) of %d bytes; at most %d can be shown", p.Path, mimeType, p.Info.Size(), maxImage),
			Suggestion: "Make a smaller copy and read that."}
	}
	result := &sdk.Result{Structured: encode(readOutput{Path: p.Path, Bytes: len(data), MIMEType: mimeType})}
	return result.Add(sdk.ImageContent(data, mimeType), sdk.TextContent(fmt.Sprintf("[%s, %s]", mimeType, count(len(data), "byte")))), nil
}

// sniff gives the type of bytes by their looks. Those with a NUL are no text, also where the start looks like it.
func sniff(head []byte) string {
	mimeType := http.DetectContentType(head)
	if strings.HasPrefix(mimeType, "text/") && bytes.IndexByte(head, 0) >= 0 {
		return "application/octet-stream"
	}
	return mimeType
}

func notText(p *workspace.Place, mimeType string) error {
	e := &sdk.Error{Name: "BinaryFile", Message: fmt.Sprintf("%q is not text: %d bytes, by its looks %s", p.Path, p.Info.Size(), mimeType),
		Suggestion: "Use a program that knows this format, through a shell tool.",
		Details:    sdk.Details(map[string]any{"size": p.Info.Size(), "mime_type": mimeType})}
	if strings.HasPrefix(mimeType, "text/") {
		e.Message = fmt.Sprintf("%q is not UTF-8 text (%d bytes); it may be text in another encoding", p.Path, p.Info.Size())
		e.Suggestion = "Convert a copy to UTF-8, for example with iconv through a shell tool, and read that."
	}
	return e
}
