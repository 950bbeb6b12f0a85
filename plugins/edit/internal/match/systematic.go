package match

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// adopt brings what the model wrote in another form all over, such as curly quotes or decomposed letters, into the form
// that the file has at the place, so that new lines do not bring it in.
func (p *projection) adopt() {
	file := p.t.data[p.place.Start:p.place.End]
	old, fresh := p.old.data, toLF(p.new.data)
	if !isASCII(old) || !isASCII(fresh) {
		if norm.NFC.IsNormal(old) && !norm.NFC.IsNormal(file) && norm.NFD.IsNormal(file) {
			old, fresh = norm.NFD.Bytes(old), norm.NFD.Bytes(fresh)
		}
		if !norm.NFC.IsNormal(old) && norm.NFC.IsNormal(file) {
			old, fresh = norm.NFC.Bytes(old), norm.NFC.Bytes(fresh)
		}
		r := plain(old, file)
		old, fresh = []byte(r.Replace(string(old))), []byte(r.Replace(string(fresh)))
		p.old = newSource(old, p.t.syntax)
	}
	p.new = newSource(fresh, p.t.syntax)
	p.trims = p.trailing()
}

// trailing says that lines of old_string end with blanks where those of the file do not, and none the other way.
func (p *projection) trailing() bool {
	more := false
	for _, c := range p.place.cells {
		if c.single() && !isBlankLine(p.old.text(c.o0)) {
			o, f := p.old.text(c.o0), p.t.text(c.f0)
			more = more || endsBlank(o) && !endsBlank(f)
			if endsBlank(o) && endsBlank(f) {
				return false
			}
		}
	}
	return more
}

func endsBlank(b []byte) bool { return len(b) > 0 && blankByte(b[len(b)-1]) }

// plain turns runes that old has and the file has not at the place into what they fold to, if the file has that.
func plain(old, file []byte) *strings.Replacer {
	var swap []string
	seen := map[rune]bool{}
	for _, r := range string(old) {
		to := foldRune(r)
		if r == ellipsis && !seen[r] && !bytes.ContainsRune(file, r) && bytes.Contains(file, []byte("...")) {
			seen[r] = true
			swap = append(swap, string(r), "...")
		}
		if r < utf8.RuneSelf || to == r || seen[r] || bytes.ContainsRune(file, r) {
			continue
		}
		seen[r] = true
		switch {
		case to < 0:
			swap = append(swap, string(r), "")
		case bytes.ContainsRune(file, to):
			swap = append(swap, string(r), string(to))
		}
	}
	return strings.NewReplacer(swap...)
}
