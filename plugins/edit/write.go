package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/plugins/edit/internal/match"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

type writeInput struct {
	Path       string `json:"path" jsonschema:"The file: relative to the workspace, or absolute inside it."`
	Content    string `json:"content" jsonschema:"All that the file shall hold. End it with a newline."`
	CreateDirs bool   `json:"create_dirs,omitempty" jsonschema:"Make the directories on the way that do not exist." default:"false"`
	Overwrite  bool   `json:"overwrite,omitempty" jsonschema:"Replace the file if it exists; without it an existing file is an error." default:"false"`
	IfMatch    string `json:"if_match,omitempty" jsonschema:"With overwrite: the etag that reading the file gave. Nothing is written when the file is another one by now."`
}

// A writeOutput is the structured result of write.
type writeOutput struct {
	Path    string `json:"path"`
	Created bool   `json:"created"`
	Changed bool   `json:"changed"`
	Bytes   int    `json:"bytes"` // of the file now
	Etag    string `json:"etag"`  // likewise
}

const writeOutputSchema = `{"type":"object","properties":{"path":{"type":"string"},"created":{"type":"boolean"},` +
	`"changed":{"type":"boolean"},"bytes":{"type":"integer"},"etag":{"type":"string"}}}`

func addWrite(p *sdk.Plugin, e *editor) {
	addEdit[writeInput](p, e, sdk.Tool{
		Name:  "write",
		Title: "Write a file",
		Description: "Creates a file, or with overwrite=true replaces all that an existing one holds.\n" +
			"To change a part of a file use replace: it is shorter, and cannot lose the rest.\n" +
			"A file that is overwritten keeps its mode, its encoding with the byte order mark, its line endings if all are " +
			"CRLF or all CR, and a newline at its end. undo brings back what it held.\n" +
			"Gives the bytes, the new etag, and a diff when a file was overwritten. Files that hold secrets, such as .env, " +
			"are refused.",
		Hints:        sdk.Hints{ReadOnly: sdk.No, Destructive: sdk.Yes, Idempotent: sdk.Yes, OpenWorld: sdk.No},
		OutputSchema: []byte(writeOutputSchema),
	})
}

func (in writeInput) targets(*toolCall) ([]string, error) { return []string{in.Path}, nil }

func (in writeInput) plan(_ context.Context, s *toolCall) (*outcome, error) {
	p, err := s.find(in.Path)
	if err != nil {
		return nil, err
	}
	if len(in.Content) > maxFile {
		return nil, tooLarge(p.Path, fmt.Sprintf("would have %d bytes", len(in.Content)))
	}
	if p.Info == nil {
		if err := s.settings.checkContent(p.Path, nil, in.Content); err != nil {
			return nil, err
		}
		return in.create(s, p)
	}
	if err := p.Regular(); err != nil {
		return nil, err
	}
	if !in.Overwrite {
		return nil, fileExists(p.Path)
	}
	before, err := s.load(p)
	if err != nil {
		return nil, err
	}
	if err := before.matches(p.Path, in.IfMatch); err != nil {
		return nil, err
	}
	if err := s.settings.checkContent(p.Path, before.data, in.Content); err != nil {
		return nil, err
	}
	return in.overwrite(p, before, s.settings.legacy)
}

// checkContent refuses content that was most likely not meant literally, such as a diff, or code of which something was
// left out. Before is nil for a new file.
func (s settings) checkContent(path string, before []byte, content string) error {
	if s.strictness == match.Exact || len(content) > maxJudged || len(before) > maxJudged {
		return nil
	}
	if r := match.Content(path, before, []byte(content)); r != nil {
		r.Message = strings.NewReplacer("new_string", "content", "old_string", "the file").Replace(r.Message)
		return refused(path, r)
	}
	return nil
}

func (in writeInput) create(s *toolCall, p *workspace.Place) (*outcome, error) {
	if err := (*snapshot)(nil).matches(p.Path, in.IfMatch); err != nil {
		return nil, err
	}
	if err := s.checkNew(in.Path, p, in.CreateDirs); err != nil {
		return nil, err
	}
	c := &change{place: p, after: []byte(in.Content), form: plainForm}
	out := writeOutput{Path: p.Path, Created: true, Changed: true, Bytes: len(c.after), Etag: c.etag()}
	return &outcome{changes: []*change{c}, output: out, noDiff: true,
		summary: fmt.Sprintf("Created %s, %s. [etag %s]", pathText(p.Path), textutil.Count(out.Bytes, "byte"), out.Etag)}, nil
}

// placeInFile is a path with a line, and perhaps a column, behind it.
var placeInFile = regexp.MustCompile(`^(.+?):\d+(?:[:-]\d+)?:?$`)

// checkNew refuses a new file in a missing directory, unless create is set, and one whose path, as it was given, is
// meant for something else than a file by this name.
func (s *toolCall) checkNew(path string, p *workspace.Place, create bool) error {
	if other := s.meantPath(path); other != "" {
		return &sdk.Error{Name: "InvalidPath",
			Message:    fmt.Sprintf("%q does not exist, and is most likely meant as %q; nothing was written", path, other),
			Suggestion: "Give that path. If a file by the other name is meant, begin with ./."}
	}
	first, _, below := strings.Cut(path, "/")
	switch {
	case strings.HasSuffix(path, "/"):
		return &sdk.Error{Name: "InvalidPath",
			Message:    fmt.Sprintf("%q ends with a slash, so it names a directory; nothing was written", path),
			Suggestion: "Name a file. Directories come with the files in them, by create_dirs=true."}
	case below && p.Missing == first && (strings.HasPrefix(first, "~") || strings.HasPrefix(first, "$") ||
		strings.HasSuffix(first, ":")):
		return &sdk.Error{Name: "InvalidPath",
			Message: fmt.Sprintf("%q would make a directory of the name %q, since paths are not expanded; nothing was written",
				path, first),
			Suggestion: "Give a path relative to the workspace, such as \"src/main.go\". If that name is meant, begin with ./."}
	}
	if p.Missing == "" || create {
		return nil
	}
	return &sdk.Error{Name: "ParentNotFound",
		Message:    fmt.Sprintf("the directory %q does not exist; nothing was written", p.Missing),
		Suggestion: strings.TrimSpace("Check the path, or set create_dirs=true to create it. " + p.DidYouMean())}
}

