// Package toolcache keeps on disk what plugins have reported about themselves, so that listing their tools starts no
// process.
package toolcache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/sdk"
)

// A Cache keeps descriptions of plugins in a folder. An entry that cannot be read, belongs to another user, or is
// damaged is ignored and written again by the next start of the plugin. A nil Cache keeps nothing. Several hosts may
// share a folder.
type Cache struct {
	// Refresh makes Load find nothing.
	Refresh bool
	// Offline makes Load also return what may have changed, with a notice.
	Offline bool

	folder *folder
	checks checks
	prune  sync.Once
}

// Open makes the folder if necessary. Only this user may have access to it.
func Open(dir string) (*Cache, error) {
	f, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	return &Cache{folder: f, checks: checks{folder: f}}, nil
}

// Close writes the index and the checks, if they have changed.
func (c *Cache) Close() {
	if c != nil {
		c.folder.writeIndex()
		c.checks.write()
	}
}

// Dir is the cache's folder, "" for a nil Cache.
func (c *Cache) Dir() string {
	if c == nil {
		return ""
	}
	return c.folder.dir
}

// A Key is everything that a plugin's description may depend on.
type Key struct {
	// Program is the file that runs.
	Program string
	// Command is the program as it was configured, and its arguments.
	Command []string
	// Env is the environment that was configured, Inherited what the plugin gets besides, as NAME=VALUE.
	Env       map[string]string
	Inherited []string
	// Dir is the folder that it starts in, Workdir the one that the host works in.
	Dir, Workdir string
	// Config is its configuration, nil if there is none.
	Config json.RawMessage
}

const staleNotice = "its tools are those of an earlier start and may have changed"

// Load returns what the plugin reported when it was last started with this key, or nil. It may read the whole program,
// until ctx ends.
func (c *Cache) Load(ctx context.Context, k Key) *sdk.Description {
	if c == nil || c.Refresh {
		return nil
	}
	e := c.Entry(ctx, k)
	if e.content == "" {
		return nil
	}
	if d := e.load(steady); d != nil && !d.Dynamic && e.self {
		return d
	}
	d := e.load(unsteady)
	if d != nil {
		d.Missing, d.Pending = "", false // that was then; what failed is a notice
	}
	switch {
	case d == nil || d.Cacheable && e.self:
		return d
	case !c.Offline:
		return nil
	default:
		d.Notices = append(d.Notices, sdk.Notice{Kind: sdk.Remark, Text: staleNotice})
	}
	return d
}

// Cacheable returns what the plugin's last start with this key reported, if that is cacheable; nil with Refresh, and
// after a problem: only a plugin that finds its tools itself learns whether that has passed.
func (e Entry) Cacheable() *sdk.Description {
	if e.content == "" || e.cache.Refresh {
		return nil
	}
	if d := e.load(unsteady); d != nil && d.Cacheable && !slices.ContainsFunc(d.Notices, IsProblem) {
		return d
	}
	return nil
}

// An Entry is the place of one plugin's description, for as long as its program does not change.
type Entry struct {
	cache *Cache
	key   Key
	fingerprint
}

// Entry finds the place for a plugin, before that is started. It may read the whole program, until ctx ends.
func (c *Cache) Entry(ctx context.Context, k Key) Entry {
	e := Entry{cache: c, key: k}
	if c != nil {
		e.fingerprint = c.identify(ctx, k.Program)
		e.self = e.self || e.native && len(k.Command) == 1
	}
	return e
}

// Store keeps the description of the plugin that was started after the entry was found. It does nothing if the program
// has changed since: then either of the two may have reported it. A cacheable description stays until there is one
// without a problem. Tools that are missing now stay those of before, with a problem that says why they are missing.
func (e Entry) Store(ctx context.Context, d *sdk.Description) {
	if e.content == "" || e.cache.Entry(ctx, e.key).content != e.content {
		return
	}
	k := steady
	if d.Dynamic || !e.self {
		k = unsteady
	}
	old := e.load(k)
	if d.Missing != "" {
		if d = withoutTools(old, d); d == nil {
			return
		}
	}
	failed := !d.Cacheable && slices.ContainsFunc(d.Notices, IsProblem)
	if old == nil || !reflect.DeepEqual(old, d) && (!failed || !old.Cacheable) {
		e.cache.prune.Do(e.cache.folder.prune)
		e.store(k, d)
	}
}

// withoutTools is the description to keep of one in which tools are missing: that of before, with the reason. Where
// there is none it is not cacheable, so that the next listing starts the plugin. It is nil if nothing is to be kept,
// because the tools may still come.
func withoutTools(old, now *sdk.Description) *sdk.Description {
	switch {
	case now.Pending:
		return nil
	case old == nil || len(old.Tools) == 0:
		d := new(*now)
		d.Cacheable = false
		return d
	}
	return WithProblem(old, fmt.Sprintf("its tools are those of an earlier start; the last one did not find them: %s. "+
		"`toolhost discover --refresh` looks for them again", now.Missing))
}

