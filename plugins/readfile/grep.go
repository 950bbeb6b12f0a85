package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

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
	seen
}

func addGrep(p *sdk.Plugin, c *config) {
	sdk.AddTool(p, sdk.Tool{
		Name:  "grep",
		Title: "Search in files",
		Description: "Searches files line by line for a regular expression or plain text, and gives the lines that match with their numbers, as path:12:text. " +
			"Use it instead of grep or rg in a shell; use glob when only names matter, and read to see a file around a match.\n" +
			"The syntax is RE2: no lookaround, no backreferences. Case counts, unless ignore_case. For text with ( [ { . * + ? | \\ ^ $ in it set literal, or escape them. A match never goes over the end of a line.\n" +
			"With before and after, lines around matches come as path-11-text, and -- stands between groups. Start with mode files or count when many matches are likely.\n" +
			"Hidden files, what .gitignore leaves out, binary files, files that by their names hold secrets, and files over 50 MB are skipped; symlinks are not followed. " +
			"At most limit matches and 64 KiB, in the order of paths; long lines are cut around the match. What was left out is said in [brackets]. No match is no error.",
		Hints: readOnly, PathAware: true, Category: "files", CostTier: sdk.Free,
		MaxResultBytes: sdk.MaxResult, // the tool holds limits of its own
	}, c.grep)
}

func (c *config) grep(ctx context.Context, r *sdk.Request, in grepInput) (*sdk.Result, error) {
	g, err := c.grepping(r, in)
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
		err = g.searchAll(ctx, w, p, filter(r, w, in.seen))
	} else {
		err = g.searchOne(ctx, p)
	}
	if err != nil {
		return nil, err
	}
	return g.result(), nil
}

// A grepping is one call of the tool.
type grepping struct {
	*config
	in               grepInput
	pattern          *scan.Pattern
	include, exclude *namePattern // nil for none
	most             atMost
	report
}

// atMost are the limits for one file.
type atMost struct {
	lines         int // that match; negative for all
	before, after int
	text          bool // keep the lines, not only their number
}

func (c *config) grepping(r *sdk.Request, in grepInput) (*grepping, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	in.Limit, in.Mode = cmp.Or(in.Limit, defaultMatches), cmp.Or(in.Mode, "content")
	pattern, err := scan.Compile(in.Pattern, scan.Options{Literal: in.Literal, IgnoreCase: in.IgnoreCase})
	if err != nil {
		return nil, badExpression(in.Pattern, err)
	}
	g := &grepping{config: c, in: in, pattern: pattern, most: in.most()}
	dir := absolute(r.Workdir, in.Path)
	if g.include, err = optionalPattern("include", in.Include, dir); err == nil {
		g.exclude, err = optionalPattern("exclude", in.Exclude, dir)
	}
	return g, err
}

func (in *grepInput) most() atMost {
	switch in.Mode {
	case "files":
		return atMost{lines: 1}
	case "count":
		return atMost{lines: -1}
	}
	return atMost{lines: min(cmp.Or(in.PerFile, in.Limit), in.Limit), before: in.Before, after: in.After, text: true}
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
		return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "InvalidPattern", Message: "pattern is empty, which matches every line",
			Suggestion: "Write what to search for; to see a whole file use read."}
	case in.Limit < 0 || in.Limit > maxMatches || in.PerFile < 0 || in.PerFile > maxMatches:
		return invalid(fmt.Sprintf("limit and per_file must be from 1 to %d", maxMatches))
	case in.Before < 0 || in.Before > maxContext || in.After < 0 || in.After > maxContext:
		return invalid(fmt.Sprintf("before and after must be from 0 to %d", maxContext))
	case !slices.Contains([]string{"", "content", "files", "count"}, in.Mode):
		return invalid("mode must be content, files or count")
	}
	return nil
}

// badExpression says what is wrong with a pattern, and where.
func badExpression(pattern string, err error) error {
	e, _ := errors.AsType[*scan.PatternError](err)
	out := &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "InvalidPattern", Message: fmt.Sprintf("pattern %.200q cannot be used: %v", pattern, err)}
	out.Suggestion = "To search for this very text set literal=true."
	if e.Hint != "" {
		out.Suggestion = e.Hint
	}
	if e.Offset >= 0 {
		out.Details = sdk.Details(map[string]int{"offset": e.Offset})
	}
	return out
}

// wants tells whether the names of a file let it be searched.
func (g *grepping) wants(b walk.Batch, name string) bool {
	return (g.include == nil || g.include.matches(b.Below, name)) && (g.exclude == nil || !g.exclude.matches(b.Below, name))
}

func (g *grepping) descends(below string) bool {
	return (g.include == nil || g.include.mayHold(below)) && (g.exclude == nil || !g.exclude.covers(below))
}
