package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkRead reads through the whole wire. The default range of a file is what most calls want; finding out its lines and
// its etag costs one pass over the file. Of a huge file only what is asked for is read.
func BenchmarkRead(b *testing.B) {
	f := start(b)
	line := strings.Repeat("x", 59) + "\n"
	sizes := map[string]int64{"10kb": 10 << 10, "10mb": 10 << 20, "64mb": countUpTo, "1gb": 1 << 30}
	for name, size := range sizes {
		f.put(b, name, strings.Repeat(line, int(min(size, countUpTo))/len(line)))
		check(b, os.Truncate(filepath.Join(f.dir, name), size))
	}
	f.put(b, "korean", strings.Repeat(encoded(b, "euc-kr", samples[0].text), 10<<20/200))
	for _, bench := range []struct{ name, arguments string }{
		{"10KB", `"path":"10kb"`},
		{"10MB", `"path":"10mb"`},
		{"10MB far behind", `"path":"10mb","start_line":170000`},
		{"10MB tail", `"path":"10mb","tail":100`},
		{"10MB korean", `"path":"korean"`},
		{"64MB tail", `"path":"64mb","tail":100`},
		{"1GB start", `"path":"1gb"`},
		{"1GB tail", `"path":"1gb","tail":1`},
		{"fifty of 10KB", `"max_bytes":1048576,"paths":[` + strings.TrimSuffix(strings.Repeat(`"10kb",`, maxPaths), ",") + `]`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				f.run(b, "read", `{%s}`, bench.arguments)
			}
		})
	}
	b.Run("10MB by the system alone", func(b *testing.B) {
		for b.Loop() {
			if data, err := os.ReadFile(filepath.Join(f.dir, "10mb")); err != nil || len(data) != 10<<20 {
				b.Fatal(fmt.Sprint(len(data), err))
			}
		}
	})
}
