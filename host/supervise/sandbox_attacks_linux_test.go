package supervise

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/sdk"
)

func init() {
	fixtures["attacker"] = func() { sdk.Serve(attackerPlugin()) }
	fixtures["mounter"] = func() { fmt.Print(message(syscall.Mount("none", os.Getenv("AT"), "tmpfs", 0, ""))) }
}

// attackTargets are what an attacker knows of the world outside.
type attackTargets struct {
	Outside, Inside string // folders; Inside has the folders a and b
	Secret, Lease   string // files in Outside
	Host            int    // our pid
	TCP, UDP        string // addresses
	Abstract, Unix  string // sockets
	Gram            string // a socket for datagrams
	Terminal        string // one of the user's
	TerminalDevice  uint64 // the file system that it is on
}

// attacks try something from inside a plugin; nil means that it worked. Each must leave the world unchanged.
var attacks = map[string]func(p attackTargets) error{
	"create outside": func(p attackTargets) error {
		return undo(p.Outside+"/new",
			os.WriteFile(p.Outside+"/new", nil, 0o600))
	},
	"overwrite outside": func(p attackTargets) error { return opened(os.OpenFile(p.Secret, os.O_WRONLY, 0)) },
	"append outside": func(p attackTargets) error {
		return opened(os.OpenFile(p.Secret, os.O_WRONLY|os.O_APPEND,
			0))
	},
	"truncate outside": func(p attackTargets) error { return os.Truncate(p.Outside+"/waste", 0) },
	"remove outside":   func(p attackTargets) error { return os.Remove(p.Outside + "/doomed") },
	"mkdir outside":    func(p attackTargets) error { return undo(p.Outside+"/d", os.Mkdir(p.Outside+"/d", 0o700)) },
	"symlink outside":  func(p attackTargets) error { return undo(p.Outside+"/s", os.Symlink("/", p.Outside+"/s")) },
	"fifo outside": func(p attackTargets) error {
		return undo(p.Outside+"/f",
			syscall.Mkfifo(p.Outside+"/f", 0o600))
	},
	"link in from outside": func(p attackTargets) error { return undo(p.Inside+"/l", os.Link(p.Secret, p.Inside+"/l")) },
	"link out": func(p attackTargets) error {
		return undo(p.Outside+"/l",
			os.Link(p.Inside+"/mine", p.Outside+"/l"))
	},
	"move in from outside": func(p attackTargets) error { return moveAndBack(p.Secret, p.Inside+"/m") },
	"move out":             func(p attackTargets) error { return moveAndBack(p.Inside+"/mine", p.Outside+"/m") },
	"write by symlink":     writeBySymlink,
	"chmod outside":        func(p attackTargets) error { return os.Chmod(p.Secret, 0o600) },
	"fchmod outside": func(p attackTargets) error {
		return withOpen(p.Secret,
			func(fd int) error { return unix.Fchmod(fd, 0o600) })
	},
	"fchmodat2 outside": func(p attackTargets) error {
		return withPath(p.Secret, func(fd int) error { return unix.Fchmodat(fd, "", 0o600, unix.AT_EMPTY_PATH) })
	},
	"chmod by /proc": func(p attackTargets) error {
		return withPath(p.Secret, func(fd int) error { return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), 0o600) })
	},
	"chown outside": func(p attackTargets) error { return os.Chown(p.Secret, os.Getuid(), os.Getgid()) },
	"lchown outside": func(p attackTargets) error {
		return os.Lchown(p.Outside+"/run", os.Getuid(),
			os.Getgid())
	},
	"times outside": func(p attackTargets) error {
		return os.Chtimes(p.Secret, time.Unix(1, 0),
			time.Unix(1, 0))
	},
	"old times outside": func(p attackTargets) error {
		return unix.Utimes(p.Secret,
			[]unix.Timeval{{Sec: 1}, {Sec: 1}})
	},
	"attribute outside": func(p attackTargets) error {
		return unix.Setxattr(p.Secret, "user.toolhost",
			[]byte("x"), 0)
	},
	"attribute removed": func(p attackTargets) error {
		return unix.Removexattr(p.Outside+"/marked",
			"user.toolhost")
	},
	"attribute by a call of 2024": func(p attackTargets) error { return setxattrat(p.Secret) },
	"access list outside": func(p attackTargets) error {
		return unix.Setxattr(p.Secret, "system.posix_acl_access",
			accessList, 0)
	},
	"flags outside":         func(p attackTargets) error { return withOpen(p.Secret, setFlags) },
	"folder's mode outside": func(p attackTargets) error { return os.Chmod(p.Outside, 0o755) },
	"setuid outside":        func(p attackTargets) error { return unix.Chmod(p.Outside+"/run", 0o4755) },
	"setuid inside":         func(p attackTargets) error { return unix.Chmod(p.Inside+"/tool", 0o4755) },
	"setgid inside": func(p attackTargets) error {
		return withOpen(p.Inside+"/tool", func(fd int) error { return unix.Fchmod(fd, 0o2755) })
	},
	"new setuid file": func(p attackTargets) error { return makeSetuid(p.Inside + "/new-tool") },
	"setuid node": func(p attackTargets) error {
		return undo(p.Inside+"/node", unix.Mknod(p.Inside+"/node", unix.S_IFREG|0o6755, 0))
	},
	"openat2":      func(p attackTargets) error { return openat2(p.Inside + "/new-tool") },
	"chmod inside": func(p attackTargets) error { return os.Chmod(p.Inside+"/mine", 0o644) },
	"times inside": func(p attackTargets) error {
		return os.Chtimes(p.Inside+"/mine", time.Unix(1, 0),
			time.Unix(1, 0))
	},
	"chmod in TMPDIR": func(attackTargets) error { return os.Chmod(os.Getenv("TMPDIR"), 0o700) },
	"hook inside": func(p attackTargets) error {
		return undo(p.Inside+"/.git/hooks/pre-commit", os.WriteFile(p.Inside+"/.git/hooks/pre-commit", nil, 0o755))
	},
	"hook's mode":          func(p attackTargets) error { return os.Chmod(p.Inside+"/.git/hooks", 0o755) },
	"priority of the host": renice,
	"make a disk": func(p attackTargets) error {
		return undo(p.Inside+"/disk",
			syscall.Mknod(p.Inside+"/disk", syscall.S_IFBLK, 0))
	},
	"read outside":     func(p attackTargets) error { return opened(os.Open(p.Secret)) },
	"list outside":     func(p attackTargets) error { _, err := os.ReadDir(p.Outside); return err },
	"run from outside": func(p attackTargets) error { return exec.Command(p.Outside + "/run").Run() },
	"host's environment": func(p attackTargets) error {
		_,
			err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.Host))
		return err
	},
	"host's memory":   func(p attackTargets) error { return opened(os.Open(fmt.Sprintf("/proc/%d/mem", p.Host))) },
	"parent's memory": func(attackTargets) error { return opened(os.Open(fmt.Sprintf("/proc/%d/mem", os.Getppid()))) },
	"parent's environment": func(attackTargets) error {
		_,
			err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", os.Getppid()))
		return err
	},
	"parent's files": func(attackTargets) error {
		_,
			err := os.Readlink(fmt.Sprintf("/proc/%d/fd/3", os.Getppid()))
		return err
	},
	"trace the host":  func(p attackTargets) error { return seize(p.Host) },
	"signal the host": func(p attackTargets) error { return syscall.Kill(p.Host, 0) },
	"limit the host": func(p attackTargets) error {
		var none unix.Rlimit
		return errnoOf(syscall.RawSyscall6(unix.SYS_PRLIMIT64, uintptr(p.Host), unix.RLIMIT_MEMLOCK, 0,
			uintptr(unsafe.Pointer(&none)), 0, 0))
	},
	"lease outside":       lease,
	"signal its parent":   func(attackTargets) error { return signalParent() },
	"signal its group":    func(attackTargets) error { return syscall.Kill(0, 0) },
	"tcp":                 func(p attackTargets) error { return dialled("tcp", p.TCP) },
	"tcp listen":          func(attackTargets) error { return listened("tcp", "127.0.0.1:0") },
	"udp":                 udp,
	"mptcp":               mptcp,
	"netlink":             func(attackTargets) error { return socketOf(unix.AF_NETLINK, unix.SOCK_RAW, 0) },
	"vsock":               func(attackTargets) error { return socketOf(unix.AF_VSOCK, unix.SOCK_STREAM, 0) },
	"unix socket outside": func(p attackTargets) error { return dialled("unix", p.Unix) },
	"datagram outside":    datagram,
	"abstract socket":     func(p attackTargets) error { return dialled("unix", p.Abstract) },
	"own unix socket":     func(attackTargets) error { return listened("unix", os.Getenv("TMPDIR")+"/own") },
	"own socket pair":     socketPair,
	"io_uring":            ioUring,
	"pidfd_getfd":         func(p attackTargets) error { return getfd(p.Host) },
	"mount in namespaces": mountInNamespaces,
	"new mount namespace": func(attackTargets) error { return unshare(unix.CLONE_NEWNS) },
	"x32": func(attackTargets) error {
		return errnoOf(syscall.RawSyscall(0x40000000|unix.SYS_GETPPID, 0, 0,
			0))
	},
	"keys": func(attackTargets) error {
		_,
			err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
		return err
	},
	"terminal":             terminal,
	"user's terminal":      usersTerminal,
	"move between folders": func(p attackTargets) error { return moveAndBack(p.Inside+"/a/file", p.Inside+"/b/file") },
	"write inside": func(p attackTargets) error {
		return undo(p.Inside+"/new",
			os.WriteFile(p.Inside+"/new", []byte("x"), 0o600))
	},
	"write to TMPDIR": func(attackTargets) error {
		return undo(os.Getenv("TMPDIR")+"/new", os.WriteFile(os.Getenv("TMPDIR")+"/new", nil, 0o600))
	},
	"shared memory": func(p attackTargets) error {
		file := fmt.Sprintf("%s/toolhost-test-%d", sandbox.SharedMemory, os.Getpid())
		return undo(file, os.WriteFile(file, []byte("x"), 0o600))
	},
	"write to /dev/null": func(attackTargets) error { return os.WriteFile("/dev/null", []byte("x"), 0) },
	"run a shell": func(attackTargets) error {
		return exec.Command("/bin/sh", "-c",
			"cat /etc/passwd | wc -l > /dev/null").Run()
	},
	"threads": threads,
}

