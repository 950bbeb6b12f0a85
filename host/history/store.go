package history

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"modernc.org/sqlite"

	"github.com/toolhost/toolhost/host/audit"
)

// The index is opened by SQLite alone: closing another descriptor of the file in this process would take SQLite's locks
// away.

const (
	applicationID = 0x746c6869 // in the file's header
	version       = 1          // of the tables and of how words are made
)

// ErrLocked says that another process keeps the index locked.
var ErrLocked = errors.New("another process keeps it locked; end that process, or wait until it is done")

// schema are the tables. Numbers of calls are their row ids. words finds them by fields and words; it has no content,
// as the record has that.
const schema = `
CREATE TABLE position (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	file TEXT NOT NULL,
	at INTEGER NOT NULL,
	first_size INTEGER NOT NULL, first_sum BLOB NOT NULL,
	last_size INTEGER NOT NULL, last_sum BLOB NOT NULL,
	oldest INTEGER NOT NULL, next INTEGER NOT NULL,
	commits INTEGER NOT NULL,
	build BLOB NOT NULL
);
CREATE TABLE calls (
	id INTEGER PRIMARY KEY,
	time INTEGER NOT NULL,
	took INTEGER NOT NULL,
	series INTEGER NOT NULL,
	session INTEGER NOT NULL,
	lines BLOB NOT NULL
);
CREATE TABLE blocks (id INTEGER PRIMARY KEY, low INTEGER NOT NULL, high INTEGER NOT NULL);
CREATE TABLE unfinished (id INTEGER PRIMARY KEY, call_id TEXT NOT NULL);
CREATE TABLE series (
	id INTEGER PRIMARY KEY,
	plugin TEXT NOT NULL, tool TEXT NOT NULL, status TEXT NOT NULL, code TEXT NOT NULL,
	UNIQUE (tool, plugin, status, code)
);
CREATE TABLE steps (width INTEGER, step INTEGER, cells BLOB NOT NULL, PRIMARY KEY (width, step)) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1, tokenize='ascii');
INSERT INTO words(words, rank) VALUES ('hashsize', 16777216);
INSERT INTO position VALUES (1, '', 0, 0, x'', 0, x'', 1, 1, 0, randomblob(8));
`

// A store is an open index file.
type store struct {
	place
	file    os.FileInfo // that was opened
	write   *sql.DB     // one connection
	read    *sql.DB
	created bool // just now
}

type place struct {
	path string
	// beside says that the path is that of the record's index: what stands there is taken for one, also if it cannot be
	// read. At any other path only what is known to be an index is replaced.
	beside bool
	log    *slog.Logger
}

// openStore opens the file, and creates it if necessary. A damaged index is moved away, and one of an older version
// replaced. Any other file is left as it is, with an error.
func openStore(ctx context.Context, at place) (*store, error) {
	for range 3 { // it was replaced meanwhile, or is now
		s, err := tryStore(ctx, at)
		if err == nil {
			return s, nil
		}
		switch {
		case isDamage(err):
			err = at.setAside(err)
		case errors.Is(err, errOldVersion):
			err = removeStore(at.path)
		}
		if err != nil {
			return nil, fmt.Errorf("the index %s cannot be used: %w", at.path, describe(err))
		}
	}
	return nil, fmt.Errorf("the index %s cannot be used: it was damaged again and again; look at the disk", at.path)
}

var (
	errOldVersion = errors.New("it is of an older version")
	errForeign    = errors.New("it is not an index of toolhost; name another place")
)

