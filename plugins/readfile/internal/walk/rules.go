package walk

import (
	"errors"
	"io"

	"github.com/toolhost/toolhost/plugins/readfile/internal/ignore"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// enter adds the rules of a folder to those above it, if it has any.
func enter(above *ignore.Rules, in *workspace.Folder, shown string, has func(name string) bool) (rules *ignore.Rules, unreadable int) {
	var files ignore.Files
	room := above.Room()
	read := func(data *[]byte, in *workspace.Folder, name string) {
		var err error
		if *data, err = content(in, name, room); err != nil {
			unreadable++
		}
		room -= len(*data)
	}
	if has(".ignore") {
		read(&files.Ignore, in, ".ignore")
	}
	if has(".gitignore") {
		read(&files.GitIgnore, in, ".gitignore")
	}
	if files.Repository = has(".git"); files.Repository {
		inGitInfo(in, func(info *workspace.Folder) { read(&files.Exclude, info, "exclude") })
	}
	if files.Ignore == nil && files.GitIgnore == nil && !files.Repository {
		return above, unreadable
	}
	return above.Enter(shown, files), unreadable
}

// inGitInfo calls do for .git/info, which need not be there.
func inGitInfo(in *workspace.Folder, do func(info *workspace.Folder)) {
	git, err := in.Folder(".git")
	if err != nil {
		return // a file, in work trees and submodules
	}
	defer git.Close()
	info, err := git.Folder("info")
	if err != nil {
		return
	}
	defer info.Close()
	do(info)
}

var errTooLarge = errors.New("too large for an ignore file")

// content reads an ignore file. One that is gone, or is none (a symlink, as git has it, or a directory), is as good as empty.
func content(in *workspace.Folder, name string, room int) ([]byte, error) {
	file, _, err := in.Open(name)
	if e, ok := errors.AsType[*sdk.Error](err); ok && e.Name != "PermissionDenied" {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, int64(room)+1))
	if err == nil && len(data) > room {
		err = errTooLarge
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}
