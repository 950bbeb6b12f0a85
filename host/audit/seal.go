package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const (
	// maxLine is how long a line may be, its end included. What Append makes of a record stays below.
	maxLine = 1 << 20

	hashKey = `,"hash":"`
	// sealed is how many bytes the seal takes at the end of a line.
	sealed = len(hashKey) + 2*sha256.Size + len(`"}`)
)

// noHash is what the first record has for the hash of the one before.
var noHash = strings.Repeat("0", 2*sha256.Size)

// A chain puts records one after the other, each sealed.
type chain struct {
	last Head // the last record
	text []byte
}

// add gives the record its place, and appends its line.
func (c *chain) add(r Record) error {
	r.Seq, r.Prev, r.Hash = c.last.Seq+1, c.last.Hash, ""
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	if err := e.Encode(&r); err != nil {
		return fmt.Errorf("the record cannot be written as JSON: %w", err)
	}
	body := bytes.TrimSuffix(line.Bytes(), []byte("\n"))
	hash := hashOf(body)
	if len(body)+sealed > maxLine {
		return fmt.Errorf("the record is too long: %d bytes, at most %d", len(body), maxLine-sealed)
	}
	c.text = append(c.text, body[:len(body)-1]...)
	c.text = append(c.text, hashKey+hash+"\"}\n"...)
	c.last = Head{Seq: r.Seq, Hash: hash}
	return nil
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// A link is the part of a record that joins it to the others.
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

// unseal reads a line, without its end. That it is a record does not mean that its hash is right.
func unseal(line []byte) (*link, error) {
	if !json.Valid(line) {
		return nil, errors.New("it is not JSON")
	}
	body, ok := bytes.CutSuffix(line, []byte(`"}`))
	cut := len(line) - sealed
	if !ok || cut < 1 || !bytes.HasPrefix(line[cut:], []byte(hashKey)) || !isHash(string(body[cut+len(hashKey):])) {
		return nil, errors.New("it does not end in a hash, as records do")
	}
	l := &link{right: hashOf(append(bytes.Clone(line[:cut]), '}'))}
	if err := json.Unmarshal(line, l); err != nil {
		return nil, errors.New("it is no record: its fields are of other kinds") // the library's words can hold the line's
	}
	l.Hash = string(body[cut+len(hashKey):])
	return l, nil
}

// isHash tells a SHA-256 as this package writes it.
func isHash(text string) bool {
	return len(text) == len(noHash) && strings.Trim(text, "0123456789abcdef") == ""
}
