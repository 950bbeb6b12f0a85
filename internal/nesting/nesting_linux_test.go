package nesting

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// Containers of one pod have one name and one network, and files of their own.
func TestWordsOfAnotherContainer(t *testing.T) {
	if os.Getenv("PRINT_HERE") != "" {
		fmt.Println("here: " + here())
		return
	}
	hereOf := func(flags uintptr) string {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), "PRINT_HERE=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
		out, err := cmd.Output()
		if err != nil {
			t.Skipf("no namespace can be made here: %v", err)
		}
		_, words, _ := strings.Cut(string(out), "here: ")
		return strings.Fields(words)[0]
	}
	if got := hereOf(0); got != here() {
		t.Errorf("another process here has %s, want %s", got, here())
	}
	if hereOf(syscall.CLONE_NEWUSER|syscall.CLONE_NEWNS) == here() {
		t.Error("a container with the network of this one has the same words")
	}
}
