package main

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

// A finding is one thing that a machine offers, or not.
type finding struct {
	Name        string `json:"name"`
	OK          bool   `json:"ok"`
	Detail      string `json:"detail,omitempty"`
	Consequence string `json:"consequence,omitempty"` // of what is missing
	Remedy      string `json:"remedy,omitempty"`
}

func (f finding) state() string {
	if f.OK {
		return "ok"
	}
	return "missing"
}

func (f finding) text() string {
	if f.OK {
		return f.Detail
	}
	return f.Consequence + "; " + f.Remedy
}

// examine says what the machine offers to keep plugins in, item by item.
func examine(m sandbox.Means) []finding {
	if !m.Stage {
		return []finding{{Name: "sandbox", Consequence: "plugins can do what their user can", Remedy: "run toolhost on Linux"}}
	}
	return []finding{
		checked(finding{Name: "no_new_privs", Detail: "plugins gain no privileges", Consequence: "no sandbox level holds", Remedy: "use Linux 3.5 or newer"}, m.NoNewPrivs),
		examineLandlock(m.Landlock),
		checked(finding{Name: "seccomp", Detail: "system calls can be filtered", Consequence: "no plugin is confined: they can lease files and make setuid ones, and isolated ones reach the network, services on Unix sockets, and the kernel's rare calls",
			Remedy: "use a kernel with CONFIG_SECCOMP_FILTER on amd64 or arm64, or let the container's own filter allow seccomp"}, m.Seccomp),
		checked(finding{Name: "namespaces", Detail: "plugins can have process namespaces of their own",
			Consequence: "no plugin is confined: they see other processes and reach their shared memory, and what one hides from its launcher outlives a launcher that is killed (" + m.NoNamespaces + ")",
			Remedy:      "allow them, to users other than root with user namespaces (sysctl user.max_*_namespaces, kernel.apparmor_restrict_unprivileged_userns=0)"}, m.Namespaces),
		checked(finding{Name: "mounts", Detail: "files can be read-only for a plugin", Consequence: "no plugin is confined: they can change .git and its like in the work folder, and modes, owners and times of their user's files",
			Remedy: "allow namespaces, and use Linux 5.12 or newer; a container must allow mount_setattr, open_tree and move_mount"}, m.Protects()),
		checked(finding{Name: "bubblewrap", Detail: m.Bubblewrap, Consequence: "bwrap cannot be a plugin's wrapper, which only those need that ask for it",
			Remedy: "install the package bubblewrap"}, m.Bubblewrap != ""),
	}
}

func checked(f finding, ok bool) finding {
	if f.OK = ok; ok {
		f.Consequence, f.Remedy = "", ""
	} else {
		f.Detail = ""
	}
	return f
}

// examineLandlock: version 6 brought the last of what toolhost uses.
func examineLandlock(abi int) finding {
	f := finding{Name: "landlock", Detail: fmt.Sprintf("version %d", abi), Remedy: "use Linux 6.12 or newer"}
	switch {
	case abi == 0:
		f.Consequence = "no plugin is confined: they can write to devices and terminals, without mounts wherever their user can, and isolated ones read all"
		f.Remedy = "use Linux 6.12 or newer with landlock among its security modules (kernel option lsm=landlock,…), or let the container's filter allow it"
	case abi < 2:
		f.Consequence = fmt.Sprintf("version %d: plugins reach abstract sockets of other programs, and cannot move files from one folder to another", abi)
	case abi < 6:
		f.Consequence = fmt.Sprintf("version %d: plugins reach abstract sockets of other programs", abi)
	}
	return checked(f, abi >= 6)
}

// A folderFinding is a place where toolhost reads or writes.
type folderFinding struct {
	Name  string `json:"name"`
	Path  string `json:"path,omitempty"`
	State string `json:"state"`
}

// configuration is the one in use; c is nil when that cannot be used, or is not there.
func (g *globals) configuration(c *bootstrap.Configuration) folderFinding {
	f := folderFinding{Name: "configuration", State: "none"}
	switch path, err := bootstrap.ConfigPath(g.options()); {
	case c != nil && c.Trusted():
		f.Path, f.State = c.Path, "trusted"
	case c != nil:
		f.Path, f.State = c.Path, "not trusted: nothing of it is started"
	case err == nil:
		f.Path, f.State = path, "cannot be used: see below"
		if abs, err := filepath.Abs(path); err == nil {
			f.Path = abs
		}
	}
	return f
}

// folders are those in use; c is nil when there is no configuration that can be used.
func (g *globals) folders(c *bootstrap.Configuration) []folderFinding {
	out := []folderFinding{g.configuration(c)}
	for _, f := range []struct {
		name string
		dir  func() (string, error)
	}{{"user's configuration", os.UserConfigDir}, {"cache", os.UserCacheDir}} {
		dir, err := f.dir()
		if err != nil {
			out = append(out, folderFinding{f.name, "", "not known: " + err.Error()})
			continue
		}
		dir = filepath.Join(dir, "toolhost")
		out = append(out, folderFinding{f.name, dir, writable(dir)})
	}
	run := supervise.Options{}.SocketDir()
	return append(out, folderFinding{"plugins' sockets", run, writable(run)})
}

// writable says in a word what can be done with a folder. One that is not there yet is made when it is needed.
func writable(dir string) string {
	info, err := os.Stat(dir)
	switch {
	case os.IsNotExist(err):
		if above := nearest(dir); unix.Access(above, unix.W_OK) != nil {
			return "not there, and cannot be made"
		}
		return "made when needed"
	case err != nil:
		return "cannot be looked at"
	case !info.IsDir():
		return "no folder"
	case unix.Access(dir, unix.W_OK) != nil:
		return "not writable"
	}
	return "writable"
}

// nearest is the first folder above that is there.
func nearest(dir string) string {
	for dir = filepath.Dir(dir); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			return dir
		}
	}
	return dir
}
