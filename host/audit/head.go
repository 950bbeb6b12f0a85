package audit

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// A Head names the last record of a log. It stands in a file of its own beside the log, so that lines that are cut off
// the log's end are missed. The file is one line of a fixed length, written in place: that is one system call where a
// rename needs a new file each time, it fits a disk's sector, so that it is old or new after a crash, and it never needs
// room on a full disk.
type Head struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"`
}

// headSize is 20 digits, a blank, a hash and the line's end.
const headSize = 20 + 1 + 64 + 1

// Files are those of the log at path: the records, and their head.
func Files(path string) []string { return []string{path, headPath(path)} }

// headPath is where the head of a log is.
func headPath(log string) string { return log + ".head" }

func (h Head) line() string { return fmt.Sprintf("%020d %s\n", h.Seq, h.Hash) }

// readHead gives the head, or an error that says what is wrong with the file.
func readHead(f *os.File) (h Head, err error) {
	text := make([]byte, headSize+1)
	n, err := f.ReadAt(text, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Head{}, err
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

// records says how many records the head knows.
func (h Head) records() string {
	if h.Seq == 1 {
		return "1 record"
	}
	return fmt.Sprintf("%d records", h.Seq)
}
