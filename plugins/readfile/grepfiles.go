package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/plugins/readfile/internal/walk"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

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

// A batchReport is what came of some files.
type batchReport struct {
	found    []*fileMatches
	searched int
	skipped  skipped
	size     int64 // of the lines
	err      error
}

// searchOne searches a file that was asked for by its name: also one that is large, or ignored.
func (g *grepping) searchOne(ctx context.Context, p *workspace.Place) error {
	err := p.Regular()
	if err == nil {
		err = g.secret(p)
	}
	if err != nil {
		return err
	}
	f, err := p.Open()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if name := g.holdsSecret(f, p.Path, p.Resolved()); name != "" {
		return turnedOut(p.Path, name)
	}
	found, err := newSearcher(ctx, g.pattern, g.most).search(f, p.Info.Size())
	if errors.Is(err, errBinary) {
		return &sdk.Error{Name: "BinaryFile", Message: printable(p.Path) + " is not text, and was not searched", Suggestion: "Use a program that knows this format, through a shell tool."}
	} else if err != nil {
		return workspace.Explain(p.Path, err)
	}
	found.path = p.Path
	g.add(batchReport{found: []*fileMatches{found}, searched: 1})
	return nil
}

// searchAll searches the files below a directory.
func (g *grepping) searchAll(ctx context.Context, w *workspace.Root, p *workspace.Place, filter walk.Filter) error {
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

func (g *grepping) searchBatch(ctx context.Context, s *searcher, b walk.Batch) (out batchReport) {
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
func (g *grepping) searchEntry(s *searcher, b walk.Batch, e fs.DirEntry, out *batchReport) {
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

func (g *grepping) searchOpen(s *searcher, f *os.File, size int64, name string, out *batchReport) {
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
