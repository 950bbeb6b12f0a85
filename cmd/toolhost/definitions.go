package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"
)

// Definitions that were locked are kept under their hashes, to tell later what has changed. Without them only the hashes
// are known.

const (
	definitionsKept = 400 * 24 * time.Hour
	maxDefinition   = 1 << 20
)

func definitionsFolder() (string, error) { return cacheFolder("definitions") }

// keepDefinitions keeps them by hash, if that can be done, and removes old ones.
func keepDefinitions(definitions map[string]json.RawMessage) {
	dir, err := definitionsFolder()
	if err != nil || os.MkdirAll(dir, 0o700) != nil {
		return
	}
	removeOld(dir, time.Now().Add(-definitionsKept))
	for hash, definition := range definitions {
		_ = renameio.WriteFile(filepath.Join(dir, hash+".json"), definition, 0o600)
	}
}

// keptDefinition gives the definition with the hash, nil when it is not kept, or is another by now.
func keptDefinition(hash string) json.RawMessage {
	dir, err := definitionsFolder()
	if err != nil || filepath.Base(hash) != hash {
		return nil
	}
	path := filepath.Join(dir, hash+".json")
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxDefinition))
	if sum := sha256.Sum256(text); err != nil || hex.EncodeToString(sum[:]) != hash {
		return nil
	}
	return text
}
