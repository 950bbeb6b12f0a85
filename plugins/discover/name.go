package main

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// maxName leaves room for the plugin's name in front.
const maxName = 40

var fitting = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// fitName makes a tool name of any text, which stays as it is where it fits. The same text always gives the same name; different texts may give one.
func fitName(original string) string {
	if len(original) <= maxName && fitting.MatchString(original) && !strings.Contains(original, "__") {
		return original
	}
	name := strings.Map(fitRune, strings.ToLower(original))
	for strings.Contains(name, "__") {
		name = strings.ReplaceAll(name, "__", "_")
	}
	if strings.Trim(name, "_-") == "" {
		return "tool_" + shortHash(original) // no character of it could stay
	}
	if name[0] == '_' || name[0] == '-' {
		name = "t" + name
	}
	if len(name) <= maxName {
		return name
	}
	return hashedName(name, original)
}

// hashedName makes a name of its own of one that is too long, or is that of another tool.
func hashedName(name, original string) string {
	hash := shortHash(original)
	return strings.TrimRight(name[:min(len(name), maxName-len(hash)-1)], "_-") + "_" + hash
}

func fitRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
		return r
	}
	return '_'
}

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:3])
}
