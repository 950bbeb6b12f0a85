package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"
)

func newTrust(g *globals) *cobra.Command {
	var revoke, list bool
	cmd := &cobra.Command{
		Use:   "trust [FILE]",
		Short: "Let a project's configuration allow calls, not only forbid them",
		Long: "Let a project's configuration allow calls, not only forbid them. A config.hcl that toolhost finds in the current\n" +
			"folder can be anybody's: until it is trusted, its rules only make calls stricter. Trust is for the file as it is\n" +
			"now; once it changes, it must be given again. A file named with --config is the user's own word and needs none.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if list {
				return g.listTrusted()
			}
			return g.trust(firstOf(append(args, "config.hcl")...), revoke)
		},
	}
	cmd.Flags().BoolVar(&revoke, "revoke", false, "trust it no longer")
	cmd.Flags().BoolVar(&list, "list", false, "list what is trusted")
	return cmd
}

func (g *globals) trust(path string, revoke bool) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if strings.ContainsAny(path, "\r\n") {
		return fmt.Errorf("%q cannot be trusted: the list of trusted files has one to a line, and the name has a line break", path)
	}
	word := "is trusted, as it is now"
	if revoke {
		word = "is not trusted"
	}
	err = changeTrusted(func(known map[string]string) (err error) {
		delete(known, path)
		if !revoke {
			known[path], err = fingerprint(path)
		}
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(g.out, "%s %s\n", path, word)
	return nil
}

func (g *globals) listTrusted() error {
	known, err := readTrusted()
	if err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(known)) {
		now, err := fingerprint(path)
		switch {
		case err != nil:
			fmt.Fprintf(g.out, "%s  (cannot be read now)\n", path)
		case now != known[path]:
			fmt.Fprintf(g.out, "%s  (has changed since, and is not trusted as it is)\n", path)
		default:
			fmt.Fprintln(g.out, path)
		}
	}
	return nil
}

// isTrusted says whether what was read of the file is what was trusted. The file is not read again: it may be another by now.
func isTrusted(path, fingerprint string) bool {
	known, err := readTrusted()
	return err == nil && fingerprint != "" && known[path] == fingerprint
}

func fingerprint(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// userFile is where a file of the user's is, such as his rules.
func userFile(name string) (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("the user's configuration folder, where rules may stand, is not known (%w); set HOME or XDG_CONFIG_HOME", err)
	}
	return filepath.Join(dir, "toolhost", name), nil
}

// readTrusted gives the trusted files and what they hashed to, from lines such as sha256sum writes.
func readTrusted() (map[string]string, error) {
	path, err := userFile("trusted")
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if why := forged(info, false); why != "" {
		return nil, fmt.Errorf("what %s trusts is not trusted: %s", path, why)
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if sum, file, ok := strings.Cut(lines.Text(), "  "); ok {
			known[file] = sum
		}
	}
	return known, lines.Err()
}

// changeTrusted rewrites the list, one writer at a time, and whole or not at all.
func changeTrusted(change func(known map[string]string) error) error {
	path, err := userFile("trusted")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	lock, ctx := flock.New(path+".lock"), context.Background()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return fmt.Errorf("the list of trusted files is kept locked by another program (%s): %w", lock.Path(), err)
	}
	defer func() { _ = lock.Close() }()
	known, err := readTrusted()
	if err == nil {
		err = change(known)
	}
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, file := range slices.Sorted(maps.Keys(known)) {
		fmt.Fprintf(&text, "%s  %s\n", known[file], file)
	}
	return renameio.WriteFile(path, []byte(text.String()), 0o600)
}
