package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

// This file is the only reader of lock files, and lockwrite.go the only writer.

// maxLock bounds the file, in bytes.
const maxLock = 1 << 20

// readLock reads a lock file. It gives nil when there is none, and an *Error when the file has mistakes.
func readLock(path string) (*Lock, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && (!isLink(path) || supervise.IsPlaceholder(path)): // another link that leads nowhere is no word for no lock
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("lock file: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("lock file %s is not a regular file; remove it, and lock again", path)
	}
	src, err := readStart(path, maxLock)
	if err != nil {
		return nil, err
	}
	return parseLock(path, src)
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

func parseLock(path string, src []byte) (*Lock, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	r := newReader(abs, display(path, abs), src)
	r.most = maxLock
	l := &Lock{Path: abs, shown: r.path}
	if body := r.parse(); body != nil && r.literal(body) {
		f, names := r.open(body, "lock", ""), seen{}
		for _, b := range f.blocks("plugin") {
			l.Plugins = append(l.Plugins, f.locked(b, names)) // of two with one name, which is a mistake, both
		}
		slices.SortFunc(l.Plugins, func(a, b LockedPlugin) int { return strings.Compare(a.Name, b.Name) })
		f.done()
	}
	if err := r.finish(); err != nil {
		return nil, err
	}
	return l, nil
}

// literal is false, and says so, when the file has anything to be looked up or computed: a lock means what it says.
func (r *reader) literal(body *hclsyntax.Body) bool {
	before := len(r.mistakes)
	_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n.(type) {
		case *hclsyntax.ScopeTraversalExpr, *hclsyntax.FunctionCallExpr, *hclsyntax.ForExpr, *hclsyntax.ConditionalExpr, *hclsyntax.BinaryOpExpr:
			r.add(n.Range(), "a lock file has plain values only").hint("write the value, or have the file written by: toolhost plugin lock")
		}
		return nil
	})
	return len(r.mistakes) == before
}

var (
	platformPattern = regexp.MustCompile(`^[a-z0-9]+_[a-z0-9]+$`)
	levels          = []string{string(sandbox.Confined), string(sandbox.Isolated), string(sandbox.Supervised)}
)

// locked reads the block of a plugin.
func (f *fields) locked(b *hclsyntax.Block, names seen) LockedPlugin {
	name, in := f.named(b, pluginNaming, names)
	p := LockedPlugin{
		Name: name, line: b.TypeRange.Start.Line,
		Version: in.text("version", checkAny), Source: in.text("source", checkAny), Program: in.text("program", checkPath),
		Level: sandbox.Level(in.oneOf("level", levels)), Dynamic: in.boolean("dynamic"),
		SHA256: in.sums("sha256", checkPlatform), Interpreters: in.sums("interpreters", checkPlatformPath), Tools: in.sums("tools", checkToolName),
	}
	p.Args, _ = in.texts("args", checkAny)
	p.Env, _ = in.texts("env", checkEnvName)
	in.require("program", `"./bin/toolhost-plugin-`+brief(name)+`"`, b)
	in.require("level", `"confined"; the levels are supervised, confined and isolated`, b)
	in.require("sha256", `{ "`+Platform()+`" = "…" }`, b)
	in.done()
	return p
}

// sums reads an object of checksums, nil when there is none.
func (f *fields) sums(name string, key check) map[string]string {
	sums := f.textMap(name, key, func(s string) (problem, hint string) {
		if problem, _ := checkSHA256(s); problem != "" || strings.ToLower(s) != s {
			return "must be 64 hex digits, in small letters", "have the file written by: toolhost plugin lock"
		}
		return "", ""
	})
	return sums
}

func checkPlatform(s string) (problem, hint string) {
	if platformPattern.MatchString(s) {
		return "", ""
	}
	return "is no platform", `platforms look like "` + Platform() + `"`
}

func checkPlatformPath(s string) (problem, hint string) {
	platform, path, ok := strings.Cut(s, ":")
	if ok && platformPattern.MatchString(platform) && filepath.IsAbs(path) && filepath.Clean(path) == path {
		return "", ""
	}
	return "is no platform with a path", `they look like "` + Platform() + `:/usr/bin/python3"`
}

func checkToolName(s string) (problem, hint string) {
	if toolNaming.ok(s) {
		return "", ""
	}
	return "is no tool's name", toolNaming.rule
}
