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
	"strings"
	"sync"
	"syscall"
	"time"
)

// Environment variables of hosts: the folder of their world, and the mark of what they start.
const (
	envDir  = "CHAOS_DIR"
	envHost = "CHAOS_HOST"
)

// playHost is a host of its own: it makes a world, litters, makes calls until its input ends, and says what came of
// them.
func playHost() {
	dir, full := os.Getenv(envDir), os.Getenv(envDisk) != ""
	if full {
		if err := mountDisk(dir); err != nil {
			fmt.Println("broken no disk:", err)
			return
		}
	}
	w, err := newWorld(dir, os.Getenv(envHost))
	if err != nil {
		fmt.Println("broken", err)
		return
	}
	r := newReport()
	l := newLedger(r)
	live(w, l, full)
	if err := w.close(); err != nil {
		r.breach("closing: %v", err)
	}
	l.settle(w.ledger)
	fmt.Printf("calls %d %d %d\n", r.calls, r.answered, r.twice)
	for _, text := range r.broken {
		fmt.Println("broken", text)
	}
}

// live makes calls, and leaves processes behind, until the input ends.
func live(w *world, l *ledger, full bool) {
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := range callers {
		c := &caller{ledger: l, world: w, dice: rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(i))), name: fmt.Sprintf("c%d", i)} //nolint:gosec // dice
		all.Go(func() { c.run(ctx) })
	}
	for i := range victims {
		l.make(ctx, w.host, fmt.Sprintf("litter-%d", i), victimName(i)+"__litter", `{}`, 10*time.Second)
	}
	fmt.Println("up")
	if full {
		fill(ctx, w, &breaker{world: w, ledger: l, dice: rand.New(rand.NewPCG(uint64(os.Getpid()), 0))}) //nolint:gosec // dice
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	stop()
	all.Wait()
}

// A hostProcess is a host that runs in a process of its own.
type hostProcess struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	dir  string
	mark string
}

// startHost starts one. Prepare may change how.
func startHost(prepare func(*exec.Cmd)) (*hostProcess, error) {
	dir, err := os.MkdirTemp("", "chaos")
	if err != nil {
		return nil, err
	}
	h := &hostProcess{cmd: exec.Command(programPath()), dir: dir, mark: "host" + strings.TrimPrefix(dir, os.TempDir())} //nolint:noctx // it is killed
	h.cmd.Env = append(os.Environ(), envPart+"=host", envDir+"="+dir, envHost+"="+h.mark)
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

// up waits until the host says so.
func (h *hostProcess) up() bool {
	line, _ := h.out.ReadString('\n')
	return line == "up\n"
}

// end lets the host come to its end and takes over its report.
func (h *hostProcess) end(r *report, name string) {
	_ = h.in.Close()
	for {
		line, err := h.out.ReadString('\n')
		h.take(r, name, strings.TrimSpace(line))
		if err != nil {
			break
		}
	}
	if err := h.cmd.Wait(); err != nil {
		r.mu.Lock()
		r.crashes++
		r.mu.Unlock()
		r.breach("%s: the host crashed: %v", name, err)
	}
	h.checkGone(r, name)
}

func (h *hostProcess) take(r *report, name, line string) {
	var calls, answered, twice int
	if n, _ := fmt.Sscanf(line, "calls %d %d %d", &calls, &answered, &twice); n == 3 {
		r.mu.Lock()
		r.calls, r.answered, r.twice = r.calls+calls, r.answered+answered, r.twice+twice
		r.mu.Unlock()
	} else if text, ok := strings.CutPrefix(line, "broken "); ok {
		r.breach("%s: %s", name, text)
	}
}

// checkGone looks for what the host has left a while after its end, and tidies up.
func (h *hostProcess) checkGone(r *report, name string) {
	if left := await(func() []string { return alive(h.mark) }); len(left) > 0 {
		r.mu.Lock()
		r.orphans += len(left)
		r.mu.Unlock()
		r.breach("%s: %d processes are left: %s", name, len(left), strings.Join(left, "; "))
	}
	_ = os.RemoveAll(h.dir)
}

// killHosts kills hosts at moments of chance: while they start, while they work.
func killHosts(p plan, r *report, tell func(string)) {
	dice := rand.New(rand.NewPCG(p.seed, 1)) //nolint:gosec // repeatable dice
	for n := range p.kills {
		killHost(r, fmt.Sprintf("kill-%d", n), n%4 == 0, time.Duration(dice.IntN(150))*time.Millisecond)
		if n%20 == 19 {
			tell(fmt.Sprintf("%d hosts killed, %d orphans", n+1, r.orphans))
		}
	}
}

func killHost(r *report, name string, early bool, after time.Duration) {
	h, err := startHost(func(*exec.Cmd) {})
	if err != nil {
		r.breach("%s: %v", name, err)
		return
	}
	if !early && !h.up() {
		r.breach("%s: the host did not come up", name)
	}
	time.Sleep(after)
	_ = h.cmd.Process.Kill()
	_ = h.cmd.Wait()
	r.fault("host killed")
	h.checkGone(r, name)
}

// freezeHosts stops hosts and lets them go on: for them the clock jumps, and every deadline passes at once.
func freezeHosts(p plan, r *report, tell func(string)) {
	dice := rand.New(rand.NewPCG(p.seed, 2)) //nolint:gosec // repeatable dice
	for n := range (p.kills + 9) / 10 {
		name := fmt.Sprintf("freeze-%d", n)
		h, err := startHost(func(*exec.Cmd) {})
		if err != nil || !h.up() {
			r.breach("%s: the host did not come up: %v", name, err)
			return
		}
		for range 3 {
			_ = h.cmd.Process.Signal(syscall.SIGSTOP)
			time.Sleep(time.Duration(500+dice.IntN(1500)) * time.Millisecond)
			_ = h.cmd.Process.Signal(syscall.SIGCONT)
			r.fault("clock jumps")
			time.Sleep(time.Duration(dice.IntN(300)) * time.Millisecond)
		}
		h.end(r, name)
	}
	tell("hosts were frozen")
}
