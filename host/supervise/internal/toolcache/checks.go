package toolcache

import (
	"cmp"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
	"github.com/toolhost/toolhost/sdk"
)

// checks are the hashes of tools that this program has checked. Another build may check otherwise: its own
// executable file, in its state, is part of each hash.
type checks struct {
	folder  *folder
	mu      sync.Mutex
	loaded  bool
	changed bool
	checker binaries.Identity
	known   map[string]int64 // when each was last stored, in hours
}

const (
	checksName = "checked"
	maxChecks  = 4096
)

// Checked reports whether SetChecked was called with these tools by this program, in whatever process.
func (c *Cache) Checked(tools []sdk.Tool) bool {
	if c == nil {
		return false
	}
	k := &c.checks
	k.mu.Lock()
	defer k.mu.Unlock()
	k.load()
	_, there := k.known[k.name(tools)]
	return there && k.checker.Known()
}

// SetChecked remembers tools, for later processes from Close on.
func (c *Cache) SetChecked(tools []sdk.Tool) {
	if c == nil {
		return
	}
	k := &c.checks
	k.mu.Lock()
	defer k.mu.Unlock()
	k.load()
	k.known[k.name(tools)] = time.Now().Unix() / 3600
	k.changed = true
}

// name is a hash of all fields of the tools, and of the checker.
func (k *checks) name(tools []sdk.Tool) string {
	c := coder{}
	c.state(&k.checker)
	list(&c, &tools, c.tool)
	return hexSum(c.bytes)
}

// load reads the file once. The caller holds the lock.
func (k *checks) load() {
	if k.loaded {
		return
	}
	k.loaded = true
	k.known = k.read()
	if path, err := os.Executable(); err == nil {
		k.checker, _ = binaries.Identify(path)
	}
}

func (k *checks) read() map[string]int64 {
	known := map[string]int64{}
	text, _, ok := k.folder.readFile(checksName)
	c := coder{reading: true, bytes: text}
	var all []checkedTools
	if list(&c, &all, c.checkedTools); !ok || c.damaged {
		return known
	}
	for _, one := range all {
		known[one.name] = one.stored
	}
	return known
}

type checkedTools struct {
	name   string
	stored int64
}

func (c *coder) checkedTools(k *checkedTools) {
	c.text(&k.name)
	c.number(&k.stored)
}

// write adds what was checked to what other hosts have stored meanwhile. The oldest are dropped first.
func (k *checks) write() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.changed {
		return
	}
	k.changed = false
	var all []checkedTools
	for name, stored := range k.read() {
		if _, ours := k.known[name]; !ours {
			all = append(all, checkedTools{name, stored})
		}
	}
	for name, stored := range k.known {
		all = append(all, checkedTools{name, stored})
	}
	slices.SortFunc(all, func(a, b checkedTools) int {
		return cmp.Or(cmp.Compare(b.stored, a.stored), cmp.Compare(a.name, b.name))
	})
	all = all[:min(len(all), maxChecks)]
	var c coder
	list(&c, &all, c.checkedTools)
	k.folder.write("", checksName, c.bytes)
}
