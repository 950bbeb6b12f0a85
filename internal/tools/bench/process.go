package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/procstat"
	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/internal/tools/bench/payload"
	"github.com/toolhost/toolhost/sdk"
)

// pairs measures two things in turn and returns the ratios of their times, a round each.
func (b *bench) pairs(ctx context.Context, rounds int, ours, theirs func() (time.Duration, error)) (out []float64, err error) {
	for range rounds {
		var times [2]time.Duration
		for _, i := range b.random.Perm(2) {
			if times[i], err = []func() (time.Duration, error){ours, theirs}[i](); err != nil {
				return out, err
			}
			if ctx.Err() != nil {
				return out, ctx.Err()
			}
		}
		out = append(out, float64(times[0])/float64(times[1]))
	}
	return out, nil
}

// starts compares how long plugins take until they have listed their tools, or answered.
func (b *bench) starts(ctx context.Context) error {
	for _, c := range []struct {
		plugins   int
		must, aim float64
	}{{1, 0.33, 0.2}, {50, 0.33, 0.24}} {
		if _, err := b.startOurs(c.plugins); err != nil { // makes the folders for the state of plugins, once
			return err
		}
		rounds := b.rounds()
		if c.plugins > 1 {
			rounds = max(2, rounds/3)
		}
		ratios, err := b.pairs(ctx, rounds, func() (time.Duration, error) { return b.startOurs(c.plugins) },
			func() (time.Duration, error) { return b.startStocks(c.plugins) })
		b.add(figure{name: fmt.Sprintf("start of %d", c.plugins), against: "go-plugin AutoMTLS, as many at once", ratios: ratios,
			must: c.must, aim: c.aim})
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) startOurs(n int) (time.Duration, error) {
	h, err := b.open(n)
	if err != nil {
		return 0, err
	}
	defer h.Close()
	began := time.Now()
	errs := make(chan error, n)
	for _, p := range h.Processes() {
		go func() {
			_, err := p.Tools(context.Background())
			errs <- err
		}()
	}
	for range n {
		err = errors.Join(err, <-errs)
	}
	return time.Since(began), err
}

func (b *bench) startStocks(n int) (time.Duration, error) {
	slots := make(chan struct{}, max(4, 2*runtime.NumCPU()))
	errs := make(chan error, n)
	var clients sync.Map
	defer clients.Range(func(k, _ any) bool { k.(*goplugin.Client).Kill(); return true })
	began := time.Now()
	for range n {
		go func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			client, conn, err := b.startStock()
			if err == nil {
				clients.Store(client, true)
				err = callStock(conn, 100)
			}
			errs <- err
		}()
	}
	var err error
	for range n {
		err = errors.Join(err, <-errs)
	}
	return time.Since(began), err
}

// deaths compares how soon a killed plugin serves again, and how soon its call fails.
func (b *bench) deaths(ctx context.Context) error {
	var client *goplugin.Client
	var conn *grpc.ClientConn
	var err error
	if client, conn, err = b.startStock(); err != nil {
		return err
	}
	defer func() { client.Kill() }()
	stock := func() (time.Duration, error) {
		began := time.Now()
		_ = syscall.Kill(client.ReattachConfig().Pid, syscall.SIGKILL)
		for callStock(conn, 100) == nil {
		}
		client.Kill()
		var err error
		if client, conn, err = b.startStock(); err != nil {
			return 0, err
		}
		err = callStock(conn, 100)
		return time.Since(began), err
	}
	ratios, err := b.pairs(ctx, b.rounds(), func() (time.Duration, error) { return b.killOurs() }, stock)
	b.add(figure{name: "killed plugin serves again", against: "go-plugin AutoMTLS", ratios: ratios, must: 0.35, aim: 0.25})
	if err != nil {
		return err
	}
	ratios, err = b.pairs(ctx, b.rounds(), func() (time.Duration, error) { return b.killOurs("standby = true") }, stock)
	b.add(figure{name: "killed plugin with a standby serves again", against: "go-plugin AutoMTLS", ratios: ratios, must: 0.1,
		aim: 0.05})
	if err != nil {
		return err
	}
	return b.death(ctx)
}

// killOurs kills a plugin and calls until it answers. Each time it is a new host, in which the first restart is at once.
func (b *bench) killOurs(settings ...string) (time.Duration, error) {
	h, err := b.open(1, settings...)
	if err != nil {
		return 0, err
	}
	defer h.Close()
	if err := h.call("echo", payload.Arguments(100), 100); err != nil {
		return 0, err
	}
	if len(settings) > 0 {
		for end := time.Now().Add(patience); h.Processes()[0].Status().Standby == 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				return 0, errors.New("there is no standby")
			}
		}
	}
	began := time.Now()
	if err := syscall.Kill(h.pids()[0], syscall.SIGKILL); err != nil {
		return 0, err
	}
	for {
		err := h.call("echo", payload.Arguments(100), 100)
		if err == nil {
			return time.Since(began), nil
		}
		if time.Since(began) > patience {
			return 0, err
		}
	}
}

