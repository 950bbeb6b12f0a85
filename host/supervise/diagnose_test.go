//go:build unix

package supervise

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/testutil"
	"github.com/toolhost/toolhost/sdk"
)

// built returns a small Go program for an operating system and an architecture; "" when it cannot be built here.
func builtFor(t *testing.T, dir, system, arch string) string {
	t.Helper()
	source, out := filepath.Join(dir, "main.go"), filepath.Join(dir, system+"-"+arch)
	check(t, os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o644))
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, source)
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0", "GO111MODULE=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building for %s/%s: %v\n%s", system, arch, err, text)
	}
	return out
}

// header is the smallest ELF file with an architecture.
func header(class elf.Class, order binary.ByteOrder, machine elf.Machine, kind elf.Type) []byte {
	data := elf.ELFDATA2LSB
	if order == binary.ByteOrder(binary.BigEndian) {
		data = elf.ELFDATA2MSB
	}
	var b bytes.Buffer
	b.Write([]byte{0x7f, 'E', 'L', 'F', byte(class), byte(data), 1, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	for _, v := range []any{uint16(kind), uint16(machine), uint32(1)} {
		_ = binary.Write(&b, order, v)
	}
	if class == elf.ELFCLASS64 {
		b.Write(make([]byte, 64-b.Len()))
	} else {
		b.Write(make([]byte, 52-b.Len()))
	}
	return b.Bytes()
}

// Each kind of file that is not a program has an error that names it, and what to do.
func TestProgramsThatCannotRun(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the messages are those of Linux")
	}
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		check(t, os.WriteFile(path, []byte(text), mode))
		check(t, os.Chmod(path, mode))
		return path
	}
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	if other == "" {
		t.Skip("no other machine is known for this one")
	}
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	own := header(elf.ELFCLASS64, binary.LittleEndian, machines[runtime.GOARCH], elf.ET_REL)
	whole := header(elf.ELFCLASS64, binary.LittleEndian, machines[other], elf.ET_EXEC)
	check(t, os.Mkdir(filepath.Join(dir, "folder"), 0o755))
	check(t, os.Symlink("nowhere", filepath.Join(dir, "link")))
	check(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	here := "this machine is linux/" + runtime.GOARCH
	for name, c := range map[string]struct{ program, words string }{
		"missing": {filepath.Join(dir, "none"), "cannot be run: it does not exist"},
		"with its arguments": {"/bin/sh -c true", `"/bin/sh -c true" cannot be run: it does not exist; write each ` +
			`argument as an item of its own: ["/bin/sh", "-c", "true"]`},
		"with a variable":      {filepath.Join(dir, "$HOME", "p"), "it does not exist; nothing replaces $HOME in it: write ${env.HOME}"},
		"with a tab":           {filepath.Join(dir, "a\tb"), `it has a tab or a line break: write \\ for a backslash`},
		"a link to nothing":    {filepath.Join(dir, "link"), "it is a link to nowhere, which does not exist"},
		"a link to itself":     {filepath.Join(dir, "loop"), "cannot be run: its path is a symbolic link that leads back"},
		"below a file":         {filepath.Join(write("file", "x", 0o644), "p"), "cannot be run: its path, or that of"},
		"a folder":             {filepath.Join(dir, "folder"), "is a folder, not a program"},
		"empty":                {write("empty", "", 0o755), "cannot be run: it is an empty file"},
		"empty and not marked": {write("empty2", "", 0o644), "cannot be run: it is an empty file"},
		"not executable": {write("plain", "#!/bin/sh\n", 0o644),
			"permission denied: it is not executable. Fix: chmod +x " + dir},
		"another machine": {write("other", string(whole), 0o755), "cannot be run: it was built for linux/" + other + ", " + here +
			"; build it with GOOS=linux GOARCH=" + runtime.GOARCH},
		"riscv": {write("riscv",
			string(header(elf.ELFCLASS64, binary.LittleEndian, elf.EM_RISCV, elf.ET_EXEC)), 0o755),
			"it was built for linux/riscv64, " + here},
		"a big-endian machine": {write("s390x",
			string(header(elf.ELFCLASS64, binary.BigEndian, elf.EM_S390, elf.ET_EXEC)), 0o755),
			"it was built for linux/s390x, " + here},
		"another machine, damaged": {write("cut", string(whole[:20]), 0o755), "it is damaged, or its copy is incomplete"},
		"an object file":           {write("object", string(own), 0o755), "it is an object file, not a program"},
		"an archive":               {write("archive", "!<arch>\n__.PKGDEF", 0o755), "is its package main?"},
		"text":                     {write("text", "import os\n", 0o755), "it is a text with no #! line"},
		"noise":                    {write("noise", "\x00\x01\x02", 0o755), "it is not a program for linux/"},
		"a byte order mark": {write("bom", "\xef\xbb\xbf#!/bin/sh\n", 0o755),
			"a byte order mark stands before its #! line"},
		"a blank line first": {write("blank", "\n#!/bin/sh\n", 0o755), "its #! line is not its first line"},
		"no interpreter": {write("lost", "#!/proc/no/such/python3 -u\n", 0o755),
			"the interpreter of its #! line, /proc/no/such/python3, does not exist"},
		"a folder as interpreter": {write("infolder", "#!"+dir+"/folder\n", 0o755),
			"the interpreter of its #! line, " + dir + "/folder, is not executable"},
		"nothing after #!": {write("none1", "#!\n", 0o755), "its #! line names no interpreter"},
		"Windows line ends": {write("crlf", "#!/bin/sh\r\necho\r\n", 0o755),
			"its lines end with CR LF, as on Windows"},
	} {
		t.Run(name, func(t *testing.T) { checkCannotRun(t, c.words, c.program) })
	}
	script := filepath.Join(dir, "none.py")
	t.Run("missing script", func(t *testing.T) {
		checkCannotRun(t, script+", the script of sh, does not exist; relative paths", "/bin/sh", script)
	})
}

// checkCannotRun also locks the program as it is: its checksum is then checked first.
func checkCannotRun(t *testing.T, words string, command ...string) {
	t.Helper()
	content, _ := os.ReadFile(command[0])
	for _, sum := range []string{"", fmt.Sprintf("%x", sha256.Sum256(content))} {
		spec := Spec{Name: "bad", Command: command, Lock: Lock{SHA256: sum}}
		if len(command) > 1 {
			spec.Script = command[1]
		}
		p := add(t, supervisor(t), spec)
		_, err := call(t, p, "echo", "")
		checkError(t, err, sdk.CodePluginUnavailable, words)
		if e, ok := errors.AsType[*sdk.Error](err); ok && (e.Retryable || strings.Contains(e.Suggestion, "again")) {
			t.Errorf("to call again is advised, which cannot help: %s %s", e.Message, e.Suggestion)
		}
		if err != nil && spec.Script == "" && !strings.Contains(err.Error(), "cannot be run") {
			t.Errorf("it is not said that it cannot be run: %v", err)
		}
		t.Log(err)
	}
}

// A program that Go has built for another system is recognized. It takes long as Go builds its runtime for each.
func TestProgramsBuiltForOtherSystems(t *testing.T) {
	testutil.Long(t)
	if runtime.GOOS != "linux" {
		t.Skip("the messages are those of Linux")
	}
	for _, system := range []string{"linux/arm64", "linux/amd64", "darwin/arm64", "windows/amd64"} {
		if system == "linux/"+runtime.GOARCH {
			continue
		}
		os, arch, _ := strings.Cut(system, "/")
		t.Run(system, func(t *testing.T) {
			checkCannotRun(t, "cannot be run: it was built for "+system+", this machine is linux/"+runtime.GOARCH,
				builtFor(t, t.TempDir(), os, arch))
		})
	}
}

// A path with what a shell, an editor or a template would replace says so, and other paths do not.
func TestUnreplaced(t *testing.T) {
	for path, want := range map[string]string{
		"/x/$HOME/p": "$HOME in it: write ${env.HOME}", "${HOME}/p": "${HOME} in it: write ${env.HOME}",
		"/x/%USERPROFILE%/p": "%USERPROFILE% in it: write ${env.USERPROFILE}", "~/p": "~ in it: write ${env.HOME}",
		"${env:MY_DIR}/p": "${env:MY_DIR} in it: write ${env.MY_DIR}", "/etc/conf/~me/p": "~me in it: write ${env.HOME}",
		"/x/${workspaceFolder}/p": "${workspaceFolder} in it: there are only", "$(pwd)/p": "$(pwd) in it: there are only",
		"%{root}/p": "%{root} in it: there are only", "{{ .Dir }}/p": "{{ .Dir }} in it: there are only",
		"{root}/p": "{root} in it: there are only", "<path to>/p": "<path to> in it: there are only",
		"/x/p": "", "/x/a{}b": "", "/x/100%/p": "", "/x/a~/b~": "", "a < b": "", "/x/$": "", "C:\\x": "",
	} {
		got := unreplaced(path)
		if want != "" {
			want = "; nothing replaces " + want
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// An error about a word by reference says what it is written as.
func TestMissingWordByReference(t *testing.T) {
	dir := t.TempDir()
	note := References{Written: []string{"it is written \"${env.X}/p\", where env.X is empty"}}
	for program, want := range map[string]string{
		filepath.Join(dir, "none"): "it does not exist; it is written \"${env.X}/p\", where env.X is empty",
		dir:                        "it is a folder, not a program; it is written \"${env.X}/p\"",
		"no-such-program":          "was not found in PATH; it is written \"${env.X}/p\"",
	} {
		p := add(t, supervisor(t), Spec{Name: "bad", Command: []string{program}, References: note})
		_, err := call(t, p, "echo", "")
		checkError(t, err, sdk.CodePluginUnavailable, want)
	}
	script := filepath.Join(dir, "none.py")
	note.Written = []string{"", "it is written \"${env.X}/none.py\""}
	p := add(t, supervisor(t), Spec{Name: "bad", Command: []string{"/bin/sh", script}, Script: script, References: note})
	_, err := call(t, p, "echo", "")
	checkError(t, err, sdk.CodePluginUnavailable, "does not exist; it is written \"${env.X}/none.py\"")
}

// A program of another system may start before the mistake is noticed.
func TestProgramOfAnotherSystem(t *testing.T) {
	if !testing.Short() { // Go builds its runtime for it
		if why, want := Diagnose(builtFor(t, t.TempDir(), "freebsd", runtime.GOARCH)), "it was built for freebsd/"+
			runtime.GOARCH; !strings.HasPrefix(why, want) {
			t.Errorf("got %q, want %q", why, want)
		}
	}
	if why := Diagnose(builtFor(t, t.TempDir(), runtime.GOOS, runtime.GOARCH)); why != "" {
		t.Errorf("a good program is said to be bad: %s", why)
	}
	if why := Diagnose("/bin/sh"); why != "" {
		t.Errorf("/bin/sh is said to be bad: %s", why)
	}
}

// A program that ends by itself before the handshake is reported as such, with the probable reason.
func TestProgramsThatEndEarly(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ script, words string }{
		"no Serve": {"exit 0", "exited with code 0 before the handshake: did it call the serve function of its kit?"},
		"a code":   {"echo why >&2; exit 3", "exited with code 3 before the handshake. Last line on stderr: why"},
		"env and CR LF": {"exec env 'python3\r'",
			"exited with code 127 before the handshake; a program, an interpreter or a shared library that it needs was not " +
				"found"},
		"a missing library": {"echo 'error while loading shared libraries: libx.so.1' >&2; exit 127",
			"a shared library that it needs was not found or cannot be run. Last line on stderr: error while loading shared " +
				"libraries: libx.so.1"},
		"CR LF for env": {"",
			"exited with code 127 before the handshake; its lines end with CR LF, as on Windows, so that its #! line names " +
				"\"sh\\r\"; save it with LF alone"},
		"a signal": {"kill -SEGV $$", "killed by SIGSEGV before the handshake"},
		"other words": {"echo hello; sleep 60",
			`it printed "hello" in place of the handshake: it is not a toolhost plugin, or prints on standard output before ` +
				`it serves`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
			text := "#!/bin/sh\n" + c.script + "\n"
			if c.script == "" {
				text = "#!/usr/bin/env sh\r\nexit 0\r\n"
			}
			check(t, os.WriteFile(path, []byte(text), 0o755))
			p := add(t, supervisor(t), Spec{Name: "bad", Command: []string{path}})
			_, err := call(t, p, "echo", "")
			checkError(t, err, sdk.CodePluginUnavailable, c.words)
		})
	}
}