// WithProblem returns a copy of the description with one problem in place of those that it has.
func WithProblem(d *sdk.Description, text string) *sdk.Description {
	out := new(*d)
	out.Notices = append(slices.DeleteFunc(slices.Clone(d.Notices), IsProblem), sdk.Notice{Kind: sdk.Problem, Text: text})
	return out
}

// IsProblem reports whether a notice is of something that keeps tools from working.
func IsProblem(n sdk.Notice) bool { return n.Kind == sdk.Problem }

// formatVersion changes whenever the meaning of entries does.
const formatVersion = 5

// A kind separates what one program reports everywhere from what may change without it.
type kind string

const (
	steady   kind = "steady"   // depends only on the program and its configuration
	unsteady kind = "unsteady" // is dynamic, or made by a program that runs other files
)

// ofTheMoment are variables that change from one command of a terminal to the next, and change no tools.
var ofTheMoment = []string{"_", "OLDPWD", "SHLVL", "TERM", "TMPDIR"}

// ofTheStarter are variables that differ between a terminal and applications that start a host, as do those that begin
// with LC_. What a dynamic plugin has found is known to both: it looks again when it runs.
var ofTheStarter = []string{"PATH", "LANG", "TZ"}

// hash is the name of the entry's file.
func (e Entry) hash(kind kind) string {
	k := e.key
	inherited := slices.DeleteFunc(slices.Sorted(slices.Values(k.Inherited)), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(ofTheMoment, name) ||
			kind == unsteady && (slices.Contains(ofTheStarter, name) || strings.HasPrefix(name, "LC_"))
	})
	text := fmt.Appendf(nil, "%d %d %s %s %s %q %s %q %q %q %t %q", formatVersion, wire.ProtocolVersion, runtime.GOOS,
		runtime.GOARCH, kind, k.Program, e.content, k.Command, k.Env, inherited, k.Config != nil, k.Config)
	if kind == unsteady {
		text = fmt.Appendf(text, " %q %q", k.Dir, k.Workdir)
	}
	return hexSum(text)
}

func hexSum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func (e Entry) load(k kind) *sdk.Description {
	if e.content == "" {
		return nil
	}
	name := e.hash(k)
	text, ok := e.cache.folder.read(descriptions, name)
	text, named := bytes.CutPrefix(text, []byte(name)) // else it was renamed
	if !ok || !named {
		return nil
	}
	return decode(text)
}

// store writes a description, unless it would not come back unchanged.
func (e Entry) store(k kind, d *sdk.Description) {
	if text := encode(d); text != nil {
		name := e.hash(k)
		e.cache.folder.write(descriptions, name, append([]byte(name), text...))
	}
}

// A fingerprint identifies a program file.
type fingerprint struct {
	content string // checksum, "" if it cannot be read
	native  bool   // machine code, not a script
	self    bool   // the plugin itself, not a program that runs it
}

// A storedProgram spares reading a file that has not changed.
type storedProgram struct {
	Content      string
	Native, Self bool
	State        binaries.Identity
}

// identify reads the file, unless its state is stored.
func (c *Cache) identify(ctx context.Context, path string) fingerprint {
	if stored, known := c.stored(path); known {
		return fingerprint{stored.Content, stored.Native, stored.Self}
	}
	f, err := binaries.Open(path)
	if err != nil {
		return fingerprint{}
	}
	defer f.Close()
	began := time.Now()
	now, err := f.Identity()
	if err != nil {
		return fingerprint{}
	}
	sum, err := f.SHA256(contextWriter{ctx})
	native := f.Native()
	p := fingerprint{sum, native, native && linksSDK(f)}
	if after, changed := f.Identity(); errors.Join(err, changed) != nil || after != now {
		return fingerprint{}
	}
	if text, err := json.Marshal(storedProgram{p.content, p.native, p.self, now}); err == nil && now.Settled(began) {
		c.folder.write(programs, programName(now), text)
	}
	return p
}

// stored returns what is stored of a file, if that is in the same state now.
func (c *Cache) stored(path string) (p storedProgram, known bool) {
	now, err := binaries.Identify(path)
	if err != nil {
		return p, false
	}
	text, ok := c.folder.read(programs, programName(now))
	return p, ok && json.Unmarshal(text, &p) == nil && p.State == now
}

// Native reports whether the file is known to be machine code, without reading it.
func (c *Cache) Native(path string) bool {
	if c == nil {
		return false
	}
	p, known := c.stored(path)
	return known && p.Native
}

func programName(of binaries.Identity) string {
	return hexSum(fmt.Appendf(nil, "%d %d", of.Device, of.Inode))
}

// A contextWriter fails when the context has ended, which ends a long read.
type contextWriter struct{ ctx context.Context }

func (w contextWriter) Write(p []byte) (int, error) { return len(p), w.ctx.Err() }

// linksSDK is true for a program that Go has built with our sdk: a plugin, not an interpreter.
func linksSDK(f io.ReaderAt) bool {
	info, err := buildinfo.Read(f)
	if err != nil {
		return false
	}
	const module = "github.com/toolhost/toolhost"
	return strings.HasPrefix(info.Main.Path, module) ||
		slices.ContainsFunc(info.Deps, func(d *debug.Module) bool { return d.Path == module })
}
