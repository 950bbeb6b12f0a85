//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// envDisk tells a host to live on a disk of its own, and to fill it.
const envDisk = "CHAOS_DISK"

// diskSize is small enough to be filled in a moment, and has room for what a world needs.
const diskSize = 1 << 20

// fillDisks lets hosts live on a disk that is full again and again.
func fillDisks(p plan, r *report, tell func(string)) {
	for n := range (p.kills + 19) / 20 {
		name := fmt.Sprintf("disk-%d", n)
		h, err := startHost(ownDisk)
		if err != nil {
			tell("no disk of its own can be had here, so none was filled: " + err.Error())
			return
		}
		if !h.up() {
			r.breach("%s: the host did not come up", name)
		}
		for range 5 {
			r.fault("disk full")
		}
		h.end(r, name)
	}
	tell("disks were filled")
}

// ownDisk gives the host a mount namespace, with the right to mount there.
func ownDisk(cmd *exec.Cmd) {
	cmd.Env = append(cmd.Env, envDisk+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	}
}

// mountDisk puts a small disk where the host's world is going to be.
func mountDisk(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	return unix.Mount("chaos", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("size=%d,mode=700", diskSize))
}

// fill fills the disk and kills a plugin, five times, and each time makes room again.
func fill(ctx context.Context, w *world, b *breaker) {
	path := filepath.Join(w.dir, "filler")
	for range 5 {
		if f, err := os.Create(path); err == nil {
			for err == nil {
				_, err = f.Write(make([]byte, 4096))
			}
			_ = f.Close()
		}
		b.signal(b.plugin(), syscall.SIGKILL)
		_ = pause(ctx, 100)
		_ = os.Remove(path)
		_ = pause(ctx, 100)
	}
}