// withOpen opens a file for reading, withPath without even that.
func withOpen(path string, do func(fd int) error) error { return withFlags(path, unix.O_RDONLY, do) }
func withPath(path string, do func(fd int) error) error { return withFlags(path, unix.O_PATH, do) }

func withFlags(path string, flags int, do func(fd int) error) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return do(fd)
}

// accessList gives the user with the number 1 the right to read, in the kernel's form.
var accessList = []byte{2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 4, 0, 1, 0, 0, 0, 4, 0, 4, 0, 255, 255, 255,
	255,
	16, 0, 4, 0, 255, 255, 255, 255, 32, 0, 4, 0, 255, 255, 255, 255}

func setxattrat(path string) error {
	text, name, value := append([]byte(path), 0), []byte("user.toolhost\x00"), []byte("x")
	args := struct {
		value uint64
		size  uint32
		flags uint32
	}{uint64(uintptr(unsafe.Pointer(&value[0]))), 1, 0}
	current := unix.AT_FDCWD
	err := errnoOf(syscall.RawSyscall6(463, uintptr(current), uintptr(unsafe.Pointer(&text[0])), 0,
		uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args)))
	runtime.KeepAlive(value)
	return err
}

// renice sets the priority of the host to its current value. The kernel returns it as 20 minus the value.
func renice(p attackTargets) error {
	is, err := unix.Getpriority(unix.PRIO_PROCESS, p.Host)
	if err != nil {
		return err
	}
	return unix.Setpriority(unix.PRIO_PROCESS, p.Host, 20-is)
}

