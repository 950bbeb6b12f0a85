//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Environment variables of hosts: the folder of the testbed, and the mark of the processes that they start.
const (
	envDir  = "CHAOS_DIR"
	envHost = "CHAOS_HOST"
)

// runHost is the role of a host: it makes a testbed, makes calls until its input ends, and prints a report.
func runHost() {
	dir, full := os.Getenv(envDir), os.Getenv(envDisk) != ""
	if full {
		if err := mountDisk(dir); err != nil {
			fmt.Println("violation no disk:", err)
			return
		}
	}
	w, err := newTestbed(dir, os.Getenv(envHost))
	if err != nil {
		fmt.Println("violation", err)
		return
	}
	r := newReport()
	l := newLedger(r)
	makeCalls(w, l, full)
	if err := w.close(); err != nil {
		r.violation("closing: %v", err)
	}
	l.compareEffects(w.ledger)
	fmt.Printf("calls %d %d %d\n", r.calls, r.answered, r.duplicated)
	for _, text := range r.violations {
		fmt.Println("violation", text)
	}
}

// makeCalls makes calls, also some that leave processes behind, until the input ends.
func makeCalls(w *testbed, l *ledger, full bool) {
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() { newCaller(l, w, uint64(os.Getpid()), uint64(i), i).run(ctx) })
	}
	for i := range victims {
		l.make(ctx, w.host, fmt.Sprintf("litter-%d", i), victimName(i)+"__litter", `{}`, 10*time.Second)
	}
	fmt.Println("up")
	if full {
		//nolint:gosec // test data
		fill(ctx, w, &injector{testbed: w, ledger: l, rng: rand.New(rand.NewPCG(uint64(os.Getpid()), 0))})
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	stop()
	all.Wait()
}

// A hostProcess is a host in a process of its own.
type hostProcess struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	dir  string
	mark string
}

// startHost starts one. Prepare may change the command.
func startHost(prepare func(*exec.Cmd)) (*hostProcess, error) {
	dir, err := os.MkdirTemp("", "chaos")
	if err != nil {
		return nil, err
	}
	//nolint:noctx // it is killed
	h := &hostProcess{cmd: exec.Command(programPath()), dir: dir, mark: "host" + strings.TrimPrefix(dir, os.TempDir())}
	h.cmd.Env = append(os.Environ(), envRole+"=host", envDir+"="+dir, envHost+"="+h.mark)
	h.cmd.Stderr = os.Stderr
	prepare(h.cmd)
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.out = bufio.NewReader(out)
	return h, h.cmd.Start()
}

// up waits until the host reports that it is up.
func (h *hostProcess) up() bool {
	line, _ := h.out.ReadString('\n')
	return line == "up\n"
}

// end ends the host and adds its report.
func (h *hostProcess) end(r *report, name string) {
	_ = h.in.Close()
	for {
		line, err := h.out.ReadString('\n')
		h.readReport(r, name, strings.TrimSpace(line))
		if err != nil {
			break
		}
	}
	if err := h.cmd.Wait(); err != nil {
		r.mu.Lock()
		r.crashes++
		r.mu.Unlock()
		r.violation("%s: the host crashed: %v", name, err)
	}
	h.checkGone(r, name)
}

func (h *hostProcess) readReport(r *report, name, line string) {
	var calls, answered, duplicated int
	if n, _ := fmt.Sscanf(line, "calls %d %d %d", &calls, &answered, &duplicated); n == 3 {
		r.mu.Lock()
		r.calls, r.answered, r.duplicated = r.calls+calls, r.answered+answered, r.duplicated+duplicated
		r.mu.Unlock()
	} else if text, ok := strings.CutPrefix(line, "violation "); ok {
		r.violation("%s: %s", name, text)
	}
}

