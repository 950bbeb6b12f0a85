//go:build !proctree_group

package proctree

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
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
	o.awaitLines(t, patience, lines)
	<-time.After(delay)
	_ = host.Process.Kill()
	_ = host.Wait()
	begun := time.Now()
	o.awaitEnd(t, patience)
	t.Logf("%d lines, %v: all gone %v after the host", strings.Count(o.seen, "\n"), delay, time.Since(begun))
	if strings.Contains(o.seen, "launcher ") && !strings.Contains(o.seen, "launcher 1\n") {
		launcher := number(t, o.seen, "launcher")
		until(t, patience, "the launcher ends", func() bool { return !alive(launcher) })
	}
}

// A program ends with its launcher, also when nobody is left to see to that.
func TestProgramEndsWithItsLauncher(t *testing.T) {
	o := newOutlet(t)
	defer o.r.Close()
	host := exec.Command(self(t), "echo launcher $PPID; echo program $$; exec sleep 1000")
	host.Env = append(os.Environ(), roleVar+"=host", o.mark)
	host.Stdout, host.Stderr = o.w, o.w
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = host.Process.Kill(); _ = host.Wait() }()
	o.w.Close()
	o.awaitLines(t, patience, 2)
	launcher, program := number(t, o.seen, "launcher"), number(t, o.seen, "program")
	if err := host.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(host.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the host is not stopped: %v, %v", status, err)
	}
	if err := syscall.Kill(launcher, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, patience, "the program ends", func() bool { return !alive(program) })
}
