package loopback_test

import (
	"net"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/loopback"
)

func TestListen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for address, c := range map[string]struct {
		open bool
		want string // of the error; "" if it listens
	}{
		"127.0.0.1:0":         {false, ""},
		"localhost:0":         {false, ""},
		"0":                   {false, ""},
		"0.0.0.0:0":           {true, ""},
		"0.0.0.0:1":           {false, "0.0.0.0:1 is reachable from other machines, and RISK; REMEDY, or listen on 127.0.0.1:1"},
		":1":                  {false, "or listen on 127.0.0.1:1"},
		"example.com:80":      {false, "reachable from other machines"},
		"1:2:3":               {false, `"1:2:3" is not an address; use HOST:PORT`},
		"foo":                 {false, `"foo" is not a port`},
		"127.0.0.1:65536":     {false, `"65536" is not a port; use HOST:PORT with a port up to 65535`},
		taken.Addr().String(): {false, "is in use by another process; end that one, or choose another port, 0 for any"},
	} {
		l, err := loopback.Listen(t.Context(), address, c.open, "RISK", "REMEDY")
		if err == nil {
			if ip := l.Addr().(*net.TCPAddr).IP; !c.open && !ip.IsLoopback() {
				t.Errorf("%s: it listens on %s", address, ip)
			}
			_ = l.Close()
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", address, err, c.want)
		}
	}
}
