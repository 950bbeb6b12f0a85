package main

import (
	"fmt"
	"strings"
	"testing"
)

// The most that one call may ask for travels in one result.
func TestLargestResult(t *testing.T) {
	image := "\x89PNG\r\n\x1a\n" + strings.Repeat("\x00", maxImages/2-8)
	f := start(t, "a.png", image, "b.png", image, "text", strings.Repeat("\x01\n", maxBytes))
	paths := []string{`"a.png","b.png","text"`}
	for i := range maxPaths - 3 {
		paths = append(paths, fmt.Sprintf(`"%s%d"`, strings.Repeat("nothing/", 400), i))
	}
	r := f.run(t, "read", `{"paths":[%s],"max_bytes":%d,"end_line":%d}`, strings.Join(paths, ","), maxBytes, maxBytes)
	if out := structured[manyOutput](t, r); len(out.Files) != maxPaths || out.Files[0].Bytes+out.Files[1].Bytes != maxImages || out.Files[2].Bytes != maxBytes {
		t.Errorf("%d files, the first of %d bytes", len(out.Files), out.Files[0].Bytes)
	}
}
