package toolcache

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/sdk"
)

// full has everything that a description can hold.
var full = &sdk.Description{Name: "n", Version: "v", SDK: "s", ConfigSchema: json.RawMessage(" {\"a\" :\n\"<&>\"}"), Notices: []string{"a\u2028b"}, Tools: []sdk.Tool{
	{Name: "a", Description: "d", InputSchema: json.RawMessage(`{ "type": "object", "x": 1.00 }`), OutputSchema: json.RawMessage(`{"<":1}`),
		Hints: sdk.Hints{ReadOnly: sdk.No, Idempotent: sdk.Yes}, Timeout: 90*time.Second + time.Nanosecond, MaxResultBytes: 7,
		Title: "t", Category: "c", CostTier: sdk.Cheap, OriginalName: "A", Previews: true},
	{Name: "b", Description: "e"},
}}

// What is wrong with an entry is mended by the next start, and is no error.
func TestBrokenEntries(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string, text []byte){
		"removed":     func(t *testing.T, path string, _ []byte) { check(t, os.Remove(path)) },
		"empty":       func(t *testing.T, path string, _ []byte) { rewrite(t, path, nil) },
		"truncated":   func(t *testing.T, path string, text []byte) { rewrite(t, path, text[:len(text)-1]) },
		"one bit":     func(t *testing.T, path string, text []byte) { text[len(text)/2] ^= 1; rewrite(t, path, text) },
		"no checksum": func(t *testing.T, path string, text []byte) { rewrite(t, path, text[65:]) },
		"not ours":    func(t *testing.T, path string, _ []byte) { check(t, os.Chmod(path, 0o644)) },
		"of another": func(t *testing.T, path string, text []byte) {
			rewrite(t, path, sealed(strings.Replace(string(text[65:]), `"Key":"`, `"Key":"0`, 1)))
		},
		"no JSON":   func(t *testing.T, path string, _ []byte) { rewrite(t, path, sealed("{")) },
		"too large": func(t *testing.T, path string, _ []byte) { check(t, os.Truncate(path, maxEntry+1)) },
		"a link": func(t *testing.T, path string, _ []byte) {
			check(t, os.Rename(path, path+".moved"))
			check(t, os.Symlink(path+".moved", path))
		},
		"a pipe": func(t *testing.T, path string, _ []byte) {
			check(t, os.Remove(path))
			check(t, unix.Mkfifo(path, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, p := must(Open(filepath.Join(t.TempDir(), "cache"))), Plugin{Program: os.Args[0], Command: os.Args[:1]}
			c.Slot(t.Context(), p).Keep(t.Context(), full)
			entries := must(filepath.Glob(filepath.Join(c.Dir(), descriptions+"*")))
			if got := c.Recall(t.Context(), p); len(entries) != 1 || cmp.Diff(full, got) != "" {
				t.Fatalf("%q hold %+v", entries, got)
			}
			spoil(t, entries[0], must(os.ReadFile(entries[0])))
			if got := c.Recall(t.Context(), p); got != nil {
				t.Errorf("spoilt, it holds %+v", got)
			}
			c.Slot(t.Context(), p).Keep(t.Context(), full)
			if diff := cmp.Diff(full, c.Recall(t.Context(), p)); diff != "" {
				t.Errorf("mended, -want +got:\n%s", diff)
			}
		})
	}
}

// Everything that a description can hold comes back.
func TestDescriptionsComeBack(t *testing.T) {
	var back keptEntry
	if err := json.Unmarshal(must(json.Marshal(pack("k", full))), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(full, back.unpack()); diff != "" || back.Key != "k" {
		t.Errorf("-before +after:\n%s", diff)
	}
}

func sealed(text string) []byte { return []byte(hashed([]byte(text)) + "\n" + text) }
