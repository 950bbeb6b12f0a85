// Package pluginlog keeps what plugins print, and what becomes of them, in a file for each plugin, and words it for
// their authors. It takes the records of the host's log, which have no secrets and no control characters any more.
package pluginlog

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/toolname"
)

const (
	// MaxFile is the size, in bytes, at which a file is renamed, and another begun: a plugin has two files at most.
	MaxFile = 1 << 20
	// maxRate is how many bytes of a plugin are written a second; the excess is dropped and counted.
	maxRate = 256 << 10
	// checkEvery is how often a host looks whether another one has begun another file.
	checkEvery = time.Second
)

// Path is the file of a plugin's newest lines in a store's folder. The ones before are in a file of this name with .1
// at the end. It fails for what is no plugin's name.
func Path(dir, plugin string) (string, error) {
	if !toolname.IsPlugin(plugin) {
		return "", fmt.Errorf("%.40q is not a plugin name", plugin)
	}
	return filepath.Join(dir, plugin+".log"), nil
}

// Plugins are the names of those that have a file in the folder.
func Plugins(dir string) (names []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if name, is := strings.CutSuffix(e.Name(), ".log"); is && toolname.IsPlugin(name) {
			names = append(names, name)
		}
	}
	return names
}

// A Store writes files in a folder, which several hosts may share. What cannot be written is dropped: no plugin waits
// for a disk. The files are made with the first line.
type Store struct {
	dir   string
	limit int64

	mu    sync.Mutex
	files map[string]*file
}

// NewStore makes a store, and nothing in the folder.
func NewStore(dir string) *Store { return &Store{dir: dir, limit: MaxFile, files: map[string]*file{}} }

// Close closes the files.
func (s *Store) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		_ = f.Close()
	}
	s.files = map[string]*file{}
}

// Over is a logger with the store's Handler; nil loggers and stores are those that keep nothing.
func (s *Store) Over(l *slog.Logger) *slog.Logger {
	if l == nil {
		l = slog.New(slog.DiscardHandler)
	}
	if s == nil {
		return l
	}
	return slog.New(s.Handler(l.Handler()))
}

// Handler passes records on to next, and keeps those of the loggers of plugins: what plugins print and log, and
// warnings about them.
func (s *Store) Handler(next slog.Handler) slog.Handler {
	return ByPlugin(next, func(plugin string, r slog.Record) bool {
		if plugin != "" && (r.Level >= slog.LevelWarn || Said(r)) {
			s.write(plugin, fmt.Sprintf("%s [%d] %s\n", r.Time.UTC().Format("2006-01-02T15:04:05.000Z"), os.Getpid(), Text(r)))
		}
		return false
	})
}

// ByPlugin is a handler that calls take with each record and the plugin that its logger is for (With "plugin"), "" for
// none. Of plugins these are the records of all levels. What take does not handle, by its result, is passed on to next.
func ByPlugin(next slog.Handler, take func(plugin string, r slog.Record) (handled bool)) slog.Handler {
	return &handler{Handler: next, take: take}
}

type handler struct {
	slog.Handler
	take   func(plugin string, r slog.Record) bool
	plugin string
}

// Enabled is true for all that a plugin prints and logs.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.plugin != "" || h.Handler.Enabled(ctx, level)
}

// Handle passes the record on, unless it is handled here.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if h.take(h.plugin, r) || !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs notes the plugin's name.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := &handler{h.Handler.WithAttrs(attrs), h.take, h.plugin}
	for _, a := range attrs {
		if a.Key == pluginKey && toolname.IsPlugin(a.Value.String()) {
			out.plugin = a.Value.String()
		}
	}
	return out
}

// WithGroup is that of the next handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.Handler.WithGroup(name), h.take, h.plugin}
}

// A file is open for appending.
type file struct {
	*os.File
	info    os.FileInfo
	size    int64
	checked time.Time

	second  time.Time
	written int // in this second
	dropped int // records in this second
}

func (s *Store) write(plugin, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path, err := Path(s.dir, plugin)
	if err != nil {
		return
	}
	f := s.files[plugin]
	if f != nil && time.Since(f.checked) >= checkEvery && !f.isAt(path) {
		s.forget(plugin)
		f = nil
	}
	if f != nil && f.size+int64(len(text)) > s.limit {
		s.rotate(path)
		s.forget(plugin)
		f = nil
	}
	if f == nil {
		if f = s.open(path); f == nil {
			return
		}
		s.files[plugin] = f
	}
	if now := time.Now(); now.Sub(f.second) >= time.Second {
		if f.dropped > 0 {
			text = fmt.Sprintf("%d more before this were dropped: too many in a second\n", f.dropped) + text
		}
		f.second, f.written, f.dropped = now, 0, 0
	}
	if f.written += len(text); f.written > maxRate {
		f.dropped++
		return
	}
	n, _ := io.WriteString(f, text) // one write: lines of several hosts do not mix
	f.size += int64(n)
}

// forget closes a plugin's file.
func (s *Store) forget(plugin string) {
	_ = s.files[plugin].Close()
	delete(s.files, plugin)
}

