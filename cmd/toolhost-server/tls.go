package main

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// A keyPair is the certificate that is served, with its key. When their files have changed they are read again for the
// next connection: certificates are renewed while a host runs.
type keyPair struct {
	block func() *config.Serve
	log   *slog.Logger

	mu    sync.Mutex
	files [2]fileState // that were read last
	pair  *tls.Certificate
}

// A fileState tells one version of a file from another.
type fileState struct {
	path     string
	size     int64
	modified time.Time
}

// loadTLS reads the certificate and the key of the serve block; nil without. It fails for a certificate that clients
// would refuse by its dates.
func (p *program) loadTLS() (*tls.Config, error) {
	if p.block().Certificate == "" {
		return nil, nil
	}
	k := &keyPair{block: p.block, log: p.log, files: fileStates(p.block())}
	var err error
	if k.pair, err = readKeyPair(p.block()); err != nil {
		return nil, err
	}
	return &tls.Config{GetCertificate: k.current, MinVersion: tls.VersionTLS12}, nil
}

// current is the certificate for a new connection.
func (k *keyPair) current(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	b := k.block()
	if now := fileStates(b); b.Certificate != "" && now != k.files {
		k.files = now
		if pair, err := readKeyPair(b); err != nil {
			k.log.Error("the old certificate stays in use", "error", err)
		} else {
			k.pair = pair
			k.log.Info("a new certificate is served", "until", pair.Leaf.NotAfter)
		}
	}
	return k.pair, nil
}

func fileStates(b *config.Serve) (out [2]fileState) {
	for i, path := range []string{b.Certificate, b.Key} {
		out[i].path = path
		if info, err := os.Stat(path); err == nil { // reading it says what is wrong
			out[i].size, out[i].modified = info.Size(), info.ModTime()
		}
	}
	return out
}

const maxPEM = 1 << 20 // bytes of a chain or a key

func readKeyPair(b *config.Serve) (*tls.Certificate, error) {
	chain, err := fsutil.ReadRegular(b.Certificate, maxPEM)
	if err != nil {
		return nil, fmt.Errorf("the serve block's tls_cert: %w", err)
	}
	key, err := fsutil.ReadRegular(b.Key, maxPEM)
	if err != nil {
		return nil, fmt.Errorf("the serve block's tls_key: %w", err)
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, fmt.Errorf("the serve block's tls_cert %s and tls_key %s cannot be used: %s; both are PEM files, and "+
			"the key is that of the first certificate", b.Certificate, b.Key, strings.TrimPrefix(err.Error(), "tls: "))
	}
	const day = "2006-01-02 15:04 MST"
	switch leaf, now := pair.Leaf, time.Now(); {
	case now.After(leaf.NotAfter):
		return nil, fmt.Errorf("the serve block's tls_cert %s expired on %s; clients refuse it: get a new one", b.Certificate,
			leaf.NotAfter.Format(day))
	case now.Before(leaf.NotBefore):
		return nil, fmt.Errorf("the serve block's tls_cert %s is valid from %s on; clients refuse it before: check this "+
			"machine's clock, or get another one", b.Certificate, leaf.NotBefore.Format(day))
	}
	return &pair, nil
}
