package walk

import (
	"errors"
	"io/fs"
	"path"
	"slices"

	"github.com/toolhost/toolhost/sdk"
)

// do looks into the directory, or visits the files.
func (r *run[T]) do(n *node[T]) {
	defer close(n.done)
	defer func() {
		r.leave(n.in)
		n.in = nil // what waits to be collected needs no rules
	}()
	if n.files != nil {
		n.result = r.Visit(r.ctx, Batch{n.in.Folder, n.files})
		return
	}
	in := n.in
	if !n.isTop {
		sub, err := n.in.Sub(n.name)
		if err != nil {
			n.out.Unreadable = unreadable(err)
			return
		}
		in = r.keep(sub)
	}
	r.look(n, in)
}

// look makes nodes of what is in a directory.
func (r *run[T]) look(n *node[T], in *parent) {
	entries, out, err := in.Look(r.ctx, maxNames)
	switch {
	case err != nil && n.isTop:
		n.err = err
	case err != nil:
		out.Unreadable += unreadable(err)
	}
	for len(entries) > 0 {
		size := filesFirst(entries)
		if size > 0 {
			n.children = append(n.children, &node[T]{in: in, files: entries[:size], done: make(chan struct{})})
			entries = entries[size:]
			continue
		}
		if name := entries[0].Name(); !r.descends(in, name) {
		} else if n.depth == maxDepth {
			out.Unreadable++
		} else {
			n.children = append(n.children, &node[T]{in: in, name: name, depth: n.depth + 1, done: make(chan struct{})})
		}
		entries = entries[1:]
	}
	n.out = out
	r.push(n.children, in)
}

func (r *run[T]) descends(in *parent, name string) bool {
	return name != ".git" && (r.Descend == nil || r.Descend(path.Join(in.Below, name)))
}

// filesFirst is how many files the entries begin with, as far as they fit into a batch.
func filesFirst(entries []fs.DirEntry) int {
	size := 0
	for size < min(len(entries), batchSize) && !entries[size].IsDir() {
		size++
	}
	return size
}

// push puts nodes of a folder on the stack, the first on top.
func (r *run[T]) push(nodes []*node[T], in *parent) {
	r.mu.Lock()
	in.users += len(nodes)
	for _, n := range slices.Backward(nodes) {
		r.stack = append(r.stack, n)
	}
	empty := in.users == 0
	if empty {
		in.users = 1 // itself, until it is left
	}
	r.mu.Unlock()
	r.more.Broadcast()
	if empty {
		r.leave(in)
	}
}

// unreadable is 1 for a directory that could not be read, and 0 for one that is gone.
func unreadable(err error) int {
	if e, ok := errors.AsType[*sdk.Error](err); ok && (e.Name == "FileNotFound" || e.Name == "NotADirectory") {
		return 0
	}
	return 1
}
