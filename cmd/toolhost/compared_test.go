package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A comparedRow is one row of the tables in docs/compared.md.
type comparedRow struct {
	line                int
	number, there, here string
}

var (
	rowNumber = regexp.MustCompile(`^[A-Z]\d+$`)
	codeSpan  = regexp.MustCompile("`([^`]+)`")
)

// compared reads the page: its rows, and the text after the last table.
func compared(t *testing.T) (rows []comparedRow, rest string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/compared.md")
	if err != nil {
		t.Fatal(err)
	}
	tables, rest, ok := strings.Cut(string(text), "\n## What none of the five has\n")
	if !ok {
		t.Fatal("the last section is missing")
	}
	for i, line := range strings.Split(tables, "\n") {
		if !strings.HasPrefix(line, "|") || line == "|---|---|---|" || strings.HasPrefix(line, "| # |") {
			continue
		}
		cells := strings.Split(line, "|")
		if len(cells) != 5 || cells[4] != "" {
			t.Errorf("line %d has no three cells: %s", i+1, line)
			continue
		}
		rows = append(rows, comparedRow{i + 1, strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2]),
			strings.TrimSpace(cells[3])})
	}
	return rows, rest
}

// Every feature of the five systems has its row, in order.
func TestComparedRows(t *testing.T) {
	var want, got []string
	for _, system := range []struct {
		letter   string
		features int
	}{{"A", 18}, {"B", 40}, {"C", 30}, {"D", 22}, {"E", 30}} {
		for n := range system.features {
			want = append(want, fmt.Sprintf("%s%d", system.letter, n+1))
		}
	}
	rows, _ := compared(t)
	for _, r := range rows {
		got = append(got, r.number)
		if !rowNumber.MatchString(r.number) || r.there == "" || r.here == "" {
			t.Errorf("line %d has an empty cell or no number: %+v", r.line, r)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// Everything that the page names exists.
func TestComparedNames(t *testing.T) {
	w := newWhatIs(t)
	rows, rest := compared(t)
	named := map[string]int{}
	for _, r := range append(rows, comparedRow{number: "the last section", here: rest}) {
		for _, span := range codeSpan.FindAllStringSubmatch(r.here, -1) {
			kind, wrong := w.check(span[1])
			named[kind]++
			for _, words := range wrong {
				t.Errorf("%s: %s: %s", r.number, span[0], words)
			}
		}
	}
	for _, k := range nameKinds {
		if named[k.name] < 2 {
			t.Errorf("the page names %d of the kind %q; is it still found?", named[k.name], k.name)
		}
	}
}

// check returns the kind of name that the inline code is, "" for none, and its error.
func (w *whatIs) check(code string) (kind string, wrong []string) {
	for _, k := range nameKinds {
		names := k.pattern.FindAllString(code, -1)
		for _, name := range names {
			if words := k.wrong(w, name); words != "" {
				wrong = append(wrong, words)
			}
		}
		if names != nil {
			return k.name, wrong
		}
	}
	return "", nil
}

// nameKinds are the kinds of names that inline code may have; the first matching one counts.
var nameKinds = []struct {
	name    string
	pattern *regexp.Regexp
	wrong   func(w *whatIs, name string) string
}{
	{"command", regexp.MustCompile(`^toolhost( .*)?$`), (*whatIs).command},
	{"flag", regexp.MustCompile(`^--[a-z-]+`), (*whatIs).anyFlag},
	{"Go name", regexp.MustCompile(`\b(` + strings.Join(packageNames(), "|") + `)\.[A-Z]\w*(\.[A-Z]\w*)?`),
		(*whatIs).goName},
	{"code", regexp.MustCompile(`^E_[A-Z_]+$`), (*whatIs).quoted},
	{"test", regexp.MustCompile(`^Test[A-Z]\w*$`), (*whatIs).test},
	{"error name", regexp.MustCompile(`^([A-Z][a-z]+){2,}$`), (*whatIs).quoted},
	{"tool", regexp.MustCompile(`^[a-z]+__[a-z]+$`), (*whatIs).tool},
	{"attribute", regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`), (*whatIs).quoted},
	{"setting", regexp.MustCompile(`\b[a-z_]+ =`), (*whatIs).setting},
}
