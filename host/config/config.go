// Package config reads config.hcl into the types of packages host and supervise. It starts nothing.
//
// A file with mistakes gives one *Error with all of them, each with its position, its source line and a hint. Files are
// treated as hostile: size, nesting and the work that expressions can ask for are bounded, and Parse never panics.
//
// Expressions may use local.NAME (from locals blocks), env.NAME (a variable of the host's environment) and env("NAME",
// "default"). A variable that is not set refuses the plugin whose command, dir, env or config needs it, and elsewhere
// the file. A plugin's config block becomes a JSON object: a block inside it is an object, several blocks of one type
// are an array of objects, and a block's labels are listed under "labels".
//
// A key is added where its block is read: plugin.go, sandbox.go, profile.go, rule.go, approval.go, serve.go, or here
// for the top level; and with its meaning in configuration_test.go, which writes docs/configuration.md.
package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/config/internal/when"
	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/host/lockfile"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/sdk"
)

// maxSize bounds a configuration file, in bytes.
const maxSize = 64 << 10

// An Error lists everything that is wrong with a file: its Path, and its Mistakes by position.
type Error = hclfile.Error

// A Mistake is one thing that is wrong: its Line and Column, a Message, and a Hint that may be empty.
type Mistake = hclfile.Mistake

// A Config is the content of a configuration file. Relative folders and programs in it have been made absolute.
type Config struct {
	// Path is the absolute path of the file.
	Path string
	// SHA256 is the hash of the bytes that were read, in hexadecimal.
	SHA256 string
	// Dir is the folder of the file; its relative paths start there.
	Dir string
	// PluginDirs are the folders that are searched for toolhost-plugin-*. They need not exist.
	PluginDirs []string
	// PluginDirsSource is where they are named, such as "config.hcl:5".
	PluginDirsSource string
	// Plugins are the plugin blocks in the order of the file. A Command may be empty: then it is the program of that
	// name in PluginDirs. A program without a slash is left to a lookup in PATH.
	Plugins []supervise.Spec
	// Discovery are the plugin_discovery blocks in the order of the file. Each has a command and a timeout.
	Discovery []supervise.Discovery
	// Host has the options that the file sets: Tools, Plugins, Roots, Mode, ApprovalTimeout, WithoutFloor and the limits
	// for all tools. Roots, WithoutFloor and host.ModeAutoEdit loosen rules: a file that is not trusted must not set them.
	Host host.Options
	// Policies are the rules of the policy blocks: one layer for each name that occurs, in the order system, user,
	// project, profile, session.
	Policies []policy.Layer
	// Profiles are the profile blocks by their names.
	Profiles map[string]Profile
	// Audit is nil when the file has no audit block.
	Audit *Audit
	// Telemetry is nil when the file has no telemetry block.
	Telemetry *Telemetry
	// History says how much of the record stays searchable.
	History History
	// Identities are those of the mcp block, in the order of the file.
	Identities []Identity
	// Notify are notified of calls that wait at a running host.
	Notify []Notify
	// Serve is nil when the file has no serve block.
	Serve *Serve
	// LockMode is the file's setting for plugins that are not locked; "" when it has none.
	LockMode lockfile.Mode
	// Locked is the lock file beside the file; nil when there is none, and after Parse.
	Locked *lockfile.File
	// FreeTools names the plugins whose tools the lock file must not list (pin_tools = false).
	FreeTools map[string]bool
	// ToolSources says where the tool blocks are, such as "config.hcl:12", by full tool name.
	ToolSources map[string]string
	// RootSources says where the root blocks are, by path.
	RootSources map[string]string
	// References has the values by reference of the whole file, as its Texts.
	References supervise.References
	// Warnings are about settings that are valid, but probably not meant, by position.
	Warnings []Mistake

	source    []byte
	shown     string // the path, as the user named it
	report    *hclfile.Report
	positions map[string]position
}

// Audit means that calls are recorded, and where.
type Audit struct {
	Path  string // of the file, absolute; "" for the default
	Where string // the block that has the path, such as "config.hcl:12"
	audit.Options
}

// Load reads the file and the lock file beside it. The error is an *Error when one of them has mistakes, and wraps
// fs.ErrNotExist when there is no configuration. A file that another user than this one and root owns or can write to
// is refused.
func Load(path string) (*Config, error) { return load(path, fsutil.OurFile) }

// LoadNamed is Load for a file that the user has named, and whose owner the user so believes: that may be any user, but
// no other may be able to write to it.
func LoadNamed(path string) (*Config, error) { return load(path, fsutil.NamedFile) }

func load(path string, trust fsutil.Trust) (*Config, error) {
	src, err := readFile(path, "the configuration", trust)
	if err != nil {
		return nil, err
	}
	c, err := Parse(path, src)
	if err != nil {
		return nil, err
	}
	if c.Locked, err = lockfile.Load(filepath.Join(c.Dir, lockfile.Name)); err != nil {
		return nil, err
	}
	return c, nil
}

