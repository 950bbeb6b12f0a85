//go:build unix

package approvals

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestCommandIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "told")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	n := NewNotifier([]Target{{Name: "cmd", Command: []string{"/bin/sh", "-c", "cat > " + fifo + "; exit 3"}}},
		NotifierOptions{})
	defer n.Close()
	n.Notify(question(`{"command":"date"}`))
	text, err := os.ReadFile(fifo)
	if err != nil {
		t.Fatal(err)
	}
	var got Notice
	if err := json.Unmarshal(text, &got); err != nil || !strings.Contains(got.Arguments, "date") || !bytes.HasSuffix(text,
		[]byte("\n")) {
		t.Errorf("%s, %v", text, err)
	}
}
