//go:build unix

package main

import (
	"io"
	"os/exec"
	"testing"

	"github.com/toolhost/toolhost/sdk/sdktest"
)

const flood = 100_000_000 // bytes

// BenchmarkFlood runs a command with much output; the yardstick beside it only counts it. Memory is per call: it must
// not depend on the amount of output.
func BenchmarkFlood(b *testing.B) {
	b.Setenv("TMPDIR", b.TempDir())
	p := sdktest.Start(b, newPlugin())
	b.Run("exec", func(b *testing.B) {
		b.SetBytes(flood)
		b.ReportAllocs()
		for b.Loop() {
			if r := p.RunIn(b, b.TempDir(), "exec", `{"command":"yes | head -c 100000000"}`); r.Error != nil {
				b.Fatalf("%+v", r.Error)
			}
		}
	})
	b.Run("yardstick", func(b *testing.B) {
		b.SetBytes(flood)
		b.ReportAllocs()
		for b.Loop() {
			cmd := exec.Command("bash", "-c", "yes | head -c 100000000")
			cmd.Stdout = struct{ io.Writer }{io.Discard}
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkExec(b *testing.B) {
	p := sdktest.Start(b, newPlugin())
	for name, arguments := range map[string]string{"pipes": `{"command":"true"}`,
		"terminal": `{"command":"true","pty":true}`} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if r := p.RunIn(b, "/", "exec", arguments); r.Error != nil {
					b.Fatalf("%+v", r.Error)
				}
			}
		})
	}
}
