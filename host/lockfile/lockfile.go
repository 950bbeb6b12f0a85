// Package lockfile reads, checks and writes toolhost.lock.hcl, which is beside a configuration and lists its plugins
// and their tools as the user approved them: programs by checksum, arguments, variables, sandbox level, definitions of
// tools. A plugin that differs is not started, and a tool that differs is disabled.
package lockfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/aymanbagabas/go-udiff"

	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/lazy"
)

// Name is the name of a lock file, which is in the folder of its configuration.
const Name = "toolhost.lock.hcl"

// maxSize bounds a lock file, in bytes.
const maxSize = 1 << 20

// An Error lists the mistakes in a lock file, each with its position.
type Error = hclfile.Error

// A File is the content of a lock file. A nil *File locks nothing.
type File struct {
	Path    string   // absolute
	Plugins []Plugin // by name

	shown string // the path, as the user named it
}

// A Plugin is one plugin as it was locked.
type Plugin struct {
	Name string
	// Version is the version that the plugin reported, Source where its program was named. Both are information for
	// people.
	Version, Source string
	// Program is the first word of the command: a path relative to the lock file's folder, an absolute one, or a word
	// without slashes that is looked up in PATH. Args are the other words, and Env the names of its variables.
	Program   string
	Args, Env []string
	// Level is the lowest sandbox level that it may run at.
	Level sandbox.Level
	// SHA256 holds the checksums of the program by platform, such as "linux_amd64".
	SHA256 map[string]string
	// Interpreters holds the checksums of the programs that run it, if it is a script, by platform and path, such as
	// "linux_amd64:/usr/bin/python3".
	Interpreters map[string]string
	// Tools holds the hash of each tool's definition by the tool's own name; nil does not lock the tools.
	Tools map[string]string
	// Dynamic means that the plugin may change its tools while it runs.
	Dynamic bool

	line int
}

// Platform is this machine's key in Plugin.SHA256.
func Platform() string { return runtime.GOOS + "_" + runtime.GOARCH }

var platformPattern = lazy.Regexp(`^[a-z0-9]+_[a-z0-9]+$`)

// IsPlatform reports whether a word has the form of a platform.
func IsPlatform(word string) bool { return platformPattern().MatchString(word) }

// Load reads a lock file. It returns nil when there is none, and an *Error when the file has mistakes.
func Load(path string) (*File, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		link, _ := os.Lstat(path)
		if link == nil || sandbox.IsPlaceholder(path) {
			return nil, nil
		}
		// A dangling link must not mean that nothing is locked, nor that the configuration beside it is missing.
		return nil, fmt.Errorf("lock file %s is a link to what does not exist; restore that, or remove the link", path)
	case err != nil:
		return nil, fmt.Errorf("lock file: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("lock file %s is not a regular file; remove it, and lock again", path)
	}
	src, err := hclfile.ReadStart(path, maxSize, nil)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(src)) == 0 { // as a full disk or a crash of the machine leaves it
		return nil, fmt.Errorf("lock file %s is empty, so that no plugin would be checked; restore it, or remove it and "+
			"run: toolhost plugin lock", path)
	}
	return parse(path, src)
}

func parse(path string, src []byte) (*File, error) {
	file, err := hclfile.New(path, src, maxSize)
	if err != nil {
		return nil, err
	}
	f := &File{Path: file.Abs, shown: file.Path}
	if top := file.Parse(); top != nil && file.Literal(top) {
		for name, in := range top.Each("plugin", hclfile.PluginNaming) {
			f.Plugins = append(f.Plugins, readPlugin(name, in)) // a second one of the same name is a mistake
		}
		slices.SortFunc(f.Plugins, func(a, b Plugin) int { return strings.Compare(a.Name, b.Name) })
		top.Done()
	}
	if err := file.Err(); err != nil {
		return nil, err
	}
	return f, nil
}

var levels = []string{string(sandbox.Confined), string(sandbox.Isolated), string(sandbox.Supervised)}