// setFlags sets the flags of a file to their current value, which takes the same permission.
func setFlags(fd int) error {
	flags, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
	if err != nil {
		return err
	}
	return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, flags)
}

// makeSetuid makes a file with the setuid bit, and reports whether it has that afterwards.
func makeSetuid(path string) error {
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o4755)
	return hasSetuid(path, fd, err)
}

func openat2(path string) error {
	fd, err := unix.Openat2(unix.AT_FDCWD, path,
		&unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY | unix.O_CLOEXEC, Mode: 0o4755})
	return hasSetuid(path, fd, err)
}

func hasSetuid(path string, fd int, err error) error {
	if err != nil {
		return err
	}
	defer os.Remove(path)
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_ISUID == 0 {
		return errors.New("it has no such bit")
	}
	return nil
}

func attackerPlugin() *sdk.Plugin {
	p := sdk.New("attacker", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "attack", Description: "tries everything"},
		func(context.Context, *sdk.Request, textArgs) (*sdk.Result, error) {
			var target attackTargets
			if err := json.Unmarshal([]byte(os.Getenv("PREY")), &target); err != nil {
				return nil, err
			}
			out := map[string]string{}
			for name, attack := range attacks {
				out[name] = message(attack(target))
			}
			return sdk.JSON(out), nil
		})
	sdk.AddTool(p, sdk.Tool{Name: "run", Description: "runs a script"},
		func(_ context.Context, _ *sdk.Request, in textArgs) (*sdk.Result, error) {
			out, err := exec.Command("/bin/sh", "-c", in.Text).CombinedOutput()
			return sdk.Textf("%s%s", out, message(err)), nil
		})
	sdk.AddTool(p, sdk.Tool{Name: "facts", Description: "tells what it is"},
		func(context.Context, *sdk.Request, textArgs) (*sdk.Result, error) {
			return sdk.JSON(factsOfMyself()), nil
		})
	sdk.AddTool(p, sdk.Tool{Name: "give-up", Description: "dies of what it may not do"},
		func(context.Context, *sdk.Request, textArgs) (*sdk.Result, error) {
			err := os.WriteFile("/nobody-may-write-here/x", nil, 0o600)
			if err := os.WriteFile(filepath.Join(os.Getenv("HOME"), ".toolhost-test"), nil, 0o600); err != nil {
				_, _ = syscall.Write(2, []byte(err.Error()+"\n"))
			}
			_, _ = syscall.Write(2, []byte(err.Error()+"\n"))
			os.Exit(3)
			return nil, nil
		})
	return p
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A self is what a plugin finds out about its own process.
type self struct {
	Umask                int
	Core, Files, File    uint64
	Memory               uint64
	NoNewPrivs, Admin    bool
	Environment, Foreign []string // names of variables; open files that are not its own
}

