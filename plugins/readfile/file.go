package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/imagefile"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/plugins/readfile/internal/walk"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// A readCall is one call of the tool.
type readCall struct {
	*config
	window
	textEncoding textEncoding // asked for; without a name it is found out
	raw          bool
	images       int // how many bytes of images may still be given
	places       openFolders
}

// A readOutput is the structured result for a file. Images have no lines.
type readOutput struct {
	Path       string     `json:"path"`
	StartLine  int        `json:"start_line,omitzero"`  // 0 when not known
	EndLine    int        `json:"end_line,omitzero"`    // 0 when there is no line
	TotalLines *int       `json:"total_lines,omitzero"` // nil when not known
	Bytes      int        `json:"bytes"`                // of the text or image in the result
	MIMEType   string     `json:"mime_type,omitzero"`   // of an image
	Encoding   string     `json:"encoding,omitzero"`    // of a text that is not UTF-8
	Cells      int        `json:"cells,omitzero"`       // of a notebook; its lines are those of the view
	Etag       string     `json:"etag,omitzero"`        // of a text; "" when the file is too large
	HardLinks  int        `json:"hard_links,omitzero"`  // the names of the file, if there are several
	Truncated  bool       `json:"truncated"`
	Error      *sdk.Error `json:"error,omitzero"` // one of several files could not be read
}

// A fileView is what the model sees of a file: the exact text or the image, then the notes, each a content part of its
// own.
type fileView struct {
	content sdk.Content
	notes   []string
	readOutput
}

func (v *fileView) result() *sdk.Result {
	return &sdk.Result{Content: v.parts(), Structured: encode(v.readOutput), Truncated: v.Truncated}
}

// parts are the content and the notes, which begin a line of their own also when the parts are put one after the other.
func (v *fileView) parts() (parts []sdk.Content) {
	notes := bracketed(v.notes...)
	if v.content.Text != "" || v.content.Data != nil {
		parts = append(parts, v.content)
	}
	if text := v.content.Text; text != "" && !strings.HasSuffix(text, "\n") {
		notes = "\n" + notes
	}
	if notes != "" {
		parts = append(parts, sdk.TextContent(notes))
	}
	return parts
}

func (r *readCall) file(ctx context.Context, path string) (*fileView, error) {
	p, f, err := r.open(path)
	if err != nil {
		return nil, err
	}
	defer closeWith(ctx, f)()
	read := r.text
	if !r.raw && strings.EqualFold(filepath.Ext(p.Path), ".ipynb") {
		read = r.notebook
	}
	v, err := read(ctx, f, p)
	if n := p.Links(); err == nil && n > 1 {
		v.HardLinks = n
		v.notes = append(v.notes, fmt.Sprintf("the file has %d names (hard links); others may be outside the workspace", n))
	}
	return v, err
}

// open opens a regular file that holds no secrets.
func (r *readCall) open(path string) (*workspace.Place, *os.File, error) {
	root, err := r.places.at(path)
	if err != nil {
		return nil, nil, err
	}
	p, err := root.Find(path)
	if err != nil {
		return nil, nil, noPattern(path, err)
	}
	f, err := r.openFile(p)
	return p, f, noPattern(path, err)
}

// noPattern says to those who give a pattern that it is taken for a name.
func noPattern(path string, err error) error {
	if e, ok := errors.AsType[*sdk.Error](err); ok && e.Name == "FileNotFound" && strings.ContainsAny(path, "*?[{") {
		e.Suggestion = "Patterns are not expanded here. Find the names with a glob or list tool, and give those as paths."
	}
	return err
}

