//go:build !proctree_group

package proctree

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// everything starts all leftovers at once and stays. Each line of its output is
// a moment at which the host may be killed.
func everything() string {
	var text strings.Builder
	text.WriteString("echo launcher $PPID\n")
	for _, l := range leftovers {
		text.WriteString(l.text + "\n")
	}
	return text.String() + "echo all started\nsleep 1000"
}

func TestHostIsKilled(t *testing.T) {
	for name, namespace := range map[string]string{"in a tree": "", "in a namespace": "1"} {
		t.Run(name, func(t *testing.T) {
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			for range 25 {
				lines := random.IntN(len(leftovers) + 3)
				delay := time.Duration(random.IntN(5000)) * time.Microsecond
				killHost(t, namespaceVar+"="+namespace, lines, delay)
			}
		})
	}
}

// killHost kills a host with SIGKILL, after that many lines of output of its tree
// and a delay. Within 2 s there must be nothing left.
func killHost(t *testing.T, namespace string, lines int, delay time.Duration) {
	o := newOutlet(t)
	defer o.r.Close()
	host := exec.Command(self(t), strings.ReplaceAll(everything(), `"$0"`, self(t)))
	host.Env = append(os.Environ(), roleVar+"=host", namespace, o.mark)
	host.Stdout, host.Stderr = o.w, o.w
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	o.w.Close()
	o.awaitLines(t, 10*time.Second, lines)
	<-time.After(delay)
	_ = host.Process.Kill()
	_ = host.Wait()
	begun := time.Now()
	o.awaitEnd(t, 2*time.Second)
	t.Logf("%d lines, %v: all gone %v after the host", strings.Count(o.seen, "\n"), delay, time.Since(begun))
	if strings.Contains(o.seen, "launcher ") && !strings.Contains(o.seen, "launcher 1\n") {
		launcher := number(t, o.seen, "launcher")
		until(t, 2*time.Second, "the launcher ends", func() bool { return !alive(launcher) })
	}
}
