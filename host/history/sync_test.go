package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/testutil"
)

// same fails unless the index has what the record has.
func same(t *testing.T, i *Index, record string) {
	t.Helper()
	got, count := all(t.Context(), t, i, Filter{}, 1000)
	want := readOracle(t, record).search(&Filter{})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if count != int64(len(want)) {
		t.Fatalf("count %d, want %d", count, len(want))
	}
}

func sync1(t *testing.T, i *Index) {
	t.Helper()
	if err := i.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestIndexHasWhatAReaderOfTheRecordHas(t *testing.T) {
	testutil.Long(t)
	line := strings.SplitAfter(readFile(t, written(t, 7, 5)), "\n")[0]
	for name, change := range map[string]func(text string) string{
		"whole":                   func(text string) string { return text },
		"empty":                   func(string) string { return "" },
		"a torn last line":        func(text string) string { return text[:len(text)-30] },
		"no line end":             func(text string) string { return strings.TrimSuffix(text, "\n") },
		"no records":              func(string) string { return "hello\n\n{}\n{\"seq\":1}\n" },
		"several chains":          func(text string) string { return text + text + line + text },
		"a line that is too long": func(text string) string { return text + strings.Repeat("x", 3<<20) + line + text },
		"a line of the longest":   func(text string) string { return strings.Repeat(" ", 1<<20-len(line)) + line + text },
		"a line of one byte more": func(text string) string { return strings.Repeat(" ", 1<<20-len(line)+1) + line + text },
		"zeros":                   func(text string) string { return text + strings.Repeat("\x00", 5000) + "\n" + line },
		"invalid UTF-8":           func(text string) string { return strings.ReplaceAll(text, "shell", "sh\xffll") },
		"other types of fields":   func(text string) string { return strings.ReplaceAll(text, `"attempts":`, `"attempts":"x",`) + line },
		"times of all centuries": func(text string) string {
			return strings.Replace(text, "2026-", "9999-", 3) + strings.Replace(line, "2026-", "0001-", 1)
		},
		"lines ended as on Windows": func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") },
	} {
		t.Run(name, func(t *testing.T) {
			record := written(t, 3, 300)
			if err := os.WriteFile(record, []byte(change(readFile(t, record))), 0o600); err != nil {
				t.Fatal(err)
			}
			i := synced(t, record)
			same(t, i, record)
			appendAll(t, openLog(t, record), audit.Record{Kind: audit.KindCall, CallID: "after", Status: "ok"})
			same(t, i, record)
			compareSearches(t, i, record, rand.New(rand.NewPCG(3, 3)), 300, 10)
		})
	}
}

// A last line that is being written, or that a crash has left, is nothing that a search lacks.
func TestUnreadBytesAreThoseOfWholeLines(t *testing.T) {
	whole := readFile(t, written(t, 7, 50))
	for name, c := range map[string]struct {
		text   string
		unread int64 // before anything is indexed
	}{
		"whole":                {whole, int64(len(whole))},
		"a half line":          {whole + whole[:70], int64(len(whole))},
		"a half line alone":    {whole[:70], 0},
		"a long half line":     {whole + strings.Repeat("x", 300_000), int64(len(whole))},
		"no text":              {strings.Repeat("\x7fELF\x00", 50_000), 0},
		"a text":               {"# README\n\nof no record", 10},
		"empty":                {"", 0},
		"a half line of zeros": {whole + strings.Repeat("\x00", 4096), int64(len(whole))},
	} {
		t.Run(name, func(t *testing.T) {
			record := filepath.Join(t.TempDir(), "audit.jsonl")
			put(t, record, c.text, 0o600)
			i := openIndex(t, Options{Record: record})
			if s, err := i.State(t.Context()); err != nil || s.Unread != c.unread || s.Size != int64(len(c.text)) {
				t.Errorf("before: %+v, %v, want %d", s, err, c.unread)
			}
			sync1(t, i)
			if s, err := i.State(t.Context()); err != nil || s.Unread != 0 {
				t.Errorf("after: %+v, %v", s, err)
			}
		})
	}
}

func TestIndexIsTheSameWhateverTheBatches(t *testing.T) {
	record := written(t, 11, 400)
	text := readFile(t, record)
	r := rand.New(rand.NewPCG(1, 1))
	grown := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(grown, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	i := openIndex(t, Options{Record: grown})
	other := openIndex(t, Options{Record: grown}) // as a second process has it
	for len(text) > 0 {
		n := min(len(text), 1+r.IntN(5000)) // in the middle of lines
		appendText(t, grown, text[:n])
		text = text[n:]
		sync1(t, anyOf(r, i, other))
	}
	sync1(t, i)
	same(t, i, record)
	same(t, other, record)
	compareSearches(t, i, record, r, 400, 30)
}

func TestARecordThatWasChangedIsIndexedAgain(t *testing.T) {
	first, second := written(t, 1, 200), readFile(t, written(t, 2, 250))
	original := readFile(t, first)
	i := synced(t, first)
	move := func(text string) {
		t.Helper()
		if err := os.Rename(first, first+".old"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(first, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rewrite := func(text string) {
		t.Helper()
		if err := os.WriteFile(first, []byte(text), 0o600); err != nil { // the file stays the same one
			t.Fatal(err)
		}
	}
	lines := strings.SplitAfter(original, "\n")
	for _, step := range []struct {
		name   string
		change func()
	}{
		{"moved away, and begun again", func() { move(second) }},
		{"the same text in another file", func() { move(second) }},
		{"cut", func() { rewrite(second[:len(second)/2]) }},
		{"longer, with another beginning", func() { rewrite(original) }},
		{"other last lines", func() { rewrite(strings.Join(lines[:100], "") + second) }},
		{"empty", func() { rewrite("") }},
		{"filled again", func() { rewrite(original) }},
	} {
		step.change()
		sync1(t, i)
		t.Log(step.name)
		same(t, i, first)
	}
	if err := os.Rename(first, first+".old"); err != nil {
		t.Fatal(err)
	}
	if got, _ := all(t.Context(), t, i, Filter{}, 100); len(got) != 0 {
		t.Errorf("a record that is gone has %d calls", len(got))
	}
	rewrite(original)
	same(t, i, first)
}

func TestALineThatWasChangedInPlaceIsNoticedWhenItIsShown(t *testing.T) {
	record := written(t, 5, 2000)
	i := synced(t, record)
	text := readFile(t, record)
	at := len(text)/2 + strings.Index(text[len(text)/2:], `"kind":"call"`)
	at = strings.LastIndex(text[:at], `"seq":`) + len(`"seq":`)
	changed := text[:at] + string('0'+(text[at]-'0'+1)%10) + text[at+1:] // another number
	if err := os.WriteFile(record, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	p := Page{Size: 100}
	for err == nil {
		var r *Result
		if r, err = i.Search(t.Context(), Filter{}, p); err == nil {
			if p.Cursor = r.Cursor; p.Cursor == "" {
				t.Fatal("all calls were shown")
			}
		}
	}
	if _, is := errors.AsType[*ChangedError](err); !is {
		t.Fatal(err)
	}
	sync1(t, i)
	same(t, i, record)
}

func TestADamagedIndexIsMadeAgain(t *testing.T) {
	record := written(t, 5, 500)
	index := audit.IndexPath(record)
	for name, damage := range map[string]func(text []byte) []byte{
		"no database":       func([]byte) []byte { return []byte(strings.Repeat("no database", 1000)) },
		"empty":             func([]byte) []byte { return nil },
		"cut":               func(text []byte) []byte { return text[:len(text)/2] },
		"pages overwritten": func(text []byte) []byte { copy(text[8192:], make([]byte, len(text)-8192)); return text },
		"the version":       func(text []byte) []byte { text[63] = 0; return text },
	} {
		t.Run(name, func(t *testing.T) {
			i := synced(t, record)
			if err := i.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(index, damage([]byte(readFile(t, index))), 0o600); err != nil {
				t.Fatal(err)
			}
			i = openIndex(t, Options{Record: record})
			sync1(t, i)
			_, err := i.Search(t.Context(), Filter{}, Page{})
			if _, again := errors.AsType[*RebuildError](err); again {
				sync1(t, i)
			}
			same(t, i, record)
		})
	}
}

func TestAnIndexThatIsDamagedWhileItIsOpenIsMadeAgain(t *testing.T) {
	record := written(t, 5, 500)
	i := synced(t, record)
	other := synced(t, record)
	if err := i.use(t.Context(), func(s *store) error { // its pages are in memory; the file is another one
		return removeStore(s.path)
	}); err != nil {
		t.Fatal(err)
	}
	sync1(t, i)
	same(t, i, record)
	sync1(t, other)
	same(t, other, record)
}

func TestForeignFilesAreLeftAlone(t *testing.T) {
	record := written(t, 5, 10)
	index := audit.IndexPath(record)
	s, err := openStore(t.Context(), placeOf(index))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ change, want string }{
		{fmt.Sprint("PRAGMA user_version = ", version+1), "a newer toolhost"},
		{"PRAGMA application_id = 7", "another program"},
	} {
		if _, err := s.write.Exec(c.change); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), Options{Record: record}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.change, err)
		}
	}
	s.close()
	if err := removeStore(index); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(index, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Record: record}); err == nil {
		t.Error("a folder was opened")
	}
	if _, err := Open(t.Context(), Options{}); err == nil {
		t.Error("no record was opened")
	}
	// The record itself is no index: it is not touched, though it is no database either.
	if _, err := Open(t.Context(), Options{Record: record, Index: record}); err == nil {
		t.Error("the record was taken for the index")
	}
	if _, err := os.Stat(record); err != nil {
		t.Error(err)
	}
}

func TestALockedIndexIsAnError(t *testing.T) {
	record := written(t, 5, 100)
	i := synced(t, record)
	s, err := openStore(t.Context(), placeOf(audit.IndexPath(record)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	tx, err := s.write.Begin() // as another process that writes and does not end
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, openLog(t, record), audit.Record{Kind: audit.KindCall, CallID: "new"})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := i.Sync(ctx); err == nil {
		t.Error("a locked index was written")
	}
	if r, err := i.Search(t.Context(), Filter{}, Page{Count: true}); err != nil || r.Count == 0 {
		t.Errorf("a search waits for the lock: %+v, %v", r, err)
	}
	if _, err := s.read.Exec("PRAGMA query_only = 0; PRAGMA busy_timeout = 0; BEGIN IMMEDIATE"); !errors.Is(describe(err),
		ErrLocked) {
		t.Errorf("a lock is the error %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	sync1(t, i)
	same(t, i, record)
}

func TestFilesAreOfTheUserAlone(t *testing.T) {
	record := written(t, 5, 100)
	if err := synced(t, record).Close(); err != nil { // and stay, so that what masks them for plugins holds
		t.Fatal(err)
	}
	for _, path := range audit.IndexFiles(record)[:3] {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
	}
}

// Follow, several writers, another process, and searches at once.
func TestSearchesWhileTheRecordGrows(t *testing.T) {
	record := recordPath(t)
	ctx, cancel := context.WithCancel(t.Context())
	i, other := openIndex(t, Options{Record: record}), openIndex(t, Options{Record: record})
	var following, writing sync.WaitGroup
	for _, index := range []*Index{i, other} {
		following.Go(func() { index.Follow(ctx) })
	}
	for w := range 3 {
		l := openLog(t, record)
		r := rand.New(rand.NewPCG(uint64(w), 9))
		writing.Go(func() {
			for n := range 300 {
				if err := l.Append(someRecord(r, n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writing.Wait(); close(done) }()
	r := rand.New(rand.NewPCG(4, 4))
	for n, running := 0, true; running || n < 20; n++ {
		select {
		case <-done:
			running = false
		default:
		}
		f := someFilter(r, 300)
		if _, err := i.Search(ctx, f, Page{Count: true}); err != nil {
			if _, is := errors.AsType[*FilterError](err); !is {
				t.Fatal(err)
			}
		}
		if _, err := other.Stats(ctx, Filter{}, StatsOptions{GroupBy: "tool"}); err != nil {
			t.Fatal(err)
		}
	}
	sync1(t, i)
	same(t, i, record)
	same(t, other, record)
	cancel()
	following.Wait()
}

func TestPagesAreStableWhileRecordsCome(t *testing.T) {
	record := written(t, 6, 500)
	i := synced(t, record)
	want := readOracle(t, record).search(&Filter{})
	l, r := openLog(t, record), rand.New(rand.NewPCG(1, 5))
	var got []Call
	for p := (Page{Size: 50}); ; {
		result, err := i.Search(t.Context(), Filter{}, p)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, result.Calls...)
		if p.Cursor = result.Cursor; p.Cursor == "" {
			break
		}
		for n := range 20 {
			c := someRecord(r, n)
			c.CallID = fmt.Sprint("new", len(got), n)
			appendAll(t, l, c)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A lock on the record, also a shared one, would keep calls from being recorded.
func TestTheRecordIsReadWithoutALock(t *testing.T) {
	record := written(t, 5, 100)
	f, err := os.Open(record)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	i := synced(t, record)
	if r, err := i.Search(t.Context(), Filter{}, Page{Size: 10, Count: true}); err != nil || len(r.Calls) != 10 {
		t.Errorf("%+v, %v", r, err)
	}
}
