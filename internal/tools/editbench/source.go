package editbench

import (
	"bytes"
	"embed"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A Source is a file that cases are made from.
type Source struct {
	Name string // path, with an extension that determines the language
	Data []byte

	lang  *language
	lines []line
	keys  []string
	unit  string
}

//go:embed testdata
var written embed.FS

// Sources are the files of the Go toolchain, and those of testdata in languages that it has little of. They are read
// once.
var Sources = sync.OnceValues(func() ([]Source, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	out, err := Load(written)
	for _, dir := range []string{"src", "lib", "misc", "doc", "api"} {
		path := filepath.Join(string(bytes.TrimSpace(root)), dir)
		if _, missing := os.Stat(path); err != nil || missing != nil {
			continue
		}
		var found []Source
		found, err = Load(os.DirFS(path))
		out = append(out, found...)
	}
	return out, err
})

// perKind is how many files of a language are taken: enough to differ, and read in no time.
const perKind = 40

// Load finds files to make cases from below a folder: text in a language that is known, 30 to 900 lines and 25 kB at
// most. It takes 40 of a language at most, spread evenly over all that there are.
func Load(fsys fs.FS) ([]Source, error) {
	kinds := map[string][]string{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ext := extension(name); languages[ext] != nil && d.Type().IsRegular() {
			kinds[ext] = append(kinds[ext], name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out []Source
	for _, ext := range sorted(kinds) {
		found, err := spread(fsys, kinds[ext])
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// spread reads perKind of the files, or as many as are fit, stepping evenly over the names and then over those between.
func spread(fsys fs.FS, names []string) ([]Source, error) {
	var out []Source
	step := len(names)/perKind + 1
	for first := range step {
		for i := first; i < len(names) && len(out) < perKind; i += step {
			data, err := readFit(fsys, names[i])
			if err != nil {
				return nil, err
			}
			if s, ok := newSource(names[i], data); ok {
				out = append(out, s)
			}
		}
	}
	return out, nil
}

// readFit returns nothing for a file that is too small or too big.
func readFit(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil || info.Size() < 600 || info.Size() > 25_000 {
		return nil, err
	}
	return fs.ReadFile(fsys, name)
}

func newSource(name string, data []byte) (Source, bool) {
	s := Source{Name: name, Data: data, lang: languageOf(name)}
	if s.lang == nil || !utf8.Valid(data) || bytes.ContainsAny(data, "\x00\r") || !bytes.HasSuffix(data, []byte("\n")) {
		return s, false
	}
	s.lines = splitLines(string(data))
	for _, l := range s.lines {
		if len(l.text) > 240 || strings.Contains(l.text, "\ufeff") {
			return s, false
		}
	}
	s.keys, s.unit = keys(s.lines), unitOf(s.lines)
	return s, len(s.lines) >= 30 && len(s.lines) <= 900
}

// A line is a line of a file; its ending is "\n", "\r\n", or nothing on a last line without one.
type line struct{ text, eol string }

func splitLines(data string) []line {
	var out []line
	for data != "" {
		text, rest, found := strings.Cut(data, "\n")
		l := line{text: text}
		if found {
			l.eol = "\n"
		}
		if found && strings.HasSuffix(text, "\r") {
			l = line{text[:len(text)-1], "\r\n"}
		}
		out, data = append(out, l), rest
	}
	return out
}

func joinLines(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text)
		b.WriteString(l.eol)
	}
	return b.String()
}

func indentOf(text string) string {
	return text[:len(text)-len(strings.TrimLeft(text, " \t"))]
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// unitOf is what one step of indentation is in a file: a tab or some blanks.
func unitOf(lines []line) string {
	steps := map[int]int{}
	before := 0
	for _, l := range lines {
		if blank(l.text) {
			continue
		}
		indent := indentOf(l.text)
		switch d := len(indent) - before; {
		case strings.HasPrefix(indent, "\t"):
			steps[0] += max(d, 0)
		case d == 2 || d == 4 || d == 8:
			steps[d]++
		}
		before = len(indent)
	}
	best := 4
	for _, d := range []int{0, 2, 4, 8} {
		if steps[d] > steps[best] {
			best = d
		}
	}
	if best == 0 {
		return "\t"
	}
	return strings.Repeat(" ", best)
}

// squash reduces a text to what no one would take for another text: no white space, no commas and semicolons, one kind
// of quotes and dashes, composed letters. Two places that squash alike fit a noisy quotation alike.
func squash(text string) string {
	if ascii(text) {
		return strings.Map(squashed, text)
	}
	return strings.Map(squashed, norm.NFKC.String(text))
}

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

func squashed(r rune) rune {
	switch r {
	case ' ', '\t', '\n', '\r', ',', ';', '、', '\u200b', '\ufeff', '\\':
		return -1
	case '"', '“', '”', '‘', '’', '`', '„':
		return '\''
	case '–', '—', '‐', '‑', '−':
		return '-'
	case '。':
		return '.'
	}
	if unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) {
		return -1
	}
	return r
}

// keys squashes line by line.
func keys(lines []line) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = squash(l.text)
	}
	return out
}

func size(keys []string) int {
	n := 0
	for _, k := range keys {
		n += len(k)
	}
	return n
}

// letters counts the letters and digits of a text.
func letters(text string) int {
	n := 0
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}
