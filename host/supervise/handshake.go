package supervise

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
)

// maxHandshake is the limit, in bytes, of the handshake line.
const maxHandshake = 4 << 10

var (
	errEnded       = errors.New("ended before the handshake")
	errClosed      = errors.New("it closed its standard output before the handshake")
	errNoHandshake = errors.New("no handshake; is it a toolhost plugin, and does it serve before all slow work?")
	errConnecting  = errors.New("connecting to it") // after a good handshake
)

// readHandshake reads and checks the first line that the plugin prints, before go-plugin gets it: go-plugin would
// dial any address, and panics at some lines. The file's read deadline ends it.
func readHandshake(r *bufio.Reader, socketDir string) (string, error) {
	line, err := r.ReadSlice('\n')
	text := strings.TrimRight(string(line), "\r\n")
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return "", notAHandshake(text)
	case errors.Is(err, io.EOF) && text == "":
		return "", errEnded
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "", errNoHandshake
	case err != nil && text == "":
		return "", err
	}
	return text, checkHandshake(text, socketDir)
}

// checkHandshake checks CORE|APP|network|address|protocol[|certificate], go-plugin's line.
func checkHandshake(line, socketDir string) error {
	f := strings.Split(line, "|")
	if len(f) < 5 || len(f) > 7 || f[0] != "1" {
		return notAHandshake(line)
	}
	at := addressIn(line)
	switch {
	case f[1] != "1":
		return fmt.Errorf("it speaks version %.20q of the plugin protocol, this host speaks version 1; update one of them",
			f[1])
	case at.network == "tcp" && tcpLoopback:
		if port, err := netip.ParseAddrPort(at.name); err != nil || port.Addr() != loopback || port.Port() == 0 {
			return fmt.Errorf("it listens at %.120q, which is no port of 127.0.0.1", at.name)
		}
	case at.network != "unix":
		return fmt.Errorf("it listens on %.20q; plugins must listen on a Unix socket in PLUGIN_UNIX_SOCKET_DIR", f[2])
	case f[4] != "grpc":
		return fmt.Errorf("it speaks %.20q; plugins must speak grpc", f[4])
	case len(f) > 5 && f[5] != "":
		return errors.New("it sent a TLS certificate, which the host did not ask for")
	}
	if at.network == "unix" {
		return checkSocket(at.name, socketDir)
	}
	return nil
}

// An address is where a plugin listens: at a Unix socket or, on Windows, at a port of the machine itself.
type address struct{ network, name string }

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// addressIn is the address in a handshake line.
func addressIn(line string) address {
	f := strings.Split(line, "|")
	return address{f[2], f[3]}
}

// checkSocket checks that the Unix socket exists, in the folder for it.
func checkSocket(socket, socketDir string) error {
	if filepath.Dir(filepath.Clean(socket)) != filepath.Clean(socketDir) {
		return fmt.Errorf("it listens at %.120q, outside its own socket folder", socket)
	}
	info, err := os.Lstat(socket)
	if err != nil {
		return fmt.Errorf("the socket %.120q of its handshake does not exist: %w", socket, errors.Unwrap(err))
	}
	if info.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("%.120q in its handshake is not a socket", socket)
	}
	return nil
}

func notAHandshake(line string) error {
	return fmt.Errorf("it printed %.80q in place of the handshake: it is no toolhost plugin, or prints on standard "+
		"output before it serves; print on standard error", line)
}
