// Package answers stores the approvals that also cover later calls, in a file that people can read and change: an
// "always" block for each.
package answers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/lazy"
)

// An Error lists the mistakes in a file of approvals, each with its position.
type Error = hclfile.Error

// maxSize bounds the file, in bytes.
const maxSize = 1 << 20

// Load reads the approvals in a file, in order, all of them with Saved set. A missing file has none; one that
// another user owns or can write to is refused. The error is an *Error when the file has mistakes.
func Load(path string) ([]host.Remembered, error) {
	src, err := read(path)
	if err != nil || src == nil {
		return nil, err
	}
	return parse(path, src)
}

func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("answers: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("answers: %s is not a regular file; remove it", path)
	}
	return hclfile.ReadStart(path, maxSize, func(open fs.FileInfo) error {
		if err := fsutil.CheckWriters(path, open, fsutil.OurOwnFile); err != nil {
			return fmt.Errorf("answers: what %s allows may not be what you have allowed, so look through it first: %w", path,
				err)
		}
		return nil
	})
}

var naming = hclfile.Naming{
	OK:   func(id string) bool { return idPattern().MatchString(id) },
	Rule: `an ID has at most 64 letters, digits, "_" and "-"`,
}

var idPattern = lazy.Regexp(`^[A-Za-z0-9_-]{1,64}$`)

func parse(path string, src []byte) ([]host.Remembered, error) {
	file, err := hclfile.New(path, src, maxSize)
	if err != nil {
		return nil, err
	}
	var out []host.Remembered
	if top := file.Parse(); top != nil {
		for id, in := range top.Each("always", naming) {
			out = append(out, readAnswer(id, in))
		}
		top.Done()
	}
	if err := file.Err(); err != nil {
		return nil, err
	}
	return out, nil
}

var scopes = []string{string(host.ScopeArguments), string(host.ScopePrefix), string(host.ScopeTool)}

func readAnswer(id string, in *hclfile.Body) host.Remembered {
	a := host.Remembered{
		ID:         id,
		Tool:       in.Text("tool", checkFullName),
		Scope:      host.Scope(in.OneOf("scope", scopes)),
		Workdir:    in.Text("workdir", hclfile.CheckPath),
		Definition: strings.ToLower(in.Text("definition", hclfile.CheckSHA256)),
		Caller:     in.Text("caller", hclfile.CheckLine),
		Saved:      true,
	}
	if arguments := in.Text("arguments", checkObject); arguments != "" {
		a.Arguments = json.RawMessage(arguments)
	}
	in.Text("created", func(s string) (problem, hint string) {
		var err error
		if a.Created, err = time.Parse(time.RFC3339, s); err != nil {
			return "is not a time", `times look like "2026-11-20T15:04:05Z"`
		}
		return "", ""
	})
	a.Prefix, _ = in.Texts("prefix", hclfile.CheckLine)
	in.Require("tool", `"shell__exec"`)
	in.Require("scope", `"prefix"; the scopes are arguments, prefix and tool`)
	if a.Scope == host.ScopeArguments {
		in.Require("arguments", `"{}"`)
	} else if in.Given("arguments") {
		in.Wrong(in.NameRange("arguments"), "arguments are for the scope arguments").WithHint("remove them")
	}
	switch {
	case a.Scope == host.ScopePrefix:
		in.Require("prefix", `["git", "push"]`)
		if in.Given("prefix") && a.Prefix != nil && len(a.Prefix) == 0 {
			in.Wrong(in.ExprOf("prefix").Range(), "prefix is empty, and would cover all commands").
				WithHint("write the first words")
		}
	case in.Given("prefix"):
		in.Wrong(in.NameRange("prefix"), "a prefix is for the scope prefix").WithHint("remove it")
	}
	return a
}

