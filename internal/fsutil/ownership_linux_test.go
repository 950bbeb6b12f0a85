package fsutil

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("FSUTIL_TEST") == "owns" {
		fmt.Println(rootIsHidden(), CheckOwnership(os.Args[0]))
		return
	}
	os.Exit(m.Run())
}

// In a user namespace that has only the user, as sandboxes make them, the system's folders are no one's, and programs
// run all the same.
func TestCheckOwnershipInAUserNamespace(t *testing.T) {
	if rootIsHidden() {
		t.Log("the tests themselves run in such a namespace")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "FSUTIL_TEST=owns")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getegid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 { // this system makes no such namespaces, and then no one is in one
		if err := CheckOwnership(os.Args[0]); err != nil {
			t.Error(err)
		}
		return
	}
	if got := strings.TrimSpace(string(out)); got != "true <nil>" {
		t.Errorf("%s, %v", got, err)
	}
}
