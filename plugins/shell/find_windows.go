package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// lookPath finds a program in the plugin's own PATH, and bash and sh among those of Git for Windows too, which puts
// them there only when asked. A bash of the system's folder is WSL's: it runs commands in another system, where nothing
// of them ends with the call.
func lookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if shells[name] == nil || err == nil && !ofSystem(path) {
		return path, err
	}
	for _, root := range gitFolders() {
		if path := filepath.Join(root, "bin", name+".exe"); exists(path) {
			return path, nil
		}
	}
	why := "is not in PATH"
	if err == nil {
		why = "in PATH, " + path + ", is that of WSL, which runs commands in another system"
	}
	return "", fmt.Errorf("%s %s, and there is no Git for Windows, which has one. Fix: install that", name, why)
}

// ofSystem reports whether a program is in the folder of Windows, or stands for one of its store.
func ofSystem(path string) bool {
	path = strings.ToLower(filepath.Clean(path))
	root := strings.ToLower(filepath.Clean(cmp.Or(os.Getenv("SYSTEMROOT"), `C:\Windows`))) + `\`
	return strings.HasPrefix(path, root) || strings.Contains(path, `\microsoft\windowsapps\`)
}

// gitFolders are where Git for Windows may be: around the git of PATH, then where its installer puts it.
func gitFolders() (out []string) {
	if git, err := exec.LookPath("git"); err == nil && !ofSystem(git) {
		out = append(out, filepath.Dir(filepath.Dir(git))) // of Git\cmd\git.exe
	}
	for _, place := range [][2]string{{"PROGRAMFILES", "Git"}, {"PROGRAMW6432", "Git"}, {"LOCALAPPDATA", `Programs\Git`}} {
		if root := os.Getenv(place[0]); filepath.IsAbs(root) {
			out = append(out, filepath.Join(root, place[1]))
		}
	}
	return out
}

func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
