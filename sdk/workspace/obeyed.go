package workspace

import (
	"path"
	"slices"
	"strings"
)

// Obeyed tells whether a file is one that by its name other programs run or obey without being asked: what is in .git
// (hooks, and commands in its configuration), tasks of editors, settings of agents that name commands, start files of
// shells, and what toolhost itself goes by. Who changes one has somebody's program run something, outside of any sandbox.
// Letters count alike in both cases. Makefiles and scripts are not among them: somebody asks for those.
//
// The path has slashes, and is relative to the workspace. Only its letters count, as for Secret.
func Obeyed(name string) bool {
	name = oneCase(path.Clean(name))
	base := path.Base(name)
	if obeyedFiles[base] || name == "config.hcl" || strings.HasPrefix(base, "toolhost-plugin-") {
		return true
	}
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return obeyedFolders[part] }) ||
		slices.ContainsFunc(obeyedPlaces, func(place string) bool { return strings.Contains("/"+name+"/", place) })
}

var (
	obeyedFolders = setOf(".git", ".husky", ".githooks", ".vscode", ".idea", ".zed", ".fleet", ".devcontainer",
		".claude", ".codex", ".continue", ".cursor", ".gemini", ".ssh")
	obeyedFiles = setOf(".mcp.json", ".gitconfig", "toolhost.lock.hcl", ".pam_environment", ".profile", ".bash_profile", ".bash_login", ".bashrc",
		".bash_aliases", ".bash_logout", ".zshenv", ".zprofile", ".zshrc", ".zlogin", ".zlogout", ".xprofile", ".xsessionrc")
	obeyedPlaces = []string{"/.config/git/", "/.config/fish/", "/.config/autostart/", "/.config/systemd/", "/.config/environment.d/", "/.local/bin/",
		"/.config/toolhost/", "/.cache/toolhost/", "/.local/state/toolhost/", "/library/application support/toolhost/", "/library/caches/toolhost/"}
)
