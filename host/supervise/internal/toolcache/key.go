package toolcache

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"slices"
	"strings"

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
func (s Slot) key(k kind) string {
	p := s.plugin
	text := fmt.Appendf(nil, "%d %d %s %s %s %q %s %q %q %q %t %q", cacheFormat, sdk.Handshake.ProtocolVersion, runtime.GOOS, runtime.GOARCH, k,
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
