// Package config is the only reader of HCL: it turns config.hcl into plain Go values and starts nothing.
//
// A file with mistakes gives one *Error with all of them, each with its place, its source line and a hint. Files are
// taken to be hostile: size, nesting and the work that expressions can ask for are bounded, and Parse never panics.
//
// Expressions may use local.NAME (from locals blocks), env.NAME (a variable of the host's environment, which must be
// set) and env("NAME", "default"). A plugin's config block becomes a JSON object: a block inside it is an object,
// several blocks of one type are an array of objects, and a block's labels are listed under "labels".
//
// Every kind of block has a file of its own; fields.go and value.go read a block's arguments, expr.go evaluates them,
// report.go collects what is wrong.
package config

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/host/supervise"
)

// A Config is what a config file means. Relative folders and programs in it have been made absolute.
type Config struct {
	// Path is the absolute path of the file.
	Path string
	// SHA256 is the hash of the bytes that were read, in hexadecimal.
	SHA256 string
	// Dir is the folder of the file, where its relative paths start.
	Dir string
	// PluginDirs are the folders to look for toolhost-plugin-* in. They need not exist.
	PluginDirs []string
	// Plugins are the plugin blocks in the order of the file. A Command may be empty: then the program of that name in
	// PluginDirs is meant. A program without a slash is left to a lookup in PATH.
	Plugins []supervise.Spec
	// Discovery are the plugin_discovery blocks in the order of the file. Each has a command and a timeout.
	Discovery []supervise.Discovery
	// Tools has an entry for each tool block, under the tool's full name such as "shell__exec".
	Tools map[string]ToolSettings
	// PluginSettings has an entry for each plugin block, under its name.
	PluginSettings map[string]PluginSettings
	// Policies are the rules of the policy blocks: a layer for each name that there is, in the order system, user, project,
	// profile, session.
	Policies []policy.Layer
	// Profiles are the profile blocks by their names.
	Profiles map[string]Profile
	Approval Approval
	// Roots are folders outside of the work folder that may be read.
	Roots []Root
	// Audit is nil when the file has no audit block.
	Audit *Audit
	// LockMode is LockWarn, LockRequire or LockOff; "" is LockWarn when there is a lock file.
	LockMode string
	// Locked is what the lock file beside the file says; nil when there is none, and after Parse.
	Locked *Lock
	// References has the values by reference of the whole file, as its Texts.
	References supervise.References
	// Defaults hold for every tool.
	Defaults Defaults
	// Warnings are what is not wrong, but probably not meant either, by position.
	Warnings []Mistake

	shown  string
	places map[string]place
}

// ToolSettings are what the user says about one tool. Zero values are not set.
type ToolSettings struct {
	Description    string        // in place of the plugin's
	Timeout        time.Duration // at most an hour
	MaxResultBytes int           // at most 64 MiB
	Aliases        []string      // other names that it may be called by
	Limits         Limits
	Source         string // such as "config.hcl:12"
}

// Load reads the file and the lock file beside it. The error is an *Error when the file has mistakes, and wraps fs.ErrNotExist when there is none.
func Load(path string) (*Config, error) {
	src, err := readFile(path)
	if err != nil {
		return nil, err
	}
	c, err := Parse(path, src)
	if err != nil {
		return nil, err
	}
	if c.Locked, err = readLock(filepath.Join(c.Dir, LockName)); err != nil {
		return nil, err
	}
	return c, nil
}

// Parse is Load for a file that has been read, without a lock file: path says where it is, and need not exist.
func Parse(path string, src []byte) (*Config, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	r := newReader(abs, display(path, abs), src)
	r.read()
	if err := r.finish(); err != nil {
		return nil, err
	}
	r.config.Warnings = r.sorted(r.warnings)
	sum := sha256.Sum256(src)
	r.config.SHA256 = hex.EncodeToString(sum[:])
	return r.config, nil
}

// display gives the shorter of the path as it was given and the path from the current folder.
func display(path, abs string) string {
	here, err := filepath.Abs(".")
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, abs); err == nil && len(rel) < len(path) {
		return rel
	}
	return path
}

// absolute makes a path absolute against the folder of the file.
func (c *Config) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(c.Dir, path)
}

// program is absolute for a program that is named by its path; a bare name stays, to be looked up in PATH.
func (c *Config) program(name string) string {
	if strings.ContainsRune(filepath.ToSlash(name), '/') {
		return c.absolute(name)
	}
	return name
}