func checkFullName(s string) (problem, hint string) {
	if plugin, tool, found := strings.Cut(s, "__"); !found || plugin == "" || tool == "" || len(s) > hclfile.MaxToolName {
		return "is not the full name of a tool", "full names are PLUGIN__TOOL"
	}
	return hclfile.CheckLine(s)
}

func checkObject(s string) (problem, hint string) {
	var object map[string]any
	if json.Unmarshal([]byte(s), &object) != nil || object == nil {
		return "is not a JSON object", `write "{}" for no arguments`
	}
	return "", ""
}

const header = `# Calls that you said "always" to. They run without asking, unless a rule denies them.
# Remove a block to be asked again.
`

// Save adds an approval to the file, or replaces the one with the same ID. The file and its folders are made if
// necessary. A file with mistakes is left unchanged, and the error is an *Error. The arguments keep their meaning,
// not their bytes.
func Save(path string, a host.Remembered) error {
	b := hclfile.NewBlock("always", a.ID)
	b.Text("tool", a.Tool)
	b.Text("scope", string(a.Scope))
	b.Texts("prefix", a.Prefix)
	arguments, err := ascii(a.Arguments)
	b.Text("arguments", arguments)
	b.Text("workdir", a.Workdir)
	b.Text("definition", a.Definition)
	b.Text("caller", a.Caller)
	if !a.Created.IsZero() {
		b.Text("created", a.Created.UTC().Format(time.RFC3339))
	}
	block, problem := b.Bytes()
	if err = errors.Join(err, problem); err != nil {
		return fmt.Errorf("the answer %q cannot be saved: %w", hclfile.Brief(a.ID), err)
	}
	_, err = change(path, func(src []byte) ([]byte, bool, error) {
		src, _, err := hclfile.RemoveBlock(path, src, "always", a.ID)
		return slices.Concat(bytes.TrimRight(src, "\n"), []byte("\n\n"), block), true, err
	})
	return err
}

// Remove removes an approval from the file. It is false when there is none with that ID.
func Remove(path, id string) (bool, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return change(path, func(src []byte) ([]byte, bool, error) { return hclfile.RemoveBlock(path, src, "always", id) })
}

// change rewrites the file, one writer at a time, and parses the new content before it replaces the old.
func change(path string, edit func(src []byte) (out []byte, changed bool, err error)) (bool, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return false, fmt.Errorf("answers: %w", err)
	}
	path = fsutil.Written(path)
	unlock, err := hclfile.Lock(path+".lock", os.O_RDWR|os.O_CREATE, 5*time.Second)
	if err != nil {
		return false, fmt.Errorf("answers: %w", err)
	}
	defer unlock()
	src, err := read(path)
	if err != nil {
		return false, err
	}
	if src == nil {
		src = []byte(header)
	}
	if _, err := parse(path, src); err != nil {
		return false, fmt.Errorf("nothing was written, because the file has mistakes:\n%w", err)
	}
	out, changed, err := edit(src)
	if err != nil || !changed {
		return false, err
	}
	out = append(bytes.TrimRight(out, "\n"), '\n')
	if _, err := parse(path, out); err != nil {
		return false, fmt.Errorf("nothing was written, because the new file would have mistakes:\n%w", err)
	}
	if err := fsutil.WriteFile(path, out, 0o600); err != nil {
		return false, fmt.Errorf("answers: %w", err)
	}
	return true, nil
}

// ascii writes JSON in ASCII, since HCL might normalize other letters.
func ascii(raw json.RawMessage) (string, error) {
	if raw == nil {
		return "", nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil || !utf8.Valid(raw) {
		return "", errors.New("its arguments are not JSON")
	}
	var out strings.Builder
	for _, c := range compact.String() {
		switch {
		case c < 0x80:
			out.WriteRune(c)
		case c < 0x10000:
			fmt.Fprintf(&out, `\u%04x`, c)
		default:
			c -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+c>>10, 0xdc00+c&0x3ff)
		}
	}
	return out.String(), nil
}
