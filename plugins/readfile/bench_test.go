package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

// BenchmarkRead reads through the whole wire. The default range of a file is what most calls want; finding out its
// lines and its etag costs one pass over the file. Of a huge file only what is asked for is read.
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
		{"fifty of 10KB", `"max_bytes":1048576,"paths":[` + strings.TrimSuffix(strings.Repeat(`"10kb",`, maxPaths), ",") +
			`]`},
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

// sources is a tree of a few thousand files that every machine with Go has.
func sources(b *testing.B) string {
	b.Helper()
	out, err := exec.CommandContext(b.Context(), "go", "env", "GOROOT").Output()
	check(b, err)
	return filepath.Join(strings.TrimSpace(string(out)), "src")
}

// beside runs a program on the same tree, to compare with. It is left out where it is not installed.
func beside(b *testing.B, dir, program string, arguments ...string) {
	if _, err := exec.LookPath(program); err != nil {
		return
	}
	b.Run(program, func(b *testing.B) {
		for b.Loop() {
			cmd := exec.CommandContext(b.Context(), program, arguments...)
			cmd.Dir = dir
			_ = cmd.Run() // 1 for no match
		}
	})
}

func BenchmarkGrep(b *testing.B) {
	dir := sources(b)
	tests := []struct{ name, pattern, flags string }{
		{"rare word", "subprocessReaper", ""}, {"common word", "return", ""}, {"no such word", "zyxwvutsrq", ""},
		{"ignoring case", "HTTPTRANSPORT", "-i"},
		{"expression with a word", `func \(\w+ \*?Reader\) Read\w*\(`, ""},
		{"alternatives", "deadlock|livelock|starvation", ""}, {"many alternatives", "TODO|FIXME|XXX|HACK|BUG|NOTE|WARN|ERROR", ""}, {"a short word ignoring case", "ask", "-i"},
		{"expression without a word", `[A-Z]{3}_[0-9]{4}x`, ""},
		{"word bounds", `\b\w{24}\b`, ""},
	}
	for _, test := range tests {
		b.Run(test.name, func(b *testing.B) {
			b.Run("grep", func(b *testing.B) {
				c := newConfig()
				for b.Loop() {
					in := grepInput{Pattern: test.pattern, IgnoreCase: test.flags == "-i", Mode: "count"}
					_, err := c.grep(b.Context(), &sdk.Request{Workdir: dir}, in)
					check(b, err)
				}
			})
			arguments := []string{"-c", "-e", test.pattern, "."}
			if test.flags != "" {
				arguments = append([]string{test.flags}, arguments...)
			}
			beside(b, dir, "rg", arguments...)
		})
	}
}

func BenchmarkGlob(b *testing.B) {
	dir := sources(b)
	b.Run("glob", func(b *testing.B) {
		for b.Loop() {
			_, err := newConfig().glob(b.Context(), &sdk.Request{Workdir: dir}, globInput{Pattern: "*_test.go", Sort: "name"})
			check(b, err)
		}
	})
	beside(b, dir, "rg", "--files", "-g", "*_test.go")
	beside(b, dir, "fdfind", "-g", "*_test.go")
}

// The memory for one call does not follow the size of the files.
func BenchmarkGrepOfALargeFile(b *testing.B) {
	dir := b.TempDir()
	f := fixture{dir: dir}
	f.put(b, "large", strings.Repeat(fmt.Sprintln(strings.Repeat("x", 60)), 1<<20)) // 61 MiB
	b.ReportAllocs()
	for b.Loop() {
		_, err := newConfig().grep(b.Context(), &sdk.Request{Workdir: dir}, grepInput{Pattern: "xy", Path: "large"})
		check(b, err)
	}
}