func tryStore(ctx context.Context, at place) (_ *store, err error) {
	if err := prepareFile(at.path); err != nil {
		return nil, err
	}
	s := &store{place: at}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.file, err = os.Stat(at.path); err != nil {
		return nil, err
	}
	if s.file.Size() == 1 && !at.beside { // which SQLite takes for an empty one
		return nil, errForeign
	}
	common := "?_pragma=busy_timeout(" + lockWait + ")&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)" +
		"&_pragma=synchronous(normal)"
	name := (&url.URL{Scheme: "file", Path: filepath.ToSlash(at.path)}).String()
	s.write, err = openDatabase(name + common + "&_txlock=immediate&_defensive=1" +
		"&_pragma=journal_size_limit(67108864)&_pragma=cache_size(-32768)")
	if err != nil {
		return nil, err
	}
	s.write.SetMaxOpenConns(1)
	if err := s.prepareTables(ctx); err != nil {
		return nil, err
	}
	s.read, err = openDatabase(name + common + "&_pragma=query_only(1)&_pragma=cache_size(-16384)")
	if err != nil {
		return nil, err
	}
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	return s, nil
}

// openDatabase opens a database whose files stay when it is closed: plugins that must not read them have them masked,
// which holds for the files that are there.
func openDatabase(name string) (*sql.DB, error) {
	c, err := sqlite.NewConnector(name)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector{c}), nil
}

type connector struct{ driver.Connector }

// Connect makes a connection that leaves the files beside the database.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if file, is := conn.(interface {
		FileControlPersistWAL(database string, mode int) (int, error)
	}); is {
		if _, err := file.FileControlPersistWAL("main", 1); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}

const readers = 4 // how many queries run at once; more wait

// prepareFile makes sure that the path names a file, and no link to one; a new one is this user's alone, and so is what
// SQLite makes beside it.
func prepareFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return nil // another process was faster
		}
		if err != nil {
			return err
		}
		return f.Close() // no one has it open in SQLite yet
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file; name another place, or move it away: an index is made from " +
			"the record")
	}
	return nil
}

// restrict keeps an index that others could read from them. One of another user stays as that user has it.
func (at place) restrict() {
	for _, end := range []string{"", "-wal", "-shm"} {
		info, err := os.Lstat(at.path + end)
		if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 == 0 {
			continue
		}
		if err := os.Chmod(at.path+end, 0o600); err != nil {
			at.log.Warn("others may read the index of the history", "index", at.path+end, "error", err)
		}
	}
}

// prepareTables creates the tables, or checks that they are ours. A database of another program is only read.
func (s *store) prepareTables(ctx context.Context) error {
	app, user, tables, err := headerOf(ctx, s.write)
	if err != nil {
		return err
	}
	switch {
	case app == 0 && tables == 0:
		return s.createTables(ctx)
	case app != applicationID:
		return errors.New("it is a database of another program; name another place")
	case user > version:
		return fmt.Errorf("a newer toolhost made it (version %d, this one knows %d); use that one, or remove the file", user,
			version)
	case user < version:
		return errOldVersion
	}
	s.restrict()
	return nil
}

func (s *store) createTables(ctx context.Context) error {
	s.restrict()
	if _, err := s.write.ExecContext(ctx, "PRAGMA page_size = 8192; PRAGMA journal_mode = wal"); err != nil {
		return err
	}
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if app, user, _, err := headerOf(ctx, tx); err != nil || app == applicationID && user == version {
		return err // another process was faster
	}
	s.created = true
	_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d; %s", applicationID,
		version, schema))
	if err != nil {
		return err
	}
	return tx.Commit()
}

// headerOf reads whose database it is, its version, and how many tables it has.
func headerOf(ctx context.Context, db querier) (app, user, tables int, err error) {
	for _, q := range []struct {
		text string
		to   *int
	}{{"PRAGMA application_id", &app}, {"PRAGMA user_version", &user}, {"SELECT count(*) FROM sqlite_schema", &tables}} {
		if err := db.QueryRowContext(ctx, q.text).Scan(q.to); err != nil {
			return 0, 0, 0, err
		}
	}
	return app, user, tables, nil
}

// A querier is a database or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// eachRow reads the rows of a query into to, one after the other, and calls f after each.
func eachRow(ctx context.Context, q querier, to []any, f func() error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return err
		}
		if err := f(); err != nil {
			return err
		}
	}
	return rows.Err()
}

