package wire

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// PeerOf finds the process at the other end of a Unix socket, or of a TCP connection within this machine. It fails
// unless that process runs, as this user: no process is unknown here, as it is in a Linux namespace.
func PeerOf(conn net.Conn) (out Peer, err error) {
	switch conn := conn.(type) {
	case *net.UnixConn:
		out.PID, err = unixPeer(conn)
	case *net.TCPConn:
		out.PID, err = tcpPeer(conn)
	default:
		return Peer{}, noSocket(conn)
	}
	switch {
	case err != nil:
	case out.PID > 0:
		err = sameUser(uint32(out.PID))
	case !acceptUnknown:
		err = errors.New("the system does not say which process it is")
	}
	out.UID = os.Getuid() // which is -1 for all
	return out, err
}

// unixPeer asks SIO_AF_UNIX_GETPEERPID (afunix.h).
func unixPeer(conn net.Conn) (int, error) {
	const getPeerPID = 0x58000100
	var pid, n uint32
	err := askSocket(conn, func(fd uintptr) error {
		return windows.WSAIoctl(windows.Handle(fd), getPeerPID, nil, 0, (*byte)(unsafe.Pointer(&pid)),
			uint32(unsafe.Sizeof(pid)), &n, nil, 0)
	})
	return int(pid), err
}

// tcpPeer finds the other end of a connection among those of the machine.
func tcpPeer(conn net.Conn) (int, error) {
	near, far := addrPort(conn.LocalAddr()), addrPort(conn.RemoteAddr())
	if !near.Addr().Is4() || !near.Addr().IsLoopback() || !far.Addr().Is4() || !far.Addr().IsLoopback() {
		return 0, fmt.Errorf("%s is not within this machine", far)
	}
	for end := time.Now().Add(ownerTime); ; time.Sleep(time.Millisecond) {
		pid, err := owner(far, near)
		if err != nil || pid != 0 || time.Now().After(end) {
			return pid, err
		}
	}
}

func addrPort(a net.Addr) netip.AddrPort {
	tcp, is := a.(*net.TCPAddr)
	if !is {
		return netip.AddrPort{}
	}
	p := tcp.AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
}

var getTCPTable = windows.NewLazySystemDLL("iphlpapi.dll").NewProc("GetExtendedTcpTable")

// owner is the process that has the connection from one address to another, 0 where none has.
func owner(from, to netip.AddrPort) (int, error) {
	const ipv4, connections = 2, 4 // AF_INET, TCP_TABLE_OWNER_PID_CONNECTIONS
	type row struct{ state, fromAddr, fromPort, toAddr, toPort, pid uint32 }
	if err := getTCPTable.Find(); err != nil {
		return 0, err
	}
	table := make([]uint32, 4<<10)
	for range 10 { // it may grow meanwhile
		size := uint32(4 * len(table))
		code, _, _ := getTCPTable.Call(uintptr(unsafe.Pointer(&table[0])), uintptr(unsafe.Pointer(&size)), 0, ipv4,
			connections, 0)
		if windows.Errno(code) == windows.ERROR_INSUFFICIENT_BUFFER && size < 64<<20 {
			table = make([]uint32, size/4+4<<10)
			continue
		}
		if code != 0 {
			return 0, fmt.Errorf("GetExtendedTcpTable: %w", windows.Errno(code))
		}
		const words = unsafe.Sizeof(row{}) / 4
		for rest := table[1:]; table[0] > 0 && uintptr(len(rest)) >= words; rest = rest[words:] {
			r := row{rest[0], rest[1], rest[2], rest[3], rest[4], rest[5]}
			if inNetworkOrder(r.fromAddr, r.fromPort) == from && inNetworkOrder(r.toAddr, r.toPort) == to {
				return int(r.pid), nil
			}
			table[0]--
		}
		return 0, nil
	}
	return 0, errors.New("GetExtendedTcpTable: the table grows without end")
}

// inNetworkOrder is an address of the table: its bytes in the order of the network, whatever that of the machine.
func inNetworkOrder(addr, port uint32) netip.AddrPort {
	a := *(*[4]byte)(unsafe.Pointer(&addr))
	p := *(*[4]byte)(unsafe.Pointer(&port))
	return netip.AddrPortFrom(netip.AddrFrom4(a), uint16(p[0])<<8|uint16(p[1]))
}

// sameUser fails unless a process belongs to the user of this one.
func sameUser(pid uint32) error {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	if err != nil {
		return fmt.Errorf("whose process %d is: %w", pid, err)
	}
	defer func() { _ = windows.CloseHandle(process) }()
	var token windows.Token
	if err := windows.OpenProcessToken(process, windows.TOKEN_QUERY, &token); err != nil {
		return fmt.Errorf("whose process %d is: %w", pid, err)
	}
	defer func() { _ = token.Close() }()
	theirs, err := token.GetTokenUser()
	if err != nil {
		return fmt.Errorf("whose process %d is: %w", pid, err)
	}
	own, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return err
	}
	if !theirs.User.Sid.Equals(own.User.Sid) {
		return fmt.Errorf("the other end of the socket is process %d of user %s, not of %s", pid, theirs.User.Sid,
			own.User.Sid)
	}
	return nil
}
