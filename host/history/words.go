package history

import (
	"crypto/sha256"
	"encoding/base32"
	"math/bits"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Texts are searched by words: runs of letters, digits and marks, in lower case. SQLite's own tokenizers know an old
// Unicode and no Chinese, so words are made here, and its ascii tokenizer only splits them at the blanks between them.

// maxWord is the longest word in bytes; a longer one is several words, of which each follows the one before.
const maxWord = 64

// Tokens that no text has, as their letters are of a private use area: fields with their values, and what stands
// between two texts, so that no phrase is found across them.
const (
	fieldToken = '\ue000' // and the letters after it, one for each field
	textBreak  = "\uf000"
)

// A wordWriter appends words with a blank after each.
type wordWriter struct {
	text []byte
	word int // where the word at the end begins, -1 between words
}

func (w *wordWriter) write(text string) {
	w.word = -1
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
				w.add(c)
			case 'A' <= c && c <= 'Z':
				w.add(c + 'a' - 'A')
			default:
				w.end()
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		i += n
		w.rune(r)
	}
	w.end()
}

// begin begins a word, unless the one that is being written has room for n bytes more.
func (w *wordWriter) begin(n int) {
	if w.word >= 0 && len(w.text)-w.word+n > maxWord {
		w.end()
	}
	if w.word < 0 {
		w.word = len(w.text)
	}
}

func (w *wordWriter) add(c byte) {
	w.begin(1)
	w.text = append(w.text, c)
}

func (w *wordWriter) rune(r rune) {
	if r == utf8.RuneError || !unicode.In(r, unicode.L, unicode.N, unicode.M) {
		w.end()
		return
	}
	if unicode.In(r, unbroken...) {
		w.end()
	}
	r = unicode.ToLower(r)
	w.begin(utf8.RuneLen(r))
	w.text = utf8.AppendRune(w.text, r)
	if unicode.In(r, unbroken...) {
		w.end()
	}
}

func (w *wordWriter) end() {
	if w.word >= 0 {
		w.text = append(w.text, ' ')
		w.word = -1
	}
}

// unbroken are scripts that are written without blanks: each letter is a word.
var unbroken = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
	unicode.Khmer, unicode.Myanmar}

// breakText ends a text: a phrase does not go on in the next one.
func (w *wordWriter) breakText() {
	if n := len(w.text); n > 0 && !strings.HasSuffix(string(w.text[max(0, n-len(textBreak)-1):]), textBreak+" ") {
		w.text = append(w.text, textBreak+" "...)
	}
}

// writeJSON appends the words of JSON: names, texts, numbers.
func (w *wordWriter) writeJSON(raw []byte) {
	at := 0
	for i := 0; i < len(raw); i++ { // texts with escapes are read apart; all else is words as it stands
		if raw[i] != '"' {
			continue
		}
		end, escaped := stringEnd(raw, i)
		if escaped {
			if text, err := jsontext.AppendUnquote(nil, raw[i:end]); err == nil || len(text) > 0 {
				w.write(string(raw[at:i]))
				w.write(string(text))
				at = end
			}
		}
		i = end - 1
	}
	w.write(string(raw[at:]))
}

// stringEnd returns where the string that begins at the quote ends.
func stringEnd(raw []byte, quote int) (end int, escaped bool) {
	for i := quote + 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			escaped = true
			i++
		case '"':
			return i + 1, escaped
		}
	}
	return len(raw), escaped
}

// field appends a token for a field's value. Values can be of any bytes and 2 KiB long, so a token has their hash.
func (w *wordWriter) field(f field, value string) {
	if value == "" {
		return
	}
	w.text = utf8.AppendRune(w.text, fieldToken+rune(f))
	w.text = append(w.text, valueToken(value)...)
	w.text = append(w.text, ' ')
}

var tokenLetters = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

func valueToken(value string) string {
	sum := sha256.Sum256([]byte(value))
	return tokenLetters.EncodeToString(sum[:10])
}

// Durations fall into classes, eight for each doubling, so that the borders of a class are at most an eighth apart.
// Plots count by classes; a search for long calls asks for classes, and looks at the calls of the lowest one by one.

// classOf returns the class of a duration in microseconds.
func classOf(took int64) int {
	if took < 16 {
		return int(max(took, 0))
	}
	shift := bits.Len64(uint64(took)) - 4
	return shift*8 + int(took>>shift)
}

// classStart is the shortest duration of a class.
func classStart(class int) int64 {
	if class < 16 {
		return int64(class)
	}
	shift := class/8 - 1
	return int64(class-shift*8) << shift
}

// classMiddle stands for all durations of a class: it is at most a sixteenth away from each.
func classMiddle(class int) time.Duration {
	middle := float64(classStart(class)+classStart(class+1)-1) / 2
	return time.Duration(middle * float64(time.Microsecond))
}

// durationTokens are a call's: its class, and two groups of classes, so that a search names few of them.
func (w *wordWriter) durationTokens(took int64) {
	class := classOf(took)
	for level := range 3 {
		w.text = append(w.text, durationToken(level, class>>(3*level))...)
		w.text = append(w.text, ' ')
	}
}

func durationToken(level, class int) string {
	return string(fieldToken+rune(fieldDuration)) + string(rune('a'+level)) + strconv.Itoa(class)
}

// lastClass is that of the longest duration that a call has; see milliseconds.
var lastClass = classOf(int64(365 * 24 * time.Hour / time.Microsecond))

// longer returns tokens, one of which a call of a higher class has.
func longer(class int) (out []string) {
	for level, c := 0, class; level < 3; level++ {
		next, last := c+1, c|7
		if level == 2 {
			last = lastClass >> (3 * level)
		}
		for ; next <= last; next++ {
			out = append(out, durationToken(level, next))
		}
		c >>= 3
	}
	return out
}