func factsOfMyself() self {
	s := self{Umask: syscall.Umask(0)}
	for resource, to := range map[int]*uint64{unix.RLIMIT_CORE: &s.Core, unix.RLIMIT_NOFILE: &s.Files,
		unix.RLIMIT_FSIZE: &s.File, unix.RLIMIT_DATA: &s.Memory} {
		var l syscall.Rlimit
		_ = syscall.Getrlimit(resource, &l)
		*to = l.Max
	}
	no, _ := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	s.NoNewPrivs = no == 1
	header, data := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
	_ = unix.Capget(&header, &data[0])
	s.Admin = data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		s.Environment = append(s.Environment, name)
	}
	files, _ := filepath.Glob("/proc/self/fd/*")
	for _, f := range files {
		if to, err := os.Readlink(f); err == nil && strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "/sys/") &&
			to != "/dev/null" {
			s.Foreign = append(s.Foreign, to)
		}
	}
	return s
}

// undo removes what an attack made.
func undo(path string, err error) error {
	if err == nil {
		_ = os.Remove(path)
	}
	return err
}

// signalParent sends every signal that could end or stop it to a parent that is the first process of a namespace: if
// one did, this process would end too.
func signalParent() error {
	if os.Getppid() != 1 {
		return syscall.Kill(os.Getppid(), 0)
	}
	for s := syscall.Signal(1); s <= 64; s++ {
		_ = syscall.Kill(1, s)
	}
	return errors.New("it takes none")
}