// readFile reads what decides what runs: nothing of it counts if another user can have written it.
func readFile(path, what string, trust fsutil.Trust) ([]byte, error) {
	switch info, err := os.Stat(path); {
	case os.IsNotExist(err):
		if to, err := os.Readlink(path); err == nil {
			return nil, fmt.Errorf("config file %s is a link to %s, where nothing is; make that file, or remove the link", path,
				to)
		}
		return nil, fmt.Errorf("config file %s: %w", path, fs.ErrNotExist)
	case err != nil:
		return nil, fmt.Errorf("config file: %w", err)
	case info.IsDir():
		return nil, fmt.Errorf("config file %s is a folder; name a file, such as %s", path, filepath.Join(path, "config.hcl"))
	case !info.Mode().IsRegular(): // reading a pipe or a terminal could block without limit
		return nil, fmt.Errorf("config file %s is not a regular file; copy its content to one", path)
	}
	return hclfile.ReadStart(path, maxSize, func(open fs.FileInfo) error {
		if err := fsutil.CheckWriters(path, open, trust); err != nil {
			return fmt.Errorf("nothing runs, because %s in %s cannot be trusted: %w", what, path, err)
		}
		return nil
	})
}

// Parse is Load for a file that has been read, without a lock file: path is its location, and need not exist.
func Parse(path string, src []byte) (*Config, error) {
	r, err := newReader(path, src)
	if err != nil {
		return nil, err
	}
	if top := r.Parse(); top != nil {
		r.file(top)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(src)
	r.config.SHA256, r.config.Warnings, r.config.source = hex.EncodeToString(sum[:]), r.Warnings(), src
	return r.config, nil
}

// A PolicyFile has the rules of a file that contains nothing else.
type PolicyFile struct {
	Path     string         // absolute
	Layers   []policy.Layer // as Config.Policies
	Warnings []Mistake      // about settings that are valid, but probably not meant
}

// LoadPolicy reads a file that may hold policy and locals blocks only. Its errors are those of Load.
func LoadPolicy(path string) (*PolicyFile, error) { return loadPolicy(path, fsutil.OurFile) }

// LoadSystemPolicy is LoadPolicy for the rules of the machine, which root alone owns and can write to.
func LoadSystemPolicy(path string) (*PolicyFile, error) { return loadPolicy(path, fsutil.RootsFile) }

func loadPolicy(path string, trust fsutil.Trust) (*PolicyFile, error) {
	src, err := readFile(path, "the rules", trust)
	if err != nil {
		return nil, err
	}
	r, err := newReader(path, src)
	if err != nil {
		return nil, err
	}
	if top := r.Parse(); top != nil {
		top.Locals()
		r.policies(top)
		top.Done()
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return &PolicyFile{Path: r.Abs, Layers: r.config.Policies, Warnings: r.Warnings()}, nil
}

// Pins returns the hashes of the locked tools, for host.Options; nil when the lock file is not used.
func (c *Config) Pins() map[string]map[string]string {
	pins := c.Locked.Pins(c.LockMode)
	for plugin := range c.FreeTools {
		delete(pins, plugin)
	}
	return pins
}

// A reader turns one file into a Config. Its methods report mistakes and continue.
type reader struct {
	*hclfile.File
	config     *Config
	conditions *when.Compiler
}

func newReader(path string, src []byte) (*reader, error) {
	file, err := hclfile.New(path, src, maxSize)
	if err != nil {
		return nil, err
	}
	file.Homes, file.Foreign, file.Rest = homes, foreignKeys, restHints
	return &reader{File: file, conditions: when.NewCompiler(file.Scope), config: &Config{
		Path: file.Abs, Dir: filepath.Dir(file.Abs), shown: file.Path, report: file.Report, positions: map[string]position{},
		Host:      host.Options{Tools: map[string]host.ToolOptions{}, Plugins: map[string]host.PluginOptions{}},
		FreeTools: map[string]bool{}, ToolSources: map[string]string{}, RootSources: map[string]string{},
	}}, nil
}

// maxResult is the largest max_result_bytes: larger parts are in files already.
const maxResult = sdk.MaxResult

// maxLargeResult is the largest max_large_result_bytes, that of the wire.
const maxLargeResult = 1 << 30

var (
	modes     = []string{string(host.ModeAsk), string(host.ModeAutoEdit), string(host.ModePlan), string(host.ModeNeverAsk)}
	costTiers = []string{string(sdk.Free), string(sdk.Cheap), string(sdk.Expensive)}
)

// file reads the top level.
func (r *reader) file(top *hclfile.Body) {
	c := r.config
	top.Locals()
	c.LockMode = lockfile.Mode(top.OneOf("lock", lockfile.Modes))
	c.Host.WithoutFloor = top.IsFalse("floor")
	c.Host.MaxCostTier = sdk.CostTier(top.OneOf("max_cost_tier", costTiers))
	c.Host.DefaultTimeout = top.Duration("default_timeout", host.MaxTimeout)
	c.Host.MaxResultBytes = int64(top.Int("max_result_bytes", maxResult))
	c.Host.MaxLargeResultBytes = int64(top.Int("max_large_result_bytes", maxLargeResult))
	c.Host.ErrorMessageLimit = top.Int("error_message_limit", 100_000)
	c.Host.MaxConcurrency = top.Int("max_concurrency", 10_000)
	r.pluginDirs(top)
	for name, in := range top.Each("plugin", hclfile.PluginNaming) {
		r.plugin(name, in)
	}
	for name, in := range top.Each("plugin_discovery", hclfile.PluginNaming) {
		r.discovery(name, in)
	}
	r.policies(top)
	r.profiles(top)
	r.approval(top)
	if in := top.Inner("audit"); in != nil {
		c.Audit = &Audit{Path: r.resolvePath(in, "path"), Options: audit.Options{Content: in.Bool("content")}}
		if c.Audit.Path != "" {
			c.Audit.Where = in.Where()
		}
		c.Audit.Secrets, _ = in.Texts("secrets", checkSecret)
		in.Done()
	}
	r.roots(top)
	r.identities(top)
	r.serve(top)
	r.telemetry(top)
	r.history(top)
	top.Done()
	if len(r.Hidden.Texts) > 0 {
		c.References = r.Hidden
		for i := range c.Plugins {
			c.Plugins[i].References.Texts = r.Hidden.Texts
		}
	}
}

// minSecret is how many bytes a text to be redacted must have.
const minSecret = 6

func checkSecret(s string) (problem, hint string) {
	if len(s) < minSecret {
		return fmt.Sprintf("is shorter than %d bytes", minSecret), "so short a text occurs everywhere; remove it"
	}
	return "", ""
}

// pluginDirs reads the folders to find plugins in. Their existence is checked when they are searched.
func (r *reader) pluginDirs(top *hclfile.Body) {
	dirs, ok := top.Texts("plugin_dirs", hclfile.CheckPath)
	if !ok {
		return
	}
	r.config.PluginDirsSource = r.Position(top.ExprOf("plugin_dirs").Range())
	for i, dir := range dirs {
		path := r.absolute(dir)
		if first := slices.Index(r.config.PluginDirs, path); first >= 0 {
			top.Wrong(hclfile.ItemRange(top.ExprOf("plugin_dirs"), i),
				"item %d of plugin_dirs is the same folder as item %d", i+1, first+1).WithHint("remove one of the two")
		}
		r.config.PluginDirs = append(r.config.PluginDirs, path)
	}
}

var rootEffects = []string{string(policy.Allow), string(policy.Ask), string(policy.AlwaysAsk)}

// roots reads the folders outside the work folder that tools may read.
func (r *reader) roots(top *hclfile.Body) {
	paths := map[string]string{}
	for name, in := range top.Each("root", hclfile.PluginNaming) {
		root := host.Root{Path: r.resolvePath(in, "path"), Effect: policy.Effect(in.OneOf("effect", rootEffects))}
		root.Effect = cmp.Or(root.Effect, policy.Ask)
		in.Require("path", `"../shared-docs"`)
		switch other := paths[root.Path]; {
		case root.Path == "":
		case root.Path == "/":
			in.Wrong(in.ExprOf("path").Range(), "path is all of the machine").
				WithHint("name the folders that are meant, a root block for each")
		case other != "":
			in.Wrong(in.ExprOf("path").Range(), "%s is the path of root %q too", root.Path, other).
				WithHint("remove one of them")
		default:
			paths[root.Path], r.config.RootSources[root.Path] = name, in.Where()
		}
		r.config.Host.Roots = append(r.config.Host.Roots, root)
	}
}

// absolute makes a path absolute against the folder of the file.
func (r *reader) absolute(path string) string { return fsutil.Absolute(r.config.Dir, path) }

// resolvePath reads the path of a file or folder, "" when there is none.
func (r *reader) resolvePath(in *hclfile.Body, name string) string {
	path := in.Text(name, hclfile.CheckPath)
	if path == "" {
		return ""
	}
	return r.absolute(path)
}

// program makes a path to a program absolute; a bare name stays, for a lookup in PATH.
func (r *reader) program(name string) string {
	if fsutil.HasFolder(name) {
		return r.absolute(name)
	}
	return name
}

// command reads a program and its arguments. It returns nil when there is none, or when it was wrong and reported;
// empty says what to do about a list without items.
func (r *reader) command(in *hclfile.Body, name, empty string) []string {
	words, ok := in.Texts(name, hclfile.CheckArgument)
	if !ok {
		return nil
	}
	if len(words) == 0 {
		in.Wrong(in.ExprOf(name).Range(), "%s is empty", name).Hint = empty
		return nil
	}
	if problem, hint := hclfile.CheckPath(words[0]); problem != "" {
		if words[0] == "" {
			hint = "the first item is the program to run"
		}
		in.Wrong(hclfile.ItemRange(in.ExprOf(name), 0), "the program of %s %s", name, problem).Hint = hint
		return nil
	}
	words[0] = r.program(words[0])
	return words
}
