package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/plugins/readfile/internal/scan"
	"github.com/toolhost/toolhost/plugins/readfile/internal/walk"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// Limits of one grep.
const (
	defaultMatches = 100
	maxMatches     = 1000
	maxContext     = 20       // lines, before and after each match
	maxShown       = 64 << 10 // bytes of lines in one result
	maxSearched    = 50 << 20 // larger files are skipped, unless one is asked for by its name
)

type grepInput struct {
	Pattern    string `json:"pattern" jsonschema:"What to search for in each line: a regular expression in RE2 syntax (no lookaround, no backreferences), or plain text with literal."`
	Path       string `json:"path,omitempty" jsonschema:"A directory to search through, or one file: relative to the workspace, or absolute inside it." default:"."`
	Include    string `json:"include,omitempty" jsonschema:"Search only files that match, as in glob: *.go, src/**/*.{ts,tsx}."`
	Exclude    string `json:"exclude,omitempty" jsonschema:"Skip files and directories that match, as in glob: *_test.go, vendor, {docs,testdata}."`
	Literal    bool   `json:"literal,omitempty" jsonschema:"Take the pattern as plain text: no character in it has a meaning." default:"false"`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema:"Take upper and lower case for the same." default:"false"`
	Mode       string `json:"mode,omitempty" jsonschema:"content: the lines that match. files: only the paths of files with a match. count: the number of matching lines of each such file, and in all." enum:"content|files|count" default:"content"`
	Before     int    `json:"before,omitempty" jsonschema:"Lines to show before each match." minimum:"0" maximum:"20" default:"0"`
	After      int    `json:"after,omitempty" jsonschema:"Lines to show after each match." minimum:"0" maximum:"20" default:"0"`
	Limit      int    `json:"limit,omitempty" jsonschema:"How many matching lines to show at most; files with mode files and count." minimum:"1" maximum:"1000" default:"100"`
	PerFile    int    `json:"per_file,omitempty" jsonschema:"How many matching lines of one file to show at most. Without it as many as limit." minimum:"1" maximum:"1000"`
	visibility
}

func addGrep(p *sdk.Plugin, c *config) {
	sdk.AddTool(p, sdk.Tool{
		Name:  "grep",
		Title: "Search in files",
		Description: "Searches files line by line for a regular expression or plain text, and gives the lines that match " +
			"with their numbers, as path:12:text. " +
			"Use it instead of grep or rg in a shell; use glob when only names matter, and read to see a file around a " +
			"match.\n" +
			"The syntax is RE2: no lookaround, no backreferences. Case counts, unless ignore_case. For text with ( [ { . * + " +
			"? | \\ ^ $ in it set literal, or escape them. A match never goes over the end of a line.\n" +
			"With before and after, lines around matches come as path-11-text, and -- stands between groups. Start with mode " +
			"files or count when many matches are likely.\n" +
			"Hidden files, what .gitignore leaves out, binary files, files that by their names hold secrets, and files over " +
			"50 MB are skipped; symlinks are not followed. " +
			"At most limit matches and 64 KiB, in the order of paths; long lines are cut around the match. What was left out " +
			"is said in [brackets]. No match is no error.",
		Hints: readOnly, PathAware: true, Category: "files", CostTier: sdk.Free,
		MaxResultBytes: sdk.MaxResult, // the tool holds limits of its own
	}, c.grep)
}

func (c *config) grep(ctx context.Context, r *sdk.Request, in grepInput) (*sdk.Result, error) {
	g, err := c.newGrepCall(r, in)
	if err != nil {
		return nil, err
	}
	w, err := workspace.OpenAt(r, in.Path)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	p, err := w.Find(cmp.Or(in.Path, "."))
	if err != nil {
		return nil, err
	}
	if p.Info != nil && p.Info.IsDir() {
		err = g.searchAll(ctx, w, p, filter(r, w, in.visibility))
	} else {
		err = g.searchOne(ctx, p)
	}
	if err != nil {
		return nil, err
	}
	return g.result(), nil
}

// A grepCall is one call of the tool.
type grepCall struct {
	*config
	in               grepInput
	pattern          *scan.Pattern
	include, exclude *namePattern // nil for none
	most             fileLimits
	report
}

// fileLimits are the limits for one file.
type fileLimits struct {
	lines         int // that match; negative for all
	before, after int
	text          bool // keep the lines, not only their number
	legacy        bool // decode files in a legacy encoding: the pattern has letters that are others there
}

func (c *config) newGrepCall(r *sdk.Request, in grepInput) (*grepCall, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	in.Limit, in.Mode = cmp.Or(in.Limit, defaultMatches), cmp.Or(in.Mode, "content")
	pattern, err := scan.Compile(in.Pattern, scan.Options{Literal: in.Literal, IgnoreCase: in.IgnoreCase})
	if err != nil {
		return nil, badExpression(in.Pattern, err)
	}
	g := &grepCall{config: c, in: in, pattern: pattern, most: in.most()}
	g.most.legacy = !textutil.IsASCII(in.Pattern) || !in.Literal && asksForLetters().MatchString(in.Pattern)
	dir := fsutil.Absolute(r.Workdir, in.Path)
	if g.include, err = optionalPattern("include", in.Include, dir); err == nil {
		g.exclude, err = optionalPattern("exclude", in.Exclude, dir)
	}
	return g, err
}

// asksForLetters finds the escapes of a pattern that ask for characters beyond ASCII.
var asksForLetters = lazy.Regexp(`\\[pPx]`)

func (in *grepInput) most() fileLimits {
	switch in.Mode {
	case "files":
		return fileLimits{lines: 1}
	case "count":
		return fileLimits{lines: -1}
	}
	return fileLimits{lines: min(cmp.Or(in.PerFile, in.Limit), in.Limit), before: in.Before, after: in.After, text: true}
}

func optionalPattern(argument, text, dir string) (*namePattern, error) {
	if text == "" {
		return nil, nil
	}
	return newNamePattern(argument, text, dir, false)
}

func (in *grepInput) check() error {
	switch {
	case in.Pattern == "":
		return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "InvalidPattern",
			Message:    "pattern is empty, which matches every line",
			Suggestion: "Write what to search for; to see a whole file use read."}
	case in.Limit < 0 || in.Limit > maxMatches || in.PerFile < 0 || in.PerFile > maxMatches:
		return invalid(fmt.Sprintf("limit and per_file must be from 1 to %d", maxMatches),
			"Leave them out for their defaults; for more matches narrow the search.")
	case in.Before < 0 || in.Before > maxContext || in.After < 0 || in.After > maxContext:
		return invalid(fmt.Sprintf("before and after must be from 0 to %d", maxContext),
			"For more lines around a match read the file by line numbers.")
	case !slices.Contains([]string{"", "content", "files", "count"}, in.Mode):
		return invalid("mode must be content, files or count", "Leave mode out for content.")
	}
	return nil
}

func badExpression(pattern string, err error) error {
	e, _ := errors.AsType[*scan.PatternError](err)
	out := &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "InvalidPattern",
		Message:    fmt.Sprintf("pattern %.200q cannot be used: %v", pattern, err),
		Suggestion: cmp.Or(e.Hint, "To search for this exact text, set literal=true.")}
	if e.Offset >= 0 {
		out.Details = sdk.Details(map[string]int{"offset": e.Offset})
	}
	return out
}

// wants reports whether the names of a file let it be searched.
func (g *grepCall) wants(b walk.Batch, name string) bool {
	return (g.include == nil || g.include.matches(b.Below, name)) &&
		(g.exclude == nil || !g.exclude.matches(b.Below, name))
}

func (g *grepCall) descends(below string) bool {
	return (g.include == nil || g.include.mayHold(below)) && (g.exclude == nil || !g.exclude.covers(below))
}

// maxAhead is how many bytes of lines may wait for the files before theirs.
const maxAhead = 8 << 20

// skipped counts files that were not searched though their names fit.
type skipped struct {
	Binary     int `json:"binary,omitzero"`
	Secret     int `json:"secret,omitzero"`
	Large      int `json:"large,omitzero"`
	Unreadable int `json:"unreadable,omitzero"`
}

func (s *skipped) add(more skipped) {
	s.Binary += more.Binary
	s.Secret += more.Secret
	s.Large += more.Large
	s.Unreadable += more.Unreadable
}

// A batchReport is the result of a search in some files.
type batchReport struct {
	found    []*fileMatches
	searched int
	skipped  skipped
	size     int64 // of the lines
	err      error
}

// searchOne searches a file that was asked for by its name: also one that is large, or ignored.
func (g *grepCall) searchOne(ctx context.Context, p *workspace.Place) error {
	f, err := g.openFile(p)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	found, err := newSearcher(ctx, g.pattern, g.most).search(f, p.Info.Size())
	if errors.Is(err, errBinary) {
		return &sdk.Error{Name: "BinaryFile", Message: printable(p.Path) + " is not text, and was not searched",
			Suggestion: "Use a program that knows this format, through a shell tool."}
	} else if err != nil {
		return workspace.Explain(p.Path, err)
	}
	found.path = p.Path
	g.add(batchReport{found: []*fileMatches{found}, searched: 1})
	return nil
}

func (g *grepCall) searchAll(ctx context.Context, w *workspace.Root, p *workspace.Place, filter walk.Filter) error {
	top, err := walk.Enter(w, p, filter)
	if err != nil {
		return err
	}
	var ahead atomic.Int64
	var searchers sync.Pool
	g.left, err = walk.Walk[batchReport]{
		Visit: func(ctx context.Context, b walk.Batch) batchReport {
			s, ok := searchers.Get().(*searcher)
			if !ok {
				s = newSearcher(ctx, g.pattern, g.most) // which ends with the walk
			}
			defer searchers.Put(s)
			out := g.searchBatch(ctx, s, b)
			ahead.Add(out.size)
			return out
		},
		Each: func(b batchReport) bool {
			ahead.Add(-b.size)
			err = b.err
			return g.add(b) && err == nil
		},
		Descend: g.descends,
		Full:    func() bool { return ahead.Load() > maxAhead },
	}.Files(ctx, top)
	return err
}

func (g *grepCall) searchBatch(ctx context.Context, s *searcher, b walk.Batch) (out batchReport) {
	for _, e := range b.Files {
		if e.Type() != 0 || !g.wants(b, e.Name()) {
			continue
		}
		if out.err = ctx.Err(); out.err != nil {
			return out
		}
		g.searchEntry(s, b, e, &out)
	}
	return out
}

// searchEntry searches one file of many; what goes wrong with it is only counted.
func (g *grepCall) searchEntry(s *searcher, b walk.Batch, e fs.DirEntry, out *batchReport) {
	name := path.Join(b.Path, e.Name())
	if g.secretBy(name, b.Resolved(e.Name())) != "" {
		out.skipped.Secret++
		return
	}
	f, info, err := b.Open(e.Name())
	if err != nil {
		out.skipped.Unreadable += unreadable(err)
		return
	}
	defer func() { _ = f.Close() }()
	if info.Size() > maxSearched {
		out.skipped.Large++
		return
	}
	if g.holdsSecret(f, name, b.Resolved(e.Name())) != "" {
		out.skipped.Secret++
		return
	}
	g.searchOpen(s, f, info.Size(), name, out)
}

func (g *grepCall) searchOpen(s *searcher, f *os.File, size int64, name string, out *batchReport) {
	found, err := s.search(f, size)
	switch {
	case errors.Is(err, errBinary):
		out.skipped.Binary++
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		out.err = err
	case err != nil:
		out.skipped.Unreadable++
	default:
		out.searched++
		if found.matches > 0 {
			found.path = name
			out.found, out.size = append(out.found, found), out.size+int64(found.size)
		}
	}
}

// unreadable is 1 for a file that could not be read, and 0 for one that is gone, or is none any more.
func unreadable(err error) int {
	if e, ok := errors.AsType[*sdk.Error](err); ok && e.Name != "PermissionDenied" && e.Name != "IOError" {
		return 0
	}
	return 1
}

// notes say what the lines are, what was left out, and how to get at it.
func (g *grepCall) notes() []string {
	return []string{g.emptyNote(), g.countNote(), g.fullNote(), g.perFileNote(), g.cutLinesNote(), g.excludeNote(),
		g.skippedNote(), crowdedNote(g.left)}
}

func (g *grepCall) emptyNote() string {
	switch {
	case len(g.files) > 0 || g.full != "":
		return ""
	case g.searched == 0 && (g.include != nil || g.exclude != nil):
		return "no file was searched: none has a name that fits include and exclude" + otherDialect(g.in.Include)
	case g.searched == 0:
		return "no file was searched"
	}
	none := "no matches in " + textutil.Count(g.searched, "file")
	for _, m := range mistakes {
		if g.in.Literal == m.literal && m.pattern().MatchString(g.in.Pattern) {
			none += "; " + m.note
		}
	}
	return none
}

// mistakes are patterns that find nothing, since other programs or other arguments mean something else by them.
var mistakes = []struct {
	literal bool
	pattern func() *regexp.Regexp
	note    string
}{
	{false, lazy.Regexp(`\r|\\r|(?i:\\x0d)`),
		"the CR of a line end CRLF is no part of a line: read says which line ends a file has"},
	{false, lazy.Regexp(`(^|[^\\])(\\\\)*\\([|<>]|\{\d)|[\]).]\\[+?]`),
		`a \ makes | ( ) { } + ? < > plain characters here, as it does not in grep: write a|b for alternatives, ` +
			`\b for the end of a word`},
	{false, lazy.Regexp(`^/.+/[gimsuy]+$`), "the slashes around it, and what is behind them, are part of the pattern"},
	{true, lazy.Regexp(`[.\])][*+?]|\\[a-zA-Z.|(\[{]|\w\|\w`),
		"literal takes it as plain text, not as a regular expression"},
}

func (g *grepCall) countNote() string {
	if g.in.Mode != "count" || g.with == 0 {
		return ""
	}
	note := fmt.Sprintf("%s in %s of %d searched", countOf(g.matches, "matching line", "matching lines"),
		textutil.Count(g.with, "file"), g.searched)
	if more := g.with - len(g.files); more > 0 {
		note += fmt.Sprintf("; %s not shown: narrow path, include or pattern%s", textutil.Count(more, "file"),
			g.suggestNarrower())
	}
	return note
}

func (g *grepCall) fullNote() string {
	if g.full == "" {
		return ""
	}
	note := fmt.Sprintf("cut at %s, there are more: narrow path, include or pattern", g.full)
	if strings.Contains(g.full, "KiB") {
		return note + ", or ask for fewer lines around matches"
	}
	return note + g.suggestNarrower()
}

func (g *grepCall) suggestNarrower() string {
	if g.in.Limit < maxMatches {
		return fmt.Sprintf(", or raise limit (up to %d)", maxMatches)
	}
	return ""
}

func (g *grepCall) perFileNote() string {
	if g.perFile == 0 {
		return ""
	}
	return fmt.Sprintf("%s more matches than per_file=%d; raise it, or give one as path",
		countOf(g.perFile, "file has", "files have"), g.in.PerFile)
}

func (g *grepCall) cutLinesNote() string {
	n := g.cutLines()
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s cut at %d bytes around the match; read the file at that line for the whole of it",
		countOf(n, "line", "lines"), maxLineShown)
}

// excludeNote is for an exclude that is several patterns by its looks: as one, it leaves out next to nothing.
func (g *grepCall) excludeNote() string {
	if len(severalPatterns(g.in.Exclude)) < 2 {
		return ""
	}
	return "exclude is a single pattern" + otherDialect(g.in.Exclude)
}

func (g *grepCall) skippedNote() string {
	var parts []string
	part := func(n int, one, many string) {
		if n > 0 {
			parts = append(parts, countOf(n, one, many))
		}
	}
	part(g.skipped.Binary, "binary file", "binary files")
	part(g.skipped.Secret, "file that by its name or text holds secrets",
		"files that by their names or texts hold secrets")
	part(g.skipped.Large, "file over 50 MB (give it as path)", "files over 50 MB (give one as path)")
	part(g.skipped.Unreadable, "file that cannot be read", "files that cannot be read")
	if len(parts) == 0 {
		return ""
	}
	return "not searched: " + strings.Join(parts, ", ")
}

// visibility are the arguments that ask for what a project does not have in plain sight.
type visibility struct {
	Hidden  bool `json:"hidden,omitempty" jsonschema:"Also names that begin with a dot." default:"false"`
	Ignored bool `json:"ignored,omitempty" jsonschema:"Also what .gitignore, .ignore and .git/info/exclude leave out, such as build results." default:"false"`
}

// leftNotes say what a walk left out, and how to see it.
func leftNotes(l walk.LeftOut) (notes []string) {
	if l.Hidden > 0 {
		notes = append(notes, fmt.Sprintf("%d hidden; hidden=true shows them", l.Hidden))
	}
	if l.Ignored > 0 {
		notes = append(notes, fmt.Sprintf("%d ignored by .gitignore or .ignore; ignored=true shows them", l.Ignored))
	}
	if l.Secret > 0 {
		notes = append(notes, countOf(l.Secret, "file that by its name holds secrets is",
			"files that by their names hold secrets are")+" left out")
	}
	if l.Denied > 0 {
		notes = append(notes, fmt.Sprintf("%d left out, as rules deny or ask about them; name one to see why", l.Denied))
	}
	if l.Unreadable > 0 {
		notes = append(notes, fmt.Sprintf("%s or ignore files could not be read, or are too deep or too large; a shell "+
			"tool may say why", countOf(l.Unreadable, "directory", "directories")))
	}
	return notes
}

// countOf is n with its unit, for units that take no s.
func countOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// crowdedNote is for walks; a list says it of each directory.
func crowdedNote(l walk.LeftOut) string {
	if l.Crowded == 0 {
		return ""
	}
	return countOf(l.Crowded, "directory has", "directories have") +
		" more entries than are looked at; those beyond are left out"
}