func moveAndBack(from, to string) error {
	err := os.Rename(from, to)
	if err == nil {
		return os.Rename(to, from)
	}
	return err
}

func writeBySymlink(p attackTargets) error {
	link := p.Inside + "/way-out"
	if err := os.Symlink(p.Secret, link); err != nil {
		return err
	}
	defer os.Remove(link)
	return opened(os.OpenFile(link, os.O_WRONLY, 0))
}

func opened(f *os.File, err error) error {
	if err == nil {
		_ = f.Close()
	}
	return err
}

func dialled(network, address string) error {
	c, err := net.Dial(network, address)
	if err == nil {
		_ = c.Close()
	}
	return err
}

func listened(network, address string) error {
	l, err := net.Listen(network, address)
	if err == nil {
		_ = l.Close()
	}
	return err
}

func udp(p attackTargets) error {
	c, err := net.Dial("udp", p.UDP)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte("x"))
	return err
}

func datagram(p attackTargets) error {
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Net: "unixgram", Name: p.Gram})
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte("x"))
	return err
}

func socketPair(attackTargets) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		_, _ = unix.Close(fds[0]), unix.Close(fds[1])
	}
	return err
}

func socketOf(domain, kind, protocol int) error {
	fd, err := unix.Socket(domain, kind, protocol)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}

// mptcp connects by multipath TCP, which Landlock does not cover.
func mptcp(p attackTargets) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 262)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	to, err := net.ResolveTCPAddr("tcp", p.TCP)
	if err != nil {
		return err
	}
	return unix.Connect(fd, &unix.SockaddrInet4{Port: to.Port, Addr: [4]byte{127, 0, 0, 1}})
}

// seize traces a process without stopping it; the end of the thread releases it.
func seize(pid int) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- errnoOf(syscall.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, 0, 0, 0))
	}()
	return <-done
}

func unshare(flags int) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with its namespace
		done <- unix.Unshare(flags)
	}()
	return <-done
}

func ioUring(attackTargets) error {
	var params [120]byte
	fd, _, errno := syscall.RawSyscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	if errno == 0 {
		_ = unix.Close(int(fd))
	}
	return errnoOf(0, 0, errno)
}

func getfd(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	got, err := unix.PidfdGetfd(fd, 0, 0)
	if err == nil {
		_ = unix.Close(got)
	}
	return err
}

func errnoOf(_, _ uintptr, errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

func mountInNamespaces(p attackTargets) error {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{"FIXTURE=mounter", "AT=" + p.Inside, raceOptions + "=" + races}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}}
	out, err := cmd.Output()
	if err == nil && len(out) > 0 {
		err = fmt.Errorf("mount: %s", out)
	}
	return err
}

// terminal makes a terminal and opens its other end.
func terminal(attackTargets) error {
	m, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer m.Close()
	if err := unix.IoctlSetPointerInt(int(m.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	n, err := unix.IoctlGetInt(int(m.Fd()), unix.TIOCGPTN)
	if err != nil {
		return err
	}
	return opened(os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0))
}

// usersTerminal opens a terminal that is not the plugin's. Its path may lead to another one.
func usersTerminal(p attackTargets) error {
	f, err := os.OpenFile(p.Terminal, os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Dev != p.TerminalDevice {
		return cmp.Or(err, errors.New("it is another terminal"))
	}
	return nil
}

// threads starts several threads at once.
func threads(attackTargets) error {
	done := make(chan bool)
	for range 8 {
		go func() { runtime.LockOSThread(); done <- true }()
	}
	for range 8 {
		<-done
	}
	return nil
}

// lease would block others that open the file.
func lease(p attackTargets) error {
	f, err := os.Open(p.Lease)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
	return err
}
