package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/plugins/readfile/internal/walk"
	"github.com/toolhost/toolhost/plugins/readfile/internal/wild"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// Limits of one glob.
const (
	defaultFound = 100
	maxFound     = 2000
)

type globInput struct {
	Pattern    string `json:"pattern" jsonschema:"Which files: *.go is for names at any depth; with a slash it is for paths, counted from path: src/**/*.{ts,tsx}, ./*.md. ** is any number of directories."`
	Path       string `json:"path,omitempty" jsonschema:"The directory to look in: relative to the workspace, or absolute inside it." default:"."`
	Sort       string `json:"sort,omitempty" jsonschema:"newest: last changed first. name: by path." enum:"newest|name" default:"newest"`
	Limit      int    `json:"limit,omitempty" jsonschema:"How many paths to give at most." minimum:"1" maximum:"2000" default:"100"`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema:"Take upper and lower case for the same." default:"false"`
	visibility
}

// A globOutput is the structured result.
type globOutput struct {
	Files     []foundFile `json:"files"`
	Total     int         `json:"total"`           // that match
	Hidden    int         `json:"hidden_entries"`  // left out, whether they match or not
	Ignored   int         `json:"ignored_entries"` // likewise
	Truncated bool        `json:"truncated"`
}

// A foundFile is a file or symlink that matches.
type foundFile struct {
	Path     string    `json:"path"` // relative to the workspace, ready to use
	Size     int64     `json:"size"` // in bytes
	Modified time.Time `json:"modified"`
}

func addGlob(p *sdk.Plugin, c *config) {
	sdk.AddTool(p, sdk.Tool{
		Name:  "glob",
		Title: "Find files by name",
		Description: "Finds files by a pattern for their names or paths, in all directories below path, and gives one path " +
			"a line, last changed first. " +
			"Use it when you know (part of) a name; use grep to find files by what they hold, and list to see what a " +
			"directory has.\n" +
			"A pattern without a slash matches names at any depth: *.go, Makefile, *test*. With a slash it matches whole " +
			"paths from path on: src/**/*.ts, cmd/*/main.go.\n" +
			"Wildcards: * and ? (not over a slash), ** as a part of its own (any number of directories), [a-z], [!a-z], " +
			"{a,b}; \\ before one makes it plain. Upper and lower case differ, unless ignore_case.\n" +
			"Finds files and symlinks (which are not followed), no directories. Hidden files and what .gitignore leaves out " +
			"are not looked at, unless asked for, nor are files that by their names hold secrets; what was left out is said " +
			"in [brackets].",
		Hints: readOnly, PathAware: true, Category: "files", CostTier: sdk.Free,
		MaxResultBytes: sdk.MaxResult, // the tool holds limits of its own
	}, c.glob)
}

func (c *config) glob(ctx context.Context, r *sdk.Request, in globInput) (*sdk.Result, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	pattern, err := newNamePattern("pattern", in.Pattern, fsutil.Absolute(r.Workdir, in.Path), in.IgnoreCase)
	if err != nil {
		return nil, err
	}
	w, err := workspace.OpenAt(r, in.Path)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	f := globResults{limit: cmp.Or(in.Limit, defaultFound), byName: in.Sort == "name", files: []foundFile{}}
	filter := c.withoutSecrets(filter(r, w, in.visibility))
	left, err := f.findIn(ctx, w, pattern, in, filter)
	if err != nil {
		return nil, err
	}
	return f.result(in.Pattern, f.hint(w, in, filter), left), nil
}

// hint says what a pattern that matches nothing may have been meant as.
func (f *globResults) hint(w *workspace.Root, in globInput, filter walk.Filter) string {
	if f.total > 0 {
		return ""
	}
	if hint := otherDialect(in.Pattern); hint != "" || wildcardIn(in.Pattern) < len(in.Pattern) {
		return hint
	}
	dir, err := w.Find(path.Join(cmp.Or(in.Path, "."), in.Pattern))
	if err != nil || dir.Info == nil || !dir.Info.IsDir() || filter.Denies(dir.Resolved()) {
		return ""
	}
	return fmt.Sprintf("; it is a directory: %s/** finds what is in it, and list shows it", printable(in.Pattern))
}

func (in *globInput) check() error {
	switch {
	case in.Limit < 0 || in.Limit > maxFound:
		return invalid(fmt.Sprintf("limit must be from 1 to %d", maxFound),
			"Leave limit out for its default; for more files narrow the pattern.")
	case in.Sort != "" && in.Sort != "newest" && in.Sort != "name":
		return invalid("sort must be newest or name", "Leave sort out for its default.")
	}
	return nil
}

// globResults keeps the best of the files that match.
type globResults struct {
	limit  int
	byName bool
	files  []foundFile
	total  int
}

// findIn begins where the pattern has its first wildcard: a folder that it names is looked into, though it may be
// hidden.
func (f *globResults) findIn(ctx context.Context, w *workspace.Root, pattern *namePattern, in globInput,
	filter walk.Filter) (left walk.LeftOut, err error) {
	named, err := w.Find(cmp.Or(in.Path, "."))
	if err != nil {
		return left, err
	}
	top, err := walk.Enter(w, named, filter)
	if err != nil {
		return left, err
	}
	if pattern.folder == "" {
		return f.find(ctx, top, pattern)
	}
	top.Close()
	p, err := w.Find(path.Join(named.Path, pattern.folder))
	if err != nil || p.Info == nil || !p.Info.IsDir() {
		return left, err
	}
	if within := named.Resolved(); within != "." && !strings.HasPrefix(p.Resolved()+"/", within+"/") {
		// The host has decided on what path names, and on no other folder.
		return left, badPattern("pattern", in.Pattern, "it follows a link out of the directory",
			fmt.Sprintf("To look there, give path: %q.", p.Path))
	}
	if filter.Denies(p.Resolved()) {
		return walk.LeftOut{Denied: 1}, nil
	}
	if top, err = walk.Enter(w, p, filter); err != nil {
		return left, err
	}
	top.Below = path.Clean(pattern.folder)
	return f.find(ctx, top, pattern)
}

func (f *globResults) find(ctx context.Context, top *walk.Folder, pattern *namePattern) (walk.LeftOut, error) {
	left, err := walk.Walk[[]foundFile]{
		Visit: func(_ context.Context, b walk.Batch) []foundFile { return matching(b, pattern) },
		Each:  f.take,
	}.Files(ctx, top)
	f.trim()
	return left, err
}

// matching returns the files of a batch that match, with what the system reports them.
func matching(b walk.Batch, pattern *namePattern) (out []foundFile) {
	for _, e := range b.Files {
		if t := e.Type(); t != 0 && t != fs.ModeSymlink || !pattern.matches(b.Below, e.Name()) {
			continue
		}
		if info, err := b.Lstat(e.Name()); err == nil { // else gone since
			out = append(out, foundFile{Path: path.Join(b.Path, e.Name()), Size: info.Size(), Modified: info.ModTime().UTC()})
		}
	}
	return out
}

func (f *globResults) take(files []foundFile) bool {
	f.total += len(files)
	f.files = append(f.files, files...)
	if len(f.files) > 2*maxFound {
		f.trim()
	}
	return true
}

// trim keeps as many files as are asked for. They come in the order of their paths, which newest keeps among equals.
func (f *globResults) trim() {
	if !f.byName {
		slices.SortStableFunc(f.files, func(a, b foundFile) int { return b.Modified.Compare(a.Modified) })
	}
	keep, size := 0, 0
	for keep < min(len(f.files), f.limit) && size+len(f.files[keep].Path) <= maxPathBytes {
		size += len(f.files[keep].Path)
		keep++
	}
	f.files = f.files[:keep]
}

func (f *globResults) result(pattern, hint string, left walk.LeftOut) *sdk.Result {
	var text strings.Builder
	for _, file := range f.files {
		text.WriteString(printable(file.Path) + "\n")
	}
	notes := []string{f.cutNote(), crowdedNote(left)}
	if f.total == 0 {
		notes = []string{fmt.Sprintf("no file matches %s%s", printable(pattern), hint), crowdedNote(left)}
	}
	text.WriteString(bracketed(append(notes, leftNotes(left)...)...))
	cut := len(f.files) < f.total || left.Crowded > 0
	result := sdk.Text(strings.TrimSuffix(text.String(), "\n"))
	result.Structured = encode(globOutput{Files: f.files, Total: f.total, Hidden: left.Hidden, Ignored: left.Ignored,
		Truncated: cut})
	result.Truncated = cut
	return result
}

func (f *globResults) cutNote() string {
	if len(f.files) == f.total {
		return ""
	}
	which, more := "last changed", ""
	if f.byName {
		which = "first by path"
	}
	if f.limit < maxFound {
		more = fmt.Sprintf("raise limit (up to %d), or ", maxFound)
	}
	return fmt.Sprintf("the %d %s of %d that match; %snarrow the pattern or path", len(f.files), which, f.total, more)
}

// maxPathBytes is how many bytes of paths a result may have, so that it fits the wire whatever the names are.
const maxPathBytes = 256 << 10

// A namePattern is a glob for files below a directory. One without a slash is for names at any depth.
type namePattern struct {
	*wild.Glob
	isPath bool
	folder string // all that match are in this one, or below it; "" or with a slash at its end
}

// newNamePattern reads the pattern in an argument. The absolute path of the directory may be before it.
func newNamePattern(argument, text, dir string, fold bool) (*namePattern, error) {
	given := text
	text, absolute := strings.CutPrefix(text, strings.TrimSuffix(dir, "/")+"/")
	text, here := strings.CutPrefix(text, "./")
	if strings.HasSuffix(text, "/") {
		text += "**"
	}
	switch {
	case text == "":
		return nil, badPattern(argument, given, "it is empty", `Write one such as "*.go" or "src/**/*.ts".`)
	case text[0] == '/' || strings.Contains("/"+text+"/", "/../"):
		return nil, badPattern(argument, given, "it leads out of the directory",
			"Write it relative to path, such as \"src/**/*.go\"; to look elsewhere in the workspace, give path.")
	}
	glob, err := wild.ParseGlob(text, fold)
	if err != nil {
		return nil, badPattern(argument, given, err.Error(),
			`Close each [ and {, and put \ before those that stand for themselves.`)
	}
	n := &namePattern{Glob: glob, isPath: here || absolute || strings.Contains(text, "/")}
	if fixed := text[:wildcardIn(text)]; !fold {
		n.folder = fixed[:strings.LastIndexByte(fixed, '/')+1]
	}
	return n, nil
}

func wildcardIn(text string) int {
	if i := strings.IndexAny(text, `*?[{\`); i >= 0 {
		return i
	}
	return len(text)
}

var (
	ofShells  = lazy.Regexp(`[!?*+@]\(.*\)`) // the groups of bash, such as !(a|b)
	ofWindows = lazy.Regexp(`\w\\[\w*]`)     // a path with backslashes
)

// otherDialect says how to write a pattern that other programs read in another way; "" for those that mean the same.
func otherDialect(text string) string {
	switch several := severalPatterns(text); {
	case len(several) > 1:
		return fmt.Sprintf("; several patterns are written as one: {%s}", printable(strings.Join(several, ",")))
	case strings.HasPrefix(text, "!"):
		return "; a ! in front leaves nothing out: grep has exclude for that"
	case ofShells().MatchString(text):
		return "; ( and ) are plain characters: write alternatives as {a,b}"
	case strings.HasPrefix(text, "~"):
		return "; ~ is a plain character: give path for another directory"
	case ofWindows().MatchString(text):
		return `; \ makes the character behind it plain: write / between directories`
	}
	return ""
}

// severalPatterns are the parts of a text between commas that are in no braces, and behind no backslash; also between
// blanks, if each part has a wildcard.
func severalPatterns(text string) (out []string) {
	depth, from, escaped := 0, 0, false
	for i, c := range text {
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ',' && depth <= 0:
			out, from = append(out, strings.TrimSpace(text[from:i])), i+1
		}
	}
	out = slices.DeleteFunc(append(out, strings.TrimSpace(text[from:])), func(s string) bool { return s == "" })
	words := strings.Fields(text)
	if len(out) == 1 && !slices.ContainsFunc(words, func(w string) bool { return wildcardIn(w) == len(w) }) {
		return words
	}
	return out
}

func badPattern(argument, text, problem, hint string) error {
	return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "InvalidPattern",
		Message: fmt.Sprintf("%s %q cannot be used: %s", argument, text, problem), Suggestion: hint}
}

// matches reports a file, by the directory that it is in and its name.
func (n *namePattern) matches(below, name string) bool {
	if n.isPath {
		name = path.Join(below, name)
	}
	return n.Match(name)
}

// mayHold reports whether something below a directory may match.
func (n *namePattern) mayHold(below string) bool {
	below += "/"
	return strings.HasPrefix(below, n.folder) || strings.HasPrefix(n.folder, below)
}

// covers reports whether a directory and all in it match, for patterns that leave out.
func (n *namePattern) covers(below string) bool {
	if !n.isPath {
		return n.Match(path.Base(below))
	}
	return n.Match(below) || n.Match(below+"/")
}
