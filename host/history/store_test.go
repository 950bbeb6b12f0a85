package history

import (
	"bytes"
	"database/sql"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/host/audit"
)

func placeOf(index string) place { return place{index, true, slog.New(slog.DiscardHandler)} }

// files returns the texts of a folder's files, and their modes.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		out[filepath.Base(path)] = fmt.Sprint(info.Mode(), " ", readFile(t, path))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// database returns the file of a database that statements have made.
func database(t *testing.T, statements string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return readFile(t, path)
}

func indexFile(t *testing.T, record string) string {
	t.Helper()
	if err := synced(t, record).Close(); err != nil {
		t.Fatal(err)
	}
	return readFile(t, audit.IndexPath(record))
}

func put(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// A path that was named by mistake loses nothing: no byte and no mode changes, and no file comes or goes.
func TestANamedFileThatIsNoIndexStaysAsItIs(t *testing.T) {
	record := written(t, 5, 200)
	index := indexFile(t, record)
	for name, text := range map[string]string{
		"a text":                       "my only thesis\n",
		"a long text":                  strings.Repeat("my only thesis\n", 10_000),
		"a configuration":              "audit {}\n",
		"a record":                     readFile(t, record),
		"a head":                       readFile(t, record+".head"),
		"zeros":                        strings.Repeat("\x00", 8192),
		"one byte":                     "x",
		"the beginning of a database":  index[:16],
		"the header of a database":     database(t, "CREATE TABLE t (x)")[:100],
		"a database":                   database(t, "CREATE TABLE t (x)"),
		"a database in WAL mode":       database(t, "PRAGMA journal_mode = wal; CREATE TABLE t (x)"),
		"a database without tables":    database(t, "PRAGMA application_id = 7"),
		"a damaged database":           database(t, "CREATE TABLE t (x)")[:5000],
		"an index whose header is bad": "sqlite" + index[6:],
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, filepath.Join(dir, "mine"), text, 0o644)
			before := files(t, dir)
			for range 2 {
				i, err := Open(t.Context(), Options{Record: record, Index: filepath.Join(dir, "mine")})
				if err == nil {
					i.Close()
					t.Fatal("it was opened")
				}
				if !strings.Contains(err.Error(), "name another place") {
					t.Error(err)
				}
			}
			after := files(t, dir)
			for _, own := range []string{"mine-wal", "mine-shm"} { // SQLite's, of a database in WAL mode
				delete(after, own)
			}
			if len(after) != len(before) || after["mine"] != before["mine"] {
				t.Errorf("%.300q", after)
			}
		})
	}
}

// A link at the path of an index, also one that leads nowhere, makes and changes nothing elsewhere.
func TestALinkIsNoIndex(t *testing.T) {
	for name, target := range map[string]string{"to a file": "mine", "to nothing": "nowhere"} {
		t.Run(name, func(t *testing.T) {
			record, dir := written(t, 5, 200), t.TempDir()
			put(t, filepath.Join(dir, "mine"), "", 0o644)
			before := files(t, dir)
			if err := os.Symlink(filepath.Join(dir, target), audit.IndexPath(record)); err != nil {
				t.Fatal(err)
			}
			i, err := Open(t.Context(), Options{Record: record})
			if err == nil {
				i.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "not a regular file; name another place") {
				t.Errorf("opened: %v", err)
			}
			if after := files(t, dir); !maps.Equal(after, before) {
				t.Errorf("the folder has %.300q", after)
			}
		})
	}
}

// Whatever has happened to a file at the path of an index, its bytes are still somewhere, or it was an index and is
// made again; and at a named path it is replaced only if it begins as an index does.
func TestDamagedFilesAreKept(t *testing.T) {
	record := written(t, 5, 300)
	index := indexFile(t, record)
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 60 {
		damaged := []byte(index)
		switch r.IntN(3) {
		case 0:
			damaged = damaged[:r.IntN(len(damaged))]
		case 1:
			for range 1 + r.IntN(200) {
				damaged[r.IntN(len(damaged))] ^= byte(1 + r.IntN(255))
			}
		case 2:
			from := r.IntN(len(damaged))
			clear(damaged[from:min(len(damaged), from+r.IntN(20_000))])
		}
		at := filepath.Join(t.TempDir(), "index")
		if n%2 == 0 {
			at = audit.IndexPath(record)
			for _, end := range append(audit.DamagedIndexes(at), at, at+"-wal", at+"-shm") {
				_ = os.Remove(end)
			}
		}
		put(t, at, string(damaged), 0o600)
		i, err := Open(t.Context(), Options{Record: record, Index: at})
		if err != nil {
			if n%2 == 0 || readFile(t, at) != string(damaged) {
				t.Errorf("%d: %v", n, err)
			}
			continue
		}
		kept, err := os.ReadFile(audit.DamagedIndexes(at)[0])
		if err == nil && !bytes.Equal(kept, damaged) {
			t.Errorf("%d: the file that was kept is another one", n)
		}
		if err != nil && len(damaged) > 0 && !bytes.HasPrefix(damaged, []byte("SQLite format 3\x00")) {
			t.Errorf("%d: nothing was kept of what is no index", n)
		}
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestWhatWasMovedAwayIsNeverReplaced(t *testing.T) {
	record := written(t, 5, 100)
	index := audit.IndexPath(record)
	var log strings.Builder
	for n, to := range audit.DamagedIndexes(index) {
		put(t, index, fmt.Sprint("thesis ", n), 0o600)
		i := openIndex(t, Options{Record: record, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err := i.Close(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(log.String(), "moved_to="+to+" ") {
			t.Errorf("the log does not name %s: %s", to, &log)
		}
	}
	put(t, index, "one more", 0o600)
	if _, err := Open(t.Context(), Options{Record: record}); err == nil || !strings.Contains(err.Error(), "move them away") {
		t.Error(err)
	}
	if got := readFile(t, index); got != "one more" {
		t.Errorf("%.100q", got)
	}
	put(t, index, indexFile(t, written(t, 6, 300))[:20_000], 0o600) // an index is made from the record alone
	i := openIndex(t, Options{Record: record})
	sync1(t, i)
	same(t, i, record)
	for n, path := range audit.DamagedIndexes(index) {
		if got := readFile(t, path); got != fmt.Sprint("thesis ", n) {
			t.Errorf("%s has %q", path, got)
		}
	}
}

// Where the folder of the record cannot be written, the error says how to search it all the same.
func TestAnIndexThatCannotBeWrittenSaysWhatToDo(t *testing.T) {
	for name, err := range map[string]error{
		"permission":    &fs.PathError{Op: "open", Path: "a.index", Err: syscall.EACCES},
		"not the owner": &fs.PathError{Op: "open", Path: "a.index", Err: syscall.EPERM},
		"read-only":     &fs.PathError{Op: "open", Path: "a.index", Err: syscall.EROFS},
	} {
		if text := describe(err).Error(); !strings.Contains(text, "--index FILE") || !strings.Contains(text, "open a.index") {
			t.Errorf("%s: %s", name, text)
		}
	}
	if os.Geteuid() == 0 {
		t.Log("root may write everywhere")
		return
	}
	record := written(t, 5, 50)
	dir := filepath.Dir(record)
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(dir, 0o700) }()
	if _, err := Open(t.Context(), Options{Record: record}); err == nil || !strings.Contains(err.Error(), "--index FILE") {
		t.Error(err)
	}
	i := openIndex(t, Options{Record: record, Index: filepath.Join(t.TempDir(), "index")})
	sync1(t, i)
	same(t, i, record)
}
