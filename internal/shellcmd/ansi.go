package shellcmd

import (
	"strconv"
	"strings"
)

var ansiEscapes = map[byte]byte{'a': 7, 'b': 8, 'e': 27, 'E': 27, 'f': 12, 'n': 10, 'r': 13, 't': 9, 'v': 11,
	'\\': '\\', '\'': '\'', '"': '"', '?': '?'}

// ansi evaluates the inside of $'...'. It gives up on what depends on the locale or ends the text early.
func ansi(s string) (text string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			return "", false
		}
		if c, simple := ansiEscapes[s[i]]; simple {
			b.WriteByte(c)
			continue
		}
		c, n := ansiCode(s[i:])
		if c <= 0 || c > 0x7e {
			return "", false
		}
		b.WriteByte(byte(c))
		i += n - 1
	}
	return b.String(), true
}

// ansiCode reads \nnn, \xHH, \uHHHH and \UHHHHHHHH, without the backslash: the character and how long its code is.
func ansiCode(s string) (c, n int) {
	skip, most, base := 1, 8, 16 // U
	switch s[0] {
	case 'x':
		most = 2
	case 'u':
		most = 4
	case 'U':
	default:
		skip, most, base = 0, 3, 8
	}
	n = skip
	for n < len(s) && n-skip < most && digitOf(s[n], base) {
		n++
	}
	v, err := strconv.ParseUint(s[skip:n], base, 32)
	if err != nil {
		return -1, 0
	}
	return int(v), n
}

func digitOf(c byte, base int) bool {
	return c >= '0' && c <= '7' || base == 16 && strings.IndexByte("89abcdefABCDEF", c) >= 0
}
