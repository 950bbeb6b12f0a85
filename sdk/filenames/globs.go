package filenames

import (
	"path"
	"strings"
	"sync"
)

// SecretPattern tells whether a pattern of a shell, such as *.env or [i]d_rsa, is for secret files: it matches the name
// of one, and none of the ordinary names that a pattern for all kinds of files does, as * and *.json do.
func SecretPattern(pattern string) bool {
	pattern = canonical(strings.ReplaceAll(classes(pattern), "[!", "[^"))
	if Secret(wildcards.Replace(pattern)) {
		return true
	}
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		if !strings.ContainsAny(part, "*?[") {
			continue
		}
		names := secretSamples()
		if i < len(parts)-1 {
			names = folderSamples()
		}
		if matchesOne(part, names) && !matchesOne(part, ordinary) {
			return true
		}
	}
	return false
}

// wildcards puts a letter in the place of what may stand for any.
var wildcards = strings.NewReplacer("*", "x", "?", "x", "[", "x", "]", "x")

// classes puts one wildcard in the place of a named class, which path.Match does not know: [[:lower:]] is ? then.
func classes(pattern string) string {
	for {
		from := strings.Index(pattern, "[[:")
		if from < 0 {
			return pattern
		}
		length := strings.Index(pattern[from:], ":]]")
		if length < 0 {
			return pattern
		}
		pattern = pattern[:from] + "?" + pattern[from+length+3:]
	}
}

func matchesOne(pattern string, names []string) bool {
	for _, name := range names {
		if ok, err := path.Match(pattern, name); ok && err == nil {
			return true
		}
	}
	return false
}

var secretSamples = sync.OnceValue(func() []string {
	names := []string{".env", ".env.local", ".env.prod", ".env.production", ".envrc", "prod.env", "local.env",
		"id_rsa.old", "service-account.json", "client_secret.json"}
	for name := range secretNames {
		names = append(names, name)
	}
	for ending := range secretEndings {
		names = append(names, "server"+ending, "private"+ending, "my"+ending)
	}
	return names
})

var folderSamples = sync.OnceValue(func() (names []string) {
	for name := range secretFolders {
		names = append(names, name)
	}
	for name := range codeFolders {
		names = append(names, name)
	}
	return names
})

// ordinary are names that patterns for all kinds of files match too.
var ordinary = strings.Fields(`main.go readme.md readme package.json makefile index.html data.csv app.py src test docs lib build cmd main.c style.css log.txt
	server.go server.log server.js server.ts my.go my.txt private.go test_main.py main_test.go config.toml a.ex a.el a.erl main.kt a.pl a.php a.proto a.sql a.sh
	a.tsx .gitignore .github .dockerignore .eslintrc .editorconfig tokens.go credentials.go secrets.go credentials.py secret.go`)