const lockWait = "5000" // how long to wait for another process that writes, in milliseconds

// begin begins to write. Without wait it fails at once while another process writes.
func (s *store) begin(ctx context.Context, wait bool) (*sql.Tx, error) {
	if wait {
		return s.write.BeginTx(ctx, nil)
	}
	if _, err := s.write.ExecContext(ctx, "PRAGMA busy_timeout = 0"); err != nil {
		return nil, err
	}
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		_, restored := s.write.ExecContext(context.WithoutCancel(ctx), "PRAGMA busy_timeout = "+lockWait)
		return nil, errors.Join(err, restored)
	}
	if _, err := tx.ExecContext(ctx, "PRAGMA busy_timeout = "+lockWait); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return tx, nil
}

// replaced reports that the path names another file by now, or none.
func (s *store) replaced() bool {
	info, err := os.Stat(s.path)
	return err != nil || !os.SameFile(info, s.file)
}

func (s *store) close() {
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			_ = db.Close() // what is lost here is made again from the record
		}
	}
}

// setAside moves a damaged index away. At a path that was named for the index it refuses what is no index, as that is
// the only copy of what it is; and nothing that was moved away before is replaced.
func (at place) setAside(why error) error {
	ours := isIndex(at.path)
	if !at.beside && !ours {
		return errForeign
	}
	for _, end := range []string{"-wal", "-shm"} {
		if err := os.Remove(at.path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, to := range audit.DamagedIndexes(at.path) {
		f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // takes the name
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := errors.Join(f.Close(), os.Rename(at.path, to)); err != nil {
			_ = os.Remove(to) // nothing was moved there
			if errors.Is(err, fs.ErrNotExist) {
				return nil // another process was faster
			}
			return err
		}
		at.log.Warn("the index of the history is damaged; it was moved away, and is made again from the record",
			"index", at.path, "moved_to", to, "error", why)
		return nil
	}
	if !ours {
		return fmt.Errorf("it is damaged, and %s.damaged and others are there already; look at them and move them away",
			at.path)
	}
	at.log.Warn("the index of the history is damaged; it is made again from the record, and those that were moved away "+
		"before are kept", "index", at.path, "error", why)
	return removeStore(at.path)
}

// isIndex reports whether a damaged file begins as an index does. No connection of SQLite to it may be in use: see
// above.
func isIndex(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var header [100]byte // see https://sqlite.org/fileformat.html#the_database_header
	_, err = io.ReadFull(f, header[:])
	return err == nil && string(header[:16]) == "SQLite format 3\x00" &&
		binary.BigEndian.Uint32(header[68:]) == applicationID
}

func removeStore(path string) error {
	for _, end := range []string{"-wal", "-shm", ""} {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Result codes of SQLite; see https://sqlite.org/rescode.html.
const (
	codePerm     = 3
	codeBusy     = 5
	codeLocked   = 6
	codeReadOnly = 8
	codeCorrupt  = 11
	codeFull     = 13
	codeCantOpen = 14
	codeNotADB   = 26
)

func resultCode(err error) int {
	if e, is := errors.AsType[*sqlite.Error](err); is {
		return e.Code() & 0xff
	}
	return 0
}

func isDamage(err error) bool {
	code := resultCode(err)
	return code == codeCorrupt || code == codeNotADB
}

// describe replaces errors of SQLite that say too little, and says what to do where files cannot be written.
func describe(err error) error {
	switch code := resultCode(err); {
	case code == codeBusy || code == codeLocked:
		return ErrLocked
	case code == codeFull, errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w; free space there, or keep the index elsewhere with `toolhost history search --record RECORD "+
			"--index FILE`", err)
	case code == codePerm, code == codeReadOnly, code == codeCantOpen, errors.Is(err, fs.ErrPermission),
		errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w; `toolhost history search --record RECORD --index FILE` keeps the index elsewhere", err)
	}
	return err
}
