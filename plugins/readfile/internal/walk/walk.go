package walk

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/plugins/readfile/internal/ignore"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

const (
	maxNames  = 200_000 // entries of one directory that are examined
	maxDepth  = 100     // directories in one another
	batchSize = 16      // files that are visited in one go
)

// A Batch is some files of a folder: whatever is no directory, symlinks and pipes too.
type Batch struct {
	*Folder
	Files []fs.DirEntry
}

// A Walk says what to do with the files below a folder.
type Walk[T any] struct {
	// Visit looks at files, in several goroutines at once. It should end with ctx.
	Visit func(ctx context.Context, b Batch) T
	// Each takes what Visit gave, in the order of paths, one after the other. False ends the walk.
	Each func(T) bool
	// Descend, when set, reports whether to go into a directory by its path below the top.
	Descend func(below string) bool
	// Full, when set, says that so much waits for Each that no more should be visited ahead of it.
	Full func() bool
}

// Files walks through all files below top, and closes it. The order of paths is that of their parts: a directory comes
// with all that is in it. A .git directory is not gone into. The error is that of ctx, or of top itself.
func (w Walk[T]) Files(ctx context.Context, top *Folder) (LeftOut, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &run[T]{Walk: w, ctx: ctx, open: map[*parent]bool{}}
	r.more.L = &r.mu
	first := r.keep(top)
	first.users = 1
	var workers sync.WaitGroup
	for range 2 * runtime.NumCPU() {
		workers.Go(func() {
			for n := r.next(); n != nil; n = r.next() {
				r.do(n)
			}
		})
	}
	r.collect(&node[T]{in: first, isTop: true, done: make(chan struct{})})
	r.end()
	cancel()
	workers.Wait()
	for p := range r.open {
		p.Close()
	}
	return r.out, r.err
}

// A run is one walk. Nodes lie on a stack, the first in the order of paths on top, and each goroutine that is free
// takes the next. The goroutine that called Files takes the results in order; what it comes to before anyone else it
// does itself, so that it never waits for work that no one has begun.
type run[T any] struct {
	Walk[T]
	ctx context.Context

	mu    sync.Mutex
	more  sync.Cond // there is more on the stack, less waits for Each, or the end
	stack []*node[T]
	open  map[*parent]bool
	ended bool

	out LeftOut // by the caller's goroutine only
	err error
}

// A node is a directory to look into, or files to visit.
type node[T any] struct {
	in    *parent // the folder that it is in, or is when it is the top
	isTop bool
	name  string        // of a directory
	files []fs.DirEntry // or these
	depth int

	taken    bool // under run.mu
	done     chan struct{}
	children []*node[T] // what was in the directory
	result   T          // of files
	out      LeftOut
	err      error // of the top
}

// A parent is a folder that is open for as long as a node needs it.
type parent struct {
	*Folder
	users int // under run.mu
}

func (r *run[T]) keep(f *Folder) *parent {
	p := &parent{Folder: f}
	r.mu.Lock()
	r.open[p] = true
	r.mu.Unlock()
	return p
}

// leave closes a folder after its last user.
func (r *run[T]) leave(p *parent) {
	r.mu.Lock()
	p.users--
	last := p.users <= 0
	if last {
		delete(r.open, p)
	}
	r.mu.Unlock()
	if last {
		p.Close()
	}
}

// next takes a node from the stack, nil at the end.
func (r *run[T]) next() *node[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.ended && r.ctx.Err() == nil {
		if len(r.stack) == 0 || r.Full != nil && r.Full() {
			r.more.Wait()
			continue
		}
		n := r.stack[len(r.stack)-1]
		r.stack = r.stack[:len(r.stack)-1]
		if !n.taken {
			n.taken = true
			return n
		}
	}
	return nil
}

func (r *run[T]) end() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.more.Broadcast()
}

// take claims a node that lies on the stack, unless it was before.
func (r *run[T]) take(n *node[T]) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := n.taken
	n.taken = true
	return !taken
}

// collect hands over what a node gave, and all below it. False ends the walk.
func (r *run[T]) collect(n *node[T]) bool {
	if r.take(n) {
		r.do(n)
	} else {
		<-n.done
	}
	r.out.Add(n.out)
	if r.err = n.err; r.err == nil {
		r.err = r.ctx.Err()
	}
	if r.err != nil {
		return false
	}
	if n.files != nil {
		on := r.Each(n.result)
		if r.Full != nil {
			r.more.Broadcast()
		}
		return on
	}
	for i, child := range n.children {
		n.children[i] = nil
		if !r.collect(child) {
			return false
		}
	}
	return true
}

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

// enter adds the rules of a folder to those above it, if it has any.
func enter(above *ignore.Rules, in *workspace.Folder, shown string, has func(name string) bool) (rules *ignore.Rules,
	unreadable int) {
	var files ignore.Files
	room := above.Room()
	read := func(data *[]byte, in *workspace.Folder, name string) {
		var err error
		if *data, err = content(in, name, room); err != nil {
			unreadable++
		}
		room -= len(*data)
	}
	if has(".ignore") {
		read(&files.Ignore, in, ".ignore")
	}
	if has(".gitignore") {
		read(&files.GitIgnore, in, ".gitignore")
	}
	if files.Repository = has(".git"); files.Repository {
		inGitInfo(in, func(info *workspace.Folder) { read(&files.Exclude, info, "exclude") })
	}
	if files.Ignore == nil && files.GitIgnore == nil && !files.Repository {
		return above, unreadable
	}
	return above.Enter(shown, files), unreadable
}

// inGitInfo calls do for .git/info, which need not exist.
func inGitInfo(in *workspace.Folder, do func(info *workspace.Folder)) {
	git, err := in.Folder(".git")
	if err != nil {
		return // a file, in work trees and submodules
	}
	defer git.Close()
	info, err := git.Folder("info")
	if err != nil {
		return
	}
	defer info.Close()
	do(info)
}

var errTooLarge = errors.New("too large for an ignore file")

// content reads an ignore file. One that is gone, or is none (a symlink, as git has it, or a directory), is as good as
// empty.
func content(in *workspace.Folder, name string, room int) ([]byte, error) {
	file, _, err := in.Open(name)
	if e, ok := errors.AsType[*sdk.Error](err); ok && e.Name != "PermissionDenied" {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, int64(room)+1))
	if err == nil && len(data) > room {
		err = errTooLarge
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}
