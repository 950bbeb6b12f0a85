//go:build linux

// Command chaos breaks plugins under a host that is under load, in every way that it knows, and checks that the host
// keeps its word: every call has one answer in time, nothing is run twice, plugins that are left alone are not harmed,
// and when it is over no process, file, socket or goroutine is left. `make chaos` runs it; its short form is a test.
//
// It is one program that plays all parts: the one that breaks things, hosts that are killed, plugins that behave, and
// plugins that are nothing but bytes on a socket.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

// A plan says how much is to be done.
type plan struct {
	seed   uint64
	length time.Duration // of the storm
	faults int           // at least, in the storm
	calls  int           // at least, in the storm
	kills  int           // of whole hosts
}

func main() {
	if play, ok := parts[os.Getenv(envPart)]; ok {
		play()
		return
	}
	p := plan{}
	flag.Uint64Var(&p.seed, "seed", rand.Uint64(), "of the dice: the same seed makes the same choices") //nolint:gosec // any will do
	flag.DurationVar(&p.length, "for", 10*time.Minute, "how long the storm lasts")
	flag.IntVar(&p.faults, "faults", 10_000, "the storm goes on until there were so many")
	flag.IntVar(&p.calls, "calls", 100_000, "the storm goes on until there were so many")
	flag.IntVar(&p.kills, "kills", 200, "how many hosts are killed")
	flag.Parse()
	fmt.Printf("seed %d\n", p.seed)
	report := run(p, func(line string) { fmt.Println(line) })
	fmt.Print(report.table())
	if len(report.broken) > 0 {
		os.Exit(1)
	}
}

// run does all of the plan and says how far it is.
func run(p plan, tell func(string)) *report {
	r := newReport()
	storm(p, r, tell)
	killHosts(p, r, tell)
	freezeHosts(p, r, tell)
	fillDisks(p, r, tell)
	return r
}
