package shellcmd

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// Every start of the host initializes the tables here: expressions are compiled where they are used. One of the longer
// ones takes 300 allocations.
func TestInitializingAllocatesLittle(t *testing.T) {
	if os.Getenv("GODEBUG") != "" {
		t.Skip("GODEBUG is set")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	line := regexp.MustCompile(`(?m)^init github\.com/toolhost/toolhost/internal/shellcmd @.* (\d+) allocs$`)
	m := line.FindSubmatch(out)
	if m == nil {
		t.Fatalf("it is not initialized:\n%s", out)
	}
	if n, _ := strconv.Atoi(string(m[1])); n > 600 {
		t.Errorf("it makes %d allocations when it is initialized; the limit is 600", n)
	}
}
