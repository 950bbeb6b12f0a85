package scan

import (
	"bytes"
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A literal is text that a match must hold.
type literal struct {
	text string
	fold bool // in upper or lower case; ASCII letters of text are in lower case then
}

const (
	maxLiterals = 64 // of which a match must hold one
	maxText     = 64 // bytes of one that is put together
	maxRunes    = 8  // of a class that is written out
	maxPasses   = 6  // over a text, each of which looks for one byte or text
)

// The letters that are k and s too when case does not matter.
const kelvin, longS = "\u212A", "\u017F"

// required finds literals of which every match of re holds one; nil when there are none that are known.
func required(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpLiteral:
		return ofLiteral(re.Rune, re.Flags&syntax.FoldCase != 0)
	case syntax.OpCharClass:
		all, _ := ofClass(re.Rune)
		return all
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpConcat:
		return ofConcat(re.Sub)
	case syntax.OpAlternate:
		return ofAlternate(re.Sub)
	}
	return nil
}

// ofConcat puts together what follows one another, as far as that is few literals, and takes the best of that.
func ofConcat(parts []*syntax.Regexp) (best []literal) {
	consider := func(all []literal) {
		if value(all) > value(best) {
			best = all
		}
	}
	run := []literal{{}}
	for _, part := range parts {
		few, ok := exactly(part)
		longer := joinEach(run, few)
		if !ok {
			consider(required(part))
		}
		if len(few) != 1 || longer == nil {
			consider(run)
		}
		switch {
		case !ok:
			run = []literal{{}}
		case longer == nil:
			run = few
		default:
			run = longer
		}
	}
	consider(run)
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

// value is higher for literals that are found faster and in fewer places, and 0 for those that cannot be looked for.
func value(all []literal) int {
	if len(all) == 0 {
		return 0
	}
	size := maxText
	for _, l := range all {
		size = min(size, len(l.text))
	}
	switch {
	case size == 0, size == 1 && passes(all) > maxPasses:
		return 0
	case len(all) == 1:
		return 3 + 2*min(size, 8)
	case passes(all) <= maxPasses:
		return 2 + 2*min(size, 8)
	}
	return 2 * min(size, 8)
}

// passes is how many passes over a text it takes to look for the literals one by one.
func passes(all []literal) (n int) {
	for _, l := range all {
		n++
		if l.fold {
			n++
		}
	}
	return n
}

// exactly returns all the texts that re matches, when these are few and short; assertions match an empty one.
func exactly(re *syntax.Regexp) (all []literal, ok bool) {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return []literal{{}}, true
	case syntax.OpLiteral:
		text := string(re.Rune)
		all = ofLiteral(re.Rune, re.Flags&syntax.FoldCase != 0)
		return all, len(text) <= maxText && len(all) == 1 && len(all[0].text) == len(text)
	case syntax.OpCharClass:
		return ofClass(re.Rune)
	case syntax.OpCapture:
		return exactly(re.Sub[0])
	case syntax.OpQuest:
		all, ok = exactly(re.Sub[0])
		return append(slices.Clip(all), literal{}), ok
	case syntax.OpConcat:
		all = []literal{{}}
		for _, sub := range re.Sub {
			some, ok := exactly(sub)
			if all = joinEach(all, some); !ok || all == nil {
				return nil, false
			}
		}
		return all, true
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			some, ok := exactly(sub)
			if all = append(all, some...); !ok || len(all) > maxLiterals {
				return nil, false
			}
		}
		return all, true
	}
	return nil, false
}

// joinEach puts each of the last behind each of the first; nil when that is too much.
func joinEach(first, last []literal) (out []literal) {
	if len(first)*len(last) > maxLiterals {
		return nil
	}
	for _, a := range first {
		for _, b := range last {
			l := literal{a.text + b.text, a.fold || b.fold}
			if len(l.text) > maxText {
				return nil
			}
			if l.fold {
				l.text = lower(l.text)
			}
			if !slices.Contains(out, l) {
				out = append(out, l)
			}
		}
	}
	return out
}

