package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

const lockHead = `# What the plugins were when somebody agreed to them. A plugin that is another now is not started, and a tool that says
# something else of itself is disabled. Written by toolhost plugin lock, which shows what has changed; keep it with the
# configuration.
`

// UpdateLock changes a lock file, which need not be there: one writer at a time, and whole or not at all. Nothing is written
// when change fails, or changes nothing, or when the file has mistakes.
func UpdateLock(path string, change func(*Lock) error) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // and a link stays one
	}
	unlock, err := lockFolder(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer unlock()
	l, err := readLock(path)
	if err != nil {
		return err
	}
	var before []byte
	if l == nil {
		l = &Lock{}
	} else if before, err = l.text(); err != nil {
		return err
	}
	if err := change(l); err != nil {
		return err
	}
	text, err := l.text()
	if err != nil || bytes.Equal(before, text) {
		return err
	}
	return replaceLock(path, text)
}

func replaceLock(path string, text []byte) error {
	if _, err := parseLock(path, text); err != nil {
		return fmt.Errorf("nothing was written, because the file would not be as it should:\n%w", err)
	}
	if err := renameio.WriteFile(path, text, 0o644); err != nil {
		return fmt.Errorf("lock file: %w", err)
	}
	return nil
}

// lockFolder keeps other writers out of the folder until unlock: a file to lock would be left in it.
func lockFolder(dir string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	lock := flock.New(dir, flock.SetFlag(os.O_RDONLY))
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("lock file: another program keeps %s locked; try again when it has ended: %w", dir, err)
	} else if err != nil {
		return nil, fmt.Errorf("lock file: %w", err)
	}
	return func() { _ = lock.Close() }, nil
}

// text is the lock as it is written: the same for the same lock.
func (l *Lock) text() ([]byte, error) {
	file := hclwrite.NewEmptyFile()
	for _, p := range l.Plugins {
		b := file.Body().AppendNewBlock("plugin", []string{p.Name}).Body()
		if err := p.write(b); err != nil {
			return nil, fmt.Errorf("plugin %q cannot be locked: %w", p.Name, err)
		}
		file.Body().AppendNewline()
	}
	text := slices.Concat([]byte(lockHead), []byte("\n"), hclwrite.Format(file.Bytes()))
	return append(bytes.TrimRight(text, "\n"), '\n'), nil
}

func (p LockedPlugin) write(b *hclwrite.Body) error {
	for _, s := range slices.Concat([]string{p.Program, p.Version, p.Source}, p.Args, p.Env, slices.Sorted(maps.Keys(p.Interpreters))) {
		if problem := foreign(s); problem != "" {
			return fmt.Errorf("%.100q %s", s, problem)
		}
	}
	text := func(name, value string) {
		if value != "" {
			b.SetAttributeValue(name, cty.StringVal(value))
		}
	}
	text("version", p.Version)
	text("source", p.Source)
	text("program", p.Program)
	if len(p.Args) > 0 {
		b.SetAttributeValue("args", tupleOf(p.Args, cty.StringVal))
	}
	if len(p.Env) > 0 {
		b.SetAttributeValue("env", tupleOf(p.Env, cty.StringVal))
	}
	text("level", string(p.Level))
	if p.Dynamic {
		b.SetAttributeValue("dynamic", cty.True)
	}
	b.SetAttributeRaw("sha256", objectOf(p.SHA256))
	if len(p.Interpreters) > 0 {
		b.SetAttributeRaw("interpreters", objectOf(p.Interpreters))
	}
	if p.Tools != nil {
		b.SetAttributeRaw("tools", objectOf(p.Tools))
	}
	return nil
}

// objectOf writes an object with its keys in order. One that begins with the bare word for would be an expression.
func objectOf(m map[string]string) hclwrite.Tokens {
	var all []hclwrite.ObjectAttrTokens
	for _, k := range slices.Sorted(maps.Keys(m)) {
		key := hclwrite.TokensForIdentifier(k)
		if k == "for" || !hclsyntax.ValidIdentifier(k) {
			key = hclwrite.TokensForValue(cty.StringVal(k))
		}
		all = append(all, hclwrite.ObjectAttrTokens{Name: key, Value: hclwrite.TokensForValue(cty.StringVal(m[k]))})
	}
	return hclwrite.TokensForObject(all)
}
