package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/textutil"
)

const (
	// maxLine is the longest line, its end included. Append keeps records below it.
	maxLine = 1 << 20

	hashKey = `,"hash":"`
	// sealed is how many bytes the seal takes at the end of a line.
	sealed = len(hashKey) + 2*sha256.Size + len(`"}`)
)

// noHash stands in the first record for the hash of the one before.
var noHash = strings.Repeat("0", 2*sha256.Size)

// A chain links records, each sealed with a hash.
type chain struct {
	seq  int64                 // of the last record
	hash [2 * sha256.Size]byte // likewise
	text []byte
}

// newChain continues after a record, and appends lines to text.
func newChain(last Head, text []byte) *chain {
	c := &chain{text: text}
	c.follow(last)
	return c
}

func (c *chain) follow(last Head) {
	c.seq = last.Seq
	copy(c.hash[:], last.Hash)
}

func (c *chain) last() Head { return Head{Seq: c.seq, Hash: string(c.hash[:])} }

// add links a record, whose other members are given, and appends its line.
func (c *chain) add(members []byte) error {
	begin := len(c.text)
	c.text = append(c.text, `{"seq":`...)
	c.text = strconv.AppendInt(c.text, c.seq+1, 10)
	c.text = append(append(c.text, ','), members...)
	c.text = append(c.text, `,"prev":"`...)
	c.text = append(c.text, c.hash[:]...)
	c.text = append(c.text, `"}`...)
	body := c.text[begin:]
	if len(body)+sealed > maxLine {
		c.text = c.text[:begin]
		return fmt.Errorf("the record is too long: %d bytes, at most %d", len(body), maxLine-sealed)
	}
	sum := sha256.Sum256(body)
	hex.Encode(c.hash[:], sum[:])
	c.text = append(c.text[:len(c.text)-1], hashKey...)
	c.text = append(c.text, c.hash[:]...)
	c.text = append(c.text, "\"}\n"...)
	c.seq++
	return nil
}

// addOwn adds a record that only the log itself writes.
func (c *chain) addOwn(r *Record) error {
	r.Time = time.Now().UTC()
	members, err := r.appendTo(nil, nil)
	if err != nil {
		return err
	}
	return c.add(members)
}

// Hash returns the hash of content as records have it.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	var text [2 * sha256.Size]byte // the one allocation is that of the string
	return string(hex.AppendEncode(text[:0], sum[:]))
}

// A link is the part of a record that links it to the others.
type link struct {
	Seq  int64  `json:"seq"`
	Kind Kind   `json:"kind"`
	Torn *Torn  `json:"torn"`
	Head *Head  `json:"head"`
	Prev string `json:"prev"`
	Hash string `json:"hash"`

	right string // what Hash should be
}

func (l *link) place() Head { return Head{Seq: l.Seq, Hash: l.Hash} }

// unseal reads a line, without its end. The hash of a record that it returns may be wrong.
func unseal(line []byte) (*link, error) {
	if !json.Valid(line) {
		return nil, errors.New("it is not JSON")
	}
	if !hasSeal(line) {
		return nil, errors.New("it does not end in a hash, as records do")
	}
	cut := len(line) - sealed
	l := &link{right: Hash(append(bytes.Clone(line[:cut]), '}'))}
	if err := json.Unmarshal(line, l); err != nil {
		return nil, errors.New("it is not a record: its fields are of other kinds") // the library's words can hold the line's
	}
	l.Hash = string(sealOf(line))
	return l, nil
}

// hasSeal reports whether a line ends as records do.
func hasSeal(line []byte) bool {
	cut := len(line) - sealed
	return cut > 0 && bytes.HasPrefix(line[cut:], []byte(hashKey)) && bytes.HasSuffix(line, []byte(`"}`)) &&
		isHash(string(sealOf(line)))
}

// sealOf is the hash at the end of a line that has one.
func sealOf(line []byte) []byte { return line[len(line)-sealed+len(hashKey) : len(line)-len(`"}`)] }

// isHash reports a SHA-256 as this package writes it.
func isHash(text string) bool {
	return len(text) == len(noHash) && strings.Trim(text, "0123456789abcdef") == ""
}

// A Head names the last record of a log, in a file beside it: it shows that lines were cut off the log's end. The file
// is one line of fixed length, written in place: that is one system call where a rename needs a new file each time, it
// fits a disk's sector, so that it is old or new after a crash, and it never needs space on a full disk.
type Head struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"`
}

const headSize = 20 + 1 + 64 + 1 // 20 digits, a space, a hash and the line end

// Files are those of the log at path: the records, and their head.
func Files(path string) []string { return []string{path, headPath(path)} }

// IndexPath is where the index of the log at path is, which package history makes.
func IndexPath(path string) string { return path + ".index" }

// IndexFiles are those of the index of the log at path: the database, what SQLite has beside it, and damaged ones.
func IndexFiles(path string) []string {
	index := IndexPath(path)
	return append([]string{index, index + "-wal", index + "-shm"}, DamagedIndexes(index)...)
}

// DamagedIndexes are where up to three damaged indexes are kept that were at a path.
func DamagedIndexes(index string) []string {
	return []string{index + ".damaged", index + ".damaged-2", index + ".damaged-3"}
}

func headPath(log string) string { return log + ".head" }

func (h Head) line() string { return fmt.Sprintf("%020d %s\n", h.Seq, h.Hash) }

var errEmptyHead = errors.New("it is empty")

func readHead(f *os.File) (h Head, err error) {
	text := make([]byte, headSize+1)
	n, err := f.ReadAt(text, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Head{}, err
	}
	if n == 0 {
		return Head{}, errEmptyHead
	}
	return parseHead(string(text[:n]))
}

func parseHead(text string) (h Head, err error) {
	_, err = fmt.Sscanf(text, "%d %s\n", &h.Seq, &h.Hash)
	if err != nil || h.Seq < 0 || !isHash(h.Hash) || h.line() != text {
		return Head{}, errors.New("its text is not that of a head")
	}
	return h, nil
}

func writeHead(f *os.File, h Head) error {
	_, err := f.WriteAt([]byte(h.line()), 0)
	return err
}

// records is the number of records that the head knows, in words.
func (h Head) records() string { return textutil.Count(int(h.Seq), "record") }
