package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// Each change of a log of six records has the expected faults, each with a text.
func TestTampering(t *testing.T) {
	for name, c := range map[string]struct {
		act  func(lines []string) []string
		want string
		text string // in the first problem
	}{
		"nothing": {func(l []string) []string { return l }, "", ""},
		"a byte changed": {func(l []string) []string { l[2] = strings.Replace(l[2], "shell", "shelf", 1); return l },
			"3:content", "its content was changed"},
		"a hash changed": {func(l []string) []string { l[2] = otherHash(l[2]); return l }, "3:content 4:order",
			"its content was changed"},
		"last hash changed": {func(l []string) []string { l[5] = otherHash(l[5]); return l }, "6:content 6:head",
			"its content was changed"},
		"replaced, resealed": {func(l []string) []string {
			l[2] = resealed(strings.Replace(l[2], "shell", "shelf",
				1))
			return l
		}, "4:order",
			"the line above was replaced"},
		"last one resealed": {func(l []string) []string {
			l[5] = resealed(strings.Replace(l[5], "shell", "shelf",
				1))
			return l
		}, "6:head", "the head knows another record 6"},
		"first dropped": {func(l []string) []string { return l[1:] }, "1:order", "record 1 is missing"},
		"some dropped": {func(l []string) []string { return slices.Delete(l, 2, 4) }, "3:order",
			"records 3 to 4 are missing"},
		"two swapped": {func(l []string) []string { l[2], l[3] = l[3], l[2]; return l }, "3:order 4:order 5:order",
			"record 3 is missing"},
		"one twice": {func(l []string) []string { return slices.Insert(l, 3, l[2]) }, "4:order",
			"it is record 3, after record 3"},
		"last twice": {func(l []string) []string { return append(l, l[5]) }, "7:order",
			"it is record 6, after record 6"},
		"a word by hand": {func(l []string) []string { return append(l, "hello\n") }, "7:format", "it is not JSON"},
		"JSON by hand": {func(l []string) []string { return append(l, `{"seq":7,"kind":"call","prev":""}`+"\n") },
			"7:format", "it does not end in a hash"},
		"other types": {func(l []string) []string {
			return append(l, resealed(strings.Replace(l[5], `"seq":6`, `"seq":"6"`, 1)))
		}, "7:format", "it is not a record"},
		"huge number": {func(l []string) []string {
			return append(l, resealed(strings.Replace(l[5], `"seq":6`, `"seq":`+strings.Repeat("6", 5000), 1)))
		}, "7:format", "it is not a record"},
		"sealed by hand": {func(l []string) []string {
			return append(l,
				resealed(strings.Replace(l[5], `"seq":6`, `"seq":7`, 1)))
		}, "7:order", "replaced or added"},
		"number by hand": {func(l []string) []string {
			l[5] = resealed(strings.Replace(l[5], `"seq":6`, `"seq":9`,
				1))
			return l
		}, "6:number", "it is record 9, where 6 belongs"},
		"a blank line": {func(l []string) []string { return slices.Insert(l, 3, "\n") }, "4:format", "it is not JSON"},
		"a long line": {func(l []string) []string { return slices.Insert(l, 3, strings.Repeat(" ", 3*maxLine)+"\n") },
			"4:format", "longer than"},
		"the end cut": {func(l []string) []string { return l[:4] }, "4:head",
			"it ends with record 4, and the head knows record 6"},
		"all cut": {func([]string) []string { return nil }, "0:head", "it ends with record 0"},
		"the end torn": {func(l []string) []string { l[5] = l[5][:50]; return l }, "6:torn 6:head",
			"it is unfinished, after 50 bytes"},
		"the end long": {func(l []string) []string { return append(l, strings.Repeat("x", 2*maxLine)) }, "7:torn",
			"it is unfinished"},
	} {
		t.Run(name, func(t *testing.T) {
			path := written(t, 6)
			write(t, path, strings.Join(c.act(slices.Collect(strings.Lines(read(t, path)))), ""))
			r := verified(t, path)
			if got := faults(r); got != c.want {
				t.Errorf("faults %q, want %q: %v", got, c.want, r.Problems)
			}
			if len(r.Problems) > 0 && !strings.Contains(r.Problems[0].Text, c.text) {
				t.Errorf("problem %q, want %q in it", r.Problems[0].Text, c.text)
			}
		})
	}
}

