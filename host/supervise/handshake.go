package supervise

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxHandshake bounds the one line that a plugin prints to say where it listens.
const maxHandshake = 4 << 10

var (
	errEnded  = errors.New("it ended before the handshake")
	errSilent = errors.New("no handshake in time; is it a toolhost plugin, and does main call sdk.Serve?")
)

// readHandshake reads the first line that the plugin prints, and checks it, before go-plugin sees it: go-plugin would
// dial any address and crashes at some lines. Reading ends with r's deadline.
func readHandshake(r *bufio.Reader, socketDir string) (string, error) {
	line, err := r.ReadSlice('\n')
	text := strings.TrimRight(string(line), "\r\n")
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return "", notAPlugin(text)
	case errors.Is(err, io.EOF) && text == "":
		return "", errEnded
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "", errSilent
	case err != nil && text == "":
		return "", err
	}
	return text, checkHandshake(text, socketDir)
}

// checkHandshake checks CORE|APP|network|address|protocol[|certificate], go-plugin's line.
func checkHandshake(line, socketDir string) error {
	f := strings.Split(line, "|")
	if len(f) < 5 || len(f) > 7 || f[0] != "1" {
		return notAPlugin(line)
	}
	switch {
	case f[1] != "1":
		return fmt.Errorf("it speaks version %.20q of the plugin protocol, this host speaks version 1; one of them must be updated", f[1])
	case f[2] != "unix":
		return fmt.Errorf("it listens on %.20q; plugins must listen on a Unix socket in PLUGIN_UNIX_SOCKET_DIR", f[2])
	case f[4] != "grpc":
		return fmt.Errorf("it speaks %.20q; plugins must speak grpc", f[4])
	case len(f) > 5 && f[5] != "":
		return errors.New("it sent a certificate, which nobody asked for")
	}
	return checkSocket(f[3], socketDir)
}

func checkSocket(path, socketDir string) error {
	if filepath.Dir(filepath.Clean(path)) != filepath.Clean(socketDir) {
		return fmt.Errorf("it listens at %.120q, outside its own socket folder", path)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("the socket that it named is not there: %w", err)
	}
	if info.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("it named %.120q, which is no socket", path)
	}
	return nil
}

func notAPlugin(line string) error {
	return fmt.Errorf("it printed %.80q in place of the handshake: it is no toolhost plugin, or prints on standard output before sdk.Serve", line)
}
