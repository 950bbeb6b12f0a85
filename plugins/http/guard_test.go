package main

import (
	"net/http"
	"strings"
	"testing"
)

// A name that is public when somebody looks and private when it is dialled does not help: what is dialled is checked.
func TestRebinding(t *testing.T) {
	for name, answer := range map[string]func(string, int) []string{
		"private at once": func(string, int) []string { return []string{"127.0.0.1"} },
		"public first": func(_ string, n int) []string {
			if n == 0 {
				return []string{"8.8.8.8"}
			}
			return []string{"127.0.0.1"}
		},
		"both at once":   func(string, int) []string { return []string{"127.0.0.1", "8.8.8.8", "::1", "::ffff:127.0.0.1"} },
		"metadata":       func(string, int) []string { return []string{"169.254.169.254"} },
		"inside of IPv6": func(string, int) []string { return []string{"64:ff9b::7f00:1"} },
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the server of this machine was reached") })
			port := url[strings.LastIndex(url, ":"):]
			p := start(t, seam{resolver: newNames(t, answer), connecting: func(_, address string) error {
				if !strings.HasPrefix(address, "8.8.8.8:") {
					t.Errorf("%s was to be connected to", address)
				}
				return errNotConnected
			}}, `{}`)
			for i := range 3 {
				r := fetch(t, p, "http://rebind.test"+port+"/")
				if r.Error == nil || r.Error.Name != "AddressRefused" && r.Error.Name != "ConnectFailed" {
					t.Errorf("call %d: %+v", i, r.Error)
				}
				if i == 2 && name != "both at once" {
					wantError(t, r, "AddressRefused", "rebind.test has the address", "nothing was sent there")
				}
			}
		})
	}
}

// Written out, they need no look at the network.
func TestLiteralAddressesAreRefusedAtOnce(t *testing.T) {
	p := start(t, seam{}, `{}`)
	for _, url := range []string{"http://127.0.0.1/", "http://[::1]/", "http://10.0.0.1:8080/", "http://[::ffff:169.254.169.254]/", "http://169.254.169.254/", "http://[fd00::1]/", "http://0.0.0.0/"} {
		wantError(t, fetch(t, p, url), "AddressRefused", "nothing was sent there")
	}
	for _, url := range []string{"http://localhost:8081/", "http://localhost/", "http://LOCALHOST./"} {
		wantError(t, fetch(t, p, url), "AddressRefused")
	}
}

func TestMetadataNever(t *testing.T) {
	p := start(t, seam{}, `{"allow_private":["169.254.0.0/16","169.254.169.254","metadata.test","*"]}`)
	wantError(t, fetch(t, p, "http://169.254.169.254/"), "AddressRefused", "never used")
}

// An address that is denied is denied in every spelling, and by every name that stands for it.
func TestDeniedHosts(t *testing.T) {
	url := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	names := newNames(t, func(string, int) []string { return []string{"127.0.0.1"} })
	p := start(t, seam{resolver: names}, `{"allow_private":["127.0.0.1"],"deny_hosts":["127.0.0.1"]}`)
	wantError(t, fetch(t, p, url), "HostDenied", "operator")
	for _, host := range []string{"[::ffff:127.0.0.1]", "[64:ff9b::127.0.0.1]", "a.test"} {
		wantError(t, fetch(t, p, strings.Replace(url, "127.0.0.1", host, 1)), "HostDenied", "operator has denied")
	}
}

func TestNoProxyOfTheEnvironment(t *testing.T) {
	proxy := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") })
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy)
	}
	names := newNames(t, func(string, int) []string { return []string{"8.8.8.8"} })
	p := start(t, seam{resolver: names, connecting: func(string, string) error { return errNotConnected }}, open)
	wantError(t, fetch(t, p, "http://a.test/"), "ConnectFailed")
}

func TestNamesThatAreNotThere(t *testing.T) {
	p := start(t, seam{resolver: newNames(t, func(string, int) []string { return nil })}, `{}`)
	wantError(t, fetch(t, p, "https://nowhere.test/"), "HostNotFound", "there is no host nowhere.test")
}
