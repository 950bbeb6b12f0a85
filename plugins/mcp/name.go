package main

import (
	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/sdk"
)

var toolNames = toolname.Rule{Max: toolname.Limit(sdk.Instance())}

// matches reports whether a name fits a pattern, in which * stands for any text and ? for one character.
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
