package proctree

import (
	"os"
	"sync"
)

// A Launcher runs ahead of its program: it comes up while the program's Cmd is being prepared, which takes a
// millisecond off a start. It waits for the program without any rights that this process does not have, and ends with
// Close and with this process.
type Launcher struct {
	files      [3]*os.File
	namespaces bool

	mu   sync.Mutex
	tree *tree // nil when it has been taken or closed, or could not be started
}

// StartLauncher starts the launcher of a Cmd whose input and outputs will be these files, and whose sandbox will have
// namespaces or not. What fails is left to Run, which starts another launcher and reports it. Where programs run
// without a launcher it does nothing.
func StartLauncher(stdin, stdout, stderr *os.File, namespaces bool) *Launcher {
	files := [3]*os.File{stdin, stdout, stderr}
	return &Launcher{files: files, namespaces: namespaces, tree: spawnAhead(files, namespaces)}
}

// Close ends a launcher that runs no program; otherwise it does nothing.
func (l *Launcher) Close() {
	if t := l.release(); t != nil {
		t.discard()
	}
}

// take returns the launcher for a program with these files, or nil if it is not made for those.
func (l *Launcher) take(files [3]*os.File, namespaces bool) *tree {
	if l == nil || l.files != files || l.namespaces != namespaces {
		return nil
	}
	return l.release()
}

func (l *Launcher) release() *tree {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.tree
	l.tree = nil
	return t
}
