package supervise

import (
	"bytes"
	"cmp"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/fsutil"
)

// Diagnose says why a file cannot be run on this machine, such as a program for another one, and how to fix it; "" when
// it finds nothing. It never blocks, and reads only the headers.
func Diagnose(path string) string {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		if target, failed := os.Readlink(path); failed == nil && os.IsNotExist(err) {
			return fmt.Sprintf("it is a link to %s, which does not exist", target)
		}
		return ""
	case info.IsDir():
		return "it is a folder, not a program"
	case !info.Mode().IsRegular():
		return "it is not a regular file"
	case info.Size() == 0:
		return "it is an empty file"
	}
	f, err := fsutil.OpenForReading(path)
	if err != nil {
		return notExecutable(path, info)
	}
	defer f.Close()
	head, _ := io.ReadAll(io.LimitReader(f, 512))
	if why := format(f, head); why != "" {
		return why
	}
	return notExecutable(path, info)
}

func notExecutable(path string, info os.FileInfo) string {
	switch {
	case fsutil.MayRun(info):
		return ""
	case runtime.GOOS == "windows":
		return "its name does not end in .exe; a script needs its interpreter in command"
	}
	return "permission denied: it is not executable. Fix: chmod +x " + path
}

func format(f *os.File, head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		return elfProblem(f)
	case bytes.HasPrefix(head, []byte("MZ")):
		return peProblem(f)
	case bytes.HasPrefix(head, []byte("!<arch>\n")):
		return "it is an archive of compiled code, not a program; is its package main?"
	case isMachO(head):
		return machOProblem(f)
	case bytes.HasPrefix(head, []byte("#!")):
		return scriptProblem(head)
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf#!")):
		return "a byte order mark stands before its #! line; save it as UTF-8 without one"
	case bytes.HasPrefix(bytes.TrimSpace(head), []byte("#!")):
		return "its #! line is not its first line, or has blanks before it"
	case bytes.IndexByte(head, 0) < 0:
		return `it is a text with no #! line; begin it with one, such as "#!/usr/bin/env python3", or name the interpreter ` +
			`in command`
	}
	return "it is not a program for " + thisMachine()
}

func scriptProblem(head []byte) string {
	line, _, whole := bytes.Cut(head, []byte("\n"))
	text := strings.TrimSpace(string(line[2:]))
	words := strings.Fields(text)
	switch {
	case len(words) == 0:
		return "its #! line names no interpreter"
	case !whole && len(line) > 255:
		return "its #! line is longer than 255 bytes, the limit of the kernel"
	}
	if strings.HasSuffix(string(line), "\r") { // the kernel makes it part of the last word
		return fmt.Sprintf("its lines end with CR LF, as on Windows, so that its #! line names %q; save it with LF alone",
			words[len(words)-1]+"\r")
	}
	_, err := os.Stat(words[0])
	switch {
	case os.IsNotExist(err):
		return fmt.Sprintf("the interpreter of its #! line, %s, does not exist; install it, or name another one", words[0])
	case err != nil:
		return fmt.Sprintf("the interpreter of its #! line, %s, cannot be run: %v", words[0], withoutPath(err))
	}
	if info, err := os.Stat(words[0]); err == nil && (info.IsDir() || !fsutil.MayRun(info)) {
		return fmt.Sprintf("the interpreter of its #! line, %s, is not executable", words[0])
	}
	return ""
}

func thisMachine() string { return runtime.GOOS + "/" + runtime.GOARCH }

// otherMachine is the message for a program of another system or architecture, "" for this machine's.
func otherMachine(system, arch string) string {
	if system == runtime.GOOS && arch == runtime.GOARCH {
		return ""
	}
	return otherSystem(system + "/" + arch)
}

func otherSystem(builtFor string) string {
	return fmt.Sprintf("it was built for %s, this machine is %s; build it with GOOS=%s GOARCH=%s", builtFor, thisMachine(),
		runtime.GOOS, runtime.GOARCH)
}

var elfArchs = map[elf.Machine]string{
	elf.EM_X86_64: "amd64", elf.EM_386: "386", elf.EM_AARCH64: "arm64", elf.EM_ARM: "arm", elf.EM_RISCV: "riscv64",
	elf.EM_LOONGARCH: "loong64", elf.EM_S390: "s390x", elf.EM_PPC64: "ppc64", elf.EM_MIPS: "mips",
}

func elfProblem(r io.ReaderAt) string {
	f, err := elf.NewFile(r)
	if err != nil {
		return "it is damaged, or its copy is incomplete: " + strings.TrimPrefix(err.Error(), "bad ")
	}
	arch := elfArchs[f.Machine]
	switch {
	case arch == "":
		arch = f.Machine.String()
	case arch == "ppc64" && f.ByteOrder.String() == "LittleEndian":
		arch = "ppc64le"
	case arch == "mips" && f.Class == elf.ELFCLASS64:
		arch = "mips64"
	}
	system := "linux"
	switch f.OSABI {
	case elf.ELFOSABI_FREEBSD:
		system = "freebsd"
	case elf.ELFOSABI_NETBSD:
		system = "netbsd"
	case elf.ELFOSABI_OPENBSD:
		system = "openbsd"
	}
	if why := otherMachine(system, arch); why != "" {
		return why
	}
	switch f.Type {
	case elf.ET_EXEC, elf.ET_DYN:
	case elf.ET_REL:
		return "it is an object file, not a program; link it"
	default:
		return "it is not a program but " + f.Type.String()
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP || p.Filesz > 4096 {
			continue
		}
		name, err := io.ReadAll(io.LimitReader(p.Open(), 4096))
		loader := strings.TrimRight(string(name), "\x00")
		if _, missing := os.Stat(loader); err == nil && os.IsNotExist(missing) {
			return fmt.Sprintf("its dynamic loader, %s, does not exist: it was built for another C library or system; "+
				"build it with CGO_ENABLED=0", loader)
		}
	}
	return ""
}

func isMachO(head []byte) bool {
	magics := []string{"\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe"}
	return len(head) >= 4 && slices.Contains(magics, string(head[:4]))
}

var machOArchs = map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64", macho.Cpu386: "386",
	macho.CpuArm: "arm"}

func machOProblem(r io.ReaderAt) string {
	f, err := macho.NewFile(r)
	switch {
	case err == nil:
		return otherMachine("darwin", cmp.Or(machOArchs[f.Cpu], f.Cpu.String()))
	case runtime.GOOS == "darwin": // a universal binary
		return ""
	}
	return otherSystem("darwin")
}

func peProblem(r io.ReaderAt) string {
	f, err := pe.NewFile(r)
	if err != nil {
		return otherSystem("windows")
	}
	archs := map[uint16]string{
		pe.IMAGE_FILE_MACHINE_AMD64: "amd64", pe.IMAGE_FILE_MACHINE_I386: "386", pe.IMAGE_FILE_MACHINE_ARM64: "arm64",
	}
	return otherMachine("windows", cmp.Or(archs[f.Machine], fmt.Sprintf("%#x", f.Machine)))
}
