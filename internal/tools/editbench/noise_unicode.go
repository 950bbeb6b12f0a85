package editbench

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Noise in characters that look alike.

// swapped applies a map of characters to all that the model writes. What the edit itself puts in must not be
// affected, as no one could say in whose characters it belongs.
func (d *draft) swapped(f func(string) string) bool {
	for i := range d.cells {
		c := &d.cells[i]
		if c.kind == inserted && f(c.new) != c.new {
			return false
		}
		if mid := d.middle(c); c.kind == changed && f(mid) != mid {
			return false
		}
	}
	return d.each(f)
}

// middle is what a changed line has that the file's line has not.
func (d *draft) middle(c *cell) string {
	if c.kind != changed {
		return ""
	}
	return difference(d.lines[c.at].text, c.want)
}

// difference is what a text has between the beginning and the end that it shares with another.
func difference(was, is string) string {
	n := len(prefix(was, is))
	end := 0
	for end < min(len(was), len(is))-n && was[len(was)-1-end] == is[len(is)-1-end] {
		end++
	}
	return is[n : len(is)-end]
}

// talk is the part of a line that is for people: comments, or all of it in prose.
func (d *draft) talk(text string, f func(string) string) string {
	if d.src.lang.prose {
		return indentOf(text) + f(text[len(indentOf(text)):])
	}
	code, comment, sure := d.src.lang.split(text)
	if !sure || comment == "" {
		return text
	}
	lead := code + indentOf(comment)
	return lead + f(comment[len(indentOf(comment)):])
}

// edited changes every line of the file.
func (d *draft) edited(f func(string) string) {
	d.content = true
	d.rewrite(func(lines []line) []line {
		for i := range lines {
			lines[i].text = f(lines[i].text)
		}
		return lines
	})
}

// curly sets a text as a printer would.
func curly(text string) string {
	var b strings.Builder
	open := false
	for i, r := range text {
		switch r {
		case '"':
			open = !open
			r = '”'
			if open {
				r = '“'
			}
		case '\'':
			r = '’'
			if i == 0 || strings.ContainsRune(" (\t", rune(text[i-1])) {
				r = '‘'
			}
		}
		b.WriteRune(r)
	}
	return strings.ReplaceAll(b.String(), " - ", " – ")
}

var plain = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "’", "'", "‘", "'", "–", "-", "—", "-",
	"\u00a0", " ", "…", "...")

// printed gives the file, or the model, curly quotes and long dashes.
func (d *draft) printed() bool {
	if d.yes(3) {
		d.note("the model's quotes are curly")
		return d.plan(false) && d.swapped(curly)
	}
	d.note("plain quotes for curly ones")
	hard, dots := d.yes(3), d.yes(6)
	d.edited(func(text string) string {
		return d.talk(text, func(s string) string {
			s = curly(s)
			if hard {
				s = strings.Replace(s, " a ", " a\u00a0", 1)
			}
			if dots {
				s = strings.ReplaceAll(s, "...", "…")
			}
			return s
		})
	})
	return d.plan(false) && d.swapped(plain.Replace)
}

var accents = strings.NewReplacer("re", "ré", "co", "cö", "na", "nã", "le", "lê", "un", "ün")

// composed has letters with accents, and Hangul, in parts on one side and in one on the other; or marks without width.
func (d *draft) composed() bool {
	if ascii(joinLines(d.lines)) {
		d.edited(func(text string) string { return d.talk(text, accents.Replace) })
	}
	switch d.IntN(4) {
	case 0:
		d.note("composed for decomposed")
		d.edited(norm.NFD.String)
		return d.plan(false) && d.swapped(norm.NFC.String)
	case 1:
		d.note("marks without width in the file")
		d.edited(func(text string) string { return d.talk(text, widthless) })
		return d.plan(false) && d.swapped(func(s string) string { return strings.ReplaceAll(s, "\u200b", "") })
	}
	d.note("decomposed for composed")
	return d.plan(false) && d.swapped(norm.NFD.String)
}

