package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
)

// workArgument is the first argument of a process that makes the calls of one arm.
const workArgument = "work"

// A worker is a process of this program that makes the calls of one arm. In one process the heap of an arm decides how
// often the garbage of the others is collected: beside a busy host, stock go-plugin made a fifth more calls.
type worker struct {
	in  *json.Encoder // commands
	out *json.Decoder // a reply to each
}

// The commands.
const (
	warmUp    = "warm up"
	callSlice = "slice"
	usedTime  = "time" // Value is the processor time of the arm's processes
	callPeak  = "peak" // Value is by how many bytes a call makes the worker grow
)

type reply struct {
	Measured measured
	Value    int64
	Err      string
}

// worker starts one, for an arm that make makes there.
func (b *bench) worker(kind string, callers, size int) (*arm, error) {
	cmd := exec.Command(os.Args[0], workArgument, kind, strconv.Itoa(callers), strconv.Itoa(size), b.bin)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(kind, ":")
	return &arm{name: name, worker: &worker{in: json.NewEncoder(in), out: json.NewDecoder(out)},
		close: func() { _ = in.Close(); _ = cmd.Wait() }}, nil
}

func (w *worker) do(command string) (r reply, err error) {
	if err := errors.Join(w.in.Encode(command), w.out.Decode(&r)); err != nil {
		return r, fmt.Errorf("the process that makes the calls has ended: %w", err)
	}
	if r.Err != "" {
		err = errors.New(r.Err)
	}
	return r, err
}

// work is the process of a worker. It ends with its standard input.
func work(kind, callers, size, bin string) (err error) {
	b := &bench{bin: bin}
	if b.dir, err = os.MkdirTemp("", "toolhost-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	n, err := strconv.Atoi(callers)
	if err != nil {
		return err
	}
	bytes, err := strconv.Atoi(size)
	if err != nil {
		return err
	}
	a, err := b.make(kind, n, bytes)
	if err != nil {
		return err
	}
	defer a.close()
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for command := ""; in.Decode(&command) == nil; {
		if err := out.Encode(a.obey(command)); err != nil {
			return err
		}
	}
	return nil
}

func (a *arm) obey(command string) (r reply) {
	var err error
	switch command {
	case warmUp:
		err = a.warmUp()
	case callSlice:
		r.Measured, err = a.measure(context.Background())
	case usedTime:
		r.Value = int64(timeOf([]*arm{a}))
	case callPeak:
		r.Value, err = a.peak()
	}
	if err != nil {
		r.Err = err.Error()
	}
	return r
}

// race compares arms, each in a process of its own.
func (b *bench) race(ctx context.Context, group string, callers, size int, kinds ...string) (map[string][]sample, error) {
	var arms []*arm
	for _, kind := range kinds {
		a, err := b.worker(kind, callers, size)
		if err != nil {
			return nil, err
		}
		defer a.close()
		arms = append(arms, a)
	}
	return b.compare(ctx, group, arms)
}

// peakOf is by how many bytes one call of an arm makes its process grow.
func (b *bench) peakOf(kind string, size int) (float64, error) {
	a, err := b.worker(kind, 1, size)
	if err != nil {
		return 0, err
	}
	defer a.close()
	r, err := a.worker.do(callPeak)
	return float64(r.Value), err
}

func (a *arm) peak() (int64, error) {
	debug.FreeOSMemory()
	before, err := memoryOf("VmRSS")
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600); err != nil { // forgets the peak
		return 0, err
	}
	if err := a.call(0); err != nil {
		return 0, err
	}
	most, err := memoryOf("VmHWM")
	return max(most-before, 1), err
}

// memoryOf is a figure of this process, in bytes.
func memoryOf(name string) (int64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), name+":")
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	return kb << 10, err
}