// isAt reports whether the file still is the one at path, and how large it is.
func (f *file) isAt(path string) bool {
	now, err := os.Lstat(path)
	if err != nil || !os.SameFile(now, f.info) {
		return false
	}
	f.checked, f.size = time.Now(), now.Size()
	return true
}

// open opens the file to append, and makes it and its folder where they are not there. A link is not followed.
func (s *Store) open(path string) *file {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil
	}
	f, err := fsutil.AppendPrivate(path)
	if err != nil {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil
	}
	return &file{File: f, info: info, size: info.Size(), checked: time.Now()}
}

// rotate renames the file unless another host does, or has done it.
func (s *Store) rotate(path string) {
	lock, err := fsutil.TryLock(filepath.Join(s.dir, ".lock"), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return // the file grows a little over its limit
	}
	defer func() { _ = lock.Close() }()
	if info, err := os.Lstat(path); err == nil && info.Size() > s.limit/2 {
		_ = os.Rename(path, path+".1")
	}
}

// Last returns the last lines of a plugin, at most n, and the position behind them in its newest file. The error is an
// fs.ErrNotExist when there is none.
func Last(path string, n int) (lines []string, end int64, err error) {
	for _, p := range []string{path, path + ".1"} {
		text, err := readAll(p)
		if err != nil && (p == path || !os.IsNotExist(err)) {
			return nil, 0, err
		}
		if p == path {
			end = int64(len(text))
		}
		before := slices.Collect(strings.Lines(text))
		lines = append(before[max(0, len(before)-(n-len(lines))):], lines...)
		if len(lines) >= n {
			break
		}
	}
	for i, line := range lines {
		lines[i], _ = textutil.Visible(strings.TrimRight(line, "\n"), '?')
	}
	return lines, end, nil
}

// After returns the complete lines of a plugin's newest file behind a position, and the position behind them. Of a file
// that is shorter than the position, which has replaced another, it returns all.
func After(path string, from int64) (lines []string, end int64, err error) {
	text, err := readAll(path)
	if err != nil {
		return nil, from, err
	}
	if from > int64(len(text)) {
		from = 0
	}
	for line := range strings.Lines(text[from:]) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		from += int64(len(line))
		line, _ = textutil.Visible(strings.TrimRight(line, "\n"), '?')
		lines = append(lines, line)
	}
	return lines, from, nil
}

func readAll(path string) (string, error) {
	f, err := fsutil.OpenPrivate(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 2*MaxFile))
	return string(text), err
}

// Names of attributes in the host's log.
const (
	pluginKey     = "plugin"     // of the logger of one plugin
	streamKey     = "stream"     // of lines that a plugin prints
	fieldsKey     = "fields"     // of such a line in hclog's format
	attributesKey = "attributes" // of a message that a handler logs, as JSON
)

// maxText is the limit, in bytes, of the text of one record.
const maxText = 32 << 10

// Said reports whether the record is a line that the plugin printed, or a message that a handler logged.
func Said(r slog.Record) (is bool) {
	r.Attrs(func(a slog.Attr) bool {
		is = is || a.Key == streamKey || a.Key == attributesKey
		return !is
	})
	return is
}

// Text is a record for people, without its time: a line, and below it the stack of a panic, if it has one.
func Text(r slog.Record) string {
	var words, below strings.Builder
	level := strings.ToLower(r.Level.String())
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case streamKey:
			if level = a.Value.String(); r.Level > slog.LevelDebug {
				level += " " + strings.ToLower(r.Level.String())
			}
		case fieldsKey:
			for _, field := range a.Value.Group() {
				add(&words, &below, field.Key, field.Value.String())
			}
		case attributesKey:
			addJSON(&words, &below, a.Value.String())
		case "call_id", "session_id", pluginKey:
		default:
			add(&words, &below, a.Key, a.Value.String())
		}
		return true
	})
	text, _ := textutil.Visible(level+": "+oneLine(r.Message)+words.String()+below.String(), -1)
	return textutil.Cut(text, maxText)
}

// add adds an attribute: one of several lines stands below the message.
func add(words, below *strings.Builder, key, value string) {
	value = strings.TrimRight(value, "\n")
	if !strings.Contains(value, "\n") {
		fmt.Fprintf(words, " %s=%s", oneLine(key), value)
		return
	}
	for line := range strings.Lines(value) {
		below.WriteString("\n    " + strings.TrimRight(line, "\n"))
	}
}

// addJSON adds the members of an object. One that was cut is no JSON any more, and is shown as it is.
func addJSON(words, below *strings.Builder, text string) {
	var members map[string]any
	if text == "" || json.Unmarshal([]byte(text), &members) != nil {
		add(words, below, attributesKey, strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(text))
		return
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		value, is := members[key].(string)
		if !is {
			raw, _ := json.Marshal(members[key]) // it came from JSON
			value = string(raw)
		}
		add(words, below, key, value)
	}
}

func oneLine(text string) string { return strings.ReplaceAll(text, "\n", `\n`) }
