//go:build !unix

package workspace

import (
	"io/fs"
	"os"
)

func keepAlive(*os.File) bool { return true }

func (p *Place) lock() (unlock func()) { return func() {} }

func (r *Root) removeLeft(string) {}

// keepOwner does nothing: the owner of a new file follows from its folder here.
func keepOwner(*os.File, fs.FileInfo) {}

func links(fs.FileInfo) int { return 1 }
