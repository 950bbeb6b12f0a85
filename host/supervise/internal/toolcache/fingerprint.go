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

// An image is what is known of the file that a plugin's command names.
type image struct {
	content string // the hash of its bytes, "" when it cannot be told
	native  bool   // machine code, rather than a script
	self    bool   // the plugin itself, and not what runs it
}

// A keptProgram spares the reading of a file that is still the one that was read.
type keptProgram struct {
	Content      string
	Native, Self bool
	State        binaries.Identity
}

// identify reads the file, or recognizes it.
func (c *Cache) identify(ctx context.Context, path string) image {
	f, err := binaries.Open(path)
	if err != nil {
		return image{}
	}
	defer f.Close()
	began := time.Now()
	now, err := f.Identity()
	if err != nil {
		return image{}
	}
	var kept keptProgram
	name := hashed(fmt.Appendf(nil, "%d %d", now.Device, now.Inode))
	if c.shelf.read(images, name, &kept) && kept.State == now {
		return image{kept.Content, kept.Native, kept.Self}
	}
	p, err := examine(ctx, f)
	if after, changed := f.Identity(); errors.Join(err, changed) != nil || after != now {
		return image{}
	}
	if text, err := json.Marshal(keptProgram{p.content, p.native, p.self, now}); err == nil && now.Settled(began) {
		c.shelf.write(images, name, text)
	}
	return p
}

func examine(ctx context.Context, f *binaries.File) (image, error) {
	sum, err := f.SHA256(whileWanted{ctx})
	native := f.Native()
	return image{sum, native, native && linksSDK(f)}, err
}

// whileWanted ends a long read when nobody waits for it any more.
type whileWanted struct{ ctx context.Context }

// Write takes what was read.
func (w whileWanted) Write(p []byte) (int, error) { return len(p), w.ctx.Err() }

// linksSDK says whether the program is one that Go built with our sdk: a plugin itself, and no interpreter.
func linksSDK(f io.ReaderAt) bool {
	info, err := buildinfo.Read(f)
	if err != nil {
		return false
	}
	const module = "github.com/toolhost/toolhost"
	return strings.HasPrefix(info.Main.Path, module) || slices.ContainsFunc(info.Deps, func(d *debug.Module) bool { return d.Path == module })
}
