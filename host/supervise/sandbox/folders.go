package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// Folders are the ones that every plugin has: the work folder, and its own for temporary files and for its socket.
type Folders struct{ Work, Temp, Socket string }

// writable are the user's folders that the plugin may write to.
func (s Plan) writable() []string {
	if s.Box.Write == nil {
		return []string{s.Folders.Work}
	}
	return s.Box.Write
}

// seal says whether all file systems are to be read-only for the plugin, and the folders that are not. They are not when it
// may write everywhere, which is told.
func (s Plan) seal() (sealed bool, writable []string) {
	if !s.Means.Protects() {
		return false, nil
	}
	for _, path := range s.ownFolders() {
		if path = resolved(path); path == "/" {
			return false, nil
		}
		writable = append(writable, path)
	}
	return true, writable
}

// ownFolders are all that the plugin may write to, but for shared memory. What is reached through another of them comes with that.
func (s Plan) ownFolders() []string {
	own := slices.DeleteFunc([]string{s.Folders.Temp, s.Folders.Socket}, func(path string) bool { return path == "" })
	return withoutNested(slices.Concat(own, s.writable()), s.writable())
}

// Check says which folder to write to is not there, and which leads elsewhere: leaving it out would only show in the
// middle of a call.
func (s Plan) Check() error {
	var wrong []error
	for _, path := range s.Box.Write {
		if _, err := os.Stat(path); err != nil {
			wrong = append(wrong, fmt.Errorf("its sandbox lets it write to %s, which is not there (%w); make it, or take it out", path, reason(err)))
		}
	}
	if s.confined() {
		for _, path := range slices.Concat(s.Box.Write, s.Box.Read) {
			wrong = append(wrong, nested("its sandbox names", path, s.writable()))
		}
	}
	if err := errors.Join(wrong...); err != nil || !s.confined() || !s.Means.Namespaces {
		return err
	}
	return s.checkMemory()
}

// checkMemory says which folder to write to is not there in a namespace, which has shared memory of its own.
func (s Plan) checkMemory() error {
	for _, path := range s.writable() {
		if path = resolved(path); path != SharedMemory && within(path, SharedMemory) {
			return fmt.Errorf("it would not find %s: in its sandbox it has a %s of its own; work in a folder elsewhere", path, SharedMemory)
		}
	}
	return nil
}

// reason is an error of the file system, or of a search for a program, without the call and the path.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*exec.Error](err); ok {
		return e.Err
	}
	return err
}

// programFolders are the program and the folder it comes from, which may hold what it needs; but not one that holds the
// user's home. Run is the file that is started, such as a wrapper.
func programFolders(p Program, run string) []string {
	out := []string{p.Path, run}
	named, err := p.Named()
	if err != nil {
		return out
	}
	folder := filepath.Dir(named)
	if within(os.Getenv("HOME"), folder) {
		return append(out, named)
	}
	return append(out, folder)
}
