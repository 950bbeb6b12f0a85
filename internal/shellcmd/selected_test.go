package shellcmd

import (
	"strings"
	"testing"
)

// Files with secrets are not printed where the words of a command select them by name; the rest of the tree may be.
func TestSecretsSelectedByName(t *testing.T) {
	secrets := strings.Fields(".env .env* *.pem *.key id_rsa .npmrc .netrc credentials.json *.env.local .ENV")
	others := strings.Fields("*.go .env.example *.md main.go .gitignore *.txt Makefile")
	forms := []string{
		"grep -r . --include=NAME", "grep -rh API . --include='NAME'", "grep -r API --include 'NAME' .",
		"egrep -r a . --include=NAME",
		"rg API -g 'NAME'", "rg --glob='NAME' API", "rg --iglob NAME API .", "rg -gNAME API",
		"rg --hidden -g 'NAME' -g '*.go' API",
		"rg -g '{NAME,*.go}' API",
		"git grep API -- 'NAME'", "git grep API -- ':(glob)**/NAME'", "git diff -- 'NAME'", "git log -p -- 'NAME'",
		"git show HEAD -- 'NAME'",
		"find . -name NAME -exec cat {} ';'", "find . -name 'NAME' -exec cat {} +",
		"find . -iname 'NAME' -type f -exec head -5 {} +",
		"find . -path './NAME' -exec cat {} +", "find . -path '*/NAME' -exec cat {} +",
		"find . -name '*.go' -o -name 'NAME' -exec cat {} +",
		"find . -name 'NAME' | xargs cat", "find . -name 'NAME' -print0 | xargs -0 cat",
		"find . -name 'NAME' | head -3 | xargs cat",
		"fd -g 'NAME' | xargs cat", "rg --files -g 'NAME' | xargs cat",
		"rg --files --hidden --glob='NAME' | sort | xargs cat",
		"grep -rl . --include='NAME' | xargs cat", "git ls-files 'NAME' | xargs cat",
		`for f in $(find . -name 'NAME'); do cat "$f"; done`, "for f in $(rg --files -g 'NAME'); do head -3 $f; done",
	}
	for _, form := range forms {
		for _, name := range secrets {
			text := strings.ReplaceAll(form, "NAME", name)
			if v := allowing["reading"].Judge(text, workspaceHere); v.Effect != ask {
				t.Errorf("%s: %v", text, v)
			}
		}
		for _, name := range others {
			text := strings.ReplaceAll(form, "NAME", name)
			v := allowing["reading"].Judge(text, workspaceHere)
			if v.Effect != allow && strings.Contains(v.Reasons[0].Why, "secret") {
				t.Errorf("%s: %v", text, v)
			}
		}
	}
	for _, text := range []string{`fd '\.env$' | xargs cat`, `fd -e env | xargs cat`, `fd -e pem -t f | xargs cat`,
		`fd --extension=key | xargs cat`, `find . -regex '.*\.env' -exec cat {} +`,
		`find . -regex '.*\.\(env\|pem\)' -exec cat {} +`,
		`git ls-files | grep '\.env$' | xargs cat`, `ls -a | grep '^\.env' | xargs cat`,
		`find . | grep -E '\.(pem|key)$' | xargs cat`,
		`find . -type f | grep id_rsa | head -1 | xargs cat`, `for f in $(git ls-files | grep '\.env'); do cat "$f"; done`} {
		if v := allowing["reading"].Judge(text, workspaceHere); v.Effect != ask {
			t.Errorf("%s: %v", text, v)
		}
	}
	for _, text := range []string{"find . -name .env", "find . -name '.env*' | head", "rg --files -g .env",
		"rg -g '!.env' API",
		"grep -r API . --exclude=.env", "find . -type f ! -name .env -exec cat {} +",
		"find . -not -name '*.pem' -print0 | xargs -0 wc -l",
		"find . -type f -print0 | grep -vz '\\.env' | xargs -0 wc -l", "grep -rn token .",
		"rg -l0 token | xargs -0 wc -l",
		"rg credentials -g '*.go'",
		"find . -name '*.go' -exec grep -l env {} +"} {
		if v := allowing["reading"].Judge(text, workspaceHere); v.Effect != allow {
			t.Errorf("%s: %v", text, v)
		}
	}
}

