package bootstrap

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/pluginlog"
	"github.com/toolhost/toolhost/internal/toolname"
)

// UserFile is the path of a file in toolhost's folder of the user's configuration, such as policy.hcl.
func UserFile(name string) (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("the user's configuration folder, where rules may stand, is not known (%w); set HOME or "+
			"XDG_CONFIG_HOME", err)
	}
	return filepath.Join(dir, "toolhost", name), nil
}

// StateFolder is the path of a file or folder in toolhost's folder of the user's state.
func StateFolder(name string) (string, error) {
	state, err := fsutil.UserFolder("XDG_STATE_HOME", ".local", "state")
	if err != nil {
		return "", fmt.Errorf("the folder of toolhost's state is not known: %w", err)
	}
	return filepath.Join(state, name), nil
}

// PluginFolder is the user's own folder of plugins, which `toolhost plugin install` fills.
func PluginFolder() (string, error) {
	data, err := fsutil.UserFolder("XDG_DATA_HOME", ".local", "share")
	if err != nil {
		return "", fmt.Errorf("the user's folder of plugins is not known: %w", err)
	}
	return filepath.Join(data, "plugins"), nil
}

// ProgramFolder is the folder of this program, "" if it is not known.
func ProgramFolder() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return filepath.Dir(path)
}

// ShippedFolder is the absolute path of this program's folder if plugins are there too, otherwise "".
func ShippedFolder() string {
	dir := ProgramFolder()
	if !filepath.IsAbs(dir) || !HasPlugins(dir) {
		return ""
	}
	return dir
}

// HasPlugins reports whether a folder has programs with names of plugins.
func HasPlugins(folder string) bool {
	entries, _ := os.ReadDir(folder)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return strings.HasPrefix(e.Name(), toolname.ProgramPrefix)
	})
}

// AuditPath is the path of the record: the named one, otherwise $TOOLHOST_AUDIT, otherwise audit.jsonl in the user's
// state. Dir is the folder of the configuration that names it: no link in it may lead out, since whoever supplies the
// folder would choose what is written to.
func AuditPath(named, dir string) (string, error) {
	if named != "" {
		return named, sandbox.LinkError("the record is at", named, []string{dir})
	}
	if named := os.Getenv("TOOLHOST_AUDIT"); named != "" {
		return named, nil
	}
	path, err := StateFolder("audit.jsonl")
	if err != nil {
		return "", fmt.Errorf("the path of the record of calls is unknown: %w; set TOOLHOST_AUDIT, or path in the "+
			"audit block", err)
	}
	return path, nil
}

// AuditError adds to an error of the record at a path what to do, if it is one of the file system. Where is the audit
// block, if it names that path.
func AuditError(err error, path, where string) error {
	otherwise := otherState
	if where != "" {
		otherwise = "name another path in the audit block (" + where + ")"
	} else if os.Getenv("TOOLHOST_AUDIT") != "" {
		otherwise = "set TOOLHOST_AUDIT to another path"
	}
	return fsutil.FolderError(err, filepath.Dir(path), otherwise)
}

// How to use other folders than those that cannot be used, see fsutil.FolderError.
const (
	otherState   = "set XDG_STATE_HOME to another folder"
	otherConfig  = "set XDG_CONFIG_HOME to another folder"
	otherPlugins = "set XDG_DATA_HOME to another folder"
)

// LogFolder is the folder with what plugins have printed, a file NAME.log for each.
func LogFolder() (string, error) { return StateFolder("logs") }

// keepLogs returns the store for what plugins print, nil where nothing is kept: without a place for it, and offline,
// where nothing is started.
func keepLogs(o Options) *pluginlog.Store {
	dir, err := LogFolder()
	if err != nil || o.Offline {
		return nil
	}
	return pluginlog.NewStore(dir)
}

const (
	// keptFor is how long the full texts of results that were cut are kept.
	keptFor = 7 * 24 * time.Hour
	// maxSwept bounds the removal by one command; the next continues.
	maxSwept = 1000
	// maxResults is how many bytes the full texts of all hosts of the user may have, as far as one command sees them.
	maxResults = 2 << 30
)

// resultFolder returns the user's own folder for results that were cut, and removes the oldest from it. Without such a
// folder it returns "": then the host makes one in the system's temporary folder.
func resultFolder() string {
	dir, err := cacheFolder("results")
	if err != nil || os.MkdirAll(dir, 0o700) != nil {
		return ""
	}
	room, before := int64(maxResults), time.Now().Add(-keptFor)
	removeFiles(dir, func(f fs.FileInfo) bool {
		room -= f.Size()
		return room < 0 || f.ModTime().Before(before)
	})
	return dir
}

