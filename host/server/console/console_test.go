package console_test

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"

	"github.com/toolhost/toolhost/host/api/apiv1"
)

// What is committed is what make console-vendor wrote.
func TestThirdPartyFilesHaveTheirChecksums(t *testing.T) {
	sums, err := os.Open("third_party/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	defer sums.Close()
	listed := map[string]bool{"SHA256SUMS": true}
	for lines := bufio.NewScanner(sums); lines.Scan(); {
		want, name, _ := strings.Cut(lines.Text(), "  ")
		if name == "api" {
			api, err := proto.MarshalOptions{Deterministic: true}.Marshal(protodesc.ToFileDescriptorProto(
				apiv1.File_toolhost_api_v1_api_proto))
			if got := fmt.Sprintf("%x", sha256.Sum256(api)); err != nil || got != want {
				t.Errorf("the client is of another version of the API: run make console-vendor")
			}
			continue
		}
		data, err := os.ReadFile(filepath.Join("third_party", name))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(data)); got != want {
			t.Errorf("%s has the checksum %s, not %s: run make console-vendor", name, got, want)
		}
		listed[name] = true
	}
	entries, err := os.ReadDir("third_party")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !listed[e.Name()] {
			t.Errorf("third_party/%s is not in SHA256SUMS", e.Name())
		}
	}
}

func request(t *testing.T, method, url, body string, change func(*http.Request)) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(text)
}

func TestEveryResponseIsGuarded(t *testing.T) {
	server := newFake(2, 2).serve(t)
	for _, path := range []string{"/", "/console/app.js", "/console/style.css", "/console/third_party/client.js", "/console/none",
		"/elsewhere"} {
		_, header, _ := request(t, "GET", server.URL+path, "", nil)
		for _, part := range []string{"default-src 'none'", "script-src 'self';", "frame-ancestors 'none'", "base-uri 'none'",
			"form-action 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(header.Get("Content-Security-Policy"), part) {
				t.Errorf("%s: the content security policy has no %s", path, part)
			}
		}
		if strings.Contains(header.Get("Content-Security-Policy"), "unsafe") {
			t.Errorf("%s: the content security policy allows something unsafe", path)
		}
		for name, want := range map[string]string{"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin"} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
	}
}

// Files are packed for clients that unpack them, and only for those.
func TestFilesArePacked(t *testing.T) {
	server := newFake(2, 2).serve(t)
	const path = "/console/third_party/jsoneditor.js"
	_, header, packed := request(t, "GET", server.URL+path, "", func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") })
	_, _, plain := request(t, "GET", server.URL+path, "", func(r *http.Request) { r.Header.Set("Accept-Encoding", "identity") })
	if header.Get("Content-Encoding") != "gzip" || len(packed) > len(plain)/3 {
		t.Errorf("%d bytes of %d come as %q", len(packed), len(plain), header.Get("Content-Encoding"))
	}
	unpacked, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(unpacked); err != nil || string(text) != plain {
		t.Errorf("what is unpacked is another file (%v)", err)
	}
}

// A browser asks again for each file, and gets those that have not changed from its cache.
func TestFilesAreChecked(t *testing.T) {
	server := newFake(2, 2).serve(t)
	_, header, _ := request(t, "GET", server.URL+"/console/app.js", "", nil)
	tag := header.Get("ETag")
	if tag == "" || header.Get("Cache-Control") != "no-cache" || header.Get("Content-Type") !=
		"text/javascript; charset=utf-8" {
		t.Errorf("the file comes with %v", header)
	}
	status, _, body := request(t, "GET", server.URL+"/console/app.js", "", func(r *http.Request) { r.Header.Set("If-None-Match", tag) })
	if status != http.StatusNotModified || body != "" {
		t.Errorf("a current copy is answered with %d", status)
	}
}
