package bootstrap

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"

	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/fsutil"
)

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
