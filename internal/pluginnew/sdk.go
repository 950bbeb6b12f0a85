package pluginnew

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/internal/fsutil"
)

// toolhost is the module that has the sdk.
const toolhost = "github.com/toolhost/toolhost"

// unreleased stands for a version in a go.mod that replaces the module by a folder.
const unreleased = "v0.0.0"

// An SDK is where a Go module gets the sdk from: a version that can be downloaded, or else a folder with the sources.
type SDK struct {
	Version string
	Dir     string
}

// ErrNoSDK means that this program is no release, and that the sources that it was built from are not known.
var ErrNoSDK = errors.New("this toolhost is not a release, so the new go.mod must name its source code, which is not " +
	"beside this program. Fix: add --sdk DIR, with DIR a checkout of " + toolhost)

// FindSDK returns the sdk that fits this program: of the named folder if there is one; of the released version, such
// as v0.1.0, unless that is ""; otherwise of the sources in or above the folder of the program, if no other user can
// change them.
func FindSDK(named, released, program string) (SDK, error) {
	switch {
	case named != "" && !isSource(named):
		return SDK{}, fmt.Errorf("--sdk %s is no folder with the module %s: it has no go.mod that says so", named, toolhost)
	case named != "":
		return SDK{Dir: named}, nil
	case released != "":
		return SDK{Version: released}, nil
	}
	beside := filepath.Dir(fsutil.Resolved(program))
	for _, dir := range []string{beside, filepath.Dir(beside)} { // make build puts it into bin
		if isSource(dir) && fsutil.CheckOwnership(filepath.Join(dir, "go.mod")) == nil {
			return SDK{Dir: dir}, nil
		}
	}
	return SDK{}, ErrNoSDK
}

// isSource reports whether a folder has the sources of the module.
func isSource(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if words := strings.Fields(lines.Text()); len(words) > 1 && words[0] == "module" {
			return strings.Trim(words[1], `"`) == toolhost
		}
	}
	return false
}

// replace is what a go.mod in a folder says of the sources; "" for a version that can be downloaded.
func (s SDK) replace(dir string) (string, error) {
	if s.Dir == "" {
		return "", nil
	}
	source, err := filepath.Abs(s.Dir)
	if err != nil {
		return "", err
	}
	to, err := filepath.Rel(fsutil.Resolved(dir), fsutil.Resolved(source))
	if err != nil { // on another drive
		to = source
	}
	if to = filepath.ToSlash(to); !strings.HasPrefix(to, ".") && !filepath.IsAbs(to) {
		to = "./" + to
	}
	if strings.ContainsAny(to, " \t\"'`()") {
		to = fmt.Sprintf("%q", to)
	}
	return "\n// The toolhost that wrote this is not a release: the sdk comes from its source code.\n" +
		"// Before others use this module, remove these lines and run: go get " + toolhost + "@latest\n" +
		"replace " + toolhost + " => " + to + "\n", nil
}
