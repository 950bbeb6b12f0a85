package binaries

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// program64 makes a program of our machine that ends with the exit status, and has about 200 KiB.
func program64(t *testing.T, status byte) []byte {
	t.Helper()
	code := map[string][]byte{
		"amd64": {0xbf, status, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05},
		"arm64": {status << 5, status >> 3, 0x80, 0xd2, 0xa8, 0x0b, 0x80, 0xd2, 0x01, 0, 0, 0xd4},
	}[runtime.GOARCH]
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	if code == nil || runtime.GOOS != "linux" { // any program will do, whose end nobody looks at
		return fmt.Appendf(nil, "#!/bin/sh\nexit %d\n", status)
	}
	const base, headers = 0x400000, 64 + 56
	size := uint64(headers + len(code))
	var b bytes.Buffer
	for _, part := range []any{
		elf.Header64{Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1,
			Entry: base + headers, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1},
		elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: base, Filesz: size, Memsz: size, Align: 0x1000},
		code, bytes.Repeat([]byte{status}, 200<<10),
	} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// A race is two programs, and somebody who puts one and the other in the place of the plugin's, without a pause.
type race struct {
	path, sum  string
	good, evil []byte
}

func newRace(t *testing.T) *race {
	t.Helper()
	r := &race{path: filepath.Join(t.TempDir(), "plugin"), good: program64(t, 0), evil: program64(t, 66)}
	r.grow(t, "")
	return r
}

// grow makes the good program another that does the same.
func (r *race) grow(t *testing.T, by string) {
	t.Helper()
	r.good = append(r.good, by...)
	writeProgram(t, r.path, r.good)
	sum := sha256.Sum256(r.good)
	r.sum = hex.EncodeToString(sum[:])
}

var errOther = errors.New("it is another program")

func (r *race) accepts(sum string) error {
	if sum != r.sum {
		return errOther
	}
	return nil
}

// kept is the path of the copy.
func (r *race) kept(v *Vault) (string, error) {
	program, err := Open(r.path)
	if err != nil {
		return "", err
	}
	defer program.Close()
	c, err := v.Keep(program, r.sum, r.accepts)
	if err != nil {
		return "", err
	}
	return c.Name(), c.Close()
}

func (r *race) mustKeep(t *testing.T, v *Vault) string {
	t.Helper()
	path, err := r.kept(v)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// vaulted is a vault with a reserve of its own, which tells of what is not as usual.
func vaulted(t testing.TB, bin string, tell ...io.Writer) *Vault {
	t.Helper()
	log := slog.New(slog.NewTextHandler(io.MultiWriter(tell...), nil))
	v := NewVault(bin, filepath.Join(t.TempDir(), "own"), log)
	t.Cleanup(v.Close)
	return v
}

func writeProgram(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
}

func open(end <-chan struct{}) bool {
	select {
	case <-end:
		return false
	default:
		return true
	}
}

// against runs swap without a pause until stop is called.
func (r *race) against(t *testing.T, swap func(text []byte) error) (stop func()) {
	t.Helper()
	end := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for i := 0; open(end); i++ {
			if err := swap([][]byte{r.good, r.evil}[i%2]); err != nil && !errors.Is(err, syscall.ETXTBSY) {
				t.Error(err)
				return
			}
		}
	})
	return func() { close(end); running.Wait() }
}

// However fast a program is swapped for another or overwritten, what runs is the one whose checksum was asked for, or
// none. Each round begins with an empty vault.
func TestOnlyVerifiedBytesRun(t *testing.T) {
	swaps := map[string]func(r *race) func([]byte) error{
		"renaming": func(r *race) func([]byte) error {
			return func(text []byte) error {
				if err := os.WriteFile(r.path+".new", text, 0o755); err != nil {
					return err
				}
				return os.Rename(r.path+".new", r.path)
			}
		},
		"overwriting": func(r *race) func([]byte) error {
			return func(text []byte) error {
				f, err := os.OpenFile(r.path, os.O_WRONLY, 0)
				if err != nil {
					return err
				}
				defer f.Close()
				_, err = f.Write(text)
				return err
			}
		},
	}
	for name, swap := range swaps {
		t.Run(name, func(t *testing.T) {
			r := newRace(t)
			defer r.against(t, swap(r))()
			ran, refused := 0, 0
			for end := time.Now().Add(time.Minute); (ran+refused < 200 || ran == 0 || refused == 0) && time.Now().Before(end); {
				if r.round(t, filepath.Join(t.TempDir(), "bin")) {
					ran++
				} else {
					refused++
				}
			}
			t.Logf("the good program ran %d times, another was refused %d times", ran, refused)
			if ran == 0 || refused == 0 { // however few rounds a busy machine had time for
				t.Error("the race was none")
			}
		})
	}
}

// round starts the plugin's program once, if it is the right one.
func (r *race) round(t *testing.T, bin string) bool {
	t.Helper()
	v := NewVault(bin, filepath.Join(t.TempDir(), "own"), slog.New(slog.DiscardHandler))
	defer v.Close()
	path, err := r.kept(v)
	if errors.Is(err, errOther) {
		return false
	}
	if err == nil {
		err = exec.CommandContext(t.Context(), path).Run()
	}
	if err != nil {
		t.Errorf("another program ran, or none: %v", err)
	}
	return true
}

// A copy can be run as soon as it is there, whatever is forked meanwhile: a child that has not come to its own program yet
// holds all our files open, and the kernel runs none that is open for writing.
func TestCopiesRunAtOnce(t *testing.T) {
	r, end := newRace(t), make(chan struct{})
	var forking sync.WaitGroup
	defer forking.Wait()
	defer close(end)
	for range 4 {
		forking.Go(func() {
			for open(end) {
				_ = exec.Command(r.path).Run()
			}
		})
	}
	for range 60 {
		if !r.round(t, filepath.Join(t.TempDir(), "bin")) {
			t.Fatal("the program is refused")
		}
	}
}