// meantPath is the path that another one, of a file that does not exist, is most likely meant as: without white space
// around it, a line number behind it, or the separators of another system. It is empty for one that is meant as it is.
func (s *toolCall) meantPath(path string) string {
	if strings.HasPrefix(path, "./") {
		return ""
	}
	if bare := strings.TrimSpace(path); bare != path {
		return bare
	}
	exists := func(path string) bool {
		p, err := s.root.Find(path)
		return err == nil && p.Info != nil
	}
	if m := placeInFile.FindStringSubmatch(path); m != nil && exists(m[1]) {
		return m[1]
	}
	first, _, below := strings.Cut(path, `\`)
	if below && filepath.Separator != '\\' && !strings.Contains(path, "/") &&
		(exists(first) || strings.HasSuffix(first, ":")) {
		return strings.ReplaceAll(path, `\`, "/")
	}
	return ""
}

func (in writeInput) overwrite(p *workspace.Place, before *snapshot, legacy *form) (*outcome, error) {
	k, err := keepForm(p.Path, in.Content, before.data, legacy)
	if err != nil {
		return nil, err
	}
	if len(k.data) > maxFile {
		return nil, tooLarge(p.Path, fmt.Sprintf("would have %d bytes", len(k.data)))
	}
	c := &change{place: p, before: before, after: k.data, form: k.form}
	out := writeOutput{Path: p.Path, Changed: c.changes(), Bytes: len(c.after), Etag: c.etag()}
	o := &outcome{changes: []*change{c}, notes: c.sideEffects(), output: out}
	o.summary = fmt.Sprintf("Overwrote %s: %s, before %d.%s [etag %s]", pathText(p.Path),
		textutil.Count(out.Bytes, "byte"), len(before.data), k.did(), out.Etag)
	if !out.Changed {
		o.summary = fmt.Sprintf("%s holds exactly this already; nothing was written. [etag %s]", pathText(p.Path), out.Etag)
	}
	return o, nil
}

// replacedForm is content in the form of the file that it replaces.
type replacedForm struct {
	data []byte
	form form
	what []string // what was kept of the file's form
	lost bool     // the file was no text, or in no encoding that could be kept
}

// keepForm gives content the encoding, the byte order mark, the CRLF or CR line endings and the last newline of what
// was before. Models do not see those when they read, so content without them does not mean that they are to be
// removed.
func keepForm(path, content string, before []byte, legacy *form) (*replacedForm, error) {
	k := &replacedForm{form: formOf(before, legacy)}
	old, err := k.form.decode(path, before)
	k.lost = err != nil || k.form.codec == nil && !utf8.Valid(before)
	if err != nil { // no text, which has no form to keep
		k.form, old = plainForm, nil
	}
	text := []byte(content)
	if n := bytes.Count(old, crlf); n > 0 && n == bytes.Count(old, lf) && bytes.Contains(text, lf) &&
		!bytes.Contains(text, crlf) {
		text = bytes.ReplaceAll(text, lf, crlf)
		k.what = append(k.what, "its CRLF line endings")
	}
	if oldMac(old) && bytes.Contains(text, lf) && !bytes.Contains(text, cr) {
		text = bytes.ReplaceAll(text, lf, cr)
		k.what = append(k.what, "its CR line endings")
	}
	text = k.lastNewline(text, old)
	if own := bytes.TrimPrefix(text, utf8Mark); len(own) < len(text) && len(k.form.mark) > 0 {
		text = own // the file has one already
	} else if k.form.codec != nil || len(k.form.mark) > 0 {
		k.what = append(k.what, k.form.inWords())
	}
	k.data, err = k.form.encode(path, text)
	return k, err
}

// lastNewline ends text with one if the file had one.
func (k *replacedForm) lastNewline(text, old []byte) []byte {
	end := lf
	switch {
	case oldMac(old) && !bytes.Contains(text, lf):
		end = cr
	case bytes.HasSuffix(old, crlf) && (bytes.Contains(text, crlf) || !bytes.Contains(text, lf)):
		end = crlf
	}
	if len(text) == 0 || !bytes.HasSuffix(old, end) || bytes.HasSuffix(text, lf) || bytes.HasSuffix(text, end) {
		return text
	}
	k.what = append(k.what, "the newline at its end")
	return append(text, end...)
}

func (f form) inWords() string {
	switch {
	case f.codec == nil:
		return "its UTF-8 byte order mark"
	case len(f.mark) > 0:
		return "its encoding, " + f.name + " with a byte order mark"
	}
	if f.guessed {
		return "its encoding, which by a guess is " + f.name
	}
	return "its encoding, " + f.name
}

func (k *replacedForm) did() string {
	switch {
	case k.lost:
		return " It was not UTF-8 text before, and is now."
	case len(k.what) == 0:
		return ""
	}
	return " Kept " + strings.Join(k.what, " and ") + "."
}