// otherHash gives the line a hash of its own choice.
func otherHash(line string) string {
	at := len(line) - len("\"}\n") - 1
	last := "0"
	if line[at] == '0' {
		last = "1"
	}
	return line[:at] + last + line[at+1:]
}

// resealed gives a line the hash that it should have.
func resealed(line string) string {
	body := line[:len(line)-1-sealed]
	return body + hashKey + Hash([]byte(body+"}")) + "\"}\n"
}

func TestHeads(t *testing.T) {
	for name, c := range map[string]struct {
		head string // "-" removes it
		want string
	}{
		"missing":     {"-", "0:head"},
		"empty":       {"", "0:head"},
		"garbage":     {strings.Repeat("x", headSize), "0:head"},
		"too long":    {Head{Seq: 6, Hash: noHash}.line() + "x", "0:head"},
		"upper case":  {strings.ToUpper(Head{Seq: 6, Hash: Hash(nil)}.line()), "0:head"},
		"other hash":  {Head{Seq: 6, Hash: noHash}.line(), "6:head"},
		"far ahead":   {Head{Seq: 1 << 62, Hash: noHash}.line(), "6:head"},
		"not a digit": {"-" + Head{Seq: 6, Hash: noHash}.line()[1:], "0:head"},
	} {
		t.Run(name, func(t *testing.T) {
			path := written(t, 6)
			write(t, headPath(path), c.head)
			if c.head == "-" {
				os.Remove(headPath(path))
			}
			if got := faults(verified(t, path)); got != c.want {
				t.Errorf("faults %q, want %q", got, c.want)
			}
			// The next record keeps the evidence, and the chain continues after it.
			add(t, openLog(t, path, Options{}), call(7), call(8))
			r := verified(t, path)
			if len(r.Problems) == 0 || r.Newer != 0 {
				t.Errorf("after more records there are problems %q, %d newer", faults(r), r.Newer)
			}
		})
	}
}

// A crash between a record and its head leaves a record that the head does not name. That is reported, and no problem.
func TestNewer(t *testing.T) {
	path := written(t, 4)
	old := read(t, headPath(path))
	add(t, openLog(t, path, Options{}), call(5), call(6))
	write(t, headPath(path), old)
	if r := verified(t, path); !r.OK() || r.Newer != 2 || r.Records != 6 {
		t.Errorf("%+v", r)
	}
	add(t, openLog(t, path, Options{}), call(7))
	checkWhole(t, path, 7)
}

// The record after a crash explains the unfinished line, wherever the crash came.
func TestTornLineIsSetAside(t *testing.T) {
	whole := written(t, 3)
	lines := slices.Collect(strings.Lines(read(t, whole)))
	for _, n := range []int{1, 2, 100, len(lines[2]) - 2, len(lines[2]) - 1} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			path := logPath(t)
			write(t, path, lines[0]+lines[1]+lines[2][:n])
			write(t, headPath(path), read(t, headPath(written(t, 2))))
			add(t, openLog(t, path, Options{}), call(8), call(9))
			r := verified(t, path)
			torn, n := 1, n
			if n == len(lines[2])-1 { // only the line's end is missing
				torn = 0
			}
			if !r.OK() || r.Torn != torn || r.Records != 5 {
				t.Errorf("%+v", r)
			}
			if !strings.HasPrefix(read(t, path), lines[0]+lines[1]+lines[2][:n]+"\n") {
				t.Error("what the crash had left was changed")
			}
		})
	}
}

