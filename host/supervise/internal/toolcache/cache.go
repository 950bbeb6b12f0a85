// Package toolcache keeps on disk what plugins have said of themselves.
package toolcache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/sdk"
)

// A Cache keeps on disk what plugins have said of themselves, so that listing them starts nothing. What cannot be read,
// belongs to somebody else, or is not what was written, is not there; the next start of the plugin writes it anew. A nil
// Cache keeps nothing. Several hosts may use one folder at once.
type Cache struct {
	// Refresh recalls nothing.
	Refresh bool
	// Offline recalls also what may have changed.
	Offline bool

	shelf *shelf
	prune sync.Once
}

// Open makes the folder if need be. It must be the user's, and nobody else may look into it.
func Open(dir string) (*Cache, error) {
	s, err := openShelf(dir)
	if err != nil {
		return nil, err
	}
	return &Cache{shelf: s}, nil
}

// Dir is the cache's folder, "" for a nil Cache.
func (c *Cache) Dir() string {
	if c == nil {
		return ""
	}
	return c.shelf.dir
}

// A Plugin is all that a plugin's description may depend on.
type Plugin struct {
	// Program is the file that is run.
	Program string
	// Command is the program as it was configured, and its arguments.
	Command []string
	// Env is the environment that was configured, Inherited what the plugin gets besides, as NAME=VALUE.
	Env       map[string]string
	Inherited []string
	// Dir is the folder that it starts in, Workdir the one that the host works in.
	Dir, Workdir string
	// Config is its configuration, nil when there is none.
	Config json.RawMessage
}

// stale is the notice on what is recalled of a plugin that may have other tools by now.
const stale = "its tools are those of an earlier start; they may be others by now"

// Recall gives what the plugin said when it was last started just so, or nil. It may read the whole program, until ctx ends.
func (c *Cache) Recall(ctx context.Context, p Plugin) *sdk.Description {
	if c == nil || c.Refresh {
		return nil
	}
	s := c.Slot(ctx, p)
	switch d := s.read(steady); {
	case s.content == "":
		return nil
	case d != nil && !d.Dynamic && s.self:
		return d
	case !c.Offline:
		return nil
	}
	d := s.read(unsteady)
	if d != nil {
		d.Notices = append(d.Notices, stale)
	}
	return d
}

// A Slot is where the cache has what one plugin says, as long as its program stays the same.
type Slot struct {
	cache  *Cache
	plugin Plugin
	image
}

// Slot finds the place for a plugin, before that is started. It may read the whole program, until ctx ends.
func (c *Cache) Slot(ctx context.Context, p Plugin) Slot {
	s := Slot{cache: c, plugin: p}
	if c != nil {
		s.image = c.identify(ctx, p.Program)
		s.self = s.self || s.native && len(p.Command) == 1
	}
	return s
}

// Keep stores what the plugin said that was started since the slot was made. Nothing is kept when its program has
// changed meanwhile: then nobody knows which of the two spoke.
func (s Slot) Keep(ctx context.Context, d *sdk.Description) {
	if s.content == "" || s.cache.Slot(ctx, s.plugin).content != s.content {
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

func (s Slot) read(k kind) *sdk.Description {
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
func (s Slot) write(k kind, d *sdk.Description) {
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

// cacheFormat changes whenever entries mean something else.
const cacheFormat = 1

// A kind tells what the same program says everywhere from what may change without it.
type kind string

const (
	steady   kind = "steady"   // depends on the program and its configuration only
	unsteady kind = "unsteady" // is dynamic, or made by a program that runs other files
)

// key is what a description depends on, hashed.
func (s Slot) key(k kind) string {
	p := s.plugin
	text := fmt.Appendf(nil, "%d %d %s %s %s %q %s %q %q %q %t %q", cacheFormat, wire.Handshake.ProtocolVersion, runtime.GOOS, runtime.GOARCH, k,
		p.Program, s.content, p.Command, p.Env, p.outerEnvironment(), p.Config != nil, p.Config)
	if k == unsteady {
		text = fmt.Appendf(text, " %q %q", p.Dir, p.Workdir)
	}
	return hashed(text)
}

// outerEnvironment is what a plugin gets of the host's environment, but for what tells of the moment and of no tool.
func (p Plugin) outerEnvironment() []string {
	return slices.Sorted(slices.Values(slices.DeleteFunc(slices.Clone(p.Inherited), func(kv string) bool {
		return strings.HasPrefix(kv, "TERM=") || strings.HasPrefix(kv, "TMPDIR=")
	})))
}

func hashed(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
