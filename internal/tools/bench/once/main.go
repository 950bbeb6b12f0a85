// Command once answers one request on its standard input and ends, or with a path, all requests over connections of a Unix
// socket.
package main

import (
	"io"
	"log"
	"net"
	"os"

	"github.com/toolhost/toolhost/internal/tools/bench/payload"
)

func main() {
	var request [payload.RequestSize]byte
	if len(os.Args) < 2 {
		if _, err := io.ReadFull(os.Stdin, request[:]); err != nil {
			log.Fatal(err)
		}
		_, _ = os.Stdout.Write(payload.Answer(request[:]))
		return
	}
	lis, err := net.Listen("unix", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for {
		conn, err := lis.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go answer(conn)
	}
}

func answer(conn net.Conn) {
	var request [payload.RequestSize]byte
	for {
		if _, err := io.ReadFull(conn, request[:]); err != nil {
			return
		}
		if _, err := conn.Write(payload.Answer(request[:])); err != nil {
			return
		}
	}
}