// lower changes ASCII letters only: others have no case here.
func lower(text string) string {
	out := []byte(text)
	for i, c := range out {
		if 'A' <= c && c <= 'Z' {
			out[i] = c - 'A' + 'a'
		}
	}
	return string(out)
}

// ofLiteral returns the longest piece of a literal that can be found by its bytes: a character that invalid bytes
// stand for, or one that has other forms than ASCII letters when case does not matter, is in no piece. The other forms
// of k and s are looked for apart.
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
		best = lower(best)
		fold = strings.ContainsAny(best, "abcdefghijklmnopqrstuvwxyz")
	}
	return []literal{{best, fold}}
}

// foldsInASCII reports whether r has one case only, or is an ASCII letter whose only other form is one too, but for k
// and s.
func foldsInASCII(r rune) bool {
	other := unicode.SimpleFold(r)
	return other == r || r < utf8.RuneSelf && (strings.ContainsRune("KkSs", r) || unicode.SimpleFold(other) == r)
}

// ofClass writes out a class of few characters, given as ranges.
func ofClass(ranges []rune) (all []literal, ok bool) {
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if r == utf8.RuneError || len(all) == maxRunes {
				return nil, false
			}
			all = append(all, literal{text: string(r)})
		}
	}
	return all, true
}

// A finder finds a literal in a text, from left to right, and remembers where it saw what.
type finder struct {
	literal
	rare         int // where in the literal its rarest byte is; only for fold
	lower, upper int // where in the text that byte is next, in either case
	next         int // where the literal is next
}

const (
	unknown = -1 // not looked yet
	nowhere = -2
)

func newFinder(l literal) *finder {
	f := &finder{literal: l}
	for i := range l.text {
		if rank(l.text[i]) > rank(l.text[f.rare]) {
			f.rare = i
		}
	}
	f.reset()
	return f
}

func (f *finder) reset() { f.lower, f.upper, f.next = unknown, unknown, unknown }

// common are bytes in the order of how often they are in code and prose, roughly, the commonest first.
const common = " etaonirsldcupmfhg\n\t_().,\"=-:/bvywk0;1x*'>jz2q{}[]<3456789"

// rank is higher for bytes that are rarer. Those that have an upper and a lower case are searched for twice.
func rank(b byte) int {
	if i := strings.IndexByte(common, b); i >= 0 {
		return i
	}
	return len(common)
}

// find returns where the literal begins at from or after it, or nowhere.
func (f *finder) find(data []byte, from int) int {
	if f.next == nowhere || f.next >= from {
		return f.next
	}
	if f.fold {
		f.next = f.findFold(data, from)
	} else {
		f.next = at(bytes.Index(data[from:], []byte(f.text)), from)
	}
	return f.next
}

func (f *finder) findFold(data []byte, from int) int {
	low := f.text[f.rare]
	up := low
	if 'a' <= low && low <= 'z' {
		up -= 'a' - 'A'
	}
	for next := from + f.rare; ; {
		f.lower, f.upper = nextByte(data, low, f.lower, next), nextByte(data, up, f.upper, next)
		place := earlier(f.lower, f.upper)
		if place == nowhere {
			return nowhere
		}
		if begin := place - f.rare; begin+len(f.text) <= len(data) && equalFold(data[begin:begin+len(f.text)], f.text) {
			return begin
		}
		next = place + 1
	}
}

// nextByte returns where b is at from or after it, when known is where it was found last.
func nextByte(data []byte, b byte, known, from int) int {
	if known == nowhere || known >= from {
		return known
	}
	if from > len(data) {
		return nowhere
	}
	return at(bytes.IndexByte(data[from:], b), from)
}

func at(index, from int) int {
	if index < 0 {
		return nowhere
	}
	return from + index
}

