package walk

import (
	"context"
	"io/fs"
	"runtime"
	"sync"
)

const (
	maxNames  = 200_000 // entries of one directory that are looked at
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
	// Visit looks at files, in several goroutines at once. It should obey ctx.
	Visit func(ctx context.Context, b Batch) T
	// Each takes what Visit gave, in the order of paths, one after the other. False ends the walk.
	Each func(T) bool
	// Descend, when set, tells whether to go into a directory by its path below the top.
	Descend func(below string) bool
	// Full, when set, tells that so much waits for Each that no more should be visited ahead of it.
	Full func() bool
}

// Files walks through all files below top, and closes it. The order of paths is that of their parts: a directory comes with all
// that is in it. A .git directory is not gone into. The error is that of ctx, or of top itself.
func (w Walk[T]) Files(ctx context.Context, top *Folder) (LeftOut, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &run[T]{Walk: w, ctx: ctx, open: map[*parent]bool{}}
	r.more.L = &r.mu
	first := r.keep(top)
	first.users = 1
	var workers sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		workers.Go(r.work)
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

// A run is one walk. Nodes lie on a stack, the first in the order of paths on top, and whoever is free takes the next. The
// goroutine that called Files takes the results in order; what it comes to before anyone else it does itself, so that
// it never waits for work that nobody has begun.
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

func (r *run[T]) work() {
	for n := r.next(); n != nil; n = r.next() {
		r.do(n)
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
	r.out.add(n.out)
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
