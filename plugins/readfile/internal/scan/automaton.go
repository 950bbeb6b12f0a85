package scan

import (
	"context"
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Limits of what an automaton knows. When one is reached all is forgotten, and the automaton starts to learn again.
const (
	maxTable = 1 << 18 // entries of the table, four bytes each
	maxSets  = 2 << 20 // bytes of the sets that are its states, and of what they are known by
)

// An automaton decides whether a line matches. Its states are the sets of instructions at which the program can stand;
// it learns a step from one to another when it first takes it.
type automaton struct {
	ctx  context.Context
	prog *syntax.Prog
	*classes
	width int32   // of a row of table
	table []int32 // by state and class: the next state, in units of width
	kinds []state
	known map[string]int32
	size  int // of kinds and known, in bytes

	start    int32 // the state at the begin of a line
	set, aux set
	key      []byte
	learnt   int  // how many steps
	stopped  bool // ctx ended, and what the automaton says is void
}

// A state is a set of instructions, with what the assertions in it ask of the character before.
type state struct {
	insts []uint32
	begin bool // there is none
	word  bool // it is a letter of a word
}

// States that end a line's scan. Their numbers are those of the first rows.
const (
	untold  = 0 // no state: the step is to be learnt
	dead    = 1 // nothing can match any more
	matched = 2
)

func newAutomaton(ctx context.Context, p *Pattern) *automaton {
	a := &automaton{ctx: ctx, prog: p.prog, classes: p.classes, width: p.classes.end + 1}
	a.set.dense, a.aux.dense = make([]uint32, 0, len(p.prog.Inst)), make([]uint32, 0, len(p.prog.Inst))
	a.set.sparse, a.aux.sparse = make([]uint32, len(p.prog.Inst)), make([]uint32, len(p.prog.Inst))
	a.forget()
	return a
}

func (a *automaton) forget() {
	a.table, a.kinds, a.known, a.size = make([]int32, 3*a.width, 64*a.width), make([]state, 3), map[string]int32{}, 0
	a.set.clear()
	isMatch := a.follow(&a.set, uint32(a.prog.Start), 0)
	a.start = a.intern(state{insts: a.set.dense, begin: true}, isMatch)
}

// match reports whether a line matches, and where the match that ends first does so, or the character after it.
func (a *automaton) match(line []byte) (end int, ok bool) {
	s := a.start
	if s <= matched {
		return 0, s == matched
	}
	for i := 0; i < len(line); {
		class, size := a.class(line[i:])
		next := a.table[s*a.width+class]
		if next <= matched {
			if next == untold {
				next = a.step(s, class)
			}
			if next <= matched {
				return i + size, next == matched
			}
		}
		s, i = next, i+size
	}
	next := a.table[s*a.width+a.end]
	if next == untold {
		next = a.step(s, a.end)
	}
	return len(line), next == matched
}

// class is that of the first character of text.
func (a *automaton) class(text []byte) (class int32, size int) {
	if text[0] < utf8.RuneSelf {
		return a.ascii[text[0]], 1
	}
	r, size := utf8.DecodeRune(text)
	return a.search(r), size
}

// step learns where a character of a class, or the end of the line, leads from a state.
func (a *automaton) step(from, class int32) int32 {
	if a.learnt++; a.learnt%1024 == 0 && a.ctx.Err() != nil {
		a.stopped = true
		return dead
	}
	before := a.kinds[from]
	next := state{word: class < a.end && isWord(a.first[class])}
	isMatch := a.assert(before, class)
	if !isMatch && class < a.end {
		isMatch = a.take(a.first[class])
		next.insts = a.aux.dense
	}
	if (len(a.table)+int(a.width) > maxTable || a.size > maxSets) && len(a.kinds) > 8 {
		insts := slices.Clone(next.insts)
		a.forget() // no one comes back to from
		next.insts = insts
		return a.intern(next, isMatch)
	}
	to := a.intern(next, isMatch)
	a.table[from*a.width+class] = to
	return to
}

// assert fills set with the instructions of a state, and those behind assertions that hold before a character of a
// class.
func (a *automaton) assert(s state, class int32) (isMatch bool) {
	flags := syntax.EmptyNoWordBoundary
	if s.word != (class < a.end && isWord(a.first[class])) {
		flags = syntax.EmptyWordBoundary
	}
	if s.begin {
		flags |= syntax.EmptyBeginLine | syntax.EmptyBeginText
	}
	if class == a.end {
		flags |= syntax.EmptyEndLine | syntax.EmptyEndText
	}
	a.set.clear()
	for _, pc := range s.insts {
		isMatch = a.follow(&a.set, pc, flags) || isMatch
	}
	return isMatch
}

// take fills aux with where the character leads from set, and with a new start: a match may begin anywhere.
func (a *automaton) take(r rune) (isMatch bool) {
	a.aux.clear()
	for _, pc := range a.set.dense {
		if in := &a.prog.Inst[pc]; takes(in, r) {
			isMatch = a.follow(&a.aux, in.Out, 0) || isMatch
		}
	}
	return a.follow(&a.aux, uint32(a.prog.Start), 0) || isMatch
}

func takes(in *syntax.Inst, r rune) bool {
	switch in.Op {
	case syntax.InstRune, syntax.InstRune1:
		return in.MatchRune(r)
	case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true // a line has no line break
	}
	return false
}

// follow adds an instruction to a set, and all that it leads to without a character. Assertions that do not hold by
// flags stay in the set, to be asked when the next character is known.
func (a *automaton) follow(s *set, pc uint32, flags syntax.EmptyOp) (isMatch bool) {
	todo := []uint32{pc}
	for len(todo) > 0 {
		pc, todo = todo[len(todo)-1], todo[:len(todo)-1]
		if !s.add(pc) {
			continue
		}
		switch in := &a.prog.Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			todo = append(todo, in.Arg, in.Out)
		case syntax.InstCapture, syntax.InstNop:
			todo = append(todo, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^flags == 0 {
				todo = append(todo, in.Out)
			}
		case syntax.InstMatch:
			isMatch = true
		}
	}
	return isMatch
}

// intern returns the number of a state, which is a new one if it was not known.
func (a *automaton) intern(s state, isMatch bool) int32 {
	if isMatch {
		return matched
	}
	a.key = a.key[:0]
	keep := make([]uint32, 0, len(s.insts))
	for _, pc := range s.insts {
		if a.lasts(pc, s.begin) {
			keep = append(keep, pc)
		}
	}
	if len(keep) == 0 {
		return dead
	}
	slices.Sort(keep)
	for _, pc := range keep {
		a.key = binary.AppendUvarint(a.key, uint64(pc))
	}
	a.key = append(a.key, bit(s.begin), bit(s.word))
	if number, ok := a.known[string(a.key)]; ok {
		return number
	}
	number := int32(len(a.kinds))
	s.insts = keep
	a.known[string(a.key)], a.kinds = number, append(a.kinds, s)
	a.size += len(a.key) + 4*len(keep)
	a.table = append(a.table, make([]int32, a.width)...)
	return number
}

// lasts reports an instruction that a later step looks at. An assertion for the begin of the line is none when that is
// past.
func (a *automaton) lasts(pc uint32, begin bool) bool {
	switch in := &a.prog.Inst[pc]; in.Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	case syntax.InstEmptyWidth:
		return begin || syntax.EmptyOp(in.Arg)&(syntax.EmptyBeginLine|syntax.EmptyBeginText) == 0
	}
	return false
}

func isWord(r rune) bool { return r < utf8.RuneSelf && syntax.IsWordChar(r) }

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// Classes are characters that a program cannot distinguish: those between two of the borders that its instructions
// have.
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

// A set is a set of instructions, which is emptied at no cost.
type set struct {
	dense  []uint32
	sparse []uint32 // where in dense each is
}

func (s *set) clear() { s.dense = s.dense[:0] }

// add reports whether it was not in the set before.
func (s *set) add(pc uint32) bool {
	if at := s.sparse[pc]; int(at) < len(s.dense) && s.dense[at] == pc {
		return false
	}
	s.sparse[pc] = uint32(len(s.dense))
	s.dense = append(s.dense, pc)
	return true
}