// text shows a file that is not a notebook, or not to be shown as one.
func (r *readCall) text(ctx context.Context, f *os.File, p *workspace.Place) (*fileView, error) {
	in := newSource(ctx, f, p.Info.Size())
	text, err := decode(in, p.Info.Size(), r.textEncoding)
	if err != nil {
		return nil, workspace.Explain(p.Path, err)
	}
	if text.binary {
		return r.binary(f, p, text.head)
	}
	e, err := r.excerpt(ctx, f, p, &text)
	if err != nil {
		return nil, workspace.Explain(p.Path, err)
	}
	if e.total >= 0 && r.tail == 0 && r.first > max(e.total, 1) {
		return nil, outOfRange(p, r.first, e.total)
	}
	return e.view(p.Path, &text, in.etag()), nil
}

// excerpt takes from a text what the call asks for.
func (r *readCall) excerpt(ctx context.Context, f *os.File, p *workspace.Place, text *decoded) (*excerpt, error) {
	size := p.Info.Size()
	e := &excerpt{window: r.window, countRest: size <= countUpTo}
	if r.tail == 0 {
		return e, e.read(text.in)
	}
	var end tailReader
	if size > countUpTo {
		from := (size - tailBytes) &^ 3 // a border of 4 bytes: no encoding has wider characters
		rest := &source{ctx: ctx, in: io.NewSectionReader(f, from, size-from)}
		text.in = text.reader(bufio.NewReaderSize(rest, blockSize))
		end.late, end.midway = true, true
	}
	if err := end.read(text.in); err != nil {
		return nil, err
	}
	return end.excerpt(r.window), nil
}

// view is the excerpt for the model, with notes on the text that it is of.
func (e *excerpt) view(path string, d *decoded, etag string) *fileView {
	text, endings := e.endings()
	out := readOutput{Path: path, StartLine: max(e.first, 0), Bytes: len(text), Etag: etag, Truncated: e.truncated()}
	if d.name != utf8Coding.name {
		out.Encoding = d.name
	}
	if e.first > 0 {
		out.EndLine = e.lastShown()
	}
	if e.total >= 0 {
		out.TotalLines = &e.total
	}
	notes := append(e.notes(d), endings...)
	if etag != "" {
		notes = append(notes, "etag "+etag)
	}
	return &fileView{content: sdk.TextContent(string(text)), notes: notes, readOutput: out}
}

func outOfRange(p *workspace.Place, first, total int) error {
	return &sdk.Error{Name: "LineOutOfRange",
		Message: fmt.Sprintf("start_line %d is past the end of %q, which has %s", first, p.Path,
			textutil.Count(total, "line")),
		Suggestion: fmt.Sprintf("Use a start_line of at most %d.", max(total, 1)),
		Details:    sdk.Details(map[string]int{"total_lines": total})}
}

// A source is an open file for one call: it ends with the call, and where the file ended when it was opened, however
// fast someone writes to it.
type source struct {
	ctx   context.Context
	in    io.Reader
	sum   hash.Hash // nil when the file is too large to read to its end
	ended bool
}

// newSource reads f from its start. Size is what the system reports; files that it makes up, such as those in /proc,
// have none.
func newSource(ctx context.Context, f *os.File, size int64) *source {
	if size > countUpTo {
		return &source{ctx: ctx, in: io.LimitReader(f, size)}
	}
	limit := size
	if size == 0 {
		limit = countUpTo
	}
	return &source{ctx: ctx, in: io.LimitReader(f, limit), sum: sha256.New()}
}

func (s *source) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.in.Read(b)
	if s.sum != nil {
		_, _ = s.sum.Write(b[:n]) // which never fails
	}
	s.ended = errors.Is(err, io.EOF)
	if stopped := s.ctx.Err(); stopped != nil && err != nil && !s.ended {
		err = stopped // the end of the call has closed the file
	}
	return n, err
}

// etag is what workspace.Etag gives for all bytes of the file, or "" when not all of them have been read.
func (s *source) etag() string {
	if s.sum == nil || !s.ended {
		return ""
	}
	return hex.EncodeToString(s.sum.Sum(nil)[:6])
}

