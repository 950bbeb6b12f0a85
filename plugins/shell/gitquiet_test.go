package main

import (
	"context"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/shellcmd"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

// A hostileRepo is a repository in which every setting, hook and attribute that can name a program names one that
// leaves a mark.
type hostileRepo struct {
	dir, marks string
	env        []string
}

// programSettings are settings that name a program, here %s.
const programSettings = `core.fsmonitor diff.external diff.evil.command diff.ext.textconv filter.evil.clean filter.evil.smudge
filter.long.process merge.evil.driver core.pager pager.status pager.log pager.diff pager.branch core.sshCommand core.editor sequence.editor core.askPass
credential.helper core.alternateRefsCommand core.gitProxy alias.st alias.whatchanged interactive.diffFilter trailer.x.command gpg.program gpg.openpgp.program
gpg.ssh.program gpg.x509.program gpg.ssh.defaultKeyCommand remote.origin.uploadpack remote.origin.receivepack hook.mine.command difftool.x.cmd man.x.cmd
uploadpack.packObjectsHook tar.x.command`

// otherSettings make git read more than usual, and so run more.
const otherSettings = `log.showSignature=true format.pretty=format:%h%x20%G? pretty.mine=format:%G? diff.submodule=diff status.submoduleSummary=true
submodule.recurse=true log.diffMerges=remerge branch.sort=v:refname tag.sort=-refname submodule.sub.ignore=none hook.mine.event=post-index-change
hook.mine.enabled=true protocol.allow=always remote.origin.url=./elsewhere remote.origin.promisor=true remote.origin.partialclonefilter=blob:none
status.showUntrackedFiles=all core.untrackedCache=true diff.renames=copies log.follow=false stash.showPatch=true diff.ext.cachetextconv=true stash.showIncludeUntracked=true`

const hookNames = "post-index-change reference-transaction pre-auto-gc post-checkout pre-commit post-commit " +
	"fsmonitor-watchman sendemail-validate"

func newHostileRepo(t testing.TB) *hostileRepo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here")
	}
	base := t.TempDir()
	r := &hostileRepo{dir: filepath.Join(base, "work"), marks: filepath.Join(base, "marks")}
	trap := filepath.Join(base, "trap")
	r.env = append(os.Environ(), "HOME="+base, "XDG_CONFIG_HOME="+base, "GIT_CONFIG_NOSYSTEM=1", "TRAP_MARKS="+r.marks,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "TRAP="+trap,
		"PROGRAMS="+programSettings, "OTHERS="+otherSettings, "HOOKS="+hookNames)
	if err := os.WriteFile(trap, []byte("#!/bin/sh\necho \"$0 $TRAP_NAME $*\" >> \"$TRAP_MARKS\"\ncat 2>/dev/null\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "bash", "-euc", `
git init -q -b main --template= sub; (cd sub; echo s > s.txt; git add .; git commit -qm s)
git init -q -b main --template= work; cd work
printf '*.go diff=evil filter=evil merge=evil\n*.bin diff=ext\n*.long filter=long\n' > .gitattributes
echo a > a.txt; echo 'package a' > a.go; echo b > b.bin; echo l > c.long; mkdir dir; echo d > dir/d.txt; git add .; git commit -qm one
echo 'package b' > a.go; git add .; git commit -qm two
git -c protocol.file.allow=always submodule --quiet add ../sub sub; git commit -qm sub
git checkout -qb side HEAD~1; echo 'package side' > a.go; git commit -qam side; git checkout -q main
echo 'package main' > a.go; git commit -qam three; git merge -q side -s ours -m merged
signed=$(printf 'tree %s\nparent %s\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nsigned\n' \
  "$(git rev-parse 'HEAD^{tree}')" "$(git rev-parse HEAD)" | git hash-object -t commit -w --stdin)
git update-ref refs/heads/main "$signed"; git tag v1
git update-ref refs/tags/v2 "$(printf 'object %s\ntype commit\ntag v2\ntagger a <a@b> 1 +0000\n\nm\n-----BEGIN PGP SIGNATURE-----\n\nx\n-----END PGP SIGNATURE-----\n' "$signed" |
  git hash-object -t tag -w --stdin)"
echo more >> a.txt; git stash -q
mkdir -p .git/hooks .git/modules/sub/hooks
for h in $HOOKS; do cp "$TRAP" ".git/hooks/$h"; cp "$TRAP" ".git/modules/sub/hooks/$h"; done
for s in $OTHERS; do git config "${s%%=*}" "${s#*=}"; done
git config core.repositoryFormatVersion 1; git config extensions.partialClone origin
for s in $PROGRAMS; do git config "$s" "env TRAP_NAME=$s $TRAP"; git config --file .git/modules/sub/config "$s" "env TRAP_NAME=sub:$s $TRAP"; done
for s in gpg.program gpg.openpgp.program gpg.ssh.program gpg.x509.program; do git config "$s" "$TRAP"; done
echo 'package dirty' > a.go; echo c > b.bin; echo m > c.long; echo x >> sub/s.txt; echo '*.txt diff=evil filter=evil' > sub/.gitattributes
rm -f "$TRAP_MARKS"
`)
	c.Dir, c.Env = base, r.env
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return r
}

// run runs a command line as the shell plugin would, with its variables for git, and returns the output and the
// programs that ran.
func (r *hostileRepo) run(t testing.TB, text string, quiet bool) (out, ran string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	now := time.Now()
	for _, name := range []string{"a.go", "a.txt", "c.long"} { // so that git reads them again
		if err := os.Chtimes(filepath.Join(r.dir, name), now, now); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(ctx, "bash", "--noprofile", "--norc", "-c", text)
	c.Dir, c.Env = r.dir, slices.Clip(r.env)
	if quiet {
		more, err := quietGit(ctx, text, shellcmd.Context{Dir: r.dir, Root: r.dir}, c.Env)
		if err != nil {
			t.Fatal(err)
		}
		c.Env = append(c.Env, more...)
	}
	text2, _ := c.CombinedOutput()
	marks, _ := os.ReadFile(r.marks)
	_ = os.Remove(r.marks)
	return string(text2), string(marks)
}

// files are those of the repository, without those that only serve speed.
func (r *hostileRepo) files(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(path) == "index" {
			return err
		}
		text, err := os.ReadFile(path)
		out[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// readingGit are commands of git that only read, and that run programs of a hostile repository without the variables.
var readingGit = []string{"git status", "git status --short", "git diff", "git diff --stat", "git diff HEAD~2",
	"git diff main side", "git diff --name-only", "git log -p -m -4 --format=%h",
	"git log -2", "git show HEAD~2", "git show v2", "git show", "git log -S package --oneline", "git blame a.go",
	"git blame b.bin", "git grep -n package", "git stash show", "git stash show -p",
	"git stash list", "git diff-files -p", "git diff-index -p HEAD~2", "git describe --dirty --always", "git ls-files -m",
	"git ls-files --recurse-submodules", "git check-ignore a.go",
	"git annotate a.go", "git branch -vv", "git tag", "git log --graph --all --stat -3", "git --no-pager diff",
	"timeout 20 git diff", "bash -c 'git diff'", "git status; ls", "git log -g -2", "git diff --color-moved",
	"git hash-object a.go b.bin",
	"git show-branch --all", "git check-attr -a a.go b.bin", "git --help", "git config get core.fsmonitor",
	"python3 -V; git diff"}

func TestGitRunsNothingOfARepository(t *testing.T) {
	r := newHostileRepo(t)
	before, caught := r.files(t), 0
	for _, text := range readingGit {
		if v := (shellcmd.Rules{ReadOnly: true}).Judge(text, shellcmd.Context{Dir: r.dir, Root: r.dir}); v.Effect != "allow" {
			t.Errorf("%s is not judged as reading: %v", text, v.Reasons)
			continue
		}
		out, ran := r.run(t, text, true)
		out = strings.ReplaceAll(out, "fatal: cannot exec '/dev/null': Permission denied\n", "") // the message about the replaced gpg
		if ran != "" || strings.Contains(out, "fatal") {
			t.Errorf("%s printed\n%s\nand ran\n%s", text, out, ran)
		}
		if after := r.files(t); !maps.Equal(before, after) {
			t.Fatalf("%s changed the repository", text)
		}
	}
	for _, text := range readingGit[:6] { // the traps work
		if _, ran := r.run(t, text, false); ran != "" {
			caught++
		}
	}
	if caught != 6 {
		t.Errorf("without the variables only %d of 6 commands ran a program", caught)
	}
}

// A repository in a subfolder has its own settings, with its own names.
func TestGitRunsNothingOfARepositoryBelow(t *testing.T) {
	r := newHostileRepo(t)
	c := exec.CommandContext(t.Context(), "bash", "-euc", `
git init -q --template= below; cd below; echo '*.txt diff=other filter=other' > .gitattributes; echo a > a.txt; git add .; git commit -qm a
for s in core.fsmonitor diff.other.command filter.other.clean filter.other.process; do git config "$s" "$TRAP"; done; echo b > a.txt; rm -f "$TRAP_MARKS"`)
	c.Dir, c.Env = r.dir, r.env
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, text := range []string{"cd below && git status && git diff", "git -C below diff",
		"cd below && git diff; git -C . status", "(cd below && git diff) && git diff"} {
		if v := (shellcmd.Rules{ReadOnly: true}).Judge(text, shellcmd.Context{Dir: r.dir, Root: r.dir}); v.Effect != "allow" {
			t.Errorf("%s is %s: %v", text, v.Effect, v.Reasons)
		}
		if out, ran := r.run(t, text, true); ran != "" || !strings.Contains(out, "+b") {
			t.Errorf("%s printed\n%s\nand ran\n%s", text, out, ran)
		}
	}
	if _, ran := r.run(t, "git -C below diff", false); ran == "" {
		t.Error("the traps do not work")
	}
}

// Git's output about such a repository is correct.
func TestGitReportsTheRepository(t *testing.T) {
	r := newHostileRepo(t)
	for text, want := range map[string]string{
		"git diff a.go":                          "-package main\n+package dirty\n",
		"git diff b.bin":                         "-b\n+c\n",
		"git status --short":                     " M a.go\n M b.bin\n M c.long\n",
		"git show --format=%s --stat HEAD~3":     "sub",
		"git log -1 --format=%s":                 "signed\n",
		"git config --get core.fsmonitor":        "TRAP_NAME=core.fsmonitor",
		"git blame -s a.go | head -1":            "package dirty",
		"git diff main side -- a.go | tail -n 2": "-package main\n+package side\n",
	} {
		if out, ran := r.run(t, text, true); !strings.Contains(out, want) || ran != "" {
			t.Errorf("%s printed %q and ran %q, want %q", text, out, ran, want)
		}
	}
}

// The user's settings apply; commands that do more than read run with git's normal settings.
func TestGitFollowsTheUser(t *testing.T) {
	r := newHostileRepo(t)
	home := filepath.Dir(r.dir)
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[diff]\n\texternal = echo mine for\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if out, ran := r.run(t, "git diff b.bin", true); !strings.HasPrefix(out, "mine for b.bin") || ran != "" {
		t.Errorf("the user's own program did not run: %q, but %q", out, ran)
	}
	for text, hook := range map[string]string{"git commit -qam x": "hooks/pre-commit",
		"git status; make -n; git commit -qam y": "fsmonitor"} {
		if out, ran := r.run(t, text, true); !strings.Contains(ran, hook) {
			t.Errorf("%s printed %q and ran %q, want %s", text, out, ran, hook)
		}
	}
}

// Tools run commands that way.
func TestToolsRunGitQuietly(t *testing.T) {
	r := newHostileRepo(t)
	for _, entry := range r.env {
		if name, value, _ := strings.Cut(entry, "="); name == "HOME" || name == "XDG_CONFIG_HOME" || name == "TRAP_MARKS" {
			t.Setenv(name, value)
		}
	}
	p := sdktest.Start(t, newPlugin())
	for tool, args := range map[string]any{
		"exec":   map[string]any{"command": "git status && git diff | head -n 3"},
		"script": map[string]any{"command": "git status\ngit diff\n"},
	} {
		text := textOf(t, callIn(t, p, tool, r.dir, "s", args))
		if ran, err := os.ReadFile(r.marks); err == nil || !strings.Contains(text, "a.go") {
			t.Errorf("%s ran %s and printed %s", tool, ran, text)
		}
	}
}

func TestGitThatFails(t *testing.T) {
	r := newHostileRepo(t)
	if err := os.WriteFile(filepath.Join(r.dir, ".git", "config"), []byte("[core\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := shellcmd.Context{Dir: r.dir, Root: r.dir}
	if _, err := quietGit(t.Context(), "git status", at, r.env); err == nil ||
		!strings.Contains(err.Error(), "bad config line 1") {
		t.Errorf("the error is %v", err)
	}
	for _, text := range []string{"git commit -m x", "ls", "git config --get user.name", "git $x", "git status; make"} {
		if env, err := quietGit(t.Context(), text, at, r.env); env != nil || err != nil {
			t.Errorf("%s gets %v, %v", text, env, err)
		}
	}
}

var gitWords = strings.Fields("-p -u -s -v -vv -z -n -l -d -D -m -M -c -C -O -O./trap -o -oout --output=out --output " +
	"out --outp=out --ext-diff --textconv --show-signature --format=%G? --pretty=mine " +
	"--format=%h --group=format:%G? --sort=v:signature --sort=refname --get --get-all --add --unset --edit -e --filters " +
	"--filter --upload-pack=./trap --exec=./trap --submodule=diff --submodule " +
	"--ignore-submodules=none --ignore-submodules --recurse-submodules --remerge-diff --diff-merges=remerge --cc --stat " +
	"--raw --name-only --cached --all --graph --oneline --open-files-in-pager=./trap " +
	"--open --no-index --contents -S -G -L1,2:a.go -1 -3 -U1 --unified --word-diff --abbrev --contains --merged --list " +
	"--points-at --dirty --broken --tags --always --edit-description --delete " +
	"--move --copy --set-upstream-to=x --track --verify --parseopt --git-path --eol --stdin --batch --batch-check " +
	"--exit-code --check --follow --reverse --first-parent -- - --column --porcelain=v2 " +
	"HEAD HEAD~1 HEAD~2 main side v1 v2 a.go a.txt b.bin c.long dir sub . x package core.hooksPath core.pager user.name " +
	"refs/heads/main main..side HEAD:a.go stash@{0} show list expire add drop pop " +
	"clear get-url origin update prune exists get set --global --local")

var gitSubs = strings.Fields("status log show diff diff-tree diff-index diff-files branch tag rev-parse ls-files " +
	"ls-tree blame annotate remote describe shortlog stash worktree " +
	"config cat-file rev-list merge-base name-rev for-each-ref show-ref count-objects check-ignore symbolic-ref grep " +
	"reflog version whatchanged notes submodule")

// tryGit runs commands that are judged as reading in a hostile repository.
func tryGit(t *testing.T, seed uint64, most int) (ran int) {
	repo := newHostileRepo(t)
	before := repo.files(t)
	r := rand.New(rand.NewPCG(seed, 2))
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	for tries := 0; ran < most && tries < 100*most; tries++ {
		words := []string{"git", pick(gitSubs)}
		for range r.IntN(4) {
			words = append(words, pick(gitWords))
		}
		text := strings.Join(words, " ")
		if (shellcmd.Rules{ReadOnly: true}).Judge(text, shellcmd.Context{Dir: repo.dir, Root: repo.dir}).Effect != "allow" {
			continue
		}
		ran++
		out, marks := repo.run(t, text, true)
		if marks != "" {
			t.Errorf("seed %d: %s\nis judged as reading, and ran %s\n%s", seed, text, marks, out)
		}
		if after := repo.files(t); !maps.Equal(before, after) {
			maps.DeleteFunc(after, func(path, now string) bool { return before[path] == now })
			t.Fatalf("seed %d: %s\nis judged as reading, and changed %v\n%s", seed, text, slices.Sorted(maps.Keys(after)), out)
		}
	}
	return ran
}

func TestGitThatReadsOnlyReads(t *testing.T) {
	if ran := tryGit(t, 1, 60); ran < 60 {
		t.Errorf("only %d commands were run", ran)
	}
}

func FuzzReadingGit(f *testing.F) {
	f.Add(uint64(2))
	f.Fuzz(func(t *testing.T, seed uint64) { tryGit(t, seed, 40) })
}
