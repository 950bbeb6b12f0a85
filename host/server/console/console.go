// Package console serves the pages in which people watch a host, answer its questions and try its tools. All files are
// embedded; a page loads nothing from elsewhere, runs no inline script and cannot be framed. What plugins and models
// wrote is shown as text only.
package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
)

// Path is where the handler expects to be mounted, beside "/" for the page itself.
const Path = "/console/"

//go:embed web third_party
var files embed.FS

// policy is the content security policy of every response. Trusted types have what json-editor writes as HTML escaped
// by the page's default policy (web/trust.js); browsers without them are kept from it by web/form.js alone.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
	"manifest-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types default"

// headers are those of every response of the console.
var headers = map[string]string{
	"Content-Security-Policy":      policy,
	"X-Frame-Options":              "DENY",
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}

// contentTypes are listed, since a machine's own table of types could say anything.
var contentTypes = map[string]string{
	".js":      "text/javascript; charset=utf-8",
	".css":     "text/css; charset=utf-8",
	".html":    "text/html; charset=utf-8",
	".svg":     "image/svg+xml",
	"":         "text/plain; charset=utf-8", // SHA256SUMS, PACKAGES
	".LICENSE": "text/plain; charset=utf-8",
}

// An asset is an embedded file as it is served.
type asset struct {
	content     []byte
	packed      func() []byte // with gzip, made when first asked for
	contentType string
	etag        string
}

// Packages are the npm packages of which code is embedded, each as "NAME VERSION".
func Packages() []string {
	text, err := files.ReadFile("third_party/PACKAGES")
	if err != nil {
		panic(err) // what is embedded can be read
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// New returns the handler of "/" and of everything below Path. The page and its files are public: they say nothing of
// the host. Who serves it checks Host and Origin first, as for the API.
func New() http.Handler {
	mux := http.NewServeMux()
	assets := load()
	mux.Handle("GET /{$}", assets["index.html"])
	for name, a := range assets {
		if name != "index.html" {
			mux.Handle("GET "+Path+name, a)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		mux.ServeHTTP(w, r)
	})
}

// load reads the embedded files: those of web by their path in it, those of third_party with that folder's name.
func load() map[string]*asset {
	assets := map[string]*asset{}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		assets[strings.TrimPrefix(name, "web/")] = &asset{content, sync.OnceValue(func() []byte { return pack(content) }),
			contentTypes[path.Ext(name)], base64.RawURLEncoding.EncodeToString(sum[:12])}
		return nil
	})
	if err != nil {
		panic(err) // what is embedded can be read
	}
	return assets
}

// ServeHTTP answers with the file, or that the browser's copy is current: after an upgrade no page mixes two versions.
func (a *asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", a.contentType)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("Vary", "Accept-Encoding")
	content, etag := a.content, `"`+a.etag+`"`
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		content, etag = a.packed(), `"`+a.etag+`-gzip"`
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.Header().Set("ETag", etag)
	if strings.Contains(r.Header.Get("If-None-Match"), etag) {
		w.Header().Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(content) // the client may be gone
}

func pack(content []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(content) // a buffer takes all
	_ = w.Close()
	return out.Bytes()
}
