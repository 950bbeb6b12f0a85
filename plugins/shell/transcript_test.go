package main

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// A printed piece is what a command wrote at once: "1" or "2" for the stream, then the text.
func transcriptOf(keep int, pieces ...string) *transcript {
	t := newTranscript(keep, nil)
	for _, p := range pieces {
		t.add(int(p[0]-'1'), []byte(p[1:]))
	}
	return t
}

func TestCombined(t *testing.T) {
	for _, test := range []struct {
		name   string
		pieces []string
		want   string
	}{
		{"nothing", nil, ""},
		{"one stream", []string{"1a\n", "1b"}, "a\nb"},
		{"the other stream", []string{"2a\n"}, "[stderr]\na\n"},
		{"both", []string{"1a\n", "2b\n", "1c\n"}, "a\n[stderr]\nb\n[stdout]\nc\n"},
		{"lines are whole", []string{"1a", "2b\n", "1c\n"}, "[stderr]\nb\n[stdout]\nac\n"},
		{"no line break at the ends", []string{"1a", "2b"}, "a\n[stderr]\nb"},
		{"characters in pieces", []string{"1\xc3", "2x\n", "1\xa4\n"}, "[stderr]\nx\n[stdout]\nä\n"},
		{"the middle is left out", []string{"10123456\n", "1" + strings.Repeat("x", 100) + "\n", "2err\n", "1the end\n"},
			"0123456\n[stderr]\nerr\n[stdout]\n[... 101 bytes left out ...]\nthe end\n"},
		{"all of the middle is of one stream", []string{"10123456\n", "2e\n", "1" + strings.Repeat("x\n", 100), "2f\n", "101234567"},
			"0123456\n[stderr]\ne\nf\n[stdout]\n[... 200 bytes left out ...]\n01234567"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := transcriptOf(16, test.pieces...).since([2]int64{})
			if v.combined != test.want {
				t.Errorf("got  %q\nwant %q", v.combined, test.want)
			}
		})
	}
}

func TestStreamsThatAlternateTooOften(t *testing.T) {
	tr := newTranscript(1<<20, nil)
	for i := range 2000 {
		tr.add(stdout, fmt.Appendf(nil, "out %d\n", i))
		tr.add(stderr, fmt.Appendf(nil, "err %d\n", i))
	}
	got := tr.since([2]int64{}).combined
	if strings.Count(got, "[stderr]\n") != 1 || !strings.HasPrefix(got, "out 0\nout 1\n") || !strings.Contains(got, "out 1999\n[stderr]\nerr 0\n") {
		t.Errorf("it is %.100q", got)
	}
	if !strings.HasSuffix(got, "err 1999\n[the order of stdout and stderr is not shown: they alternated more than 1000 times]\n") {
		t.Errorf("it ends with %q", got[len(got)-120:])
	}
}

// Memory is bounded, however often a command changes between the streams.
func TestRunsAreForgotten(t *testing.T) {
	tr := newTranscript(1000, nil)
	for range 100_000 {
		tr.add(stdout, []byte("a\n"))
		tr.add(stderr, []byte("b\n"))
	}
	if len(tr.runs) > 4*1000 || cap(tr.runs) > 16*1000 {
		t.Errorf("%d runs of 2000 bytes, room for %d", len(tr.runs), cap(tr.runs))
	}
	if v := tr.since([2]int64{}); !v.truncated || strings.Count(v.combined, "bytes left out") != 2 {
		t.Errorf("truncated %v: %q", v.truncated, v.combined)
	}
}

func TestSinceWhatWasSeen(t *testing.T) {
	tr := newTranscript(16, nil)
	var seen [2]int64
	for _, step := range []struct{ piece, want string }{
		{"1first\n", "first\n"},
		{"1", ""},
		{"2oops\n", "[stderr]\noops\n"},
		{"1prompt> ", "prompt> "},
		{"1yes\n", "yes\n"},
		{"1\xc3", "\uFFFD"},
		{"1\xa4\n", "ä\n"},
		{"1" + strings.Repeat("x", 30) + "\n", "[... 23 bytes left out ...]\nxxxxxxx\n"},
	} {
		tr.add(int(step.piece[0]-'1'), []byte(step.piece[1:]))
		v := tr.since(seen)
		if seen = v.next; v.combined != step.want {
			t.Errorf("after %q it shows %q, want %q", step.piece, v.combined, step.want)
		}
	}
}