func readPlugin(name string, in *hclfile.Body) Plugin {
	p := Plugin{
		Name:         name,
		Version:      in.Text("version", hclfile.CheckArgument),
		Source:       in.Text("source", hclfile.CheckArgument),
		Program:      in.Text("program", hclfile.CheckPath),
		Level:        sandbox.Level(in.OneOf("level", levels)),
		SHA256:       in.TextMap("sha256", checkPlatform, checkSum),
		Interpreters: in.TextMap("interpreters", checkPlatformPath, checkSum),
		Tools:        in.TextMap("tools", checkToolName, checkSum),
		Dynamic:      in.Bool("dynamic"),
		line:         in.Line(),
	}
	p.Args, _ = in.Texts("args", hclfile.CheckArgument)
	p.Env, _ = in.Texts("env", hclfile.CheckVariable)
	in.Require("program", `"./bin/toolhost-plugin-`+hclfile.Brief(name)+`"`)
	in.Require("level", `"confined"; the levels are supervised, confined and isolated`)
	in.Require("sha256", `{ "`+Platform()+`" = "…" }`)
	return p
}

func checkSum(s string) (problem, hint string) {
	if problem, _ := hclfile.CheckSHA256(s); problem != "" || strings.ToLower(s) != s {
		return "must be 64 hex digits, in small letters", "have the file written by: toolhost plugin lock"
	}
	return "", ""
}

func checkPlatform(s string) (problem, hint string) {
	if IsPlatform(s) {
		return "", ""
	}
	return "is not a platform", `platforms look like "` + Platform() + `"`
}

func checkPlatformPath(s string) (problem, hint string) {
	platform, path, ok := strings.Cut(s, ":")
	if ok && IsPlatform(platform) && filepath.IsAbs(path) && filepath.Clean(path) == path {
		return "", ""
	}
	return "is not a platform with a path", `they look like "` + Platform() + `:/usr/bin/python3"`
}

func checkToolName(s string) (problem, hint string) {
	if hclfile.ToolNaming.OK(s) {
		return "", ""
	}
	return "is not the name of a tool", hclfile.ToolNaming.Rule
}

// Plugin finds a plugin; nil when it is not locked.
func (f *File) Plugin(name string) *Plugin {
	if f == nil {
		return nil
	}
	i, there := f.find(name)
	if !there {
		return nil
	}
	return &f.Plugins[i]
}

// Names are those of the plugins; nil when nothing is locked.
func (f *File) Names() (names []string) {
	if f != nil {
		for _, p := range f.Plugins {
			names = append(names, p.Name)
		}
	}
	return names
}

func (f *File) find(name string) (int, bool) {
	return slices.BinarySearchFunc(f.Plugins, name, func(p Plugin, n string) int { return strings.Compare(p.Name, n) })
}

// Put adds a plugin, or replaces the one with the same name.
func (f *File) Put(p Plugin) {
	i, there := f.find(p.Name)
	if there {
		f.Plugins[i] = p
		return
	}
	f.Plugins = slices.Insert(f.Plugins, i, p)
}

// Remove takes a plugin out.
func (f *File) Remove(name string) {
	f.Plugins = slices.DeleteFunc(f.Plugins, func(p Plugin) bool { return p.Name == name })
}

// header begins every lock file.
const header = `# The plugins and tools that the user has approved. A plugin that differs is not started, and a tool
# whose definition differs is disabled. Written by toolhost plugin lock, which shows what has changed; keep it with the
# configuration.
`

// Update changes a lock file, which need not exist: one writer at a time, and atomically. Nothing is written when
// change fails or changes nothing, or when the file has mistakes.
func Update(path string, change func(*File) error) error {
	path = fsutil.Resolved(path)                                                // so that a link stays a link
	unlock, err := hclfile.Lock(filepath.Dir(path), os.O_RDONLY, 5*time.Second) // the folder: no file is left behind
	if err != nil {
		return fmt.Errorf("lock file: %w", err)
	}
	defer unlock()
	f, err := Load(path)
	if err != nil {
		return err
	}
	var before []byte
	if f == nil {
		f = &File{}
	} else if before, err = f.text(); err != nil {
		return err
	}
	if err := change(f); err != nil {
		return err
	}
	text, err := f.text()
	if err != nil || bytes.Equal(before, text) {
		return err
	}
	if _, err := parse(path, text); err != nil {
		return fmt.Errorf("nothing was written, because the new file would have mistakes:\n%w", err)
	}
	if err := fsutil.WriteFile(path, text, 0o644); err != nil {
		return fmt.Errorf("lock file: %w", fsutil.FolderError(err, filepath.Dir(path),
			"move the configuration to another one"))
	}
	return nil
}

