package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
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
	"golang.org/x/sys/unix"
)

func newTrust(g *globals) *cobra.Command {
	var revoke, list bool
	cmd := &cobra.Command{
		Use:   "trust [FILE]",
		Short: "Let a project's configuration run its programs",
		Long: "Let a project's configuration run its programs. A config.hcl that toolhost finds in the current folder can be\n" +
			"anybody's: until it is trusted, nothing that it names is started, and its rules allow nothing. What it would run\n" +
			"is listed first. Trust is for the file as it is now; once it changes, it must be given again. A file named with\n" +
			"--config or $TOOLHOST_CONFIG is the user's own word and needs none, and so is the one in the user's own folder.\n" +
			"Without FILE the file of --config is meant, else the config.hcl of the current folder.\n\n" +
			"Only the file is covered: a program that it names, such as ./bin/tool, may change and is still run. Name its\n" +
			"checksum in the file (sha256) to have it covered too.",
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			path := cmp.Or(append(args, g.config, "config.hcl")...)
			switch {
			case list:
				return g.listTrusted()
			case revoke:
				return g.revokeTrust(path)
			}
			return g.trustFile(cmd.Context(), path)
		},
	}
	cmd.Flags().BoolVar(&revoke, "revoke", false, "trust it no longer")
	cmd.Flags().BoolVar(&list, "list", false, "list what is trusted")
	return cmd
}

func (g *globals) revokeTrust(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	was := false
	err = changeTrusted(func(known map[string]string) error {
		was = known[path] != ""
		delete(known, path)
		return nil
	})
	switch {
	case err != nil:
		return err
	case was:
		fmt.Fprintf(g.out, "%s is not trusted\n", visible(shortened(path)))
	default:
		fmt.Fprintf(g.out, "%s was not trusted; `toolhost trust --list` lists what is\n", visible(shortened(path)))
	}
	return nil
}

func (g *globals) listTrusted() error {
	known, err := readTrusted()
	if err != nil {
		return err
	}
	if len(known) == 0 {
		fmt.Fprintln(g.err, "nothing is trusted")
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

// fingerprint is a file's checksum. It never waits, as for the other end of a pipe.
func fingerprint(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(err, fmt.Errorf("%s is no regular file", path))
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
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
		return unchangeable(err)
	}
	lock, ctx := flock.New(path+".lock"), context.Background()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil && ctx.Err() == nil {
		return unchangeable(err)
	} else if err != nil {
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
	return unchangeable(renameio.WriteFile(path, []byte(text.String()), 0o600))
}

// unchangeable says what could not be done, and how to do without.
func unchangeable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the list of trusted files cannot be changed: %w; --config FILE uses a file without being listed there", err)
}
