package shellcmd

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const maxBraces = 64

var (
	braceLike  = lazily(`(?s)\{.*(,|\.\.).*\}`)
	braceChars = lazily(`^[A-Za-z0-9_./,={}*?+-]*$`)
)

// hasBraces reports a word that bash might expand, such as a{b,c}.
func hasBraces(x *syntax.Word) bool {
	var b strings.Builder
	for _, p := range x.Parts {
		if l, ok := p.(*syntax.Lit); ok {
			b.WriteString(l.Value)
		}
	}
	return strings.Contains(b.String(), "{") && braceLike().MatchString(b.String())
}

// braces expands plain lists like a{b,c}d. It gives up on anything where a shell might think otherwise: sequences, empty
// elements, lone braces, quotes, or more than maxBraces words.
func braces(s string) (out []string, ok bool) {
	if strings.Count(s, "{") > 6 || strings.Contains(s, "..") || !braceChars().MatchString(s) {
		return nil, false
	}
	open := strings.IndexByte(s, '{')
	if open < 0 {
		return []string{s}, !strings.Contains(s, "}")
	}
	list, end := elements(s[open+1:])
	if len(list) < 2 || strings.Contains(s[:open], "}") {
		return nil, false
	}
	tails, ok := braces(s[open+1+end:])
	if !ok {
		return nil, false
	}
	for _, e := range list {
		middles, ok := braces(e)
		if !ok || e == "" || len(out)+len(middles)*len(tails) > maxBraces {
			return nil, false
		}
		out = append(out, crossed(s[:open], middles, tails)...)
	}
	return out, true
}

func crossed(head string, middles, tails []string) (out []string) {
	for _, m := range middles {
		for _, t := range tails {
			out = append(out, head+m+t)
		}
	}
	return out
}

// elements splits what follows an opening brace at the commas of its own level; end is behind its closing brace.
func elements(s string) (list []string, end int) {
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case ',':
			if depth == 0 {
				list, from = append(list, s[from:i]), i+1
			}
		case '}':
			if depth == 0 {
				return append(list, s[from:i]), i + 1
			}
			depth--
		}
	}
	return nil, len(s)
}
