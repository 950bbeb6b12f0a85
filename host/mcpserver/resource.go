package mcpserver

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/sdk"
)

// keptPrefix begins the URIs of files with what was cut from results: the checksum of path and identity follows, and
// then the path.
const keptPrefix = "toolhost://kept/"

// maxKept is how much of such a file is read.
const maxKept = 2 * sdk.MaxResult

func (e *endpoint) keptURI(path string) string {
	return keptPrefix + hex.EncodeToString(e.seal.mac("file", path)[:16]) + "/" + url.PathEscape(path)
}

// keptPath returns the path in a URI, if this server gave it to this identity.
func (e *endpoint) keptPath(uri string) (path string, ok bool) {
	rest, ok := strings.CutPrefix(uri, keptPrefix)
	_, escaped, _ := strings.Cut(rest, "/")
	path, err := url.PathUnescape(escaped)
	return path, ok && err == nil && e.keptURI(path) == uri
}

// missing says what of a file was not read.
func missing(f *os.File, read int) string {
	if info, err := f.Stat(); err == nil && info.Size() > int64(read) {
		return fmt.Sprintf("\n[... the other %d of %d bytes are left out here ...]", info.Size()-int64(read), info.Size())
	}
	return ""
}

// readResource serves such a file; others do not exist, whatever is wrong with them.
func (e *endpoint) readResource(r *request) (mcp.Result, error) {
	uri := text(r.params.Get("uri"))
	path, ok := e.keptPath(uri)
	if !ok {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	f, err := fsutil.OpenPrivate(path)
	if err != nil { // it was removed after some days
		return nil, mcp.ResourceNotFoundError(uri)
	}
	defer f.Close()
	whole, err := io.ReadAll(io.LimitReader(f, maxKept))
	if err != nil {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	var content rawjson.Object
	content.AddText("uri", uri)
	content.AddText("mimeType", keptType(path))
	if binary := strings.HasSuffix(path, ".bin"); binary && missing(f, len(whole)) != "" {
		return nil, fmt.Errorf("%s is larger than %d MiB; tell the user where it is", path, maxKept>>20)
	} else if binary {
		content.AddText("blob", base64.StdEncoding.EncodeToString(whole))
	} else {
		content.AddText("text", string(whole)+missing(f, len(whole)))
	}
	out := &result{}
	out.body.Add("contents", append(append(json.RawMessage("["), content.JSON()...), ']'))
	if r.isModern() {
		out.body.Add("ttlMs", json.RawMessage("0"))
		out.body.AddText("cacheScope", "private")
	}
	return out.complete(r), nil
}