// An unfinished line that is changed after it was set aside is not explained any more.
func TestTornLineChanged(t *testing.T) {
	path := written(t, 2)
	write(t, path, read(t, path)+`{"seq":3,"ti`)
	add(t, openLog(t, path, Options{}), call(3))
	write(t, path, strings.Replace(read(t, path), `{"seq":3,"ti`+"\n", `{"seq":3,"to`+"\n", 1))
	if got := faults(verified(t, path)); got != "3:format" {
		t.Errorf("faults %q", got)
	}
}

// What the head knew of lines that were cut off is kept when the next record is written.
func TestCutIsKept(t *testing.T) {
	for name, c := range map[string]struct{ keep, line int }{"some": {4, 5}, "all": {0, 1}} {
		t.Run(name, func(t *testing.T) {
			path := written(t, 6)
			lines := slices.Collect(strings.Lines(read(t, path)))
			write(t, path, strings.Join(lines[:c.keep], ""))
			add(t, openLog(t, path, Options{}), call(7), call(8))
			r := verified(t, path)
			if got, want := faults(r), fmt.Sprintf("%d:cut", c.line); got != want || r.Last.Seq != 9 {
				t.Fatalf("faults %q, want %q; last %d", got, want, r.Last.Seq)
			}
			if want := fmt.Sprintf("records %d to 6 were missing", c.keep+1); !strings.Contains(r.Problems[0].Text, want) {
				t.Errorf("problem %q, want %q in it", r.Problems[0].Text, want)
			}
		})
	}
}

// Text that was added by hand is a problem permanently, and the chain continues around it.
func TestGarbageStaysAProblem(t *testing.T) {
	path := written(t, 3)
	write(t, path, read(t, path)+"hello\n")
	add(t, openLog(t, path, Options{}), call(4))
	if r := verified(t, path); faults(r) != "4:format" || r.Records != 4 || r.Torn != 0 {
		t.Errorf("%+v", r)
	}
}

func TestReportIsBounded(t *testing.T) {
	path := logPath(t)
	write(t, path, strings.Repeat("x\n", 5000))
	r := verified(t, path)
	if len(r.Problems) != maxProblems || r.More != 5000+1-maxProblems {
		t.Errorf("%d problems and %d more", len(r.Problems), r.More)
	}
}

// A record that was removed while its head stayed is a loss, and no new beginning.
func TestRemovedLog(t *testing.T) {
	path := written(t, 3)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	r, err := Verify(path)
	if err != nil || r.OK() || r.Problems[0].Fault != FaultHead ||
		!strings.Contains(r.Problems[0].Text, "its head knows 3 records") {
		t.Errorf("%+v, %v", r, err)
	}
	for _, err := range Read(path) {
		if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "its head knows 3 records") {
			t.Errorf("reading: %v", err)
		}
	}
	if _, err := Tail(path, 1); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the tail: %v", err)
	}
	l := openLog(t, path, Options{}) // a host continues, and the loss is still reported
	add(t, l, call(4))
	if r, err := Verify(path); err != nil || r.OK() || r.Problems[0].Fault != FaultCut {
		t.Errorf("%+v, %v", r, err)
	}
}

// A log that was opened and never written to knows no records: removing it loses none.
func TestRemovedEmptyLog(t *testing.T) {
	path := written(t, 0)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A full disk leaves both files empty where Open could make them and write nothing. That is said, since it is also what
// is left of a log whose files were emptied; the next Open begins.
func TestLogThatWasNotBegun(t *testing.T) {
	path := logPath(t)
	for _, name := range Files(path) {
		write(t, name, "")
	}
	r := verified(t, path)
	if faults(r) != "0:head" || !strings.Contains(r.Problems[0].Text, "nothing was recorded yet") {
		t.Errorf("%+v", r)
	}
	l := openLog(t, path, Options{})
	checkWhole(t, path, 0)
	add(t, l, call(1))
	checkWhole(t, path, 1)
}