// Whatever is printed, nothing is lost or doubled as long as there is room, and what is shown is bounded when there is not.
func TestTranscriptProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		keep := rapid.IntRange(2, 64).Draw(rt, "keep")
		pieces := rapid.SliceOf(rapid.StringMatching(`[12][a-c\n]{0,20}`)).Draw(rt, "pieces")
		var want [2]string
		for _, p := range pieces {
			want[p[0]-'1'] += p[1:]
		}
		v := transcriptOf(keep, pieces...).since([2]int64{})
		for i := range want {
			if v.totals[i] != int64(len(want[i])) {
				rt.Fatalf("%d bytes of stream %d, want %d", v.totals[i], i, len(want[i]))
			}
			if len(want[i]) <= keep/2*2 && v.streams[i] != want[i] {
				rt.Fatalf("stream %d is %q, want %q", i, v.streams[i], want[i])
			}
		}
		if most := 2*keep + 20*len(pieces) + 200; len(v.combined) > most || !utf8.ValidString(v.combined) {
			rt.Fatalf("%d bytes are shown: %q", len(v.combined), v.combined)
		}
		if !v.truncated {
			plain := strings.NewReplacer("[stdout]\n", "", "[stderr]\n", "").Replace(v.combined)
			if n := len(want[0]) + len(want[1]); strings.ReplaceAll(plain, "\n", "") == "" && n > strings.Count(want[0]+want[1], "\n") {
				rt.Fatalf("%d bytes are shown as %q", n, v.combined)
			}
			for _, letter := range []string{"a", "b", "c"} {
				if strings.Count(plain, letter) != strings.Count(want[0]+want[1], letter) {
					rt.Fatalf("%q does not show all of %q and %q", v.combined, want[0], want[1])
				}
			}
		}
	})
}

func TestLastLines(t *testing.T) {
	for _, test := range []struct {
		text string
		n    int
		want string
	}{{"", 3, ""}, {"a\nb\nc\n", 2, "b\nc\n"}, {"a\nb\nc", 2, "b\nc"}, {"a\nb\n", 2, "a\nb\n"}, {"a\nb\n", 9, "a\nb\n"}, {"\n\n\n", 1, "\n"}, {"a", 1, "a"}} {
		if got := lastLines(test.text, test.n); got != test.want {
			t.Errorf("the last %d lines of %q are %q, want %q", test.n, test.text, got, test.want)
		}
	}
}

func TestLastLinesTellTheirStream(t *testing.T) {
	for lines, want := range map[int]string{1: "[stderr]\ne\n", 2: "[stderr]\nd\ne\n", 3: "[stderr]\nd\ne\n", 4: "c\n[stderr]\nd\ne\n", 5: "[stdout]\nc\n[stderr]\nd\ne\n", 6: "[stderr]\nb\n[stdout]\nc\n[stderr]\nd\ne\n"} {
		v := transcriptOf(100, "1a\n", "2b\n", "1c\n", "2d\ne\n").since([2]int64{})
		if v.last(lines); v.combined != want || !v.truncated {
			t.Errorf("the last %d lines are %q, want %q", lines, v.combined, want)
		}
	}
}

func BenchmarkTranscript(b *testing.B) {
	line := []byte(strings.Repeat("some words in a line of output\n", 1000))
	for name, files := range map[string]*shelf{"kept": nil, "in a file too": {library: &library{}, limit: 1 << 40}} {
		b.Run(name, func(b *testing.B) {
			if files != nil {
				b.Setenv("TMPDIR", b.TempDir())
				files.limit = 64 << 20
				defer files.library.close()
			}
			tr := newTranscript(defaultKeep, files)
			defer tr.close()
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				tr.add(stdout, line)
			}
		})
	}
}