// closeWith closes the file when the call ends, which wakes up a read that waits. The function it gives closes it at
// once.
func closeWith(ctx context.Context, f *os.File) (done func()) {
	stop := context.AfterFunc(ctx, func() { _ = f.Close() })
	return func() {
		stop()
		_ = f.Close()
	}
}

// openFolders are the folders that one call reads in, each opened when a path leads to it. Close them after the call.
type openFolders struct {
	request *sdk.Request
	opened  []*workspace.Root
}

// at opens the folder that a path belongs to.
func (p *openFolders) at(name string) (*workspace.Root, error) {
	w, err := workspace.OpenAt(p.request, name)
	if err != nil {
		return nil, err
	}
	for _, known := range p.opened {
		if known.Dir() == w.Dir() {
			w.Close()
			return known, nil
		}
	}
	p.opened = append(p.opened, w)
	return w, nil
}

func (p *openFolders) close() {
	for _, w := range p.opened {
		w.Close()
	}
}

// denied is a filter for what the request leaves out; nil when it leaves out nothing.
func denied(r *sdk.Request, w *workspace.Root) func(resolved string) bool {
	if len(r.LeaveOut) == 0 {
		return nil
	}
	out := map[string]bool{}
	for _, name := range r.LeaveOut {
		out[strings.TrimSuffix(path.Clean(name), "/")] = true
	}
	return func(resolved string) bool {
		if w.Away() {
			resolved = path.Join(filepath.ToSlash(w.Dir()), resolved)
		}
		return out[resolved]
	}
}

// filter is that of a call which asks for what s says.
func filter(r *sdk.Request, w *workspace.Root, s visibility) walk.Filter {
	return walk.Filter{Hidden: s.Hidden, Ignored: s.Ignored, Denied: denied(r, w)}
}

// withoutSecrets makes a filter leave out the names of files that hold secrets.
func (c *config) withoutSecrets(f walk.Filter) walk.Filter {
	f.Secret = func(shown, resolved string) bool { return c.secretBy(shown, resolved) != "" }
	return f
}

var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// binary returns a small image as such, and refuses all other bytes. Head is the start of the file.
func (r *readCall) binary(f *os.File, p *workspace.Place, head []byte) (*fileView, error) {
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
	if err := imagefile.Check(data, mimeType); err != nil {
		return nil, &sdk.Error{Name: "BinaryFile",
			Message:    fmt.Sprintf("%q is an image (%s) that cannot be shown: %v", p.Path, mimeType, err),
			Suggestion: "Make a copy that is whole and small enough with a program that knows the format, and read that."}
	}
	return &fileView{content: sdk.ImageContent(data, mimeType),
		notes:      []string{mimeType + ", " + textutil.Count(len(data), "byte")},
		readOutput: readOutput{Path: p.Path, Bytes: len(data), MIMEType: mimeType}}, nil
}

func tooLargeImage(p *workspace.Place, mimeType string, left int) error {
	e := &sdk.Error{Name: "BinaryFile",
		Message: fmt.Sprintf("%q is an image (%s) of %d bytes; at most %d can be shown", p.Path, mimeType, p.Info.Size(),
			maxImage),
		Suggestion: "Make a smaller copy and read that."}
	if p.Info.Size() <= maxImage {
		e.Message = fmt.Sprintf("%q is an image (%s) of %d bytes; several files in one call may have %d for images, of "+
			"which %d are left", p.Path, mimeType, p.Info.Size(), maxImages, left)
		e.Suggestion = "Read it with a call of its own."
	}
	return e
}

// known reports bytes that by their looks are in some format that is no text.
func known(head []byte) bool {
	mimeType := http.DetectContentType(head)
	return !strings.HasPrefix(mimeType, "text/") && mimeType != "application/octet-stream"
}

// sniff returns the type of bytes by their looks. Those with a NUL are no text, also where the start looks like it.
func sniff(head []byte) string {
	mimeType := http.DetectContentType(head)
	if strings.HasPrefix(mimeType, "text/") && bytes.IndexByte(head, 0) >= 0 {
		return "application/octet-stream"
	}
	return mimeType
}

