//go:build linux

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// Environment variables of the roles.
const (
	envRole   = "CHAOS_PART"
	envMark   = "CHAOS_MARK"   // in the environment of every process, to find it again
	envLedger = "CHAOS_LEDGER" // the file that counts side effects
	envScript = "CHAOS_SCRIPT" // what a raw plugin does
	envSuffix = "CHAOS_WORDS"  // for the description of count
)

// roles are those of this program besides the injector.
var roles map[string]func()

func init() {
	roles = map[string]func(){
		"victim": func() { sdk.Serve(victim()) },
		"raw":    runRawPlugin,
		"host":   runHost,
	}
}

type countArgs struct {
	Before int `json:"before"` // milliseconds to wait before the effect
	After  int `json:"after"`  // and after it
}

type dieArgs struct {
	How string `json:"how"`
}

type sizeArgs struct {
	Bytes int `json:"bytes"`
}

type noArgs struct{}

// victim is a well-behaved plugin.
func victim() *sdk.Plugin {
	p := sdk.New("victim", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "count", Description: "has one effect, which is counted " + os.Getenv(envSuffix)}, count)
	sdk.AddTool(p, sdk.Tool{Name: "echo", Description: "has none"},
		func(context.Context, *sdk.Request, noArgs) (*sdk.Result, error) {
			return sdk.Text("echo"), nil
		})
	sdk.AddTool(p, sdk.Tool{Name: "die", Description: "ends the plugin"}, die)
	sdk.AddTool(p, sdk.Tool{Name: "hang", Description: "never ends"},
		func(context.Context, *sdk.Request, noArgs) (*sdk.Result, error) { select {} })
	sdk.AddTool(p, sdk.Tool{Name: "flood", Description: "prints"}, flood)
	sdk.AddTool(p, sdk.Tool{Name: "big", Description: "returns a large text"},
		func(_ context.Context, _ *sdk.Request, in sizeArgs) (*sdk.Result, error) {
			return sdk.Text(strings.Repeat("x", in.Bytes)), nil
		})
	sdk.AddTool(p, sdk.Tool{Name: "litter", Description: "starts processes that try to outlive it"}, litter)
	return p
}

// count appends the call's id to the ledger, in one write, and waits before and after. The dot marks a complete id; a
// full disk may cut it.
func count(ctx context.Context, r *sdk.Request, in countArgs) (*sdk.Result, error) {
	if err := pause(ctx, in.Before); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(os.Getenv(envLedger), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.WriteString("\n" + r.CallID + ".\n"); err != nil {
		return nil, err
	}
	return sdk.Text("counted"), pause(ctx, in.After)
}

func pause(ctx context.Context, milliseconds int) error {
	t := time.NewTimer(time.Duration(milliseconds) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func die(_ context.Context, _ *sdk.Request, in dieArgs) (*sdk.Result, error) {
	switch in.How {
	case "panic":
		go panic("chaos")
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "stop":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case "parent":
		_ = syscall.Kill(os.Getppid(), syscall.SIGKILL)
	default:
		os.Exit(3)
	}
	select {}
}

// flood prints to the original standard output and error, without the sdk.
func flood(ctx context.Context, _ *sdk.Request, in sizeArgs) (*sdk.Result, error) {
	line := []byte(strings.Repeat("f", 200) + "\n")
	for n := 0; n < in.Bytes && ctx.Err() == nil; n += len(line) {
		if _, err := syscall.Write(1+n%2, line); err != nil {
			return nil, err
		}
	}
	return sdk.Text("flooded"), ctx.Err()
}

// processTree has all kinds of processes that tend to stay.
const processTree = `trap '' TERM HUP INT; sleep 1000 & setsid sleep 1000 & (setsid setsid nohup sleep 1000 ` +
	`>/dev/null 2>&1 ` +
	`&) ; sleep 1000 | sleep 1000 & echo up; exec sleep 1000`

func litter(context.Context, *sdk.Request, noArgs) (*sdk.Result, error) {
	cmd := exec.Command("sh", "-c", processTree) //nolint:noctx // it outlives the call
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var word string
	_, err = fmt.Fscan(out, &word)
	return sdk.Text(word), err
}

// scripts are what a program that is no plugin sends on its output and its socket.
var scripts = []string{"nothing", "noise", "half-line", "long-line", "wrong-fields", "tcp", "outside", "certificate",
	"no-socket",
	"silent-socket", "closing-socket", "noise-socket", "half-frame", "wrong-frames", "endless-headers", "settings-flood",
	"goodbye"}

// runRawPlugin runs one script. What it sends is different each time.
func runRawPlugin() {
	rng := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(time.Now().UnixNano()))) //nolint:gosec // noise
	switch script := os.Getenv(envScript); script {
	case "nothing":
		select {}
	case "noise":
		_, _ = os.Stdout.Write(randomBytes(rng, 10_000))
	case "half-line":
		fmt.Print("1|1|unix|/")
		select {}
	case "long-line":
		fmt.Print(strings.Repeat("1|", 100_000))
	case "wrong-fields":
		fmt.Println("1|1|unix|" + string(randomBytes(rng, 30)) + "|" + strconv.Itoa(rng.Int()))
		select {}
	case "tcp":
		fmt.Println("1|1|tcp|127.0.0.1:1|grpc")
		select {}
	case "outside":
		fmt.Println("1|1|unix|/run/docker.sock|grpc")
		select {}
	case "no-socket":
		fmt.Printf("1|1|unix|%s|grpc\n", filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "none"))
		select {}
	default:
		serveRaw(script, rng)
	}
}

// serveRaw listens like a plugin, and handles connections by the script.
func serveRaw(script string, rng *rand.Rand) {
	path := filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "raw")
	lis, err := net.Listen("unix", path) //nolint:noctx // it ends with the process
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	certificate := ""
	if script == "certificate" {
		certificate = "|" + strings.Repeat("QUJD", 100)
	}
	fmt.Printf("1|1|unix|%s|grpc%s\n", path, certificate)
	for {
		conn, err := lis.Accept()
		if err != nil {
			return
		}
		handleRaw(script, conn, rng)
	}
}

// preface is what an HTTP/2 server begins with: an empty SETTINGS frame.
var preface = frame(4, 0, 0, nil)

func handleRaw(script string, conn net.Conn, rng *rand.Rand) {
	send := func(b []byte) { _, _ = conn.Write(b) }
	switch script {
	case "closing-socket":
		_ = conn.Close()
	case "noise-socket":
		send(randomBytes(rng, 5000))
	case "half-frame":
		send(preface)
		send(frame(1, 4, 1, make([]byte, 100))[:50])
	case "wrong-frames":
		send(preface)
		for range 50 {
			send(frame(byte(rng.IntN(12)), byte(rng.IntN(256)), rng.Uint32()&0x7fff_ffff, randomBytes(rng, rng.IntN(100))))
		}
	case "endless-headers":
		send(preface)
		for range 2000 {
			send(frame(9, 0, 1, randomBytes(rng, 16_000)))
		}
	case "settings-flood":
		for range 100_000 {
			send(preface)
		}
	case "goodbye":
		send(preface)
		send(frame(7, 0, 0, make([]byte, 8)))
	}
}

// frame is one of HTTP/2 (https://www.rfc-editor.org/rfc/rfc9113#section-4.1).
func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))[1:]
	head = append(head, kind, flags)
	return append(binary.BigEndian.AppendUint32(head, stream), payload...)
}

func randomBytes(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}
