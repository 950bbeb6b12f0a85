package sdk

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/toolhost/toolhost/internal/wire"
)

// attach serves the plugin in a process that a person has started, for hosts that join it through a file, until SIGINT
// or SIGTERM. The file is where, or a new one if that is "1".
func (s *server) attach(where string) error {
	ctx, stop := signal.NotifyContext(s.base, os.Interrupt, syscall.SIGTERM)
	defer stop()
	_ = os.Unsetenv(wire.EnvAttach) // not for processes that the plugin starts
	dir, err := os.MkdirTemp("", "toolhost-attach-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if where == "1" {
		where = filepath.Join(dir, s.plugin.name+".json")
	}
	if where, err = filepath.Abs(where); err != nil {
		return err
	}
	s.token = rand.Text()
	defer removeAttachment(where, s.token)
	for said := false; ctx.Err() == nil; said = true { // after a host has closed its connection, wait for the next host
		lis, err := listenIn(dir)
		if err == nil {
			a := wire.Attachment{Version: wire.AttachVersion, Plugin: s.plugin.name, Protocol: wire.ProtocolVersion,
				PID: os.Getpid(), Socket: lis.Addr().String(), Token: s.token}
			if network := lis.Addr().Network(); network != "unix" {
				a.Network = network
			}
			err = writeAttachment(where, a)
		}
		if err != nil {
			return err
		}
		if !said {
			fmt.Fprintf(os.Stderr, "%s %s runs as process %d, and waits for hosts. From another terminal:\n"+
				"  toolhost plugin run --attach %s\n", s.plugin.name, s.plugin.version, os.Getpid(), where)
		}
		if err := s.serveOn(ctx, lis); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// writeAttachment replaces the file, which only this user can read, at once.
func writeAttachment(path string, a wire.Attachment) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".toolhost-attach-")
	if err != nil {
		return fmt.Errorf("%s=%s: %w", wire.EnvAttach, path, err)
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// removeAttachment removes the file unless another process has replaced it.
func removeAttachment(path, token string) {
	var a wire.Attachment
	if text, err := os.ReadFile(path); err == nil && json.Unmarshal(text, &a) == nil && a.Token == token {
		_ = os.Remove(path)
	}
}