// cacheFolder is where a folder of the user's cache is, or would be.
func cacheFolder(name string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "toolhost", name), nil
}

// removeOld removes files that were last written before the time.
func removeOld(dir string, before time.Time) {
	removeFiles(dir, func(f fs.FileInfo) bool { return f.ModTime().Before(before) })
}

// removeFiles removes the files for which old, which gets the newest first, reports true. What cannot be removed stays.
func removeFiles(dir string, old func(fs.FileInfo) bool) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxSwept)
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, info := range files {
		if old(info) {
			_ = os.Remove(filepath.Join(dir, info.Name()))
		}
	}
}

// Definitions that were locked are kept under their hashes, so that a later change can be shown. Otherwise only the
// hashes are known.

const (
	definitionsKept = 400 * 24 * time.Hour
	maxDefinition   = 1 << 20
)

// keepDefinitions stores them by hash, if possible, and removes old ones.
func keepDefinitions(definitions map[string]json.RawMessage) {
	dir, err := cacheFolder("definitions")
	if err != nil || os.MkdirAll(dir, 0o700) != nil {
		return
	}
	removeOld(dir, time.Now().Add(-definitionsKept))
	for hash, definition := range definitions {
		_ = fsutil.WriteFile(filepath.Join(dir, hash+".json"), definition, 0o600)
	}
}

// keptDefinition returns the definition with the hash, nil when it is not stored, or its file has changed.
func keptDefinition(hash string) json.RawMessage {
	dir, err := cacheFolder("definitions")
	if err != nil || filepath.Base(hash) != hash {
		return nil
	}
	f, err := fsutil.OpenForReading(filepath.Join(dir, hash+".json"))
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

// What a plugin keeps is in a folder of its own for each configuration and each work folder: a project cannot leave
// something for the plugin's work in another one, nor can a plugin of the same name read it. Folders of installed
// plugins are removed with them.

// giveStateFolders gives each plugin its folder, which is made when it starts. Plugins that come with this program keep
// nothing, and hosts of other people's calls would mix what those keep.
func (p *Plugins) giveStateFolders() {
	if p.options.Offline || p.options.Remote {
		return
	}
	workdir, err := filepath.Abs(p.options.Workdir)
	if err != nil {
		return
	}
	workdir = fsutil.Resolved(workdir)
	program := resolvedFolder()
	for i, s := range p.Specs {
		if s.Attach || isOwn(s, program) {
			continue
		}
		folder, from := configuredState, p.Path
		if p.installed[s.Name] {
			folder, from = installedState, ""
		}
		if dir, err := StateFolder(filepath.Join(folder, s.Name)); err == nil {
			sum := sha256.Sum256([]byte(workdir + "\x00" + from))
			p.Specs[i].StateDir = filepath.Join(dir, hex.EncodeToString(sum[:12]))
		}
	}
}

// The folders of all that plugins keep.
const (
	configuredState = "plugins/configured"
	installedState  = "plugins/installed"
)

// removeState removes what an installed plugin has kept in all work folders.
func removeState(plugin string) error {
	dir, err := StateFolder(filepath.Join(installedState, plugin))
	if err != nil {
		return nil //nolint:nilerr // without a home folder it has kept nothing
	}
	return supervise.RemoveState(dir)
}

const (
	mcpKeyName = "mcp-state.key"
	mcpKeySize = 32 // in bytes
)

// MCPStateKey returns the user's key for mcpserver.Options.StateKey: all servers of the user accept each other's
// states. It is made when there is none.
func MCPStateKey() (_ []byte, err error) {
	path, err := StateFolder(mcpKeyName)
	if err != nil {
		return nil, err
	}
	defer func() { err = fsutil.FolderError(err, filepath.Dir(path), otherState) }()
	if key, err := readKey(path); !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	key := make([]byte, mcpKeySize)
	_, _ = rand.Read(key) // it never fails
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	made := fmt.Sprintf("%s.%s", path, rand.Text())
	err = os.WriteFile(made, key, 0o600)
	if err == nil { // a link appears atomically, and never replaces a key that another process has made
		err = os.Link(made, path)
	}
	_ = os.Remove(made)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return readKey(path)
}

func readKey(path string) ([]byte, error) {
	f, err := fsutil.OpenPrivate(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	key, err := io.ReadAll(io.LimitReader(f, mcpKeySize+1))
	if err == nil && len(key) != mcpKeySize {
		err = fmt.Errorf("%s is not a key of %d bytes; remove it, and toolhost creates a new one", path, mcpKeySize)
	}
	return key, err
}
