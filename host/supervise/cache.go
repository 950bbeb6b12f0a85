package supervise

import (
	"context"
	"encoding/json"
	"log/slog"
	"reflect"
	"sync"

	"github.com/toolhost/toolhost/sdk"
)

// A cache keeps on disk what plugins have said of themselves, so that listing them starts nothing. What cannot be read,
// belongs to somebody else, or is not what was written, is not there; the next start of the plugin writes it anew. A nil
// cache keeps nothing.
type cache struct {
	shelf   *shelf
	workdir string
	refresh bool // recall nothing
	offline bool // recall also what may have changed
	prune   sync.Once
}

// newCache makes the cache that the options ask for, or nil. A folder that cannot be used is no reason to fail.
func newCache(o Options, workdir string, log *slog.Logger) *cache {
	if o.CacheDir == "" {
		return nil
	}
	s, err := openShelf(o.CacheDir)
	if err != nil {
		log.Warn("what plugins say of themselves is not kept", "error", err)
		return nil
	}
	return &cache{shelf: s, workdir: workdir, refresh: o.Refresh, offline: o.Offline}
}

// stale is the notice on what is recalled of a plugin that may have other tools by now.
const stale = "its tools are those of an earlier start; they may be others by now"

// recall gives what the plugin said when it was last started as the spec has it, or nil.
func (c *cache) recall(ctx context.Context, spec Spec, program string) *sdk.Description {
	if c == nil || c.refresh {
		return nil
	}
	s := c.slot(ctx, spec, program)
	switch d := s.read(steady); {
	case s.content == "":
		return nil
	case d != nil && !d.Dynamic && s.self:
		return d
	case !c.offline:
		return nil
	}
	d := s.read(unsteady)
	if d != nil {
		d.Notices = append(d.Notices, stale)
	}
	return d
}

// A slot is where the cache has what one plugin says, as long as its program stays the same.
type slot struct {
	cache *cache
	spec  Spec
	image
	path string
}

// slot finds the place for a plugin whose program is the file at path.
func (c *cache) slot(ctx context.Context, spec Spec, path string) slot {
	s := slot{cache: c, spec: spec, path: path}
	if c != nil {
		s.image = c.identify(ctx, path)
		s.self = s.self || s.native && len(spec.Command) == 1
	}
	return s
}

// keep stores what the plugin said that was started since the slot was made. Nothing is kept when its program has
// changed meanwhile: then nobody knows which of the two spoke.
func (s slot) keep(ctx context.Context, d *sdk.Description) {
	if s.content == "" || s.cache.slot(ctx, s.spec, s.path).content != s.content {
		return
	}
	kind := steady
	if d.Dynamic || !s.self {
		kind = unsteady
	}
	if was := s.read(kind); was == nil || !reflect.DeepEqual(was, d) {
		s.cache.prune.Do(s.cache.shelf.prune)
		s.write(kind, d)
	}
}

// A keptEntry is a description as it is stored: schemas as the bytes that they were, which JSON in JSON would not keep.
type keptEntry struct {
	Key         string
	Description sdk.Description // without tools and schema
	Schema      []byte
	Tools       []keptTool
}

type keptTool struct {
	Definition    sdk.Tool // without schemas
	Input, Output []byte
}

func (s slot) read(k kind) *sdk.Description {
	if s.content == "" {
		return nil
	}
	key := s.key(k)
	var e keptEntry
	if !s.cache.shelf.read(descriptions, key, &e) || e.Key != key {
		return nil
	}
	return e.unpack()
}

// write stores a description that comes back as it was; one that would not is not kept.
func (s slot) write(k kind, d *sdk.Description) {
	e := pack(s.key(k), d)
	text, err := json.Marshal(e)
	var back keptEntry
	if err == nil && json.Unmarshal(text, &back) == nil && reflect.DeepEqual(back.unpack(), d) {
		s.cache.shelf.write(descriptions, e.Key, text)
	}
}

func pack(key string, d *sdk.Description) keptEntry {
	e := keptEntry{Key: key, Description: *d, Schema: d.ConfigSchema}
	e.Description.Tools, e.Description.ConfigSchema = nil, nil
	for _, t := range d.Tools {
		k := keptTool{Definition: t, Input: t.InputSchema, Output: t.OutputSchema}
		k.Definition.InputSchema, k.Definition.OutputSchema = nil, nil
		e.Tools = append(e.Tools, k)
	}
	return e
}

func (e keptEntry) unpack() *sdk.Description {
	d := e.Description
	d.ConfigSchema, d.Tools = e.Schema, nil
	for _, k := range e.Tools {
		t := k.Definition
		t.InputSchema, t.OutputSchema = k.Input, k.Output
		d.Tools = append(d.Tools, t)
	}
	return &d
}
