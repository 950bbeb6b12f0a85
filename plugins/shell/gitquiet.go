package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/shellcmd"
	"github.com/toolhost/toolhost/sdk"
)

// Git commands that only read run without approval, so no program may run that the settings of a repository name: its
// .git/config may have come with it, in an archive or from an earlier command. Git has no switch for all of these
// settings. Settings with fixed names are set by the environment, which overrides any file; for settings with free
// names, such as diff.NAME.textconv, git is asked for those of the repository.

// gitVariables keep git from locks, the network, pagers and questions. Without a protocol nothing is fetched either.
var gitVariables = []string{"GIT_OPTIONAL_LOCKS=0", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_PAGER=cat",
	"GIT_TERMINAL_PROMPT=0"}

// gitSettings override the repository's. /dev/null is not a program, so starting it fails.
var gitSettings = []gitSetting{
	{"core.fsmonitor", "false"}, {"core.hooksPath", "/dev/null"}, {"core.alternateRefsCommand", "false"},
	{"core.sshCommand", "false"},
	{"gpg.program", "/dev/null"}, {"gpg.openpgp.program", "/dev/null"}, {"gpg.x509.program", "/dev/null"},
	{"gpg.ssh.program", "/dev/null"},
	{"log.showSignature", "false"}, {"log.diffMerges", "separate"},
	{"submodule.recurse", "false"}, {"diff.submodule", "short"}, {"diff.ignoreSubmodules", "dirty"},
	{"status.submoduleSummary", "false"},
}

type gitSetting struct{ name, value string }

// plainDiff replaces a repository's own diff program, which cannot be unset.
const plainDiff = `f() { test $# -lt 7 || { echo "diff --git a/$1 b/$1"; diff -u -L "a/$1" -L "b/$1" "$2" "$5"; :; ` +
	`}; }; f`

// gitNeutral returns the value that makes a setting with a free name harmless, by the first and last part of its
// name.
func gitNeutral(name string) (value string, ok bool) {
	first, _, _ := strings.Cut(name, ".")
	switch first + "." + name[strings.LastIndexByte(name, '.')+1:] {
	case "diff.external", "diff.command":
		return plainDiff, true
	case "diff.textconv":
		return "cat", true
	case "filter.clean", "filter.smudge", "filter.process":
		return "", true
	case "filter.required", "diff.cachetextconv", "hook.enabled":
		return "false", true
	case "merge.driver":
		return "false", true
	}
	return "", false
}

const (
	gitTimeout   = 20 * time.Second
	maxGitOutput = 1 << 20
)

// quietGit returns the variables for a command line that runs git for reading: with them git runs nothing that the
// repository names. Lines that do anything else with git get none, see [shellcmd.GitFolders]. It fails when git
// cannot report its settings, or ignores the variables.
func quietGit(ctx context.Context, command string, c shellcmd.Context, env []string) ([]string, error) {
	folders := shellcmd.GitFolders(command, c)
	if len(folders) == 0 {
		return nil, nil
	}
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, nil // nothing will be run
	}
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	settings := slices.Clone(gitSettings)
	fixed := append(slices.Clip(env), gitEnviron(gitSettings)...)
	for _, dir := range folders {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue // nothing runs there
		}
		more, err := (&gitReader{ctx, git, dir, fixed}).neutral()
		if err != nil {
			return nil, &sdk.Error{Name: "GitSettingsUnknown",
				Message: fmt.Sprintf("the settings of git in %s could not be read, "+
					"so a command that only reads could run programs that they name: %v; nothing was run", dir, err),
				Suggestion: "Look at the repository's .git/config. Git 2.31 or later is needed."}
		}
		settings = append(settings, more...)
	}
	return gitEnviron(settings), nil
}

// gitEnviron passes settings to git in the environment.
func gitEnviron(settings []gitSetting) []string {
	env := append(slices.Clone(gitVariables), "GIT_CONFIG_COUNT="+strconv.Itoa(len(settings)))
	for i, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s.name), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s.value))
	}
	return env
}

// A gitReader asks git for its settings in a folder, which runs none of the programs in them.
type gitReader struct {
	ctx context.Context
	git string
	dir string
	env []string
}

// neutral returns the settings that neutralize those of the repository. Settings of the user or the system still
// apply.
func (g *gitReader) neutral() (out []gitSetting, err error) {
	text, err := g.config("--show-scope", "--list")
	if err != nil {
		return nil, err
	}
	local, trusted, submodules, followed := map[string]bool{}, map[string]string{}, map[string]bool{}, false
	fields := strings.Split(text, "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		scope := fields[i]
		name, value, _ := strings.Cut(fields[i+1], "\n")
		switch scope {
		case "command":
			followed = followed || name == "core.fsmonitor" && value == "false"
		case "system", "global":
			trusted[name] = value
		default:
			local[name] = true
		}
		submodules[submoduleOf(name)] = true
	}
	if !followed {
		return nil, errors.New("git does not follow GIT_CONFIG_COUNT")
	}
	for name := range local {
		if hook, ok := strings.CutPrefix(name, "hook."); ok && strings.Contains(hook, ".") {
			name = name[:strings.LastIndexByte(name, '.')] + ".enabled"
		}
		if value, ok := gitNeutral(name); ok {
			if users, set := trusted[name]; set {
				value = users
			}
			out = append(out, gitSetting{name, value})
		}
	}
	names, err := g.submodules()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		submodules[submoduleOf(name)] = true
	}
	delete(submodules, "")
	for name := range submodules {
		out = append(out, gitSetting{"submodule." + name + ".ignore", "dirty"})
	}
	return out, nil
}

// submoduleOf returns the submodule that a setting is about, or "". Git would look for changes in it with the
// settings there.
func submoduleOf(setting string) string {
	name, ok := strings.CutPrefix(setting, "submodule.")
	if at := strings.LastIndexByte(name, '.'); ok && at > 0 {
		return name[:at]
	}
	return ""
}

// submodules returns the names of settings in the file that lists submodules: the one in the folder or above it,
// otherwise that of the index.
func (g *gitReader) submodules() (names []string, err error) {
	for dir := g.dir; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(filepath.Join(dir, ".gitmodules")); err == nil && info.Mode().IsRegular() {
			text, err := g.config("--name-only", "--file="+filepath.Join(dir, ".gitmodules"), "--list")
			if err != nil {
				return nil, err
			}
			names = append(names, strings.Split(text, "\x00")...)
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if len(names) > 0 {
		return names, nil
	}
	text, err := g.config("--name-only", "--blob=:.gitmodules", "--list")
	if err != nil && g.ctx.Err() == nil {
		return nil, nil // usually there is none
	}
	return strings.Split(text, "\x00"), err
}

func (g *gitReader) config(args ...string) (string, error) {
	cmd := exec.CommandContext(g.ctx, g.git, append([]string{"config", "--null"}, args...)...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.WaitDelay = g.dir, g.env, time.Second
	cmd.Stdout, cmd.Stderr = &bounded{&out, maxGitOutput}, &bounded{&errs, 4 << 10}
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git config: %w: %s", err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}

// bounded is a writer that fails when it gets too much.
type bounded struct {
	io.Writer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errors.New("it prints too much")
	}
	return b.Writer.Write(p)
}
