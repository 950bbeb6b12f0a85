package idlemem

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"unsafe"
)

// A ballast takes no memory, also in a heap whose free memory was used before.
func TestBallastTakesNoMemory(t *testing.T) {
	const size = 8 << 20
	func() {
		used := make([]byte, 8*size)
		for i := range used {
			used[i] = 1
		}
		runtime.KeepAlive(used)
	}()
	runtime.GC()
	b := Ballast(size)
	defer runtime.KeepAlive(b)
	if n := resident(t, b); n > size/16 {
		t.Errorf("%d of %d bytes are in memory", n, size)
	}
	if b[0]|b[size/2]|b[size-1] != 0 {
		t.Error("it is not zero")
	}
}

// resident is how many bytes of b are in memory.
func resident(t *testing.T, b []byte) (n int) {
	t.Helper()
	page := os.Getpagesize()
	start := uintptr(unsafe.Pointer(unsafe.SliceData(b))) &^ uintptr(page-1)
	pages := make([]byte, len(b)/page+1)
	_, _, errno := syscall.Syscall(syscall.SYS_MINCORE, start, uintptr(len(b)/page*page), uintptr(unsafe.Pointer(&pages[0])))
	if errno != 0 {
		t.Fatal(errno)
	}
	for _, p := range pages {
		n += int(p&1) * page
	}
	return n
}
