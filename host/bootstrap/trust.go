package bootstrap

import (
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

	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/callback"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// A TrustRequest asks a person to trust a configuration, and lists what it would run.
type TrustRequest struct {
	Path, Dir string
	// Runs has a line for each program that the configuration would run, and for the record that it writes.
	Runs []string
	// Loosens has a line for each of its settings that lets more happen, or happen without a question. Show them too.
	Loosens []string
}

// An UntrustedError means that a configuration was found but is not trusted, so nothing in it was run.
type UntrustedError struct {
	Path    string
	Refused bool  // a person was asked and said no
	List    error // why the list of trusted files cannot be read
}

func (e *UntrustedError) Error() string {
	text := filepath.Base(e.Path) + " is not trusted, so nothing of it was run"
	if e.List != nil {
		text += "; what is trusted is not known: " + e.List.Error()
	}
	return text
}

// Unwrap returns why the list cannot be read.
func (e *UntrustedError) Unwrap() error { return e.List }

// Untrusted is the error of a configuration that is not Trusted.
func (c *Configuration) Untrusted() *UntrustedError {
	_, err := readTrusted()
	return &UntrustedError{Path: c.Path, List: err}
}

// Trusted reports whether the configuration may start programs and loosen rules: the user chose it, or trusted it in
// its present form.
func (c *Configuration) Trusted() bool {
	if c.builtin || !c.NeedsTrust() {
		return true
	}
	known, err := readTrusted()
	return err == nil && c.SHA256 != "" && known[c.Path] == c.SHA256 // the file may have changed since it was read
}

// NeedsTrust reports whether the configuration was found in the current folder, which may be another person's work,
// rather than chosen by the user. Without Options.TrustNamed every one counts as found.
func (c *Configuration) NeedsTrust() bool {
	if !c.options.TrustNamed {
		return true
	}
	if c.isNamed() {
		return false
	}
	if own, err := UserFile("config.hcl"); err == nil && own == c.Path {
		return false
	}
	here, err := filepath.Abs("config.hcl")
	return err != nil || here == c.Path
}

// isNamed reports whether the user has named the file.
func (c *Configuration) isNamed() bool { return c.options.TrustNamed && namedConfig(c.options) != "" }

// Admit asks for trust if it is needed, and returns an *UntrustedError if it is not given.
func (c *Configuration) Admit(ctx context.Context) error {
	if c.Trusted() {
		return nil
	}
	if c.options.AskTrust == nil {
		return c.Untrusted()
	}
	yes, err, request := false, errors.New("asking panicked"), c.TrustRequest(ctx)
	callback.Run(c.logger(), "bootstrap.Options.AskTrust", func() { yes, err = c.options.AskTrust(ctx, request) })
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil || !yes:
		return &UntrustedError{Path: c.Path, Refused: true}
	}
	return c.Trust()
}

// TrustRequest lists what the configuration would run, and what it loosens. Nothing is started for it.
func (c *Configuration) TrustRequest(ctx context.Context) *TrustRequest {
	r := &TrustRequest{Path: c.Path, Dir: c.Dir}
	for _, line := range c.wouldRun(ctx) {
		r.Runs = append(r.Runs, c.References.Hide(line))
	}
	for _, line := range c.loosens() {
		r.Loosens = append(r.Loosens, c.References.Hide(line))
	}
	return r
}

// Trust remembers that the bytes that were read are trusted, until the file changes.
func (c *Configuration) Trust() error {
	if strings.ContainsAny(c.Path, "\r\n") {
		return fmt.Errorf("%q cannot be trusted: the list of trusted files has one to a line, and the name has a line break",
			c.Path)
	}
	return changeTrusted(func(known map[string]string) { known[c.Path] = c.SHA256 })
}

// RevokeTrust forgets that a file is trusted, and reports whether it was.
func RevokeTrust(path string) (was bool, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return false, err
	}
	err = changeTrusted(func(known map[string]string) {
		was = known[path] != ""
		delete(known, path)
	})
	return was, err
}

// A TrustListError is why the list of trusted files cannot be changed.
type TrustListError struct{ Err error }

