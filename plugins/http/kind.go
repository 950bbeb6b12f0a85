package main

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/sdk"
)

// A kind is what is made of a body.
type kind int

const (
	textKind   kind = iota
	imageKind       // an image of a type that models can see
	opaqueKind      // not told: the body's looks decide
	binaryKind
)

const maxImage = 3 << 20

var images = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// textual are types of text that are not named text/*, nor end in +json or +xml.
var textual = []string{"application/json", "application/xml", "application/javascript", "application/ecmascript", "application/x-javascript",
	"application/x-ndjson", "application/jsonl", "application/json-seq", "application/yaml", "application/x-yaml", "application/toml", "application/sql",
	"application/graphql", "application/x-sh", "application/x-www-form-urlencoded", "application/pgp-signature", "application/x-pem-file",
	"application/x-httpd-php", "application/rtf", "application/xhtml+xml", "message/rfc822"}

// told is the kind that the type says.
func told(mediaType string) kind {
	switch {
	case slices.Contains(images, mediaType):
		return imageKind
	case strings.HasPrefix(mediaType, "text/"), slices.Contains(textual, mediaType),
		strings.HasSuffix(mediaType, "+json"), strings.HasSuffix(mediaType, "+xml"), strings.HasSuffix(mediaType, "+yaml"):
		return textKind
	case slices.Contains([]string{"", "application/octet-stream", "binary/octet-stream", "application/unknown"}, mediaType):
		return opaqueKind
	}
	return binaryKind
}

// settle decides by the looks of the body, where the type does not or is wrong.
func (a *answer) settle(said kind) kind {
	looks := http.DetectContentType(a.body)
	switch {
	case len(a.body) == 0:
		return textKind
	case slices.Contains(images, looks):
		a.mediaType = looks
		return imageKind
	case said == imageKind, said == binaryKind:
		return binaryKind
	case said == opaqueKind && !strings.HasPrefix(looks, "text/"):
		a.mediaType = looks
		return binaryKind
	case said == opaqueKind:
		a.mediaType, _, _ = strings.Cut(looks, ";")
	}
	if !a.wide() && bytes.IndexByte(a.body[:min(len(a.body), 8<<10)], 0) >= 0 {
		return binaryKind
	}
	return textKind
}

// wide says whether the body is in an encoding that has zero bytes.
func (a *answer) wide() bool {
	return strings.HasPrefix(strings.ToLower(a.charset), "utf-16") || bytes.HasPrefix(a.body, []byte("\xFF\xFE")) || bytes.HasPrefix(a.body, []byte("\xFE\xFF"))
}

func (a *answer) html() bool {
	return a.mediaType == "text/html" || a.mediaType == "application/xhtml+xml"
}

// binary refuses what no model can read.
func (a *answer) binary() error {
	size := a.size
	if len(a.body) > 0 && !a.cut {
		size = int64(len(a.body))
	}
	text := "a size that is not told"
	if size >= 0 {
		text = fmt.Sprintf("%d bytes", size)
	}
	return &sdk.Error{Name: "BinaryBody", Message: fmt.Sprintf("%s is not text: %s, %s", shownURL(a.url), a.typed(), text),
		Suggestion: "Only text, and images (PNG, JPEG, GIF, WebP) of up to 3 MiB, can be shown. Download it with a program, through a shell tool.",
		Details:    sdk.Details(map[string]any{"content_type": a.mediaType, "size": size, "url": shownURL(a.url)})}
}
