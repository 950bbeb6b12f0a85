// Command toolhost-plugin-readfile is the plugin that reads files and lists directories. It changes nothing.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/filenames"
	"github.com/toolhost/toolhost/sdk/workspace"
)

func main() { sdk.Serve(newPlugin()) }

func newPlugin() *sdk.Plugin {
	p, c := sdk.New("readfile", "0.1.0"), newConfig()
	sdk.Configure(p, c.set)
	addRead(p, c)
	addList(p, c)
	addGlob(p, c)
	addGrep(p, c)
	return p
}

var readOnly = sdk.Hints{ReadOnly: sdk.Yes, Destructive: sdk.No, Idempotent: sdk.Yes, OpenWorld: sdk.No}

// settings are the plugin's config block.
type settings struct {
	AllowSecrets workspace.AllowedSecrets `json:"allow_secrets,omitempty" jsonschema:"Files that may be read although their names say that they hold secrets: patterns of paths relative to the workspace, such as config/test.pem or testdata/**/*.key."`
}

// A config holds the settings for the tools. It may be read while it is set.
type config struct{ settings atomic.Pointer[settings] }

func newConfig() *config {
	c := &config{}
	c.settings.Store(&settings{})
	return c
}

func (c *config) set(_ context.Context, _ *sdk.Request, s settings) error {
	if err := s.AllowSecrets.Check(); err != nil {
		return err
	}
	c.settings.Store(&s)
	return nil
}

// openFile opens a regular file that holds no secrets.
func (c *config) openFile(p *workspace.Place) (*os.File, error) {
	if err := p.Regular(); err != nil {
		return nil, err
	}
	if name := c.secretBy(p.Path, p.Resolved()); name != "" {
		return nil, secretFile(p.Path, name)
	}
	f, err := p.Open()
	if err != nil {
		return nil, err
	}
	if name := c.holdsSecret(f, p.Path, p.Resolved()); name != "" {
		_ = f.Close()
		return nil, isSecretFile(p.Path, name)
	}
	return f, nil
}

// secretBy returns the path by which a file is a secret, or "".
func (c *config) secretBy(given, resolved string) string {
	if filepath.IsAbs(given) { // in a root, for which nothing is allowed
		return workspace.AllowedSecrets(nil).Against(resolved, resolved)
	}
	return c.settings.Load().AllowSecrets.Against(given, resolved)
}

// holdsSecret reports whether an open file, whose name leaves it open as that of config.json does, holds secrets; by
// which of its paths, or "".
func (c *config) holdsSecret(f *os.File, given, resolved string) string {
	if !filenames.MaySecret(given) && !filenames.MaySecret(resolved) {
		return ""
	}
	head := make([]byte, 1<<20)
	n, _ := f.ReadAt(head, 0) // what cannot be read is not shown either
	if filepath.IsAbs(given) {
		return workspace.AllowedSecrets(nil).AgainstText(resolved, resolved, head[:n])
	}
	return c.settings.Load().AllowSecrets.AgainstText(given, resolved, head[:n])
}

// isSecretFile is secretFile for a file whose text shows what its name leaves open.
func isSecretFile(given, name string) error {
	e := secretFile(given, name)
	e.Message = strconv.Quote(given) + " is not read: its text holds what looks like a password, key or token"
	return e
}

func secretFile(given, name string) *sdk.Error {
	e := &sdk.Error{Name: "SecretFile", Message: strconv.Quote(given) +
		" is not read: by its name it holds passwords, keys or tokens",
		Suggestion: fmt.Sprintf("Do without it, or ask the person for what you need from it. The operator can allow it "+
			"with allow_secrets = [%q] in the plugin's config.", name),
		Details: sdk.Details(map[string]string{"path": name})}
	if given != name {
		e.Message = fmt.Sprintf("%q is not read: it leads to %q, which by its name holds passwords, keys or tokens", given,
			name)
	}
	return e
}
