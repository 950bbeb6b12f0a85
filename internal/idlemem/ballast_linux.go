package idlemem

import (
	"os"
	"syscall"
	"unsafe"
)

// release gives the whole pages of b back, which is all zeros: they are zeros again when they are read. That it fails
// costs memory alone.
func release(b []byte) {
	page := os.Getpagesize()
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (page - 1)
	if n := (len(b) - skip) &^ (page - 1); n > 0 {
		_ = syscall.Madvise(b[skip:skip+n], syscall.MADV_DONTNEED)
	}
}
