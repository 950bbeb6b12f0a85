package filenames

import "testing"

func TestAutoExecuted(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		".git": true, ".git/hooks/pre-commit": true, "sub/.git/config": true, ".GIT/config": true, "a/../.git/config": true,
		".git /hooks/x": true, ".bashrc.": true,
		".vscode/tasks.json": true, "deep/er/.idea/workspace.xml": true, ".bashrc": true, "home/.zshrc": true,
		".config/fish/config.fish": true,
		"toolhost.lock.hcl":        true, "config.hcl": true, "bin/toolhost-plugin-shell": true, ".mcp.json": true,
		".local/bin/ls": true, ".claude/settings.json": true,
		".continue/config.yaml": true, ".cursor/rules/x.mdc": true, ".config/toolhost/policy.hcl": true,
		"home/.cache/toolhost/bin/x":                   true,
		"Library/Application Support/toolhost/trusted": true, ".\uff47it/hooks/x": true,
		".gitignore": false, ".github/workflows/ci.yml": false, "Makefile": false, "vault/config.hcl": false,
		"git/config":   false,
		"x.git/config": false, "bin/ls": false, ".config/nvim/init.lua": false, "main.go": false, "": false, "bashrc": false,
	} {
		if AutoExecuted(name) != want {
			t.Errorf("AutoExecuted(%q) is not %t", name, want)
		}
	}
}

func TestEntryPoint(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		".envrc": true, "a/.envrc": true, ".github/workflows/ci.yml": true, ".github/actions/x/action.yml": true,
		".gitlab-ci.yml": true, "AGENTS.md": true,
		"sub/CLAUDE.md": true, "GEMINI.md": true, ".cursorrules": true, "Makefile": true, "sub/makefile": true,
		"rules.mk": true, "justfile": true, "Justfile": true,
		"package.json": true, "Taskfile.yml": true, "conftest.py": true, "tests/conftest.py": true, "setup.py": true,
		"build.rs": true, ".circleci/config.yml": true,
		"Jenkinsfile": true, ".pre-commit-config.yaml": true, ".github/copilot-instructions.md": true, "MAKEFILE ": true,
		"Dockerfile": false, "main.go": false, "README.md": false, ".github/ISSUE_TEMPLATE.md": false,
		"docs/workflows/ci.yml": false, "package-lock.json": false,
		"pyproject.toml": false, "Cargo.toml": false, "go.mod": false, "test_setup.py": false, "": false,
		"docker-compose.yml": false,
	} {
		if EntryPoint(name) != want {
			t.Errorf("EntryPoint(%q) is not %t", name, want)
		}
	}
}
