package shellcmd

import (
	"fmt"
	"strings"
	"testing"
)

// A rule that allows a program does not cover changes of files that other programs run or read as configuration,
// however they are named: they need approval like edits of them.
func TestRulesDoNotCoverExecutedFiles(t *testing.T) {
	t.Parallel()
	at := Context{Dir: "/w", Root: "/w"}
	executed := []string{".git/hooks/pre-commit", ".bashrc", "./.git/config", "sub/.husky/x", "/w/.vscode/tasks.json",
		".mcp.json", ".claude/settings.json", "a/../.zshrc", ".GIT/hooks/x", "config.hcl"}
	entries := []string{"Makefile", ".github/workflows/ci.yml", "AGENTS.md", "sub/CLAUDE.md", ".gitlab-ci.yml",
		"package.json", "justfile", "conftest.py", "build.rs", ".cursorrules"}
	plain := []string{"notes.txt", "src/main.go", "docs/a.md", "Dockerfile", "./a b"}
	for _, c := range []struct{ rule, command string }{
		{"cp", "cp a %s"}, {"cp", "cp %s b"}, {"cp -t", "cp -t %s a"}, {"mv", "mv a %s"}, {"mv", "cd src && mv a ../%s"},
		{"tee", "echo x | tee %s"},
		{"install", "install a %s"}, {"ln -s", "ln -s a %s"}, {"sed -i", "sed -i s/a/b/ %s"}, {"touch", "touch %s"},
		{"dd", "dd if=a of=%s"},
		{"chmod", "chmod 755 %s"}, {"rm", "rm %s"}, {"env", "env cp a %s"}, {"cp", "timeout 5 cp a %s"},
		{"cp", "bash -c 'cp a %s'"}, {"git checkout", "git checkout %s"},
		{"sort -o", "sort -o %s a"},
	} {
		rules := Rules{Allow: [][]string{strings.Fields(c.rule), {"echo"}}}
		if c.rule == "env" {
			rules.Allow = append(rules.Allow, []string{"cp"})
		}
		for _, name := range append(append([]string{}, executed...), entries...) {
			if strings.HasPrefix(name, "/") && strings.Contains(c.command, "../") {
				continue
			}
			text := fmt.Sprintf(c.command, name)
			if v := rules.Judge(text, at); v.Effect != "ask" {
				t.Errorf("allow %q: %s is %s", c.rule, text, v.Effect)
			}
			if p := Prefix(text); p != nil {
				t.Errorf("%s: an answer for good is offered: %q", text, p)
			}
		}
		for _, name := range plain {
			text := fmt.Sprintf(c.command, "'"+name+"'")
			if strings.Contains(c.command, "'") {
				text = fmt.Sprintf(c.command, strings.ReplaceAll(name, " ", ""))
			}
			if v := rules.Judge(text, at); v.Effect != "allow" && c.rule != "sort -o" && c.rule != "dd" {
				t.Errorf("allow %q: %s is %s: %v", c.rule, text, v.Effect, v.Reasons)
			}
		}
	}
	reads := Rules{ReadOnly: true, Allow: [][]string{{"git", "add"}, {"cat"}, {"git", "commit"}}}
	for _, text := range []string{"cat Makefile", "grep -n x AGENTS.md", "git add Makefile .github/workflows/ci.yml",
		"ls .claude", "cat package.json", "wc -l .bashrc"} {
		if v := reads.Judge(text, at); v.Effect != "allow" {
			t.Errorf("%s is %s: %v", text, v.Effect, v.Reasons)
		}
	}
}

// The risk of a change of such files is reported to the person.
func TestRiskOfExecutedFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"cp a .git/hooks/pre-commit": "high", "echo x > .bashrc": "high", "tee .vscode/tasks.json": "high",
		"cp a b": "medium", "echo x > Makefile": "medium", "cat .bashrc": "low",
		"sed -n 1p .bashrc": "low", "sed -i s/a/b/ .bashrc": "high",
	} {
		if r, _ := Assess(text, Context{Dir: "/w", Root: "/w"}); r.Level != want {
			t.Errorf("%s is %s: %q", text, r.Level, r.Reasons)
		}
	}
}

// The names of secret files are those of the file tools, also as patterns, quoted, and in braces.
func TestSecretNamesOnCommandLines(t *testing.T) {
	t.Parallel()
	at := Context{Dir: "/w", Root: "/w"}
	for text, want := range map[string]string{
		"cat .env": "ask", "cat prod.env": "ask", "cat [i]d_rsa": "ask", "cat *.env": "ask", "cat .e?v": "ask",
		"cat .e{n,x}v": "ask", "cat '.env'": "ask", "cat .e\"nv\"": "ask",
		"cat $'\\x2eenv'": "ask", "cat a/*.pem": "ask", "cat server.crt": "ask", "cat auth.json": "ask",
		"cat secrets/x": "ask", "ls .ssh": "ask", "grep -r x .aws": "ask",
		"head -n 1 .ENV": "ask", "cat '.env '": "ask", "cat < .env": "ask", "grep -f .env a": "ask", "diff a .env": "ask",
		"cat .envrc": "ask", "cat app.db": "ask", "cat *_rsa": "ask",
		"cat {a,id_rsa}": "ask", "cat */id_ed25519": "ask", "cat .s?h/config": "ask", "cat \uff0eenv": "ask",
		"cat *": "allow", "wc -l *.go": "allow", "cat .env.example": "allow", "cat config.json": "allow",
		"cat *.json": "allow", "ls internal/secrets": "allow", "cat secrets/store.go": "allow",
		"grep -n env main.go": "allow", "cat keys.go": "allow", "head README.md": "allow",
	} {
		if v := (Rules{ReadOnly: true}).Judge(text, at); v.Effect != want {
			t.Errorf("%s is %s: %v", text, v.Effect, v.Reasons)
		}
	}
}
