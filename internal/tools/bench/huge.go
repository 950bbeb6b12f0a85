package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/tools/bench/payload"
)

// peakArgument is the first argument of a process that measures the memory that its end of one call takes.
const peakArgument = "peak"

// huge compares results over 4 MiB: their time, and the host's memory.
func (b *bench) huge(ctx context.Context) error {
	h, err := b.openWith("max_large_result_bytes = 200000000\n" + b.plugin(0))
	if err != nil {
		return err
	}
	defer h.Close()
	for _, size := range []int{10_000_000, 100_000_000} {
		name := fmt.Sprintf("%d MB", size/1_000_000)
		stock, err := b.stock(1, size)
		if err != nil {
			return err
		}
		defer stock.close()
		all, err := b.compare(ctx, name+", 1 caller", []*arm{h.largeArm(size), stock})
		if err != nil {
			return err
		}
		b.add(figure{name: name + ", 1 caller, p50", against: stock.name, ratios: ratios(all, ours, stock.name, p50), must: 1.2, aim: 0.85})
		var peaks []float64
		for range b.rounds() / 2 {
			mine, err := b.peak(ctx, ours, size)
			theirs, err2 := b.peak(ctx, "stock", size)
			if err := errors.Join(err, err2); err != nil {
				return err
			}
			peaks = append(peaks, mine/theirs)
		}
		b.add(figure{name: name + ", the host's peak of memory", against: stock.name, ratios: peaks, must: 0.3, aim: 0.05})
	}
	return nil
}

// largeArm makes calls whose results go to files.
func (h *toolhost) largeArm(size int) *arm {
	return &arm{name: ours, callers: 1, pids: h.pids, close: func() {}, call: func(int) error {
		r := h.callTool("large", payload.Arguments(size))
		if r.Error != nil {
			return r.Error
		}
		if len(r.KeptFiles) != 1 {
			return fmt.Errorf("kept in %v", r.KeptFiles)
		}
		info, err := os.Stat(r.KeptFiles[0])
		if err != nil {
			return err
		}
		return expect(int(info.Size()), size, os.Remove(r.KeptFiles[0]))
	}}
}

// peak has another process measure it.
func (b *bench) peak(ctx context.Context, who string, size int) (float64, error) {
	out, err := exec.CommandContext(ctx, os.Args[0], peakArgument, who, strconv.Itoa(size), b.bin).Output()
	if err != nil {
		return 0, fmt.Errorf("measuring the memory of %s: %w", who, err)
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}

// measurePeak prints by how many bytes a call of a size makes this process grow.
func measurePeak(args []string) error {
	size, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	b := &bench{bin: args[2], random: rand.New(rand.NewPCG(1, 1))}
	if b.dir, err = os.MkdirTemp("", "toolhost-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	var a *arm
	if args[0] == ours {
		h, err := b.openWith("max_large_result_bytes = 200000000\n" + b.plugin(0))
		if err != nil {
			return err
		}
		defer h.Close()
		if r := h.callTool("echo", payload.Arguments(100)); r.Error != nil {
			return r.Error
		}
		a = h.largeArm(size)
	} else {
		if a, err = b.stock(1, size); err != nil {
			return err
		}
		defer a.close()
	}
	_ = payload.Text(100)
	debug.FreeOSMemory()
	before, err := memoryOf("VmRSS")
	if err != nil {
		return err
	}
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600); err != nil { // forgets the peak
		return err
	}
	if err := a.call(0); err != nil {
		return err
	}
	peak, err := memoryOf("VmHWM")
	fmt.Println(max(peak-before, 1))
	return err
}

// memoryOf is a figure of this process, in bytes.
func memoryOf(name string) (int, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), name+":")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	return kb << 10, err
}
