package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/sdk"
)

// findWorkdir gives the folder a command starts in, without symbolic links, so that it is the one that was checked. It
// keeps calls from starting outside by mistake; what a command does after that is for the sandbox to bound.
func findWorkdir(workspace, workdir string) (string, error) {
	if strings.ContainsRune(workdir, 0) {
		return "", invalid("workdir has a NUL character, which no path can hold; give it without")
	}
	root, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return "", &sdk.Error{Name: "WorkdirNotFound", Message: fmt.Sprintf("the workspace %s cannot be used: %v; nothing was run", workspace, err),
			Suggestion: "The user must make it a folder that the plugin can enter, or choose another workspace."}
	}
	path := workdir
	if !filepath.IsAbs(path) {
		path = filepath.Join(workspace, path)
	}
	if !inside(workspace, path) && !inside(root, path) {
		return "", outside(workdir, workspace)
	}
	dir, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", noWorkdir(workdir, err)
	}
	if !inside(root, dir) {
		return "", outside(workdir, workspace)
	}
	return dir, checkDir(workdir, dir)
}

func checkDir(workdir, dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a folder")
	}
	if err != nil {
		return noWorkdir(workdir, err)
	}
	return nil
}

func inside(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}

func outside(workdir, workspace string) error {
	return &sdk.Error{Name: "PathOutsideWorkspace", Message: fmt.Sprintf("workdir %q is outside the workspace %s; nothing was run", workdir, workspace),
		Suggestion: "Give a folder relative to the workspace, or leave workdir out."}
}

func noWorkdir(workdir string, err error) error {
	reason := err.Error()
	if errors.Is(err, fs.ErrNotExist) {
		reason = "it does not exist"
	}
	return &sdk.Error{Name: "WorkdirNotFound", Message: fmt.Sprintf("workdir %q cannot be used: %s; nothing was run", workdir, reason),
		Suggestion: "Give an existing folder relative to the workspace, or leave workdir out."}
}
