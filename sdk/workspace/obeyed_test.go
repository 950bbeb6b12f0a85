package workspace

import "testing"

func TestObeyed(t *testing.T) {
	for name, want := range map[string]bool{
		".git": true, ".git/hooks/pre-commit": true, "sub/.git/config": true, ".GIT/config": true, "a/../.git/config": true,
		".vscode/tasks.json": true, "deep/er/.idea/workspace.xml": true, ".bashrc": true, "home/.zshrc": true, ".config/fish/config.fish": true,
		"toolhost.lock.hcl": true, "config.hcl": true, "bin/toolhost-plugin-shell": true, ".mcp.json": true, ".local/bin/ls": true,
		".config/toolhost/policy.hcl": true, "home/.cache/toolhost/bin/x": true, "Library/Application Support/toolhost/trusted": true,
		".gitignore": false, ".github/workflows/ci.yml": false, "Makefile": false, "vault/config.hcl": false, "git/config": false,
		"x.git/config": false, "bin/ls": false, ".config/nvim/init.lua": false, "main.go": false, "": false, "bashrc": false,
	} {
		if Obeyed(name) != want {
			t.Errorf("Obeyed(%q) is not %t", name, want)
		}
	}
}
