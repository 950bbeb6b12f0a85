package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

const answersHead = `# Calls that you said "always" to. They run without asking, unless a rule denies them.
# Remove a block to be asked again.
`

// lockWait is how long a writer waits for another one.
const lockWait = 5 * time.Second

// SaveAnswer adds an answer to the file, in the place of one with the same ID. The file and its folders are made when
// they are not there. A file with mistakes is left as it is, and the error tells them.
func SaveAnswer(path string, a Answer) error {
	block, err := a.block()
	if err != nil {
		return fmt.Errorf("the answer %q cannot be kept: %w", brief(a.ID), err)
	}
	text := hclwrite.Format(block.BuildTokens(nil).Bytes())
	_, err = changeAnswers(path, func(file *hclwrite.File) ([]byte, bool) {
		removeBlock(file.Body(), a.ID)
		return slices.Concat(bytes.TrimRight(file.Bytes(), "\n"), []byte("\n\n"), text), true
	})
	return err
}

// RemoveAnswer takes an answer out of the file. It is false when there is none with that ID.
func RemoveAnswer(path, id string) (bool, error) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return changeAnswers(path, func(file *hclwrite.File) ([]byte, bool) {
		removed := removeBlock(file.Body(), id)
		return file.Bytes(), removed
	})
}

// changeAnswers rewrites the file, one writer at a time, and reads the outcome before it takes the place of the old.
func changeAnswers(path string, change func(*hclwrite.File) ([]byte, bool)) (bool, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return false, fmt.Errorf("answers: %w", err)
	}
	unlock, err := lockFile(path+".lock", lockWait)
	if err != nil {
		return false, err
	}
	defer unlock()
	src, err := readAnswers(path)
	if err != nil {
		return false, err
	}
	if src == nil {
		src = []byte(answersHead)
	}
	if _, err := parseAnswers(path, src); err != nil {
		return false, fmt.Errorf("nothing was written, because the file is not as it should be:\n%w", err)
	}
	file, diags := hclwrite.ParseConfig(src, path, hcl.InitialPos)
	if diags.HasErrors() {
		return false, fmt.Errorf("answers: %s cannot be changed: %w", path, diags)
	}
	changed, worth := change(file)
	if !worth {
		return false, nil
	}
	return true, replaceAnswers(path, changed)
}

func replaceAnswers(path string, src []byte) error {
	src = append(bytes.TrimRight(src, "\n"), '\n')
	if _, err := parseAnswers(path, src); err != nil {
		return fmt.Errorf("nothing was written, because the file would not be as it should:\n%w", err)
	}
	if err := renameio.WriteFile(path, src, 0o600); err != nil {
		return fmt.Errorf("answers: %w", err)
	}
	return nil
}

// removeBlock is false when there is no answer with that ID.
func removeBlock(body *hclwrite.Body, id string) bool {
	if b := body.FirstMatchingBlock("always", []string{id}); b != nil {
		return body.RemoveBlock(b)
	}
	return false
}

// block is the answer as it is written, without what is not set.
func (a Answer) block() (*hclwrite.Block, error) {
	arguments, err := ascii(a.Arguments)
	if err != nil {
		return nil, err
	}
	b := hclwrite.NewBlock("always", []string{a.ID})
	set := func(name, value string) {
		if problem := foreign(value); problem != "" {
			err = errors.Join(err, fmt.Errorf("its %s %s", name, problem))
		} else if value != "" {
			b.Body().SetAttributeValue(name, cty.StringVal(value))
		}
	}
	set("tool", a.Tool)
	set("scope", a.Scope)
	if a.Prefix != nil {
		set("prefix", strings.Join(a.Prefix, " ")) // which makes sure of the letters, and is replaced
		b.Body().SetAttributeValue("prefix", tupleOf(a.Prefix, cty.StringVal))
	}
	set("arguments", arguments)
	set("workdir", a.Workdir)
	set("definition", a.Definition)
	set("caller", a.Caller)
	if !a.Created.IsZero() {
		set("created", a.Created.UTC().Format(time.RFC3339))
	}
	return b, err
}

// ascii writes a JSON text without other letters, which the reader of the file might change.
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

// lockFile keeps other writers out until unlock. It waits for them so long at most.
func lockFile(path string, most time.Duration) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	lock := flock.New(path)
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("answers: another program keeps %s locked: %w", path, err)
	} else if err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	return func() { _ = lock.Close() }, nil
}
