package corpus

import (
	"bytes"
	"embed"
	"io/fs"
	"strings"
	"unicode/utf8"
)

// A Source is a file that cases are made from.
type Source struct {
	Name string // path, with an extension that tells the language
	Data []byte

	lang  *language
	lines []line
	keys  []string
	unit  string
}

//go:embed testdata
var written embed.FS

// Written are the files that were written for the corpus, in languages that a toolchain has little of.
func Written() ([]Source, error) { return Load(written) }

// perKind is how many files of a language are taken: enough to differ, and read in no time.
const perKind = 40

// Load finds files to make cases from below a folder: text in a language that is known, 30 to 900 lines and 25 kB at most.
// It takes 40 of a language at most, spread evenly over all that there are.
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

// readFit gives nothing for a file that is too small or too big.
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
