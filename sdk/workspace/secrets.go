package workspace

import (
	"fmt"
	"path"
	"slices"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/filenames"
)

// AllowedSecrets are the files that tools may read though their names suggest secrets: patterns of paths
// relative to the workspace, with slashes, such as config/test.pem or testdata/**/*.key. It is the type of
// allow_secrets in a plugin's configuration; Check it before use.
type AllowedSecrets []string

// Check returns InvalidConfig for an invalid pattern.
func (a AllowedSecrets) Check() error {
	for _, pattern := range a {
		if pattern == "" || path.IsAbs(pattern) || !doublestar.ValidatePattern(pattern) {
			return &sdk.Error{Name: "InvalidConfig",
				Message: fmt.Sprintf("allow_secrets: %q is no pattern of paths in the workspace", pattern),
				Suggestion: `Write paths relative to the workspace, such as "config/test.pem" or "testdata/**/*.key"; close each ` +
					`[ and {.`}
		}
	}
	return nil
}

// Against returns the path by which a file is a filenames.Secret that is not allowed, or "". Both paths are relative to
// the workspace, with slashes: the one that was given, and the one behind its links. A file that is allowed by the
// latter is so by any name. The path of the workspace itself does not count: a user who works in a folder below .ssh
// has chosen it.
func (a AllowedSecrets) Against(given, resolved string) string {
	for _, name := range []string{given, resolved} {
		if filenames.Secret(name) && !a.has(name) && !a.has(resolved) {
			return name
		}
	}
	return ""
}

// AgainstText is Against for files whose names say only that they may hold secrets (filenames.MaySecret): text is the
// content of the file, or its first MiB.
func (a AllowedSecrets) AgainstText(given, resolved string, text []byte) string {
	for _, name := range []string{given, resolved} {
		if filenames.MaySecret(name) && !a.has(name) && !a.has(resolved) && filenames.HoldsSecret(text) {
			return name
		}
	}
	return ""
}

func (a AllowedSecrets) has(name string) bool {
	return slices.ContainsFunc(a, func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, name) })
}
