// Package charsetdetect finds out the legacy encoding of a text that is not UTF-8: the declared one, or a likely one.
//
// The guess goes by the letters that languages have: code with a few comments is too little for the statistics of
// detectors.
package charsetdetect

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/textutil"
)

// A language is told by its letters.
type language struct {
	letters   string   // those that are not ASCII, in lower case
	frequent  string   // the ten or so that most of a text is of, where none are ASCII
	encodings []string // names of the WHATWG encoding standard
}

var (
	western  = []string{"windows-1252"}
	central  = []string{"windows-1250", "iso-8859-2"}
	cyrillic = []string{"windows-1251", "koi8-r", "koi8-u", "iso-8859-5", "ibm866", "x-mac-cyrillic"}
	baltic   = []string{"windows-1257"}
)

// latin are the languages that write ASCII letters too. Of those that fit equally the first is taken. Names and loans
// have é everywhere.
var latin = []language{
	{"äöüßé", "", western},                    // German
	{"àâæçéèêëîïôœùûüÿ", "", western},         // French
	{"áéíñóúüºª", "", western},                // Spanish
	{"áâãàçéêíóôõúüºª", "", western},          // Portuguese
	{"àèéìíîòóù", "", western},                // Italian
	{"áàçèéíïòóúü", "", western},              // Catalan
	{"áéëèêïóöü", "", western},                // Dutch
	{"åäöéüà", "", western},                   // Swedish, Finnish
	{"æøåéòôóèêü", "", western},               // Danish, Norwegian
	{"áéíóúýðþæö", "", western},               // Icelandic
	{"äõöüšžé", "", western},                  // Estonian
	{"ąćęłńóśźżé", "", central},               // Polish
	{"áčďéěíňóřšťúůýžöü", "", central},        // Czech
	{"áäčďéíĺľňóôŕšťúýž", "", central},        // Slovak
	{"áéíóöőúüű", "", central},                // Hungarian
	{"čćđšžé", "", central},                   // Croatian, Slovene, Serbian
	{"ăâîşţé", "", central},                   // Romanian
	{"çğıöşüé", "", []string{"windows-1254"}}, // Turkish
	{"āčēģīķļņōŗšūžé", "", baltic},            // Latvian
	{"ąčęėįšųūžé", "", baltic},                // Lithuanian
}

// others are the languages of other scripts.
var others = []language{
	{"абвгдежзийклмнопрстуфхцчшщъыьэюяёєіїґўђѓѕјљњћќџ", "оеаинтсрвлі", cyrillic},
	{"αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋΐΰ", "αοιετσνηυρς", []string{"iso-8859-7", "windows-1253"}},
	{"אבגדהוזחטיךכלםמןנסעףפץצקרשת", "יוהלארתמבשנ", []string{"windows-1255"}},
	{"ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهوىيپچژگـًٌٍَُِّْ", "اليمونرتبةهد", []string{"windows-1256", "iso-8859-6"}},
	{"กขฃคฅฆงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรลวศษสหฬอฮะัาำิีึืฺุูเแโใไๅๆ็่้๊๋์", "านรอกเงมยลว่้ั", []string{"windows-874"}},
}

const (
	// leastLetters is how many letters beyond ASCII a guess needs.
	leastLetters = 4
	// leastCovered is how many of a thousand such letters have to be those of the language.
	leastCovered = 900
	// leastFrequent is how many of a thousand have to be its frequent ones. Of each script they are 600 to 750 in a text,
	// and about 300 where its bytes are read in another encoding.
	leastFrequent = 450
	// maxSample limits the work, in bytes.
	maxSample = 8 << 10
)

// declaration is how files say in which encoding they are: XML, HTML and texts with a header such as those of gettext,
// style sheets, and programs in the way of Python, Emacs and Vim.
var declaration = lazy.Regexp(`(?i)(?:<\?xml[^>]*?\sencoding\s*=\s*["']|\bcharset\s*=\s*["']?|@charset\s+["']|` +
	`coding[:=][ \t]*["']?)([a-z0-9][\w.:-]+)`)

// Declared returns the name of the encoding that a text names at its start, as it is written there, or "".
func Declared(text []byte) string {
	m := declaration().FindSubmatch(text[:min(len(text), 1<<10)])
	if m == nil {
		return ""
	}
	return string(m[1])
}

// Detect returns the likely encoding of a text, by its name in the WHATWG encoding standard, or "".
func Detect(text []byte) string {
	lines, words, foreign := sample(text)
	if foreign {
		if name := best(words, others); name != "" {
			return name
		}
	}
	if name := multibyte(lines); name != "" {
		return name
	}
	return best(words, latin)
}