// checkGone checks that no process of the host is left a while after its end, and cleans up.
func (h *hostProcess) checkGone(r *report, name string) {
	if left := waitUntilNone(func() []string { return alive(h.mark) }); len(left) > 0 {
		r.mu.Lock()
		r.orphans += len(left)
		r.mu.Unlock()
		r.violation("%s: %d processes are left: %s", name, len(left), strings.Join(left, "; "))
	}
	_ = os.RemoveAll(h.dir)
}

// killHosts kills hosts at random moments: while they start, while they work.
func killHosts(p plan, r *report, progress func(string)) {
	rng := rand.New(rand.NewPCG(p.seed, 1)) //nolint:gosec // repeatable
	for n := range p.kills {
		killHost(r, fmt.Sprintf("kill-%d", n), n%4 == 0, time.Duration(rng.IntN(150))*time.Millisecond)
		if n%20 == 19 {
			progress(fmt.Sprintf("%d hosts killed, %d orphans", n+1, r.orphans))
		}
	}
}

func killHost(r *report, name string, early bool, after time.Duration) {
	h, err := startHost(func(*exec.Cmd) {})
	if err != nil {
		r.violation("%s: %v", name, err)
		return
	}
	if !early && !h.up() {
		r.violation("%s: the host did not come up", name)
	}
	time.Sleep(after)
	_ = h.cmd.Process.Kill()
	_ = h.cmd.Wait()
	r.fault("host killed")
	h.checkGone(r, name)
}

// freezeHosts stops hosts and continues them: for them the clock jumps, and every deadline passes at once.
func freezeHosts(p plan, r *report, progress func(string)) {
	rng := rand.New(rand.NewPCG(p.seed, 2)) //nolint:gosec // repeatable
	for n := range (p.kills + 9) / 10 {
		name := fmt.Sprintf("freeze-%d", n)
		h, err := startHost(func(*exec.Cmd) {})
		if err != nil || !h.up() {
			r.violation("%s: the host did not come up: %v", name, err)
			return
		}
		for range 3 {
			_ = h.cmd.Process.Signal(syscall.SIGSTOP)
			time.Sleep(time.Duration(500+rng.IntN(1500)) * time.Millisecond)
			_ = h.cmd.Process.Signal(syscall.SIGCONT)
			r.fault("clock jumps")
			time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
		}
		h.end(r, name)
	}
	progress("hosts were frozen")
}

// envDisk makes a host use a disk of its own, and fill it.
const envDisk = "CHAOS_DISK"

// diskSize is small enough to be filled in a moment, and enough for a testbed.
const diskSize = 1 << 20

// fillDisks runs hosts on a disk that is full again and again.
func fillDisks(p plan, r *report, progress func(string)) {
	for n := range (p.kills + 19) / 20 {
		name := fmt.Sprintf("disk-%d", n)
		h, err := startHost(ownDisk)
		if err != nil {
			progress("this system mounts no disk for the test, so none was filled: " + err.Error())
			return
		}
		if !h.up() {
			r.violation("%s: the host did not come up", name)
		}
		for range 5 {
			r.fault("disk full")
		}
		h.end(r, name)
	}
	progress("disks were filled")
}

// ownDisk gives the host a mount namespace, with the right to mount there.
func ownDisk(cmd *exec.Cmd) {
	cmd.Env = append(cmd.Env, envDisk+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	}
}

// mountDisk mounts a small disk for the host's testbed.
func mountDisk(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	return unix.Mount("chaos", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("size=%d,mode=700", diskSize))
}

// fill fills the disk and kills a plugin, then frees the disk, five times.
func fill(ctx context.Context, w *testbed, b *injector) {
	path := filepath.Join(w.dir, "filler")
	for range 5 {
		if f, err := os.Create(path); err == nil {
			for err == nil {
				_, err = f.Write(make([]byte, 4096))
			}
			_ = f.Close()
		}
		b.signal(b.plugin(), syscall.SIGKILL)
		_ = pause(ctx, 100)
		_ = os.Remove(path)
		_ = pause(ctx, 100)
	}
}
