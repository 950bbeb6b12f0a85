package toolcache

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
)

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
