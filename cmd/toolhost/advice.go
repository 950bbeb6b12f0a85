package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/toolname"
)

// adviceFor returns what a person at the command line can do about an error, as lines to print after it; "" if
// nothing.
func adviceFor(err error) string {
	if missing, ok := errors.AsType[*bootstrap.NotFoundError](err); ok {
		text := "\n  No plugin is installed either: `toolhost plugin install PROGRAM` installs one, and\n" +
			"  `toolhost plugin new NAME` writes one. A configuration of this line uses all plugins of a folder:\n    "
		if missing.Named {
			text = "\n  Write one, or name another with --config. This line is enough for one:\n    "
		}
		return text + exampleDirs()
	}
	if e, ok := errors.AsType[*bootstrap.UntrustedError](err); ok && !e.Refused {
		return fmt.Sprintf("\n  Look at the file. `toolhost trust` trusts it until it changes; --config %s uses it this "+
			"once.",
			filepath.Base(e.Path))
	}
	if e, ok := errors.AsType[*bootstrap.UnknownPluginError](err); ok {
		return shippedAdvice(e.Name)
	}
	if _, ok := errors.AsType[*bootstrap.TrustListError](err); ok {
		return "\n  --config FILE uses a file that is not in the list."
	}
	if errors.Is(err, bootstrap.ErrNoWorkdir) {
		return "\n  Go to a folder that exists, or name one with --workdir."
	}
	return ""
}

// temporaryFolderError adds to an error of the folder for temporary files what to do.
func temporaryFolderError(err error) error {
	return fsutil.FolderError(err, os.TempDir(), "set TMPDIR to another folder")
}

// shippedAdvice says how to get a plugin that ships with toolhost and is not in use: a configuration has only the
// plugins that it names. "" for other plugins, and where the program is not beside this one.
func shippedAdvice(plugin string) string {
	dir := bootstrap.ShippedFolder()
	if dir == "" || !slices.Contains(config.ShippedPlugins, plugin) {
		return ""
	}
	if found, _ := filepath.Glob(filepath.Join(dir, toolname.ProgramPrefix+plugin+"*")); len(found) == 0 {
		return ""
	}
	return "\n  " + exampleDirs() + " in the configuration adds the plugins that ship with toolhost."
}

// exampleDirs is a line of configuration to suggest: the plugins beside this program, if there are any.
func exampleDirs() string {
	return fmt.Sprintf("plugin_dirs = [%q]", cmp.Or(bootstrap.ShippedFolder(), "DIR"))
}