// text is the content of the file: equal content gives equal bytes.
func (f *File) text() ([]byte, error) {
	text := []byte(header)
	for _, p := range f.Plugins {
		block, err := p.block().Bytes()
		if err != nil {
			return nil, fmt.Errorf("plugin %q cannot be locked: %w", p.Name, err)
		}
		text = slices.Concat(text, []byte("\n"), block)
	}
	return text, nil
}

func (p *Plugin) block() *hclfile.Block {
	b := hclfile.NewBlock("plugin", p.Name)
	b.Text("version", p.Version)
	b.Text("source", p.Source)
	b.Text("program", p.Program)
	b.Texts("args", p.Args)
	b.Texts("env", p.Env)
	b.Text("level", string(p.Level))
	if p.Dynamic {
		b.True("dynamic")
	}
	b.Map("sha256", p.SHA256)
	if len(p.Interpreters) > 0 {
		b.Map("interpreters", p.Interpreters)
	}
	if p.Tools != nil {
		b.Map("tools", p.Tools)
	}
	return b
}

// New describes a spec as a lock file in the folder dir does, without version, checksums and tools.
func New(spec supervise.Spec, dir string) Plugin {
	p := Plugin{
		Name: spec.Name, Source: sourceOf(spec, dir), Program: relative(spec.Command[0], dir),
		Args: spec.LockedCommand()[1:], Level: cmp.Or(spec.Sandbox.Level, sandbox.Confined),
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Env)) {
		p.Env = append(p.Env, spec.References.Hide(name))
	}
	return p
}

// sourceOf returns a spec's source without the line number, which changes with each line that is added above it.
func sourceOf(spec supervise.Spec, dir string) string {
	source := spec.Source
	if i := strings.LastIndexByte(source, ':'); i >= 0 && strings.Trim(source[i+1:], "0123456789") == "" {
		source = filepath.Base(source[:i])
	}
	if filepath.IsAbs(source) {
		source = relative(filepath.Dir(source), dir)
	}
	return source
}

// relative names a program or folder relative to the folder of the lock file, if it is in there or beside it. A path
// remains a path: with a slash.
func relative(path, dir string) string {
	if !filepath.IsAbs(path) {
		return path
	}
	near := dir
	if above := filepath.Dir(dir); filepath.Dir(above) != above {
		near = above
	}
	if !fsutil.Within(path, near) {
		return path
	}
	rel, err := filepath.Rel(dir, path)
	switch {
	case err != nil:
		return path
	case strings.HasPrefix(rel, "../"):
		return rel
	}
	return "./" + rel
}

// A Change is one part of a definition, such as "description", that differs between two.
type Change struct {
	Part string
	// Lines are the old and the new text of the part. Each begins with "- " if it is only in the old one, "+ " if it is
	// only in the new one, and two spaces if it is context. Characters that cannot be seen are written as escapes.
	Lines []string
}

// Changes compares two definitions as host.Definition writes them, by the names of the parts.
func Changes(old, now json.RawMessage) (out []Change) {
	var a, b map[string]json.RawMessage
	_, _ = json.Unmarshal(old, &a), json.Unmarshal(now, &b) // other text has no parts
	parts := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(parts)
	for _, part := range slices.Compact(parts) {
		if !bytes.Equal(a[part], b[part]) {
			out = append(out, Change{part, diffLines(partText(a[part]), partText(b[part]))})
		}
	}
	return out
}

// partText writes a part of a definition for people: a change must not hide in invisible characters.
func partText(raw json.RawMessage) string {
	if raw == nil {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		var b bytes.Buffer
		_ = json.Indent(&b, raw, "", "  ") // it is JSON
		text = b.String()
	}
	var out strings.Builder
	for _, r := range text {
		if r == '\n' || unicode.IsPrint(r) {
			out.WriteRune(r)
		} else {
			out.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return out.String() + "\n"
}

// contextLines is how many lines are shown around a change.
const contextLines = 2

// diffLines returns the lines that differ and some around them. A gap is three dots.
func diffLines(old, now string) (out []string) {
	unified, err := udiff.ToUnified("", "", old, udiff.Lines(old, now), contextLines)
	if err != nil { // not reached: the edits are of this text
		return nil
	}
	for i, line := range strings.Split(strings.TrimSuffix(unified, "\n"), "\n") {
		switch {
		case i < 2: // the names of the files
		case !strings.HasPrefix(line, "@@"):
			out = append(out, line[:1]+" "+line[1:])
		case i > 2:
			out = append(out, "  ...")
		}
	}
	return out
}
