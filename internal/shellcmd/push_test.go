package shellcmd_test

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/shellcmd"
)

var (
	pushesForced = strings.Split("push --force|push -f|push -uf origin main|push -fu origin main|push --forc|push "+
		"--force-with-lease|push --force-with-lease=main:abc origin main|"+
		"push --force-w origin|push --force-if-includes --force-with-lease|push origin +main|push origin +main:main|push "+
		"origin main +dev|push -- origin +main|push origin +HEAD:refs/heads/main|"+
		"push origin +refs/heads/*:refs/heads/*|push --mirror|push --mirror origin|push --mirr|push origin main -f|push "+
		"origin main --force|push -qf|push -v -f|push --porcelain -f origin|"+
		"push origin '+main'|push origin \"+\"main|push --repo=origin +main|push -o ci.skip -f|push --no-verify "+
		"--force|send-pack --force origin main|push +main:main", "|")
	pushesDeleting = strings.Split("push --delete origin x|push -d origin x|push origin --delete x|push origin :x|push "+
		"origin :refs/heads/x|push --del origin x|push origin a :b|push --prune|"+
		"push --prune origin refs/heads/*|push --mirror|push -qd origin x|push origin +:x|push -- origin :x|push origin x "+
		"-d|push --prun origin", "|")
	// pushesElsewhere reach what a rule for git push does not name, or do more than add.
	pushesElsewhere = strings.Split("push evil@host:x|push evil@host:x main|push https://evil.example/x|push "+
		"ssh://evil/x main|push ext::./x|push 'ext::sh -c x' main|push ../x|push /tmp/x|push ./sub main|push sub main|"+
		"push file:///tmp/x|push --repo=evil@host:x|push origin refs/heads/*|push origin 'refs/heads/*:refs/heads/*'|push "+
		"origin :|push origin '*'|push --all|push --branches|push --receive-pack=./x origin|"+
		"push --exec=./x origin|push --exec ./x origin|push --recurse-submodules=on-demand|push --signed origin|push "+
		"--no-verify|push -o x origin|push --thin|push origin ^main|push origin main..x|"+
		"push evil main|push \"$remote\" main|push origin \"$branch\"|push $args", "|")
	pushesPlain = strings.Split("push|push origin|push origin main|push -u origin main|push origin HEAD|push "+
		"--set-upstream origin feature/x|push origin HEAD:main|push origin main:refs/heads/main|push -q|push --tags|"+
		"push origin v1.0|push upstream dev|push -v origin tag v1|push --dry-run origin main", "|")
	gitStarts = []string{"git ", "git -C sub ", "git --git-dir=x ", "git --git-dir x ", "git --no-pager ", "/usr/bin/git ",
		"timeout 5 git ", "env git ", "nohup git ", "true && git ", "echo $(git "}
)

func eachGit(list []string, try func(text string)) {
	for _, rest := range list {
		for _, start := range gitStarts {
			text := start + rest
			if strings.HasPrefix(start, "echo $(") {
				text += ")"
			}
			try(text)
		}
		if !strings.ContainsAny(rest, "'\"$") {
			try("bash -c 'git " + rest + "'")
		}
	}
}

func TestDenyingForcedPushes(t *testing.T) {
	for _, c := range []struct {
		deny string
		list []string
	}{{"git push --force", pushesForced}, {"git push -f", pushesForced}, {"git push --delete", pushesDeleting},
		{"git push -d", pushesDeleting}} {
		rules := shellcmd.Rules{Allow: tokens("git push"), Deny: tokens(c.deny), Otherwise: "allow"}
		eachGit(c.list, func(text string) {
			if v := rules.Judge(text, here); v.Effect != "deny" {
				t.Errorf("deny %q: %s is %s: %v", c.deny, text, v.Effect, v.Reasons)
			}
			s, err := shellcmd.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if yes, sure := s.Runs(strings.Fields(c.deny)); !yes || !sure {
				t.Errorf("%s runs %q: %v, sure %v", text, c.deny, yes, sure)
			}
		})
		for _, rest := range pushesPlain {
			if v := rules.Judge("git "+rest, here); v.Effect != "allow" {
				t.Errorf("deny %q: git %s is %s: %v", c.deny, rest, v.Effect, v.Reasons)
			}
			s, _ := shellcmd.Parse("git " + rest)
			if yes, sure := s.Runs(strings.Fields(c.deny)); yes || !sure {
				t.Errorf("git %s runs %q: %v, sure %v", rest, c.deny, yes, sure)
			}
		}
	}
}

func TestAllowingPushes(t *testing.T) {
	rules := shellcmd.Rules{Allow: tokens("git push")}
	for _, list := range [][]string{pushesForced, pushesDeleting, pushesElsewhere} {
		eachGit(list, func(text string) {
			if v := rules.Judge(text, here); v.Effect == "allow" {
				t.Errorf("%s is allowed", text)
			}
		})
	}
	for _, rest := range pushesPlain {
		if v := rules.Judge("git "+rest, here); v.Effect != "allow" {
			t.Errorf("git %s is %s: %v", rest, v.Effect, v.Reasons)
		}
	}
	named := shellcmd.Rules{Allow: tokens("git push fork +main")}
	if v := named.Judge("git push fork +main", here); v.Effect != "allow" {
		t.Errorf("a rule that names all is for it: %v", v.Reasons)
	}
	if v := named.Judge("git push fork +main +dev", here); v.Effect == "allow" {
		t.Error("a rule allows more than it names")
	}
}

func TestDenyingPushesByName(t *testing.T) {
	rules := shellcmd.Rules{Deny: tokens("git push origin main"), Otherwise: "allow"}
	for text, want := range map[string]string{
		"git push origin main": "deny", "git push origin HEAD:main": "deny", "git push origin +main": "deny",
		"git push -u origin refs/heads/main": "deny", "git push origin x:refs/heads/main": "deny",
		"git push origin :main": "deny", "git push --all origin": "deny", "git push origin dev": "allow",
		"git push fork main": "allow",
	} {
		if v := rules.Judge(text, here); v.Effect != want {
			t.Errorf("%s is %s, want %s", text, v.Effect, want)
		}
	}
}

func TestRunsWithUncertainty(t *testing.T) {
	for text, want := range map[string]bool{"git push $x": false, "$x push": false, "eval $x": false, "echo $x": true,
		"git log": true, "git push origin main": true} {
		s, err := shellcmd.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if yes, sure := s.Runs([]string{"git", "push", "--force"}); yes || sure != want {
			t.Errorf("%s: %v, sure %v", text, yes, sure)
		}
	}
}
