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
		"find . -not -name '*.pem' | xargs wc -l",
		"find . -type f | grep -v '\\.env' | xargs wc -l", "grep -rn token .", "rg -l token | xargs wc -l",
		"rg credentials -g '*.go'",
		"find . -name '*.go' -exec grep -l env {} +"} {
		if v := allowing["reading"].Judge(text, workspaceHere); v.Effect != allow {
			t.Errorf("%s: %v", text, v)
		}
	}
}

// What reads from somewhere else than the pipe is given no names of files.
func TestRedirectedInputHoldsNoNames(t *testing.T) {
	for _, group := range []string{"{ X; }", "(X)", "while true; do X; done", "until false; do X; done",
		"if true; then X; fi",
		"for i in 1; do X; done", "case a in a) X;; esac", "{ { X; }; }"} {
		for _, list := range []string{"find .", "git ls-files", "find . | head -3"} {
			inner := list + " | " + strings.ReplaceAll(group, "X", "xargs cat")
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
		"git ls-files": allow, "git ls-files '*.go' | grep -v vendor": allow, "find . -name '*.go'": allow,
		"rg --files | head -3": allow,
		"find . -name .env":    ask, "find /etc -name x": ask, "cat list": ask, "git ls-files | sed s,^,/,": ask,
		"echo /etc/passwd": ask,
	}
	for list, effect := range lists {
		for form, reads := range map[string]bool{
			`LIST | while read -r f; do wc -l "$f"; done`:                       true,
			`LIST | while IFS= read -r f; do head -3 "$f" | grep x; done`:       true,
			"LIST | while IFS= read -r -d '' f; do cat \"$f\"; done":            true,
			`LIST | while read -r f; do if true; then grep -n a "$f"; fi; done`: true,
			`LIST | while read f; do cat "$f"; done`:                            false, // it takes backslashes away
			`LIST | while IFS=/ read -r f; do cat "$f"; done`:                   false,
			`LIST | while read -r f g; do cat "$f"; done`:                       false,
			`LIST | while read -r -d / f; do cat "$f"; done`:                    false,
			`LIST | while ! read -r f; do cat "$f"; done`:                       false,
			`LIST | until read -r f; do cat "$f"; done`:                         false,
			`LIST | while read -r f < other; do cat "$f"; done`:                 false,
			`LIST | while read -r f; do cat "$f"; done < other`:                 false,
			`LIST | while read -r f; true; do cat "$f"; done`:                   false,
			`LIST | while read -r f; do f=/etc/passwd; cat "$f"; done`:          false,
			`LIST | while read -r f; do read -r f; cat "$f"; done`:              false,
			`LIST | while read -r f; do cat "../$f"; done`:                      false,
			`LIST | while read -r f; do cat "/$f"; done`:                        false,
			`LIST | while read -r f; do rm "$f"; done`:                          false,
			`LIST | while read -r f; do sed -n 1p "$f"; done`:                   false,
			`LIST | while read -r f; do "$f"; done`:                             false,
			`LIST | while read -r f; do bash "$f"; done`:                        false,
			`LIST | while read -r f; do echo x > "$f"; done`:                    false,
			`LIST | while read -r f; do cd "$f"; cat a; done`:                   false,
			`LIST | while read -r f; do wc -l "$f"; done; cat "$f"`:             false,
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
