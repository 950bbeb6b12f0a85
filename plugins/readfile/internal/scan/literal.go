package scan

import (
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLiterals is how many literals are worth looking for, each with a pass over the text.
const maxLiterals = 6

// A literal is text that a match must hold.
type literal struct {
	text string
	fold bool // in upper or lower case; text is in lower case then
}

// required finds literals of which every match of re holds one; nil when there are none that are known.
func required(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpLiteral:
		return ofLiteral(re.Rune, re.Flags&syntax.FoldCase != 0)
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpConcat:
		return ofConcat(re.Sub)
	case syntax.OpAlternate:
		return ofAlternate(re.Sub)
	}
	return nil
}

func ofConcat(parts []*syntax.Regexp) (best []literal) {
	for _, part := range parts {
		if all := required(part); shortest(all) > shortest(best) {
			best = all
		}
	}
	return best
}

func ofAlternate(parts []*syntax.Regexp) (all []literal) {
	for _, part := range parts {
		some := required(part)
		if some == nil || len(all)+len(some) > maxLiterals {
			return nil
		}
		all = append(all, some...)
	}
	return all
}

func shortest(all []literal) int {
	if len(all) == 0 {
		return 0
	}
	size := len(all[0].text)
	for _, l := range all {
		size = min(size, len(l.text))
	}
	return size
}

// ofLiteral gives the longest piece of a literal that can be found by its bytes: a character that invalid bytes stand for,
// or one that has other forms than ASCII letters when case does not matter, such as k and the Kelvin sign, is in no piece.
func ofLiteral(text []rune, fold bool) []literal {
	best, piece := "", ""
	for _, r := range text {
		if r == utf8.RuneError || fold && !foldsInASCII(r) {
			piece = ""
			continue
		}
		if piece += string(r); len(piece) > len(best) {
			best = piece
		}
	}
	if best == "" {
		return nil
	}
	if fold {
		best = strings.ToLower(best)
		fold = strings.ToUpper(best) != best
	}
	return []literal{{best, fold}}
}

// foldsInASCII tells whether r has one case only, or is an ASCII letter whose only other form is one too.
func foldsInASCII(r rune) bool {
	other := unicode.SimpleFold(r)
	return other == r || r < utf8.RuneSelf && other < utf8.RuneSelf && unicode.SimpleFold(other) == r
}
