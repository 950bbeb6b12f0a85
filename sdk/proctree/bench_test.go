//go:build unix

package proctree

import (
	"os/exec"
	"testing"
)

func BenchmarkRun(b *testing.B) {
	c := Command("/bin/true")
	for b.Loop() {
		if _, err := c.Run(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOSExec is the yardstick: the same program without containment.
func BenchmarkOSExec(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}
