package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// certificate returns a certificate of this machine's names that signs itself, and its key.
func certificate(t *testing.T, from, until time.Time) (chain, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "toolhost test"}, IsCA: true,
		NotBefore: from, NotAfter: until, DNSNames: []string{"localhost", "tools.example"}, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

// Over TLS a host is reached by the names of this machine and by those of its block, with a token.
func TestServeWithTLS(t *testing.T) {
	chain, key := certificate(t, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	h := newHome(t).withPlugin(t, "serve {\n  tls_cert = \"server.crt\"\n  tls_key  = \"server.key\"\n"+
		"  hosts    = [\"tools.example\"]\n}\n")
	h.write(t, "server.crt", chain)
	h.write(t, "server.key", key)
	url, token, ended := h.serving(t)
	address, isSecure := strings.CutPrefix(url, "https://")
	_, port, err := net.SplitHostPort(address)
	if !isSecure || err != nil {
		t.Fatalf("it serves at %s", url)
	}
	known := x509.NewCertPool()
	known.AppendCertsFromPEM([]byte(chain))
	for _, name := range []string{"localhost", "127.0.0.1", "tools.example", "other.example"} {
		transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: known},
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, address)
			}}
		if name == "other.example" { // a name that leads here by a trick of the DNS
			transport.TLSClientConfig.ServerName = "localhost"
		}
		client := &http.Client{Transport: transport}
		var r struct{ Status string }
		err := api(client, "https://"+name+":"+port, token, "HostService/CallOnce",
			`{"tool":"readfile__read","arguments":"{\"path\":\"note.txt\"}"}`, &r)
		if name == "other.example" {
			if err == nil || !strings.HasPrefix(err.Error(), "403") {
				t.Errorf("%s: %v", name, err)
			}
		} else if err != nil || r.Status != "ok" {
			t.Errorf("%s: %q, %v", name, r.Status, err)
		}
		err = api(client, "https://localhost:"+port, token+"x", "HostService/GetInfo", "{}", &r)
		if name == "localhost" && (err == nil || !strings.HasPrefix(err.Error(), "401")) {
			t.Errorf("with a wrong token: %v", err)
		}
		client.CloseIdleConnections()
	}
	plain := &http.Client{Transport: &http.Transport{}}
	defer plain.CloseIdleConnections()
	if err := api(plain, "http://"+address, token, "HostService/GetInfo", "{}", nil); err == nil {
		t.Error("it serves without TLS")
	}
	expect(t, h.run(t, "call", "--verbose", "readfile__read", "path=note.txt"), "a note", "uses the running host", "\n0")
	expect(t, h.run(t, "serve", "--stop"), "stops", "\n0")
	waitFor(t, ended)
}

// A certificate that is renewed is served to the next connection; one that cannot be used is not.
func TestRenewedCertificate(t *testing.T) {
	now := time.Now()
	chain, key := certificate(t, now.Add(-time.Hour), now.Add(time.Hour))
	h := newHome(t).withPlugin(t, "serve {\n  tls_cert = \"server.crt\"\n  tls_key  = \"server.key\"\n}\n")
	h.write(t, "server.crt", chain)
	h.write(t, "server.key", key)
	url, _, ended := h.serving(t)
	served := func(chain string) error {
		known := x509.NewCertPool()
		known.AppendCertsFromPEM([]byte(chain))
		c, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"),
			&tls.Config{RootCAs: known, MinVersion: tls.VersionTLS12})
		if err == nil {
			_ = c.Close()
		}
		return err
	}
	if err := served(chain); err != nil {
		t.Fatal(err)
	}
	renewed, renewedKey := certificate(t, now.Add(-time.Hour), now.Add(2*time.Hour))
	h.write(t, "server.crt", renewed) // the key of before is not its own
	if err := served(chain); err != nil {
		t.Errorf("with half of the new files: %v", err)
	}
	h.write(t, "server.key", renewedKey)
	if err := served(renewed); err != nil {
		t.Errorf("with the new files: %v", err)
	}
	if err := served(chain); err == nil {
		t.Error("the certificate of before is served as well")
	}
	if err := os.Remove(filepath.Join(h.dir, "server.crt")); err != nil {
		t.Fatal(err)
	}
	if err := served(renewed); err != nil {
		t.Errorf("without the files: %v", err)
	}
	expect(t, h.run(t, "serve", "--stop"), "stops", "\n0")
	waitFor(t, ended)
}

// What would keep clients away is an error at the start, which says what to do.
func TestServeWithBadTLS(t *testing.T) {
	now := time.Now()
	chain, key := certificate(t, now.Add(-time.Hour), now.Add(time.Hour))
	_, other := certificate(t, now.Add(-time.Hour), now.Add(time.Hour))
	old, oldKey := certificate(t, now.Add(-2*time.Hour), now.Add(-time.Hour))
	early, earlyKey := certificate(t, now.Add(time.Hour), now.Add(2*time.Hour))
	for name, c := range map[string]struct {
		chain, key string // "" is a file that is not there
		want       []string
	}{
		"no certificate":  {"", key, []string{"tls_cert", "server.crt", "no such file"}},
		"no key":          {chain, "", []string{"tls_key", "server.key", "no such file"}},
		"the key's bytes": {key, key, []string{"server.crt", "PEM"}},
		"no PEM":          {"not a certificate", key, []string{"server.crt", "PEM"}},
		"another key":     {chain, other, []string{"server.key", "does not match", "that of the first certificate"}},
		"expired":         {old, oldKey, []string{"server.crt expired on", "get a new one"}},
		"not valid yet":   {early, earlyKey, []string{"server.crt is valid from", "clock"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t).withPlugin(t, "serve {\n  tls_cert = \"server.crt\"\n  tls_key  = \"server.key\"\n}\n")
			for file, text := range map[string]string{"server.crt": c.chain, "server.key": c.key} {
				if text != "" {
					h.write(t, file, text)
				}
			}
			expect(t, h.run(t, "serve", "--address", "127.0.0.1:0"), append(c.want, "the serve block's", "\n2")...)
		})
	}
	h := newHome(t).withPlugin(t, "")
	expect(t, h.run(t, "serve", "--address", "0.0.0.0:0"), "reachable from other machines", "tls_cert and tls_key", "\n2")
}
