// Package nesting tells a host which hosts run it. Each host names itself in the environment of what it starts, so that
// a host which a plugin runs by starting does not start that plugin again, without end.
package nesting

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/procstat"
)

// Var is the variable. It has a word for each host above: the hash of what that host started, and of where it runs.
// After "?" it may be a call that runs the next host: that ends with the call, and may have the same configuration.
const Var = "TOOLHOST_NESTING"

// maxHosts is the most hosts above one. It ends what the words do not, such as a tool that calls itself.
const maxHosts = 8

// Header is the header in which a plugin that uses a server of this machine names the hosts above it, as Var does: the
// server may be that of one of them.
const Header = "Toolhost-Nesting"

// owned are the words of what this process may start.
var owned sync.Map

// Own notes that this process may start something of the configuration at a path, such as plugin "x".
func Own(config, what string) { owned.Store(word(config, what), true) }

// IsOwn reports whether a request with a Header comes from something that this process may start, other than for a
// call. Another process of the same configuration may have started it, whose list is the same.
func IsOwn(header string) bool {
	return slices.ContainsFunc(strings.Fields(header), func(word string) bool {
		_, own := owned.Load(word)
		return own
	})
}

func word(config, what string) string { return hash(config, what) + here() }

func hash(of ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(of, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// here ends the words of hosts that reach each other at loopback addresses and see the same files. Another machine,
// which a tunnel may lead to, or container, also of the same pod, has other words, though its configuration may have
// the same path. What is not known does not count.
var here = sync.OnceValue(func() string {
	name, _ := os.Hostname()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	network, _ := os.Readlink("/proc/self/ns/net")
	mounts, _ := os.Readlink("/proc/self/ns/mnt")
	return hash(name, string(boot), network, mounts)
})

// Below returns env, the environment of what a host starts, with the variable: for something of the configuration at a
// path, such as plugin "x". With calls it runs programs for calls, too.
func Below(env []string, config, what string, calls bool) []string {
	words := os.Getenv(Var)
	switch {
	case config == "" && words == "":
		return env
	case config == "":
	case calls:
		words += " ?" + word(config, what)
	default:
		words += " " + word(config, what)
	}
	return append(env, Var+"="+strings.TrimSpace(words))
}

// Starting returns env, the environment of what a plugin runs by starting, not for a call, with the variable.
func Starting(env []string) []string {
	if words := Words(); words != "" {
		env = append(env, Var+"="+words)
	}
	return env
}

// Words is what Starting sets the variable to, "" if no host runs this process.
func Words() string {
	words := os.Getenv(Var)
	own := strings.LastIndexByte(words, ' ') + 1
	return words[:own] + strings.TrimPrefix(words[own:], "?")
}

// Check returns an error if starting something would never end: that runs this process, or too many hosts do.
func Check(config, what string) error {
	words := strings.Fields(os.Getenv(Var))
	fix := "run another program there, or give that toolhost another configuration, with --config"
	own := hash(config, what)
	if slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, own) }) {
		return errors.New("it runs this toolhost, which would start it again, without end. Fix: " + fix)
	}
	if max(len(words), launchers()/2) >= maxHosts {
		return fmt.Errorf("it is not started: %d toolhosts run each other, which is the limit. Fix: find the plugin, tool "+
			"or discovery command of each that runs the next one, and %s", maxHosts, fix)
	}
	return nil
}

// launchers counts those above this process, at most two for each host: of a plugin, and of what that runs. It finds
// them below a program that drops the environment, such as env -i; on Linux alone.
var launchers = sync.OnceValue(func() (n int) {
	for pid := os.Getppid(); pid > 1; {
		f := procstat.Read(pid)
		if f.Text(procstat.Name) == "toolhost-launch" { // the kernel cuts names
			n++
		}
		pid = int(f.Int(procstat.Parent))
	}
	return n
})