// Every way to name files counts, also in a bundle of letters, in braces, after two negations, and as an expression
// that does not spell the name. Rows were tried with rg 13, fd 8, GNU grep and find, and print the secrets.
func TestSecretsSelectedInOtherWays(t *testing.T) {
	lists := []string{"rg --files -ig'*.pem'", "rg --files -nig='*.pem'", "rg --files -ig '*.pem'",
		"rg --files -g='*.pem'",
		"rg --files -g '{*.pem}'", "rg --files -g'*.{pem,key}'", "rg -l TOKEN -ig'*.pem'", "fd -He pem", "fd -Hepem",
		"fd -e=pem", "fd -g '*.{pem,key}'", "fd -Hg '*.env'", "fd 'pem$'", "fd pem",
		"fd '[.]pem$'",
		`fd '\.p.m$'`, "fd -H env", `fd -H '^\x2eenv'`, "fd 'rsa$'", "fd 'pem|go$'", "fd -F .pem", "fd -p '/sub/.*[.]pem$'",
		"find . ! -not -name '*.pem'", "find . -not ! -name '*.pem'", `find . ! \( ! -name '*.pem' \)`,
		`find . -not \( -type d -o ! -name '*.pem' \)`, `find . -regex '.*p\(e\|x\)m'`, "find . -regex '.*[.]p[e]m'",
		"find . -regextype posix-extended -regex '.*p(e|x)m'", "find . -iregex './.*[.]PEM'"}
	for _, grep := range []string{"grep pem", "grep -E pem", "grep -F .pem", "grep -i PEM", "grep -x '.*[.]pem'",
		"grep '[.]pem'", "grep 'p[e]m'", `grep '\.p.m'`, "grep env", "egrep 'pem|key'", `grep 'pem\|go$'`, "grep -w pem",
		"grep -v go | grep pem", "grep -iE 'PEM$'", "fgrep pem", "grep pem | grep -v test"} {
		lists = append(lists, "git ls-files | "+grep, "find . -type f | "+grep, "rg --files | "+grep+" | sort")
	}
	for _, list := range lists {
		if v := allowing["reading"].Judge(list+" | xargs cat", workspaceHere); !asksForSecrets(v) {
			t.Errorf("%s: %v", list, v)
		}
	}
	for _, option := range []string{"-g '{*.pem}'", "-ig'*.pem'", "-g='*.pem'"} {
		if v := allowing["reading"].Judge("rg TOKEN "+option, workspaceHere); v.Effect != ask {
			t.Errorf("%s: %v", option, v)
		}
	}
}

func asksForSecrets(v Verdict) bool {
	return v.Effect == ask && strings.Contains(v.Reasons[0].Why, "secret")
}

// Expressions that are for other files too, or only for files with usual endings, select no secrets.
func TestOtherSelectionsAreNoSecrets(t *testing.T) {
	for _, list := range []string{"rg --files | grep service", "rg --files | grep local", "git ls-files '*.go' | grep key",
		"find . -name '*.go' | grep env", "rg --files -t go | grep key", "rg --files -tgo | grep env",
		"rg --files -g '*.go' | grep env", `git ls-files | grep '\.go$' | grep env`, "git ls-files | grep history",
		"git ls-files | grep -v pem | grep server", "fd -e go key", "fd key -e go", "fd service", "fd test",
		`find . -regex '.*\.go'`, "find . -regex '.*_test.*'", "find . -type f | grep -E 'main|util'",
		`git ls-files | grep -E '\.(go|md|txt)$'`, "find . -type f | grep -iE 'readme|license'",
		"git ls-files | grep '^cmd/'",
		`find . -type f ! \( -name '*.pem' -o -name .env \)`, `find . -type f -not \( -path ./.env \)`,
		"find . ! -not ! -name '*.pem'", "rg --files -ig'*.go'", "rg --files -g '*.{go,md}'", "git ls-files | grep docker",
		"git ls-files | grep '['", "fd '('", "git ls-files | grep -E '" + strings.Repeat("a|", 2000) + "b'"} {
		if v := allowing["reading"].Judge(list+" | xargs cat", workspaceHere); asksForSecrets(v) {
			t.Errorf("%s: %v", list, v)
		}
	}
	for _, list := range []string{`find . -name '*.go' -o -name '*' | grep pem`, "find . ! -name '*.go' | grep pem",
		"rg --files -g '*.go' -g '*' | grep pem", "git ls-files '*.go' . | grep pem", "rg --files -g '!*.go' | grep pem"} {
		if v := allowing["reading"].Judge(list+" | xargs cat", workspaceHere); !asksForSecrets(v) {
			t.Errorf("%s: %v", list, v)
		}
	}
}

// A basic expression becomes one of Go that matches the same names.
func TestPortableExpressions(t *testing.T) {
	for _, c := range []struct {
		text     string
		basic    bool
		yes, not string
	}{
		{`a\(b\|c\)d`, true, "abd", "a(b|c)d"}, {"a(b|c)d", true, "a(b|c)d", "abd"}, {"a(b|c)d", false, "abd", "a(b|c)d"},
		{`a\+`, true, "aa", "b"}, {"a+b", true, "a+b", "aab"}, {`a\?b`, true, "b", "a"},
		{`[.]p[[:alpha:]]m`, true, "x.pem", "xpem"},
		{`[\.]p`, true, `\p`, "xp"}, {"[]x]p", true, "]p", "yp"}, {"[^]x]p", true, "yp", "]p"},
		{`\<pem\>`, true, "a.pem", "apems"},
		{"*a", true, "*a", "b"}, {"^*a", true, "*a", "ba"}, {`a\.b`, true, "a.b", "axb"}, {`a\wb`, false, "axb", "a.b"},
		{`a\{2\}b`, true, "aab", "ab"}, {"a{2}b", true, "a{2}b", "aab"}, {`a\eb`, true, "aeb", "ab"},
	} {
		e := anyCase(portable(c.text, c.basic))
		if e == nil || !e.MatchString(c.yes) || e.MatchString(c.not) {
			t.Errorf("%s becomes %v", c.text, e)
		}
	}
}

