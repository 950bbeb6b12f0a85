package editbench

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

var (
	tokens = regexp.MustCompile(`[\pL_][\pL\pM\pN_]{2,}|\b[0-9]{1,4}\b|==|!=|<=|>=|&&|\|\|`)
	names  = regexp.MustCompile(`[\pL_][\pL\pM\pN_]{2,}`)
	digits = regexp.MustCompile(`\b[0-9]{1,5}\b`)
)

var opposite = map[string]string{"==": "!=", "!=": "==", "<=": ">=", ">=": "<=", "&&": "||", "||": "&&"}

// instead returns another token of the same kind.
func (d *draft) instead(token string) string {
	if other, ok := opposite[token]; ok {
		return other
	}
	if n, err := strconv.Atoi(token); err == nil {
		return strconv.Itoa(n + 1 + d.IntN(9))
	}
	return d.freshName(token)
}

// freshName makes a name out of another.
func (d *draft) freshName(name string) string {
	switch d.IntN(4) {
	case 0:
		return name + "2"
	case 1:
		return name + one(d.Rand, []string{"Next", "Count", "List"})
	case 2:
		return one(d.Rand, []string{"new", "old", "any"}) + "_" + name
	}
	return one(d.Rand, []string{"result", "current", "pending", "target", "remaining"})
}

// word picks a name of a text; "" when there is none.
func (d *draft) word(text string) string {
	found := names.FindAllString(text, -1)
	found = slices.DeleteFunc(found, func(s string) bool { return !ascii(s) || reserved[s] })
	if len(found) == 0 {
		return ""
	}
	return one(d.Rand, found)
}

// reserved are words that one does not rename.
var reserved = setOf(`func return for range package import struct interface type var const switch case default break
	continue defer string int bool error nil true false else while void char static public private final class def self
	raise from not and with try except None True False new this null undefined function let export async await throw
	select where join order group create table exists primary key text date integer echo exit then done elif the for
	are was has that and end TEXT MOVQ MOVD ADDQ CALL RET JMP NOFRAME include define endif ifdef`)

func setOf(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

// swapWord puts one word for another, whole words only.
func swapWord(text, from, to string) string {
	return names.ReplaceAllStringFunc(text, func(s string) string {
		if s == from {
			return to
		}
		return s
	})
}

// wordsOf is the set of all words of a file.
func wordsOf(lines []line) map[string]bool {
	out := map[string]bool{}
	for _, l := range lines {
		for _, w := range names.FindAllString(l.text, -1) {
			out[w] = true
		}
	}
	return out
}

// typo spells a word wrong: two letters swapped, one left out, doubled, or another. The first letter stays.
func (d *draft) typo(word string) string {
	r := []rune(word)
	i := 1 + d.IntN(len(r)-2)
	switch d.IntN(4) {
	case 0:
		r[i], r[i+1] = r[i+1], r[i]
	case 1:
		r = slices.Delete(r, i, i+1)
	case 2:
		r = slices.Insert(r, i, r[i])
	default:
		r[i] = rune('a' + d.IntN(26))
	}
	return string(r)
}

// misspell puts a typo into a long word of a text, one that the file has not; the text as it was when there is none.
func (d *draft) misspell(text string, known map[string]bool) string {
	found := names.FindAllStringIndex(text, -1)
	d.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	for _, f := range found {
		word := text[f[0]:f[1]]
		if len(word) < 6 || strings.IndexFunc(word, notLetter) >= 0 {
			continue
		}
		if bad := d.typo(word); !known[bad] && bad != word {
			return text[:f[0]] + bad + text[f[1]:]
		}
	}
	return text
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) || r > unicode.MaxASCII }

func sorted[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
