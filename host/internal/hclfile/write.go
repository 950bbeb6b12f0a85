package hclfile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/toolhost/toolhost/internal/fsutil"
)

// A Block is a block to be written. Its errors are kept for Bytes.
type Block struct {
	block *hclwrite.Block
	err   error
}

// NewBlock makes an empty block with a label.
func NewBlock(kind, label string) *Block {
	return &Block{block: hclwrite.NewBlock(kind, []string{label})}
}

// Text sets an attribute; "" leaves it out.
func (b *Block) Text(name, value string) {
	if b.check(name, value); value != "" {
		b.block.Body().SetAttributeValue(name, cty.StringVal(value))
	}
}

// Texts sets a list; an empty one is left out.
func (b *Block) Texts(name string, values []string) {
	if len(values) == 0 {
		return
	}
	list := []cty.Value{}
	for _, v := range values {
		b.check(name, v)
		list = append(list, cty.StringVal(v))
	}
	b.block.Body().SetAttributeValue(name, cty.TupleVal(list))
}

// True sets an attribute to true.
func (b *Block) True(name string) { b.block.Body().SetAttributeValue(name, cty.True) }

// Map sets an object, with its keys in order.
func (b *Block) Map(name string, values map[string]string) {
	var all []hclwrite.ObjectAttrTokens
	for _, k := range slices.Sorted(maps.Keys(values)) {
		b.check(name, k)
		key := hclwrite.TokensForIdentifier(k)
		if k == "for" || !hclsyntax.ValidIdentifier(k) { // the bare word for would begin an expression
			key = hclwrite.TokensForValue(cty.StringVal(k))
		}
		value := hclwrite.TokensForValue(cty.StringVal(values[k]))
		all = append(all, hclwrite.ObjectAttrTokens{Name: key, Value: value})
	}
	b.block.Body().SetAttributeRaw(name, hclwrite.TokensForObject(all))
}

// check refuses text that would change when read back.
func (b *Block) check(name, value string) {
	if problem := Unstable(value); problem != "" {
		b.err = errors.Join(b.err, fmt.Errorf("%s, %.100q, %s", name, value, problem))
	}
}

// Bytes returns the block as HCL.
func (b *Block) Bytes() ([]byte, error) {
	return hclwrite.Format(b.block.BuildTokens(nil).Bytes()), b.err
}

// RemoveBlock removes a block from a file's text, which is otherwise unchanged. It is false when there is none.
func RemoveBlock(path string, src []byte, kind, label string) (out []byte, removed bool, err error) {
	file, diags := hclwrite.ParseConfig(src, path, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, false, diags
	}
	if b := file.Body().FirstMatchingBlock(kind, []string{label}); b != nil {
		removed = file.Body().RemoveBlock(b)
	}
	return file.Bytes(), removed, nil
}

// Lock excludes other writers until unlock, by a lock on a file or folder, which is opened with the flags. It waits
// at most that long.
func Lock(path string, flags int, wait time.Duration) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	lock, err := fsutil.Lock(ctx, path, flags)
	if errors.Is(err, fsutil.ErrLocked) {
		return nil, fmt.Errorf("another program keeps %s locked; try again when it has ended: %w", path, err)
	} else if err != nil {
		return nil, err
	}
	return func() { _ = lock.Close() }, nil
}