// What reads from somewhere else than the pipe is given no names of files.
func TestRedirectedInputHoldsNoNames(t *testing.T) {
	for _, group := range []string{"{ X; }", "(X)", "while true; do X; done", "until false; do X; done",
		"if true; then X; fi",
		"for i in 1; do X; done", "case a in a) X;; esac", "{ { X; }; }"} {
		for _, list := range []string{"find . -print0", "git ls-files -z", "find . -print0 | head -z -n 3"} {
			inner := list + " | " + strings.ReplaceAll(group, "X", "xargs -0 cat")
			if v := allowing["reading"].Judge(inner, workspaceHere); v.Effect != allow {
				t.Errorf("%s: %v", inner, v)
			}
			for _, from := range []string{"< list", "<<< /etc/passwd", "0< list", "<> list", "<<E\n/etc/passwd\nE"} {
				if v := allowing["reading"].Judge(inner+" "+from, workspaceHere); v.Effect == allow {
					t.Errorf("%s %s: %v", inner, from, v)
				}
			}
		}
	}
}

// Names that a command prints may be given, line by line, to programs that they can only make read, and to no others.
func TestPrintedNamesAreGivenToReaders(t *testing.T) {
	lists := map[string]string{ // and what the names may do
		"git ls-files": allow, "git ls-files '*.go' | grep -v vendor": allow, "git diff --name-only | head -3": allow,
		"git grep -l foo": allow,
		// a line break in a name begins a new one
		"find . -name '*.go'": ask, "rg --files | head -3": ask, "git ls-files | head -z -n 3": ask,
		"find . -name .env": ask, "find /etc -name x": ask, "cat list": ask, "git ls-files | sed s,^,/,": ask,
		"echo /etc/passwd": ask,
	}
	for list, effect := range lists {
		for form, reads := range map[string]bool{
			`LIST | while IFS= read -r f; do wc -l "$f"; done`:                       true,
			`LIST | while read -r f; do wc -l "$f"; done`:                            false, // it takes blanks away
			`LIST | while IFS= read -r f; do wc -l $f; done`:                         false,
			`LIST | while IFS= read -r f; do head -3 "$f" | grep x; done`:            true,
			"LIST | while IFS= read -r -d '' f; do cat \"$f\"; done":                 false,
			`LIST | while IFS= read -r f; do if true; then grep -n a "$f"; fi; done`: true,
			`LIST | while read f; do cat "$f"; done`:                                 false, // it takes backslashes away
			`LIST | while IFS=/ read -r f; do cat "$f"; done`:                        false,
			`LIST | while IFS= read -r f g; do cat "$f"; done`:                       false,
			`LIST | while IFS= read -r -d / f; do cat "$f"; done`:                    false,
			`LIST | while ! IFS= read -r f; do cat "$f"; done`:                       false,
			`LIST | until IFS= read -r f; do cat "$f"; done`:                         false,
			`LIST | while IFS= read -r f < other; do cat "$f"; done`:                 false,
			`LIST | while IFS= read -r f; do cat "$f"; done < other`:                 false,
			`LIST | while IFS= read -r f; true; do cat "$f"; done`:                   false,
			`LIST | while IFS= read -r f; do f=/etc/passwd; cat "$f"; done`:          false,
			`LIST | while IFS= read -r f; do read -r f; cat "$f"; done`:              false,
			`LIST | while IFS= read -r f; do cat "../$f"; done`:                      false,
			`LIST | while IFS= read -r f; do cat "/$f"; done`:                        false,
			`LIST | while IFS= read -r f; do rm "$f"; done`:                          false,
			`LIST | while IFS= read -r f; do sed -n 1p "$f"; done`:                   false,
			`LIST | while IFS= read -r f; do "$f"; done`:                             false,
			`LIST | while IFS= read -r f; do bash "$f"; done`:                        false,
			`LIST | while IFS= read -r f; do echo x > "$f"; done`:                    false,
			`LIST | while IFS= read -r f; do cd "$f"; cat a; done`:                   false,
			`LIST | while IFS= read -r f; do wc -l "$f"; done; cat "$f"`:             false,
		} {
			want := ask
			if reads {
				want = effect
			}
			text := strings.ReplaceAll(form, "LIST", list)
			if v := (Rules{ReadOnly: true}).Judge(text, workspaceHere); v.Effect != want {
				t.Errorf("%s is %s, want %s: %v", text, v.Effect, want, v.Reasons)
			}
		}
	}
}
