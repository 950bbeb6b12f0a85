// Command bench measures toolhost beside other ways to run tools, and prints ratios with their limits. It is a module of
// its own, so that what only a comparison needs is not in toolhost's go.mod. Run it as `make bench`.
//
// Every figure is a ratio of two arms that were measured in the same rounds, in slices of a tenth of a second and in an
// order that changes: what the machine does meanwhile touches both alike. A round in which other processes took more
// than 3 % of the machine is marked, and left out if there are enough others.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/pprof"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == serveArgument {
		serveMCP()
		return
	}
	log.SetFlags(0)
	log.SetPrefix("bench: ")
	if len(os.Args) == 6 && os.Args[1] == workArgument {
		if err := work(os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
			log.Fatal(err)
		}
		return
	}
	b := &bench{}
	flag.BoolVar(&b.quick, "quick", false, "fewer rounds: under two minutes instead of ten")
	only := flag.String("only", "", "measure only the figures whose names match this regular expression")
	flag.StringVar(&b.markdown, "markdown", "", "write the tables to this file too, in Markdown")
	flag.StringVar(&b.raw, "raw", "", "write all samples to this file, in the form that benchstat reads")
	seed := flag.Uint64("seed", 1, "of the order in which arms are measured")
	flag.StringVar(&b.bin, "bin", "bin", "the folder of toolhost, its plugins, and bench-plugin, bench-stock and bench-once")
	profile := flag.String("cpuprofile", "", "write a profile of this process, the host's, to this file")
	flag.Parse()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			log.Fatal(err)
		}
		defer pprof.StopCPUProfile()
	}
	b.only = regexp.MustCompile(*only)
	b.random = rand.New(rand.NewPCG(*seed, 0))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := b.run(ctx); err != nil {
		log.Fatal(err)
	}
}

// A bench is one run.
type bench struct {
	quick         bool
	only          *regexp.Regexp
	markdown, raw string
	bin           string
	random        *rand.Rand

	dir     string // of files that arms make
	samples []sample
	figures []figure
}

// A figure is one line of the tables: the ratio of an arm and another one.
type figure struct {
	name, against string
	ratios        []float64
	must, aim     float64
	atLeast       bool // the ratio must not be smaller, instead of not larger
	note          string
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.dir, err = os.MkdirTemp("", "toolhost-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.bin, err = filepath.Abs(b.bin); err != nil {
		return err
	}
	for _, name := range []string{"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		dir := filepath.Join(b.dir, name)
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Setenv(name, dir)); err != nil {
			return err
		}
	}
	// A file that was written a moment ago could be written again within a step of its clock: each start would hash it.
	if info, err := os.Stat(b.program("plugin")); err == nil {
		time.Sleep(time.Until(info.ModTime().Add(3 * time.Second)))
	}
	began := time.Now()
	for _, part := range []struct {
		name string
		run  func(context.Context) error
	}{{"calls", b.roundTrips}, {"api", b.api}, {"bridge", b.bridge}, {"schemas", b.schemas},
		{"writes", b.hosted(b.writes)}, {"large", b.hosted(b.besideLarge)}, {"huge", b.huge}, {"waiting", b.waiting},
		{"starts", b.starts}, {"deaths", b.deaths}, {"listing", b.listing}, {"memory", b.hosted(b.memory)},
		{"sizes", b.sizes}} {
		if !b.only.MatchString(part.name) {
			continue
		}
		if err := part.run(ctx); err != nil && ctx.Err() == nil {
			log.Print(err) // the others go on
		}
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
	}
	fmt.Printf("\n%s, %s, %d processors, %.0f s\n\n", runtime.Version(), cpuModel(), runtime.NumCPU(), time.Since(began).Seconds())
	text := b.table()
	fmt.Print(text)
	if b.markdown != "" {
		err = errors.Join(err, os.WriteFile(b.markdown, []byte(text), 0o644))
	}
	if b.raw != "" {
		err = errors.Join(err, os.WriteFile(b.raw, []byte(b.benchstat()), 0o644))
	}
	return err
}

// program is one that arms call. They are small, so that a start does not measure what this one links.
func (b *bench) program(name string) string { return filepath.Join(b.bin, "bench-"+name) }

// hosted gives a part a host with one plugin.
func (b *bench) hosted(part func(context.Context, *toolhost) error) func(context.Context) error {
	return func(ctx context.Context) error {
		h, err := b.open(1)
		if err != nil {
			return err
		}
		defer h.Close()
		return part(ctx, h)
	}
}

// rounds is how many are measured.
func (b *bench) rounds() int {
	if b.quick {
		return 4
	}
	return 12
}
