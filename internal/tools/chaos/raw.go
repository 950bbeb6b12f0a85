//go:build linux

package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// scripts are what a plugin does that is no plugin: bytes on its output, bytes on its socket.
var scripts = []string{"nothing", "noise", "half-line", "long-line", "wrong-fields", "tcp", "outside", "certificate",
	"no-socket",
	"silent-socket", "closing-socket", "noise-socket", "half-frame", "wrong-frames", "endless-headers", "settings-flood",
	"goodbye"}

// playRaw follows one script. Its dice come from its process id: what it sends is different each time.
func playRaw() {
	dice := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(time.Now().UnixNano()))) //nolint:gosec // noise
	switch script := os.Getenv(envScript); script {
	case "nothing":
		select {}
	case "noise":
		_, _ = os.Stdout.Write(noise(dice, 10_000))
	case "half-line":
		fmt.Print("1|1|unix|/")
		select {}
	case "long-line":
		fmt.Print(strings.Repeat("1|", 100_000))
	case "wrong-fields":
		fmt.Println("1|1|unix|" + string(noise(dice, 30)) + "|" + strconv.Itoa(dice.Int()))
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
		serveRaw(script, dice)
	}
}

// serveRaw listens as a plugin does, and treats every connection by the script.
func serveRaw(script string, dice *rand.Rand) {
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
		answerRaw(script, conn, dice)
	}
}

// preface is what an HTTP/2 server begins with: an empty SETTINGS frame.
var preface = frame(4, 0, 0, nil)

func answerRaw(script string, conn net.Conn, dice *rand.Rand) {
	send := func(b []byte) { _, _ = conn.Write(b) }
	switch script {
	case "closing-socket":
		_ = conn.Close()
	case "noise-socket":
		send(noise(dice, 5000))
	case "half-frame":
		send(preface)
		send(frame(1, 4, 1, make([]byte, 100))[:50])
	case "wrong-frames":
		send(preface)
		for range 50 {
			send(frame(byte(dice.IntN(12)), byte(dice.IntN(256)), dice.Uint32()&0x7fff_ffff, noise(dice, dice.IntN(100))))
		}
	case "endless-headers":
		send(preface)
		for range 2000 {
			send(frame(9, 0, 1, noise(dice, 16_000)))
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

func noise(dice *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(dice.Uint32())
	}
	return b
}
