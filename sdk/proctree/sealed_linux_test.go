//go:build !proctree_group

package proctree

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// metadata are ways to change what the kernel keeps of a file besides its content; the file is $1.
var metadata = map[string]string{
	"mode":               `chmod 4777 "$1"`,
	"mode by a file":     `exec 3<"$1" && chmod 777 /proc/self/fd/3`,
	"owner":              `chown "$(id -u)" "$1"`,
	"times":              `touch -m -d 2001-01-01 "$1"`,
	"time of the access": `touch -a -d 2001-01-01 "$1"`,
	"access":             `setfacl -m u:1:r "$1"`,
	"attributes":         `setfattr -n user.toolhost -v x "$1"`,
	"flags":              `chattr +d "$1"`,
	"content":            `echo new > "$1"`,
	"name":               `mv "$1" "$1.other"`,
	"another name":       `ln "$1" "$1.other"`,
	"beside it":          `echo new > "$1.new"`,
}

// What is sealed changes in nothing, whoever owns it, and what is writable in it is as free as before.
func TestSealed(t *testing.T) {
	if !allowed(t) || kernelCapabilities().NoReadOnlyMounts {
		return
	}
	for name, change := range metadata {
		t.Run(name, func(t *testing.T) {
			dir := fixedFolder(t)
			outside, inside := filepath.Join(dir, "settings"), filepath.Join(dir, "tools", "bin", "lint")
			before := stateOfFile(t, outside)
			c, out := script("("+change+") 2>&1 && echo it works; cp \"$1\" \"$2.new\" && chmod 755 \"$2\" && touch -d 2001-01-01 \"$2\" && mv \"$2.new\" \"$2.newer\" && echo free; "+
				"echo x > /dev/null && echo x > /dev/shm/x && echo devices", outside, inside)
			c.Dir, c.Sandbox.Namespaces, c.Sandbox.ReadOnlyRoot, c.Sandbox.Writable = dir, true, true, append(in(dir, "tools", "nothing"), dir+"/tools/bin")
			exit := mustRun(t, c)
			if strings.Contains(out.String(), "it works") || !strings.HasSuffix(out.String(), "free\ndevices\n") || exit.Code != 0 {
				t.Errorf("exit %v, output %q", exit, out)
			}
			if after := stateOfFile(t, outside); after != before {
				t.Errorf("it was %s, and is %s", before, after)
			}
			if _, err := os.Stat(inside + ".newer"); err != nil {
				t.Error(err)
			}
		})
	}
}

// stateOfFile is what ls and its kin know of a file.
func stateOfFile(t *testing.T, path string) string {
	t.Helper()
	c, out := script(`stat -c "%n %a %u %g %s %Y %h %i" "$1"; cat "$1"`, path)
	mustRun(t, c)
	return out.String()
}

// A program that is to be sealed is not run without a namespace, nor with a path that leads elsewhere.
func TestSealedMistakes(t *testing.T) {
	dir := fixedFolder(t)
	c, _ := script("true")
	c.Sandbox.ReadOnlyRoot = true
	if _, err := c.Run(bounded(t)); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("without a namespace: %v", err)
	}
	if !allowed(t) || kernelCapabilities().NoReadOnlyMounts {
		return
	}
	c.Sandbox.Namespaces, c.Sandbox.Writable = true, in(dir, "link")
	_, err := c.Run(bounded(t))
	if e, ok := errors.AsType[*SandboxError](err); !ok || !strings.Contains(e.Call, "link") {
		t.Errorf("by a link: %v", err)
	}
}
