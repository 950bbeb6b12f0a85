package main

import (
	"errors"
	"fmt"
)

// An overflow is the file of a stream that is too long for a result. It is made when the first byte would be lost.
type overflow struct {
	shelf *shelf // nil saves nothing
	name  string
	file  *book
	err   error // why there is no file, or no more in it
}

// follow writes what comes, and first, if this is where it is too much, all that was kept until here.
func (o *overflow) follow(k *kept, p []byte) {
	if o.shelf == nil || o.err != nil {
		return
	}
	if o.file == nil {
		if !k.full(len(p)) {
			return
		}
		if o.file, o.err = o.shelf.open(o.name); o.err != nil {
			return
		}
		o.err = errors.Join(o.file.write(k.head), o.file.write(k.tail)) // the ring has not turned yet
	}
	if o.err == nil {
		o.err = o.file.write(p)
	}
}

func (o *overflow) path() string {
	if o.file == nil {
		return ""
	}
	return o.file.path
}

// tell says in a line where the stream is, of which so much was printed.
func (o *overflow) tell(total int64) string {
	switch {
	case o.shelf == nil:
		return fmt.Sprintf("The %d bytes of %s are not saved: the configuration has it so. Filter the output to see more of it.", total, o.name)
	case o.file == nil:
		return fmt.Sprintf("The %d bytes of %s could not be saved: %v. Filter the output to see more of it.", total, o.name, o.err)
	case errors.Is(o.err, errFull):
		return fmt.Sprintf("First %d of %d bytes of %s: %s", o.file.size, total, o.name, o.file.path)
	case o.err != nil:
		return fmt.Sprintf("First %d of %d bytes of %s: %s (%v)", o.file.size, total, o.name, o.file.path, o.err)
	}
	return fmt.Sprintf("All %d bytes of %s: %s", total, o.name, o.file.path)
}

func (o *overflow) close() {
	if o.file != nil {
		o.file.close()
	}
}
