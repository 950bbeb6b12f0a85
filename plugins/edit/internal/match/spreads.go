package match

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// Languages in which three dots before or behind an expression are an operator.
var (
	dotsBefore = setOf(strings.Fields("js jsx mjs cjs ts tsx mts cts vue svelte astro php dart graphql gql res re pkl"))
	dotsBehind = setOf(strings.Fields("go c h cc cpp cxx hpp hh hxx cu coffee jl scss sass less tf hcl d"))
)

var (
	anyDots = lazy.Regexp(`\.{3,}|…`)
	// operandName is what a spread operand starts with, with the $ of PHP, and operandTail how a member of it is named.
	operandName = lazy.Regexp(`^((await|new|yield)\s+)?\\?[$@#]?[\p{L}_$][\p{L}\p{N}_$]*`)
	operandTail = lazy.Regexp(`^((!?\??\.|::\$?|\??->)#?[\p{L}_$][\p{L}\p{N}_$]*|\?\.|!)*`)
	// behindOperand is what may come behind a spread operand: the end, another element, an operator or a type.
	behindOperand = lazy.Regexp(`^\s*($|[,)\]}]|\|\||&&|\?\?|\?.*\s:\s|=>|` +
		`:\s*(readonly )?(\w+\[\]|[A-Z]\w*[<\[,).]|(any|unknown|never)\b))`)
	// computed is what brackets hold that are an expression and no remark.
	computed = lazy.Regexp(`\|\||&&|\?\?|=>|===|\?.*\s:\s|\w\(|[\[{]|^\w+$`)
	// packDots are dots behind an argument of a call, which may begin on a line before, or beside an operator, as in C++.
	packDots = lazy.Regexp(`\w\s*\(([^()]*,)?\s*[&*$@]?[\w.:$-]+\.\.\.\s*\)|\w\(.*\)\.\.\.\s*\)|` +
		`(^|,|[\w)\]}]\()\s*[&*]*([\w.:]|\(([^()]|\([^()]*\))*\)|\[[^\[\]]*\]|\{[^{}]*\})+\.\.\.[ \t,]*\)|` +
		`(\+|\*|&&|\|\||<<)\s*\.\.\.\)|\(\.\.\.\s*(\+|\*|&&|\|\||<<)\s*\w`)
	// ellipsisIndex are dots as an index of Python among others.
	ellipsisIndex = lazy.Regexp(`[\[(,]\s*\.\.\.\s*[,)\]]`)
	// aloneInBrackets has nothing but a word for what stays, which is not code by the look of it.
	aloneInBrackets = lazy.Regexp(`(?i)^[\[(]\.\.\.\??(rest|remainder|remaining|existing|unchanged|unmodified|` +
		`same|omitted|elided|snip(ped)?|truncated)[\])]$`)
	proseWords = lazy.Regexp(`(?i)^[a-z'’]+( [a-z'’]+)+$`)
)

// dotsAreCode reports whether all dots of a part of a new line are operators of the file's language, such as those of
// a spread, {...rest}, or of variadic arguments. Whole is the line that the part comes to be in.
func (t *Text) dotsAreCode(part, whole string) bool {
	part, whole = strings.TrimSpace(part), strings.TrimSpace(whole)
	all := anyDots().FindAllStringIndex(part, -1)
	between := strings.FieldsFunc(part, func(r rune) bool { return strings.ContainsRune(",(){}[]", r) })
	if len(all) == 0 || commentMark().MatchString(whole) || aloneInBrackets().MatchString(whole) ||
		slices.ContainsFunc(between, isProse) {
		return false
	}
	ext := t.ext
	of := func(pattern *regexp.Regexp) int {
		return len(anyDots().FindAllString(strings.Join(pattern.FindAllString(part,
			-1), " "), -1))
	}
	switch {
	case dotsBefore[ext]:
		return !slices.ContainsFunc(all, func(at []int) bool {
			return part[at[0]:at[1]] != "..." || !isSpread(part[:at[0]], part[at[1]:], ext)
		})
	case dotsBehind[ext]:
		return of(packDots()) == len(all)
	case t.kind() == "py":
		head, _, _ := strings.Cut(whole, part)
		return head != "" && wordRune(lastRune([]byte(head))) && of(ellipsisIndex()) == len(all)
	}
	return false
}

// keywords are words that code can have before another word.
var keywords = setOf(strings.Fields("new await async typeof void yield delete return const let var export throw " +
	"function func"))

// isProse reports whether a part of a line between brackets and commas is words of a sentence.
func isProse(s string) bool {
	s = strings.TrimSpace(s)
	if !proseWords().MatchString(s) {
		return false
	}
	words := strings.Fields(s)
	return !keywords[words[0]] && !slices.Contains([]string{"as", "in", "instanceof", "satisfies"}, words[1])
}

// isSpread reports whether dots between two parts of a line belong to an expression that follows them at once.
func isSpread(before, after, ext string) bool {
	if last := lastRune([]byte(before)); before != "" && (wordRune(last) || strings.ContainsRune(`"'.`+"`", last)) {
		return false
	}
	if ext == "dart" {
		after = strings.TrimPrefix(after, "?")
	}
	name := operandName().FindString(after)
	called := !strings.ContainsAny(name, " \t") // of "new X" and "await x" only a call is code
	if ext == "php" && strings.Trim(name, `\$`) == name {
		called = false
	}
	if after = after[len(name):]; name == "" {
		return strings.IndexAny(after, "([{") == 0 && computed().MatchString(after[1:])
	}
	after = after[len(operandTail().FindString(after)):]
	return strings.IndexAny(after, "([{") == 0 || called && behindOperand().MatchString(after)
}
