package main

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/toolhost/toolhost/sdk"
)

// maxName leaves room for the plugin's name in front: a full name has at most 64 characters.
var maxName = nameLimit(sdk.Instance())

func nameLimit(instance string) int {
	if instance == "" {
		return 40
	}
	return max(31, min(61, 64-len("__")-len(instance)))
}

var fitting = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// fitName makes a tool name of a server's, which stays unchanged where it fits. It depends on the server's name alone,
// so that no other tool renames it; different names may give the same.
func fitName(original string) string {
	if len(original) <= maxName && fitting.MatchString(original) && !strings.Contains(original, "__") {
		return original
	}
	name := strings.Map(fitRune, original)
	for strings.Contains(name, "__") {
		name = strings.ReplaceAll(name, "__", "_")
	}
	if strings.Trim(name, "_-") == "" {
		return "tool_" + shortHash(original) // no character of it fits
	}
	if name[0] == '_' || name[0] == '-' {
		name = "t" + name
	}
	if len(name) <= maxName {
		return name
	}
	return hashedName(name, original)
}

func fitRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
		return r
	}
	return '_'
}

// hashedName is the name of one tool alone, for one that is too long or that another tool has.
func hashedName(name, original string) string {
	hash := shortHash(original)
	return strings.TrimRight(name[:min(len(name), maxName-len(hash)-1)], "_-") + "_" + hash
}

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:3])
}

// matches tells whether a name fits a pattern, in which * stands for any text and ? for one character.
func matches(pattern, name string) bool {
	p, n := []rune(pattern), []rune(name)
	star, from := -1, 0
	for i, j := 0, 0; ; {
		switch {
		case i < len(p) && p[i] == '*':
			star, from = i, j
			i++
		case j < len(n) && i < len(p) && (p[i] == '?' || p[i] == n[j]):
			i++
			j++
		case i == len(p) && j == len(n):
			return true
		case star >= 0 && from < len(n): // let the last star stand for one character more
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
}