func (e *TrustListError) Error() string {
	return "the list of trusted files cannot be changed: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *TrustListError) Unwrap() error { return e.Err }

// A TrustedFile is a configuration that was trusted in some form.
type TrustedFile struct {
	Path    string
	Changed bool  // since it was trusted
	Err     error // why it cannot be read now
}

// TrustedFiles lists what was trusted, by path.
func TrustedFiles() (out []TrustedFile, err error) {
	known, err := readTrusted()
	if path, unknown := UserFile("trusted"); unknown == nil {
		err = fsutil.FolderError(err, filepath.Dir(path), otherConfig)
	}
	for _, path := range slices.Sorted(maps.Keys(known)) {
		sum, err := fingerprint(path)
		out = append(out, TrustedFile{path, err == nil && sum != known[path], err})
	}
	return out, err
}

// fingerprint is the checksum of a regular file.
func fingerprint(path string) (string, error) {
	f, err := fsutil.OpenRegular(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// readTrusted returns the trusted files with their checksums, from lines such as sha256sum writes.
func readTrusted() (map[string]string, error) {
	path, err := UserFile("trusted")
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	f, err := fsutil.OpenRegular(path)
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
	if err := fsutil.CheckWriters(path, info, fsutil.OurOwnFile); err != nil {
		return nil, fmt.Errorf("the list of trusted files %s cannot be used: %w", path, err)
	}
	text, err := io.ReadAll(f)
	for line := range strings.Lines(string(text)) {
		if sum, file, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "  "); ok {
			known[file] = sum
		}
	}
	return known, err
}

// changeTrusted rewrites the list, one writer at a time, and atomically.
func changeTrusted(change func(known map[string]string)) (err error) {
	var path string
	defer func() {
		if err != nil {
			err = &TrustListError{fsutil.FolderError(err, filepath.Dir(path), otherConfig)}
		}
	}()
	if path, err = UserFile("trusted"); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	lock, err := fsutil.Lock(ctx, path+".lock", os.O_RDWR|os.O_CREATE)
	if errors.Is(err, fsutil.ErrLocked) {
		return fmt.Errorf("another process holds the lock (%s); try again when it has ended", path+".lock")
	} else if err != nil {
		return err
	}
	defer lock.Close()
	known, err := readTrusted()
	if err != nil {
		return err
	}
	change(known)
	var text strings.Builder
	for _, file := range slices.Sorted(maps.Keys(known)) {
		fmt.Fprintf(&text, "%s  %s\n", known[file], file)
	}
	path = fsutil.Written(path) // also so that an error names the folder
	return fsutil.WriteFile(path, []byte(text.String()), 0o600)
}

// wouldRun has a line for each program that would run. Discovery commands come first: the plugins that they name are
// known only after they have run. Plugin folders beside the file follow: whoever supplies it may add programs to them.
func (c *Configuration) wouldRun(ctx context.Context) (lines []string) {
	for _, d := range c.Discovery {
		box := cmp.Or(d.Sandbox, &sandbox.Spec{})
		lines = append(lines, fmt.Sprintf("discovery %s: %s, and every program that it names", d.Name,
			wrapped(box.Wrapper, d.Command)))
	}
	for _, dir := range c.PluginDirs {
		if fsutil.Within(dir, c.Dir) {
			lines = append(lines, fmt.Sprintf("plugin folder %s: every toolhost-plugin-NAME in it, also one that is added later",
				c.withTarget(fsutil.Shortened(dir), dir)))
		}
	}
	found := c.find(ctx, nil)
	for _, s := range found.Specs {
		_, configured := c.Host.Plugins[s.Name] // an installed one gets its variables and its config block from the file
		if configured || !found.installed[s.Name] {
			lines = append(lines, pluginLine(s))
		}
	}
	if len(found.installed) > 0 {
		lines = append(lines, "installed plugins, under its rules: "+
			strings.Join(slices.Sorted(maps.Keys(found.installed)), ", "))
	}
	for _, p := range found.Problems {
		lines = append(lines, p.Error())
	}
	for _, n := range c.Notify {
		what := commandLine(n.Command)
		if n.URL != "" {
			what = "sends calls that wait for approval to " + n.URL
		}
		lines = append(lines, fmt.Sprintf("notify %s: %s", n.Name, what))
	}
	if c.Audit != nil && c.Audit.Path != "" {
		lines = append(lines, "record: writes to "+c.withTarget(fsutil.Shortened(c.Audit.Path), c.Audit.Path))
	}
	return lines
}

// withTarget adds to a path where links lead it, except for those on the way to the configuration's folder.
func (c *Configuration) withTarget(shown, path string) string {
	to := fsutil.Resolved(path)
	if below, err := filepath.Rel(c.Dir, path); err == nil && filepath.IsLocal(below) {
		path = filepath.Join(fsutil.Resolved(c.Dir), below)
	}
	if to == path {
		return shown
	}
	return fmt.Sprintf("%s (links lead it to %s)", shown, to)
}

func pluginLine(s supervise.Spec) string {
	if s.Attach {
		return fmt.Sprintf("plugin %s: joins the process that wrote %s", s.Name, fsutil.Shortened(s.Command[0]))
	}
	line := fmt.Sprintf("plugin %s: %s", s.Name, wrapped(s.Sandbox.Wrapper, s.ShownCommand()))
	if s.InheritEnv != nil && *s.InheritEnv {
		line += ", with all of your environment"
	}
	if len(s.Env) > 0 { // the values may be secrets
		line += ", with " + strings.Join(slices.Sorted(maps.Keys(s.Env)), ", ") + " in its environment"
	}
	if s.Config != nil {
		line += ", configured with " + s.ShownConfig()
	}
	return line
}

// wrapped is the command line that runs, preceded by that of its wrapper.
func wrapped(wrapper, command []string) string {
	if len(wrapper) == 0 {
		return commandLine(command)
	}
	return commandLine(wrapper) + " " + commandLine(command)
}

// commandLine shows where one word ends and the next begins. A program in the current folder must not look like one
// of its name from the PATH.
func commandLine(command []string) string {
	var words []string
	for i, w := range command {
		if i == 0 {
			if w = fsutil.Shortened(w); w != command[0] && !strings.Contains(w, "/") {
				w = "./" + w
			}
		} else if filepath.IsAbs(w) {
			w = fsutil.Shortened(w)
		}
		if w == "" || strings.ContainsAny(w, " \t\r\n'\"\\") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}
