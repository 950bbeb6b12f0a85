package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

// lateConfig is a configuration with a plugin whose tool is there once come is called.
func lateConfig(t *testing.T) (text string, come func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	comes := make(chan struct{})
	go func() {
		for {
			c, err := l.Accept() // of each process of the plugin
			if err != nil {
				return
			}
			go func() {
				<-comes
				_ = c.Close()
			}()
		}
	}()
	come = sync.OnceFunc(func() { close(comes) })
	t.Cleanup(come)
	t.Cleanup(func() { _ = l.Close() })
	return fmt.Sprintf("plugin \"late\" {\n  command = [%q, %q]\n}\n", self, l.Addr().String()), come
}

// serveLate is the main function of a plugin whose tool is there once a connection to the address that it is given is
// closed.
func serveLate(p *sdk.Plugin, address string) {
	p.Dynamic()
	p.MissingTools("its server is starting", true)
	sdk.Configure(p, func(context.Context, *sdk.Request, struct{}) error {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		go func() {
			_, _ = io.Copy(io.Discard, c)
			if err := p.SetTools([]sdk.BoundTool{{Tool: sdk.Tool{Name: "come", Description: "Comes late.",
				InputSchema: json.RawMessage(`{"type":"object"}`)}, Handler: func(context.Context, *sdk.Request) (*sdk.Result, error) {
				return sdk.Text("late"), nil
			}}}); err != nil {
				panic(err)
			}
			p.MissingTools("", false)
		}()
		return nil
	})
	sdk.Serve(p)
}

// discover waits for tools that come late, in each format, and with a running host as without one.
func TestDiscoverWaitsForToolsThatComeLate(t *testing.T) {
	for _, served := range []bool{false, true} {
		for _, format := range []string{"table", "json", "gemini"} {
			t.Run(fmt.Sprint(format, " ", served), func(t *testing.T) {
				t.Parallel()
				h := newHome(t)
				config, come := lateConfig(t)
				h.write(t, "config.hcl", config)
				if served {
					h.serving(t)
				}
				cmd := h.command(t, "--config", filepath.Join(h.dir, "config.hcl"), "discover", "--format", format)
				var listed bytes.Buffer
				cmd.Stdout = &listed
				errs, err := cmd.StderrPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				waited := false
				for lines := bufio.NewScanner(errs); lines.Scan(); {
					if strings.HasPrefix(lines.Text(), "waiting for tools of ") {
						waited = true
						come()
					}
				}
				if err := cmd.Wait(); err != nil || !waited || !strings.Contains(listed.String(), "late__come") {
					t.Errorf("%v: it lists %s", err, &listed)
				}
				if served {
					h.run(t, "serve", "--stop")
				}
			})
		}
	}
}

// A person who does not want to wait interrupts it.
func TestDiscoverIsInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted")
	}
	h := newHome(t)
	config, _ := lateConfig(t)
	h.write(t, "config.hcl", config)
	h.serving(t)
	cmd := h.command(t, "--config", filepath.Join(h.dir, "config.hcl"), "discover")
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(errs)
	lines.Scan()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for said := lines.Text(); lines.Scan(); said = lines.Text() {
		if said != "waiting for tools of the running host's plugins" || lines.Text() != "toolhost: interrupted" {
			t.Errorf("it says %q, then %q", said, lines.Text())
		}
	}
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("it ends with %d", cmd.ProcessState.ExitCode())
	}
	h.run(t, "serve", "--stop")
}