func notText(p *workspace.Place, mimeType string, head []byte) error {
	e := &sdk.Error{Name: "BinaryFile",
		Message:    fmt.Sprintf("%q is not text: %d bytes, by its looks %s", p.Path, p.Info.Size(), mimeType),
		Suggestion: "Use a program that knows this format, through a shell tool.",
		Details:    sdk.Details(map[string]any{"size": p.Info.Size(), "mime_type": mimeType})}
	if !known(head) && bytes.IndexByte(head, 0) < 0 {
		e.Message = fmt.Sprintf("%q does not look like text (%d bytes): it has many control characters", p.Path,
			p.Info.Size())
		e.Suggestion = "If it is text all the same, name its encoding, such as encoding=\"windows-1252\"."
	}
	return e
}

// A manyOutput is the structured result of several files.
type manyOutput struct {
	Files     []readOutput `json:"files"`
	Truncated bool         `json:"truncated"`
}

// many reads several files, one after the other, until max_bytes are used up. It fails when none can be read.
func (r *readCall) many(ctx context.Context, paths []string) (*sdk.Result, error) {
	r.images = maxImages
	result, out, failed := &sdk.Result{}, manyOutput{}, 0
	for i, path := range paths {
		v := r.one(ctx, path)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if v.Error != nil {
			failed++
		}
		out.Files, out.Truncated = append(out.Files, v.readOutput), out.Truncated || v.Truncated
		result.Add(header(i, v.Path)).Add(v.parts()...)
	}
	if failed == len(paths) {
		return nil, nothingRead(out.Files)
	}
	result.Structured, result.Truncated = encode(out), out.Truncated
	return result, nil
}

// one reads one of several files; what goes wrong is said in its place.
func (r *readCall) one(ctx context.Context, path string) *fileView {
	if r.bytes == 0 {
		return &fileView{readOutput: readOutput{Path: path, Truncated: true},
			notes: []string{"not read: max_bytes are used up; read it with another call"}}
	}
	v, err := r.file(ctx, path)
	if err != nil {
		return failed(path, err)
	}
	if v.MIMEType == "" {
		r.bytes -= v.Bytes
	} else {
		r.images -= v.Bytes
	}
	return v
}

func failed(path string, err error) *fileView {
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		e = &sdk.Error{Name: "Error", Message: err.Error()}
	}
	e.Code = cmp.Or(e.Code, sdk.CodeTool)
	note := fmt.Sprintf("not read: %s: %s", e.Name, e.Message)
	if e.Suggestion != "" {
		note += ". " + e.Suggestion
	}
	return &fileView{readOutput: readOutput{Path: path, Error: e}, notes: []string{note}}
}

// header is the line over a file. It ends the line of what is before it, as the parts may be put one after the other.
func header(i int, path string) sdk.Content {
	text := fmt.Sprintf("==> %s <==\n", printable(path))
	if i > 0 {
		text = "\n" + text
	}
	return sdk.TextContent(text)
}

// nothingRead is the error for files of which none could be read. It has their common name, if they have one.
func nothingRead(files []readOutput) error {
	e := &sdk.Error{Name: files[0].Error.Name, Suggestion: files[0].Error.Suggestion,
		Details: encode(map[string]any{"files": files})}
	var messages []string
	for _, f := range files {
		if f.Error.Name != e.Name {
			e.Name = "NothingRead"
		}
		messages = append(messages, f.Error.Message)
	}
	if len(files) == 1 {
		e.Message = messages[0]
		return e
	}
	const most = 5
	if more := len(messages) - most; more > 0 {
		messages = append(messages[:most], fmt.Sprintf("and %d more", more))
	}
	e.Message = fmt.Sprintf("none of the %d files could be read: %s", len(files), strings.Join(messages, "; "))
	return e
}
