package main

import (
	"archive/zip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// zipFolder packs a folder of a script, such as a module for a file proxy, with the folder's own name.
func zipFolder(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: zip file folder")
	}
	out, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	w := zip.NewWriter(out)
	folder := ts.MkAbs(args[1])
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(filepath.Dir(folder), path)
		if err != nil {
			return err
		}
		f, err := w.Create(filepath.ToSlash(name))
		if err == nil {
			_, err = f.Write(text)
		}
		return err
	})
	ts.Check(errors.Join(err, w.Close(), out.Close()))
}
