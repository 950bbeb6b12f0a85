package supervise

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Verify checks, without running it, that the plugin's program is there, can be run, and has the checksum that the spec
// asks for.
func Verify(spec Spec) error {
	path, err := program(spec)
	if err != nil {
		return startProblem(spec, err)
	}
	if spec.SHA256 == "" {
		return nil
	}
	sum, err := checksum(path)
	if err != nil {
		return startProblem(spec, err)
	}
	if !strings.EqualFold(sum, spec.SHA256) {
		return &invalidError{fmt.Errorf("%s has the sha256 %s, but %s asks for %s; it was changed or is another version",
			path, sum, orDefault(spec.Source, "its spec"), spec.SHA256)}
	}
	return nil
}

// program finds the file that the command names, as exec does.
func program(spec Spec) (string, error) {
	name := spec.Command[0]
	if strings.Contains(name, "/") && !filepath.IsAbs(name) {
		abs, err := filepath.Abs(filepath.Join(spec.Dir, name))
		if err != nil {
			return "", err
		}
		name = abs
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return path, regular(path)
}

// regular keeps a pipe from being read for a checksum: that would wait for ever.
func regular(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	return err
}

func checksum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