// earlier is the smaller of two places, of which each may be nowhere.
func earlier(a, b int) int {
	if a == nowhere || b != nowhere && b < a {
		return b
	}
	return a
}

// equalFold compares with text in lower case. Only ASCII letters have a case here.
func equalFold(data []byte, text string) bool {
	for i, b := range data {
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		if b != text[i] {
			return false
		}
	}
	return true
}

// Blocks find the first of many literals in one pass. It looks at each stride-th place of a text alone: that is enough
// to meet two bytes in a row of the start of every literal.
type blocks struct {
	stride int
	heads  [1 << 16]uint8 // by two bytes of the text: the first of starts that has them in a literal, from 1; 0 for none
	starts []start
}

// A start is up to eight bytes of a literal, and where in it two bytes are.
type start struct {
	bytes, mask, fold uint64
	at                int
	next              uint8 // of starts with the same two bytes, 0 for none
}

// maxStride bounds how many starts there are, so that a uint8 tells them apart.
const maxStride = 3

// newBlocks returns nil for literals that are too short.
func newBlocks(all []literal) *blocks {
	b := &blocks{stride: maxStride}
	for _, l := range all {
		b.stride = min(b.stride, len(l.text)-1)
	}
	if b.stride < 1 {
		return nil
	}
	heads := map[string]uint8{} // by two bytes in lower case
	for _, l := range all {
		for i := range b.stride {
			s, pair := startOf(l), lower(l.text[i:i+2])
			s.at, s.next = i, heads[pair]
			b.starts = append(b.starts, s)
			heads[pair] = uint8(len(b.starts))
		}
	}
	for _, l := range all {
		for i := range b.stride {
			head := heads[lower(l.text[i:i+2])]
			for _, first := range cases(l.text[i], l.fold) {
				for _, second := range cases(l.text[i+1], l.fold) {
					b.heads[twoBytes(first, second)] = head
				}
			}
		}
	}
	return b
}

func startOf(l literal) (s start) {
	for i := range min(len(l.text), 8) {
		s.bytes |= uint64(l.text[i]) << (8 * i)
		s.mask |= 0xFF << (8 * i)
		if len(cases(l.text[i], l.fold)) > 1 {
			s.fold |= ('a' - 'A') << (8 * i)
		}
	}
	return s
}

func cases(c byte, fold bool) []byte {
	if fold && 'a' <= c && c <= 'z' {
		return []byte{c, c - 'a' + 'A'}
	}
	return []byte{c}
}

func twoBytes(first, second byte) uint16 { return uint16(first) | uint16(second)<<8 }

// find returns where the start of a literal begins at from or after it, or nowhere.
func (b *blocks) find(data []byte, from int) int {
	s, heads := b.stride, &b.heads
	for at := from; at+1 < len(data); at += s {
		for at+3*s+1 < len(data) { // four strides at once, of which seldom one leads to a literal
			if heads[twoBytes(data[at], data[at+1])]|heads[twoBytes(data[at+s], data[at+s+1])]|
				heads[twoBytes(data[at+2*s], data[at+2*s+1])]|heads[twoBytes(data[at+3*s], data[at+3*s+1])] != 0 {
				break
			}
			at += 4 * s
		}
		if at+1 >= len(data) {
			break
		}
		for i := heads[twoBytes(data[at], data[at+1])]; i > 0; i = b.starts[i-1].next {
			l := &b.starts[i-1]
			if begin := at - l.at; begin >= from && (eightBytes(data[begin:])|l.fold)&l.mask == l.bytes {
				return begin
			}
		}
	}
	return nowhere
}

// eightBytes are the first of data, with zeros for those that are not there.
func eightBytes(data []byte) uint64 {
	if len(data) >= 8 {
		return binary.LittleEndian.Uint64(data)
	}
	var all [8]byte
	copy(all[:], data)
	return binary.LittleEndian.Uint64(all[:])
}
