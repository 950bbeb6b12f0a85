package filenames

import (
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// AutoExecuted reports whether a file has a name that other programs run or follow unasked: what is in .git (hooks,
// and commands in its configuration), tasks of editors, settings of agents that name commands, start files of shells
// and debuggers, and what toolhost itself uses. A caller that changes one has a program of others run something,
// outside of any sandbox.
func AutoExecuted(name string) bool {
	name = canonical(name)
	base := path.Base(name)
	return executedFiles()[base] || name == "config.hcl" || strings.HasPrefix(base, "toolhost-plugin-") ||
		inOneOf(executedFolders, name) || within(executedPlaces, name)
}

// EntryPoint reports whether a file is an entry point of builds, tests, CI or agents, which run or follow it as soon as
// the everyday command is given, which often is allowed. Source files are not among them, since programs are what
// agents are there to write; a Dockerfile is not, since what it names runs in a container that is started by name.
func EntryPoint(name string) bool {
	name = canonical(name)
	base := path.Base(name)
	return entryFiles()[base] || matchesAny(entryPatterns, base) || within(entryPlaces, name)
}

// within reports whether a path is one of the places, or in one.
func within(places []string, name string) bool {
	name = "/" + name + "/"
	return slices.ContainsFunc(places, func(place string) bool { return strings.Contains(name, place) })
}

var (
	executedFolders lazy.Words = `.git .husky .githooks .vscode .idea .zed .fleet .devcontainer .claude .codex
		.continue .cursor .gemini .windsurf .roo .cline .kiro .opencode .crush .ssh`
	executedFiles = lazy.Set(`.mcp.json .gitconfig toolhost.lock.hcl .pam_environment .profile .bash_profile .bash_login
		.bashrc .bash_aliases .bash_logout .zshenv .zprofile
		.zshrc .zlogin .zlogout .kshrc .mkshrc .cshrc .tcshrc .login .logout .xprofile .xsession .xsessionrc .xinitrc .inputrc
		.exrc .vimrc .nvimrc .lvimrc .nvim.lua
		.gdbinit .lldbinit .tmux.conf .screenrc .rprofile .irbrc .pryrc .devcontainer.json`)
	executedPlaces = []string{"/.config/git/", "/.config/fish/", "/.config/autostart/", "/.config/systemd/",
		"/.config/environment.d/", "/.local/bin/", "/.config/toolhost/", "/.cache/toolhost/", "/.local/state/toolhost/",
		"/library/application support/toolhost/", "/library/caches/toolhost/", "/library/launchagents/",
		"/.local/share/systemd/", "/etc/cron.d/", "/etc/profile.d/"}

	entryFiles = lazy.Set(`.envrc makefile gnumakefile bsdmakefile justfile .justfile taskfile.yml taskfile.yaml
		taskfile.dist.yml taskfile.dist.yaml rakefile package.json
		conftest.py setup.py sitecustomize.py usercustomize.py noxfile.py tasks.py fabfile.py build.rs build.zig build.sbt
		.mise.toml mise.toml
		.gitlab-ci.yml .gitlab-ci.yaml .travis.yml azure-pipelines.yml azure-pipelines.yaml bitbucket-pipelines.yml .drone.yml
		.woodpecker.yml .woodpecker.yaml
		.cirrus.yml appveyor.yml .appveyor.yml jenkinsfile cloudbuild.yaml cloudbuild.yml .pre-commit-config.yaml
		.pre-commit-hooks.yaml lefthook.yml .lefthook.yml
		lefthook.yaml .lefthook.yaml .lintstagedrc .lintstagedrc.json procfile build.gradle build.gradle.kts settings.gradle
		settings.gradle.kts gradlew mvnw
		agents.md agent.md claude.md claude.local.md gemini.md copilot-instructions.md .cursorrules .windsurfrules .clinerules
		.roorules .goosehints
		.aider.conf.yml .rules warp.md .gitattributes .gitmodules`)
	entryPatterns = []string{"*.mk", "*.instructions.md", "*.prompt.md", "*.mdc"}
	entryPlaces   = []string{"/.github/workflows/", "/.github/actions/", "/.circleci/", "/.buildkite/", "/.woodpecker/",
		"/.forgejo/", "/.gitea/", "/.teamcity/", "/.cargo/config.toml/", "/.cargo/config/", "/.mvn/", "/gradle/wrapper/",
		"/.agents/", "/.amazonq/rules/", "/.github/instructions/", "/.github/prompts/"}
)