func widthless(s string) string { return strings.Replace(s, " ", " \u200b", 2) }

var sayings = []string{
	"설정을 읽어서 기본 값을 채운다", "연결이 끊기면 다시 시도한다.",
	"이 함수는 오류를 돌려주지 않는다", "빈 목록은 그대로 둔다",
	"ファイルを開いて、中身を調べる。", "ここでは「上限」を超えない。",
	"データが空なら、何もしない。", "次の行まで読み飛ばす",
	"检查参数是否正确，否则返回错误。", "这里不需要加锁（只读）。",
	"缓存已满：删除最旧的条目！", "先处理前缀，再处理后缀。",
}

// spoken puts comments in Korean, Japanese and Chinese into a file that has none.
func (d *draft) spoken() bool {
	if !ascii(joinLines(d.lines)) {
		return true
	}
	if !d.program() {
		return false
	}
	d.content = true
	own := make([]line, 0, len(d.lines)*5/4)
	from := d.from
	for i, l := range d.lines {
		if (i-d.from)%5 == 3 && i > d.from && i < d.from+d.count {
			own = append(own, line{indentOf(l.text) + d.src.lang.comment + " " + one(d.Rand, sayings) + one(d.Rand,
				[]string{"", " 2", " 7"}), "\n"})
			d.count++
		}
		own = append(own, l)
	}
	d.lines = own
	d.look(from, d.count)
	return true
}

var (
	wide   = strings.NewReplacer("（", "(", "）", ")", "：", ":", "，", ",", "！", "!", "０", "0", "？", "?")
	points = strings.NewReplacer("。", ".", "、", ",")
)

// eastern is noise that only texts in Korean, Japanese and Chinese have.
func (d *draft) eastern() bool {
	if !d.spoken() {
		return false
	}
	switch d.IntN(6) {
	case 0:
		d.note("decomposed for composed")
		return d.plan(false) && d.swapped(norm.NFD.String)
	case 1:
		d.note("narrow for full width")
		return d.plan(false) && d.swapped(wide.Replace)
	case 2:
		d.note("narrow stops")
		return d.plan(false) && d.swapped(points.Replace)
	case 3:
		d.note("wide blanks in the file")
		d.edited(func(text string) string { return between(text, "\u3000") })
		return d.plan(false) && d.swapped(func(s string) string { return strings.ReplaceAll(s, "\u3000", " ") })
	case 4:
		d.note("words run together")
		return d.plan(true) && d.apart("") && d.swapped(func(text string) string { return between(text, "") })
	}
	d.note("a letter of a syllable")
	d.local = true
	return d.count >= 6 && d.plan(true) && d.syllable()
}

// between writes something else for the blank between two Chinese, Japanese or Korean words, in a text's first one.
func between(text, with string) string {
	r := []rune(text)
	for i := 1; i < len(r)-1; i++ {
		if r[i] == ' ' && r[i-1] > 0x3000 && r[i+1] > 0x3000 {
			return string(r[:i]) + with + string(r[i+1:])
		}
	}
	return text
}

// apart reports whether the lines that the edit changes are not among those that between does something to.
func (d *draft) apart(with string) bool {
	for i := range d.cells {
		c := &d.cells[i]
		if c.kind == changed && (between(c.old, with) != c.old || between(c.new, with) != c.new) {
			return false
		}
	}
	return true
}

// syllable changes the vowel or the final of one Hangul syllable in a line that stays.
func (d *draft) syllable() bool {
	for _, i := range d.Perm(len(d.cells)) {
		c := &d.cells[i]
		r := []rune(c.old)
		at := slices.IndexFunc(r, func(r rune) bool { return r >= 0xac00 && r <= 0xd7a3-8 && (r-0xac00)%28 == 0 })
		if !c.still() || at < 0 {
			continue
		}
		r[at] += one(d.Rand, []rune{4, 8})
		c.old = string(r)
		c.new = c.old
		return true
	}
	return false
}
