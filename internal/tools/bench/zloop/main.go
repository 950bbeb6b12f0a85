package main

import (
	"context"
	"flag"
	"fmt"
	"golang.org/x/sys/unix"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/internal/tools/bench/payload"
)

func main() {
	callers := flag.Int("callers", 64, "")
	n := flag.Int("n", 400000, "")
	size := flag.Int("size", 100, "")
	plugin := flag.String("plugin", "bin/bench-plugin", "")
	tool := flag.String("tool", "echo", "")
	flag.Parse()
	dir, _ := os.MkdirTemp("", "zloop")
	defer os.RemoveAll(dir)
	for _, name := range []string{"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		d := filepath.Join(dir, name)
		os.Mkdir(d, 0o700)
		os.Setenv(name, d)
	}
	p, _ := filepath.Abs(*plugin)
	var config strings.Builder
	fmt.Fprintf(&config, "audit {\n path = %q\n}\n", filepath.Join(dir, "record"))
	fmt.Fprintf(&config, "plugin \"bench0\" {\n command = [%q]\n}\n", p)
	config.WriteString("policy \"project\" {\n")
	for i := range 10 {
		when := ""
		if i%2 == 0 {
			when = fmt.Sprintf("when = args.text == \"bad%d\" || contains([\"x\", \"y\"], args.text)", i)
		}
		tools := `["bench0__echo", "bench0__write"]`
		if when == "" {
			tools = fmt.Sprintf(`["other%d__*"]`, i)
		}
		fmt.Fprintf(&config, "rule \"r%d\" {\n tools = %s\n %s\n effect = \"deny\"\n}\n", i, tools, when)
	}
	config.WriteString("}\n")
	path := filepath.Join(dir, "config.hcl")
	os.WriteFile(path, []byte(config.String()), 0o600)
	in, err := bootstrap.Open(context.Background(), bootstrap.Options{Config: path, TrustNamed: true, Approve: bootstrap.ApproveAlways})
	if err != nil {
		log.Fatal(err)
	}
	defer in.Close()
	args := payload.Arguments(*size)
	one := func() {
		if r := in.Host().Call(context.Background(), host.Call{Tool: "bench0__" + *tool, Arguments: args}); r.Error != nil {
			log.Fatal(r.Error)
		}
	}
	one()
	pid := 0
	for _, q := range in.Processes() {
		s := q.Status()
		pid = s.PID
	}
	cpuOf := func() time.Duration {
		var spec unix.Timespec
		if err := unix.ClockGettime(int32(^pid<<3|2), &spec); err != nil {
			log.Fatal(err)
		}
		return time.Duration(spec.Nano())
	}
	self := func() time.Duration {
		var u syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	for range 2 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c0, s0, t0 := cpuOf(), self(), time.Now()
		var all sync.WaitGroup
		for range *callers {
			all.Go(func() {
				for range *n / *callers {
					one()
				}
			})
		}
		all.Wait()
		took := time.Since(t0)
		runtime.ReadMemStats(&after)
		calls := float64(*n)
		fmt.Printf("%.0f calls/s; host %.1f us, plugin %.1f us a call; host %.1f allocs %.0f bytes, %d GCs\n", calls/took.Seconds(), float64((self()-s0).Microseconds())/calls, float64((cpuOf()-c0).Microseconds())/calls,
			float64(after.Mallocs-before.Mallocs)/calls, float64(after.TotalAlloc-before.TotalAlloc)/calls, after.NumGC-before.NumGC)
	}
}