// death compares when the call of a killed plugin fails with when the kernel says that it is gone.
func (b *bench) death(ctx context.Context) error {
	var ratios []float64
	for range b.rounds() / 2 {
		h, err := b.open(1)
		if err != nil {
			return err
		}
		ratio, err := deathOf(ctx, h)
		err = errors.Join(err, h.Close())
		if err != nil {
			return err
		}
		ratios = append(ratios, ratio)
	}
	b.add(figure{name: "error of a call in a killed plugin", against: "pidfd", ratios: ratios, must: 1.5, aim: 1.2})
	return nil
}

func deathOf(ctx context.Context, h *toolhost) (float64, error) {
	hanging := make(chan struct{}, 1)
	failed := make(chan time.Time, 1)
	go func() {
		h.Host().Call(ctx, host.Call{Tool: "bench0__hang", Arguments: json.RawMessage("{}"), Events: func(e sdk.Event) {
			if e.Type == sdk.EventProgress {
				hanging <- struct{}{}
			}
		}})
		failed <- time.Now()
	}()
	select {
	case <-hanging:
	case at := <-failed:
		return 0, fmt.Errorf("the call ended by itself at %s", at)
	}
	pid := h.pids()[0]
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	gone := make(chan time.Time, 1)
	go func() {
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
		gone <- time.Now()
	}()
	time.Sleep(10 * time.Millisecond) // the poll has begun
	began := time.Now()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return 0, err
	}
	return float64((<-failed).Sub(began)) / float64((<-gone).Sub(began)), nil
}

// listing compares a listing of 100 plugins that are known with a command that does nothing.
func (b *bench) listing(ctx context.Context) error {
	var config strings.Builder
	for i := range 100 {
		fmt.Fprintf(&config, "plugin \"bench%d\" {\n command = [%q]\n}\n", i, b.program("plugin"))
	}
	path := filepath.Join(b.dir, "hundred.hcl")
	if err := os.WriteFile(path, []byte(config.String()), 0o600); err != nil {
		return err
	}
	run := func(args ...string) (time.Duration, error) {
		cmd := exec.CommandContext(ctx, filepath.Join(b.bin, "toolhost"), args...)
		began := time.Now()
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return time.Since(began), err
	}
	if _, err := run("--config", path, "discover"); err != nil {
		return err
	}
	ratios, err := b.pairs(ctx, 2*b.rounds(), func() (time.Duration, error) { return run("--config", path, "discover") },
		func() (time.Duration, error) { return run("version") })
	b.add(figure{name: "toolhost discover, 100 plugins from the cache", against: "toolhost version", ratios: ratios, must: 4, aim: 2})
	return err
}

// memory compares what idle plugins keep, and what is kept after a burst of large results.
func (b *bench) memory(ctx context.Context, h *toolhost) error {
	client, conn, err := b.startStock()
	if err != nil {
		return err
	}
	defer client.Kill()
	if err := errors.Join(h.call("echo", payload.Arguments(100), 100), callStock(conn, 100)); err != nil {
		return err
	}
	time.Sleep(5 * time.Second) // the idle plugin gives back what starting took
	pid, stock := h.pids()[0], client.ReattachConfig().Pid
	own := smaps(pid, "Private_Dirty")
	if parent := procstat.ParentOf(pid); parent != os.Getpid() { // its launcher
		own += smaps(parent, "Private_Dirty")
	}
	b.add(figure{name: "idle plugin with its launcher, private memory", against: "go-plugin AutoMTLS",
		ratios: []float64{own / smaps(stock, "Private_Dirty")}, must: 1.1, note: fmt.Sprintf("(%.1f MB)", own/1e6)})
	const size = 1_000_000
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end) && ctx.Err() == nil; {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { _ = h.call("echo", payload.Arguments(size), size); _ = callStock(conn, size) })
		}
		all.Wait()
	}
	select {
	case <-time.After(10 * time.Second):
	case <-ctx.Done():
	}
	b.add(figure{name: "memory of the plugin 10 s after a burst of 1 MB results", against: "go-plugin AutoMTLS",
		ratios: []float64{smaps(pid, "Rss") / smaps(stock, "Rss")}, must: 0.6, aim: 0.4,
		note: fmt.Sprintf("(%.1f MB)", smaps(pid, "Rss")/1e6)})
	return nil
}

// smaps is one line of /proc/PID/smaps_rollup, in bytes.
func smaps(pid int, name string) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == name+":" {
			n, _ := strconv.ParseFloat(f[1], 64)
			return n * 1024
		}
	}
	return 0
}

// childrenOf are the processes that another one has started, such as an MCP server.
func childrenOf(pid int) (out []int) {
	all, _ := os.ReadDir("/proc")
	for _, e := range all {
		if n, err := strconv.Atoi(e.Name()); err == nil && procstat.ParentOf(n) == pid {
			out = append(append(out, n), childrenOf(n)...)
		}
	}
	return out
}

// sizes are those of the plugins that ship with toolhost.
func (b *bench) sizes(context.Context) error {
	for _, name := range []string{"readfile", "edit", "shell", "discover"} {
		info, err := os.Stat(filepath.Join(b.bin, toolname.ProgramPrefix+name))
		if err != nil {
			return fmt.Errorf("%w; run make build first", err)
		}
		b.add(figure{name: "binary of " + name, against: "a megabyte", ratios: []float64{float64(info.Size()) / 1e6}, must: 15.6,
			aim: 12})
	}
	return nil
}
