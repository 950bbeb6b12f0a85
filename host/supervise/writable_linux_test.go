package supervise

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func init() {
	plays["owns"] = func() { fmt.Println(rootIsHidden(), ownOnly(os.Args[0])) }
}

// In a user namespace that has only the user, as sandboxes make them, the system's folders are nobody's, and programs run
// all the same.
func TestOwnOnlyInAUserNamespace(t *testing.T) {
	if rootIsHidden() {
		t.Log("the tests themselves run in such a namespace")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "PLAY=owns")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getegid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 { // this system makes no such namespaces, and then nobody is in one
		if err := ownOnly(os.Args[0]); err != nil {
			t.Error(err)
		}
		return
	}
	if got := strings.TrimSpace(string(out)); got != "true <nil>" {
		t.Errorf("%s, %v", got, err)
	}
}