// sample returns the lines of a text that are not ASCII alone, of these the words that are not, and whether most of
// them have no ASCII letter.
func sample(text []byte) (lines, words []byte, foreign bool) {
	alone, mixed := 0, 0
	for line := range bytes.Lines(text) {
		if textutil.IsASCII(line) {
			continue
		}
		if line = line[:min(len(line), maxSample)]; len(lines)+len(line) > maxSample && len(lines) > 0 {
			break
		}
		lines = append(lines, line...)
		for word := range bytes.FieldsFuncSeq(line, func(r rune) bool { return r < utf8.RuneSelf && !unicode.IsLetter(r) }) {
			if textutil.IsASCII(word) {
				continue
			}
			words = append(append(words, word...), ' ')
			if bytes.ContainsFunc(word, func(r rune) bool { return r < utf8.RuneSelf }) {
				mixed += len(word)
			} else if len(word) > 1 {
				alone += len(word)
			}
		}
	}
	return lines, words, alone > 2*mixed
}

// best returns the encoding in which words are most likely of one of these languages.
func best(words []byte, of []language) (name string) {
	most, decoded := 0, map[string]string{}
	for _, l := range of {
		for _, encoding := range l.encodings {
			text, done := decoded[encoding]
			if !done {
				text = decode(words, encoding)
				decoded[encoding] = text
			}
			if fits := l.fits(text); fits > most {
				name, most = encoding, fits
			}
		}
	}
	return name
}

func decode(text []byte, name string) string {
	enc, err := htmlindex.Get(name)
	if err != nil {
		return ""
	}
	decoded, _ := enc.NewDecoder().Bytes(text) // charmaps decode anything
	return string(decoded)
}

// fits says how well words are of the language, of 1000; 0 if they are not.
func (l *language) fits(words string) int {
	hits, frequent, misses, marks, capitals := 0, 0, 0, 0, 0
	runes := []rune(words)
	isLetter := func(i int) bool { return i >= 0 && i < len(runes) && unicode.IsLetter(runes[i]) }
	for i, r := range runes {
		letter := unicode.ToLower(r)
		known := strings.ContainsRune(l.letters, letter) || r == 'İ' && strings.Contains(l.letters, "ı")
		switch {
		case r < utf8.RuneSelf:
		case known && unicode.IsUpper(r) && i > 0 && unicode.IsLower(runes[i-1]),
			i > 1 && r == runes[i-1] && r == runes[i-2]: // a line that is drawn
			misses++
		case known && (isLetter(i-1) || isLetter(i+1) || l.frequent != ""):
			hits++
			if unicode.IsUpper(r) {
				capitals++
			}
			if strings.ContainsRune(l.frequent, letter) {
				frequent++
			}
		case known, r == '’':
			marks++
		case unicode.IsLetter(r) && r != 'ª' && r != 'º', unicode.IsControl(r), r == utf8.RuneError,
			isLetter(i-1) && isLetter(i+1):
			misses++
		default: // quotes and degrees stand beside words, not in them
			marks++
		}
	}
	covered := 1000 * hits / max(hits+misses, 1)
	// Marks count twice: what is a letter in one encoding, and a mark in another, is a letter.
	switch share := 1000 * frequent / max(hits+misses+2*marks, 1); {
	case hits < leastLetters, covered < leastCovered, l.frequent != "" && share < leastFrequent:
		return 0
	case l.frequent != "" && capitals == hits: // more likely another script
		return share * 3 / 4
	case l.frequent != "":
		return share
	}
	return covered
}

// multibyte guesses an encoding of several bytes for a character, by the letters that texts in it have.
func multibyte(lines []byte) string {
	high := 0
	for _, c := range lines {
		if c >= utf8.RuneSelf {
			high++
		}
	}
	for _, m := range []struct {
		name  string
		least int // of 100 letters
		is    func(r rune) bool
	}{
		{"euc-kr", 90, common("euc-kr", "\xB0\xA1", "\xC8\xFE")},
		{"euc-jp", 20, isKana},
		{"shift_jis", 20, isKana},
		{"gb18030", 90, common("gb18030", "\xB0\xA1", "\xD7\xF9")},
		{"big5", 90, common("big5", "\xA4\x40", "\xC6\x7E")},
		{"shift_jis", 90, common("shift_jis", "\x88\x9F", "\x98\x72")},
	} {
		letters, own := 0, 0
		text := strings.TrimSuffix(decode(lines, m.name), "\uFFFD") // a character may be cut off
		for _, r := range text {
			if r >= utf8.RuneSelf && unicode.IsLetter(r) {
				letters++
				if m.is(r) {
					own++
				}
			}
		}
		if m.least >= 90 && 5*high < 6*letters { // most are a letter of Latin and one of ASCII: Ó and N
			continue
		}
		if letters >= leastLetters && 100*own >= m.least*letters && !strings.ContainsRune(text, utf8.RuneError) {
			return m.name
		}
	}
	return ""
}

// isKana is without the halfwidth forms, which are one byte of Shift_JIS.
func isKana(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana) && r < 0xFF00 }

// common reports the syllables of KS X 1001, and the characters of the first levels of the others, which nearly all
// texts are of.
func common(name, first, last string) func(rune) bool {
	enc, err := htmlindex.Get(name)
	return func(r rune) bool {
		code, failed := enc.NewEncoder().String(string(r))
		return err == nil && failed == nil && first <= code && code <= last && len(code) == 2
	}
}
