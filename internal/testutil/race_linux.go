//go:build race

package testutil

// The race detector clears 14 MB of its own static memory when a program starts, a page at a time. With huge pages a
// program that does nothing starts in a third of the time. Tests start thousands of their own program.

/*
#include <stdint.h>
#include <sys/mman.h>

extern char __bss_start[], _end[];

// It runs before Go and the race detector do.
__attribute__((constructor)) static void use_huge_pages(void) {
	uintptr_t size = 2 << 20;
	uintptr_t start = ((uintptr_t)__bss_start + size - 1) & -size, end = (uintptr_t)_end & -size;
	if (start < end) {
		madvise((void *)start, end - start, MADV_HUGEPAGE); // without huge pages the program is only slower
	}
}
*/
import "C"
