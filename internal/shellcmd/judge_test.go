package shellcmd_test

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/shellcmd"
)

const workspace = "/ws/app"

// A ruleSet is rules and a place, by the names that the corpus uses.
type ruleSet struct {
	rules   shellcmd.Rules
	context shellcmd.Context
}

func tokens(list ...string) (out [][]string) {
	for _, s := range list {
		out = append(out, strings.Fields(s))
	}
	return out
}

var (
	here   = shellcmd.Context{Dir: workspace, Root: workspace}
	listed = shellcmd.Rules{Allow: tokens("git push", "npm run build", "npm test", "make test", "go test", "go vet",
		"go build", "go list", "go run", "cargo", "pytest",
		"python -m pytest", "./gradlew test", "cp", "mkdir -p", "rm", "find", "sudo", "terraform plan", "tool")}
	denied = shellcmd.Rules{ReadOnly: true,
		Deny: tokens("rm", "sudo", "git push", "docker rm", "kubectl delete", "chmod -R 777",
			"npm publish", "git reset --hard")}
	ruleSets = map[string]ruleSet{
		"readonly": {shellcmd.Rules{ReadOnly: true}, here},
		"below":    {shellcmd.Rules{ReadOnly: true}, shellcmd.Context{Dir: workspace + "/sub", Root: workspace}},
		"outside":  {shellcmd.Rules{ReadOnly: true}, shellcmd.Context{Dir: "/tmp", Root: workspace}},
		"environ": {shellcmd.Rules{ReadOnly: true},
			shellcmd.Context{Dir: workspace, Root: workspace, Env: []string{"PATH"}}},
		"denies": {denied, here},
		"open":   {shellcmd.Rules{Otherwise: "allow", Deny: tokens("rm", "sudo")}, here},
		"closed": {shellcmd.Rules{Otherwise: "deny", ReadOnly: true}, here},
		"contract": {shellcmd.Rules{Allow: tokens("ls", "cat", "git status", "git log"), Deny: tokens("rm", "sudo"),
			Otherwise: "ask"}, here},
		"listed": {listed, here},
		"broad": {shellcmd.Rules{ReadOnly: true, Allow: tokens("tar", "docker", "kubectl", "gh", "aws", "helm", "pip", "gem",
			"openssl", "ip", "systemctl", "apt", "brew", "conda", "yq", "gcc", "ar", "objdump", "7z", "jar", "python3 run.py",
			"node run.js", "bash run.sh", "python3 /opt/run.py")}, here},
		"given": {listed, shellcmd.Context{Dir: workspace, Root: workspace, Stdin: true}},
	}
)

// A sample is a line of the corpus.
type sample struct {
	line                       int
	class, effect, rules, text string
}

func corpus(t testing.TB) (out []sample) {
	t.Helper()
	f, err := os.Open("testdata/corpus.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	class, n := "", 0
	for s := bufio.NewScanner(f); s.Scan(); {
		n++
		if c, ok := strings.CutPrefix(s.Text(), "# "); ok || s.Text() == "" {
			class = c
			continue
		}
		fields := strings.Split(s.Text(), "\t")
		if len(fields) != 4 {
			t.Fatalf("line %d has %d fields", n, len(fields))
		}
		out = append(out, sample{n, class, fields[0], fields[1], plain(t, fields[2])})
	}
	return out
}

func plain(t testing.TB, text string) string {
	t.Helper()
	quoted, ok := strings.CutPrefix(text, "go:")
	if !ok {
		return text
	}
	out, err := strconv.Unquote(quoted)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

func TestCorpus(t *testing.T) {
	samples := corpus(t)
	if len(samples) < 700 {
		t.Errorf("only %d commands were read", len(samples))
	}
	for _, s := range samples {
		set, ok := ruleSets[s.rules]
		if !ok {
			t.Fatalf("line %d: no rules are called %q", s.line, s.rules)
		}
		v := set.rules.Judge(s.text, set.context)
		if v.Effect != s.effect {
			t.Errorf("corpus.txt:%d (%s): %q is %s, want %s: %v", s.line, s.class, s.text, v.Effect, s.effect, v.Reasons)
		}
		if len(v.Reasons) == 0 {
			t.Errorf("corpus.txt:%d: %q: no reason is given", s.line, s.text)
		}
		for _, r := range v.Reasons {
			if r.Effect != v.Effect || r.Why == "" {
				t.Errorf("corpus.txt:%d: %q: a reason for %s in a verdict of %s: %v", s.line, s.text, r.Effect, v.Effect, r)
			}
		}
	}
}
