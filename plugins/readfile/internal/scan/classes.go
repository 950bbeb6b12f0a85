package scan

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Classes are characters that a program cannot tell apart: those between two of the borders that its instructions have.
type classes struct {
	first []rune               // the first character of each class, rising; a class is known by its index
	ascii [utf8.RuneSelf]int32 // the classes of these
	end   int32                // the class for what comes behind the last character of a line
}

// newClasses collects the borders: of each instruction's ranges, and of the letters that make words.
func newClasses(prog *syntax.Prog) *classes {
	borders := []rune{0, '0', '9' + 1, 'A', 'Z' + 1, '_', '_' + 1, 'a', 'z' + 1, utf8.RuneError, utf8.RuneError + 1}
	for i := range prog.Inst {
		borders = append(borders, bordersOf(&prog.Inst[i])...)
	}
	slices.Sort(borders)
	c := &classes{first: slices.Compact(borders)}
	c.end = int32(len(c.first))
	for r := range rune(utf8.RuneSelf) {
		c.ascii[r] = c.search(r)
	}
	return c
}

func bordersOf(in *syntax.Inst) (out []rune) {
	switch {
	case in.Op != syntax.InstRune && in.Op != syntax.InstRune1:
		return nil
	case len(in.Rune) == 1:
		r := in.Rune[0]
		out = append(out, r, r+1)
		if syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				out = append(out, f, f+1)
			}
		}
		return out
	}
	for i := 0; i+1 < len(in.Rune); i += 2 {
		out = append(out, in.Rune[i], in.Rune[i+1]+1)
	}
	return out
}

func (c *classes) search(r rune) int32 {
	i, found := slices.BinarySearch(c.first, r)
	if !found {
		i--
	}
	return int32(i)
}
