package bootstrap

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// Limits of the counts that are kept for commands that make a host of their own.
const (
	// folderSession is how long a work folder may be without a call until the next call begins a session: nothing marks
	// the end of a client's or a terminal's session.
	folderSession = time.Hour
	// namedSession is the same for a session that has a name.
	namedSession = 7 * 24 * time.Hour
	// countsKept is how long the counts of a configuration are kept after their last use.
	countsKept     = 30 * 24 * time.Hour
	maxCountedFile = 1 << 20
	maxCounted     = 1000 // most sessions of one configuration; the most recent ones are kept
	countsWait     = 5 * time.Second
)

// counts are the counts of limits for the calls of one configuration, in a file of the user's. Each command that
// makes one call has its own host, which would begin at zero.
type counts struct {
	dir, config, workdir string
	broken               error // why there is no place for them
}

// A countsFile is the content of the file.
type countsFile struct {
	Config   string                     `json:"config"`
	Rates    map[string]host.Tokens     `json:"rates,omitempty"`
	Sessions map[string]*countedSession `json:"sessions,omitempty"`
}

type countedSession struct {
	Ends  time.Time      `json:"ends"` // unless there is a call before
	Calls map[string]int `json:"calls"`
}

// newCounts returns the counts of a configuration; calls without a session belong to that of the work folder. Where
// there is no place for them, calls with limits are refused.
func newCounts(config, workdir string) *counts {
	c := &counts{config: config}
	if c.dir, c.broken = StateFolder("counts"); c.broken == nil {
		workdir, c.broken = filepath.Abs(workdir)
		c.workdir = fsutil.Resolved(workdir)
	}
	return c
}

// Change implements host.Counter.
func (c *counts) Change(ctx context.Context, session string, change func(*host.Counted) error) (err error) {
	if c.broken != nil {
		return c.broken
	}
	defer func() { err = fsutil.FolderError(err, c.dir, otherState) }()
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	unlock, err := lockCounts(ctx, c.dir+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	path := filepath.Join(c.dir, shortSum(c.config)+".json")
	file, err := readCounts(path)
	if err != nil {
		return err
	}
	now := time.Now()
	id, life := "named:"+shortSum(session), namedSession
	if session == "" {
		id, life = "folder:"+shortSum(c.workdir), folderSession
	}
	file.Config = c.config
	file.Sessions = remaining(file.Sessions, now)
	s := file.Sessions[id]
	if s == nil {
		s = &countedSession{}
		file.Sessions[id] = s
	}
	kept := host.Counted{Calls: s.Calls, Rates: file.Rates}
	if err := change(&kept); err != nil {
		return err
	}
	s.Calls, file.Rates, s.Ends = kept.Calls, kept.Rates, now.Add(life)
	removeOld(c.dir, now.Add(-countsKept))
	text, err := json.Marshal(file)
	for most := len(file.Sessions) / 2; err == nil && len(text) > maxCountedFile && most > 0; most /= 2 {
		file.Sessions = newest(file.Sessions, most) // sessions of many tools take more room
		text, err = json.Marshal(file)
	}
	if err != nil {
		return err
	}
	return fsutil.WriteFile(path, text, 0o600)
}

// remaining returns the sessions that have not ended, with room for one more.
func remaining(all map[string]*countedSession, now time.Time) map[string]*countedSession {
	out := map[string]*countedSession{}
	for id, s := range all {
		if s != nil && now.Before(s.Ends) && s.Ends.Before(now.Add(2*namedSession)) { // otherwise the clock was set back
			out[id] = s
		}
	}
	return newest(out, maxCounted-1)
}

// newest returns the sessions that end last, at most so many.
func newest(all map[string]*countedSession, most int) map[string]*countedSession {
	oldest := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return all[a].Ends.Compare(all[b].Ends) })
	for _, id := range oldest[:max(0, len(all)-most)] {
		delete(all, id)
	}
	return all
}

// readCounts reads the file; a missing file is empty.
func readCounts(path string) (*countsFile, error) {
	file := &countsFile{}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return file, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxCountedFile:
		return nil, fmt.Errorf("%s is not a file of call counts; remove it", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	read := json.NewDecoder(bytes.NewReader(text))
	read.DisallowUnknownFields() // of another version, whose counts these may not be
	if err := read.Decode(file); err != nil {
		return nil, fmt.Errorf("%s is broken (%w); remove it, and the calls are counted from none", path, err)
	}
	return file, nil
}

// lockCounts waits until no other host uses the counts.
func lockCounts(ctx context.Context, path string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, countsWait)
	defer cancel()
	lock, err := fsutil.Lock(ctx, path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be locked: %w", path, err)
	}
	return func() { _ = lock.Close() }, nil
}

func shortSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
