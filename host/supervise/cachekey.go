package supervise

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
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// cacheFormat changes whenever entries mean something else.
const cacheFormat = 1

// A kind tells what the same program says everywhere from what may change without it.
type kind string

const (
	steady   kind = "steady"   // depends on the program and its configuration only
	unsteady kind = "unsteady" // is dynamic, or made by a program that runs other files
)

// key is what a description depends on, hashed.
func (s slot) key(k kind) string {
	text := fmt.Appendf(nil, "%d %d %s %s %s %q %s %q %q %q %t %q", cacheFormat, sdk.Handshake.ProtocolVersion, runtime.GOOS, runtime.GOARCH, k,
		s.path, s.content, s.spec.Command, s.spec.Env, outerEnvironment(), s.spec.Config != nil, s.spec.Config)
	if k == unsteady {
		text = fmt.Appendf(text, " %q %q", s.spec.Dir, s.cache.workdir)
	}
	return hashed(text)
}

// outerEnvironment is what a plugin gets of the host's environment, but for what tells of the moment and of no tool.
func outerEnvironment() []string {
	return slices.Sorted(slices.Values(slices.DeleteFunc(inheritedEnvironment(), func(kv string) bool {
		return strings.HasPrefix(kv, "TERM=") || strings.HasPrefix(kv, "TMPDIR=")
	})))
}

func hashed(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

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
	State        identity
}

// identify reads the file, or recognizes it.
func (c *cache) identify(ctx context.Context, path string) image {
	f, err := openProgram(path)
	if err != nil {
		return image{}
	}
	defer f.Close()
	began := time.Now()
	now, err := identify(f)
	if err != nil || now.Size > maxProgram {
		return image{}
	}
	var kept keptProgram
	name := hashed(fmt.Appendf(nil, "%d %d", now.Device, now.Inode))
	if c.shelf.read(programs, name, &kept) && kept.State == now {
		return image{kept.Content, kept.Native, kept.Self}
	}
	p, err := examine(ctx, f)
	if after, changed := identify(f); errors.Join(err, changed) != nil || after != now {
		return image{}
	}
	if text, err := json.Marshal(keptProgram{p.content, p.native, p.self, now}); err == nil && now.settled(began) {
		c.shelf.write(programs, name, text)
	}
	return p
}

func examine(ctx context.Context, f *os.File) (image, error) {
	sum, err := hashOf(f, whileWanted{ctx})
	native := isNative(f)
	return image{sum, native, native && linksSDK(f)}, err
}

// whileWanted ends a long read when nobody waits for it any more.
type whileWanted struct{ ctx context.Context }

// Write takes what was read.
func (w whileWanted) Write(p []byte) (int, error) { return len(p), w.ctx.Err() }

// isNative knows machine code by its first bytes: ELF, and the four forms of Mach-O and its fat files.
func isNative(f io.ReaderAt) bool {
	magic := make([]byte, 4)
	if _, err := f.ReadAt(magic, 0); err != nil {
		return false
	}
	return slices.ContainsFunc([]string{"\x7fELF", "\xfe\xed\xfa\xce", "\xfe\xed\xfa\xcf", "\xce\xfa\xed\xfe", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe"},
		func(known string) bool { return bytes.Equal(magic, []byte(known)) })
}

// linksSDK says whether the program is one that Go built with our sdk: a plugin itself, and no interpreter.
func linksSDK(f io.ReaderAt) bool {
	info, err := buildinfo.Read(f)
	if err != nil {
		return false
	}
	const module = "github.com/toolhost/toolhost"
	return strings.HasPrefix(info.Main.Path, module) || slices.ContainsFunc(info.Deps, func(d *debug.Module) bool { return d.Path == module })
}
