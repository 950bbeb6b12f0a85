package supervise

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"
	"syscall"
)

// diagnose says what about a file keeps it from being run, in words and with what to do about it; "" when it looks as if it
// could be. It never waits, and reads no more than the headers.
func diagnose(path string) string {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		if target, failed := os.Readlink(path); failed == nil && os.IsNotExist(err) {
			return fmt.Sprintf("it is a link to %s, which is not there", target)
		}
		return ""
	case info.IsDir():
		return "it is a folder, not a program"
	case !info.Mode().IsRegular():
		return "it is no regular file"
	case info.Size() == 0:
		return "it is an empty file"
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
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
	if info.Mode().Perm()&0o111 == 0 {
		return "permission denied: it is not executable; run: chmod +x " + path
	}
	return ""
}

// format says what is wrong with the format of a program.
func format(f *os.File, head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		return elfProblem(f)
	case bytes.HasPrefix(head, []byte("MZ")):
		return peProblem(f)
	case bytes.HasPrefix(head, []byte("!<arch>\n")):
		return "it is an archive of compiled code, not a program; is its package called main?"
	case isMachO(head):
		return machOProblem(f)
	case bytes.HasPrefix(head, []byte("#!")):
		return scriptProblem(head)
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf#!")):
		return "a byte order mark stands before its #! line; save it as UTF-8 without one"
	case bytes.HasPrefix(bytes.TrimSpace(head), []byte("#!")):
		return "its #! line is not its first line, or has blanks before it"
	case bytes.IndexByte(head, 0) < 0:
		return `it is a text with no #! line; begin it with one, such as "#!/usr/bin/env python3", or name the interpreter in command`
	}
	return "it is no program for " + here()
}

// scriptProblem says what is wrong with the #! line of a script.
func scriptProblem(head []byte) string {
	line, _, whole := bytes.Cut(head, []byte("\n"))
	text := strings.TrimSpace(string(line[2:]))
	words := strings.Fields(text)
	switch {
	case len(words) == 0:
		return "its #! line names no interpreter"
	case !whole && len(line) > 255:
		return "its #! line is too long for the kernel"
	}
	if strings.HasSuffix(string(line), "\r") { // which belongs to the last word, as the kernel reads it
		return fmt.Sprintf("its lines end with CR LF, as on Windows, so that its #! line names %q; save it with LF alone", words[len(words)-1]+"\r")
	}
	_, err := os.Stat(words[0])
	switch {
	case os.IsNotExist(err):
		return fmt.Sprintf("the interpreter of its #! line, %s, is not there; install it, or name another one", words[0])
	case err != nil:
		return fmt.Sprintf("the interpreter of its #! line, %s, cannot be run: %v", words[0], reason(err))
	}
	if info, err := os.Stat(words[0]); err == nil && (info.IsDir() || info.Mode().Perm()&0o111 == 0) {
		return fmt.Sprintf("the interpreter of its #! line, %s, is not executable", words[0])
	}
	return ""
}

func here() string { return runtime.GOOS + "/" + runtime.GOARCH }

// otherMachine says that a program is for another kind of machine, "" when it is for this one.
func otherMachine(system, arch string) string {
	if system == runtime.GOOS && arch == runtime.GOARCH {
		return ""
	}
	return fmt.Sprintf("it was built for %s/%s, this machine is %s; build it with GOOS=%s GOARCH=%s", system, arch, here(), runtime.GOOS, runtime.GOARCH)
}

var elfArchs = map[elf.Machine]string{
	elf.EM_X86_64: "amd64", elf.EM_386: "386", elf.EM_AARCH64: "arm64", elf.EM_ARM: "arm", elf.EM_RISCV: "riscv64", elf.EM_LOONGARCH: "loong64",
	elf.EM_S390: "s390x", elf.EM_PPC64: "ppc64", elf.EM_MIPS: "mips",
}

func elfProblem(r io.ReaderAt) string {
	f, err := elf.NewFile(r)
	if err != nil {
		return "it is damaged, or was not copied whole: " + strings.TrimPrefix(err.Error(), "bad ")
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
		return "it is no program but " + f.Type.String()
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP || p.Filesz > 4096 {
			continue
		}
		name, err := io.ReadAll(io.LimitReader(p.Open(), 4096))
		loader := strings.TrimRight(string(name), "\x00")
		if _, missing := os.Stat(loader); err == nil && os.IsNotExist(missing) {
			return fmt.Sprintf("its dynamic loader, %s, is not there: it was built for another C library or system; build it with CGO_ENABLED=0", loader)
		}
	}
	return ""
}

func isMachO(head []byte) bool {
	for _, magic := range []string{"\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return false
}

var machOArchs = map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64", macho.Cpu386: "386", macho.CpuArm: "arm"}

func machOProblem(r io.ReaderAt) string {
	f, err := macho.NewFile(r)
	switch {
	case err == nil:
		return otherMachine("darwin", archOr(machOArchs[f.Cpu], f.Cpu.String()))
	case runtime.GOOS == "darwin": // one for several machines
		return ""
	}
	return "it was built for darwin, this machine is " + here()
}

func peProblem(r io.ReaderAt) string {
	f, err := pe.NewFile(r)
	if err != nil {
		return "it was built for windows, this machine is " + here()
	}
	archs := map[uint16]string{pe.IMAGE_FILE_MACHINE_AMD64: "amd64", pe.IMAGE_FILE_MACHINE_I386: "386", pe.IMAGE_FILE_MACHINE_ARM64: "arm64"}
	return otherMachine("windows", archOr(archs[f.Machine], fmt.Sprintf("%#x", f.Machine)))
}

func archOr(arch, raw string) string {
	if arch != "" {
		return arch
	}
	return raw
}

var notPermitted = regexp.MustCompile(`(?i)permission denied|operation not permitted|\bEACCES\b|\bEPERM\b|PermissionError|read-only file system|\bEROFS\b|resource busy|\bEBUSY\b|cross-device link|\bEXDEV\b`)

// withHint adds to what is said of a plugin's end what its sandbox may have had to do with it.
func (g *generation) withHint(err error) error {
	if err == nil || g.hint == "" || !notPermitted.MatchString(err.Error()+strings.Join(g.lastLines(), "\n")) {
		return err
	}
	return fmt.Errorf("%w (%s)", err, g.hint)
}

// advice is for a tool that failed with the message: what its sandbox may have had to do with it, or "".
func (g *generation) advice(message string) string {
	if g.hint == "" || !notPermitted.MatchString(message) {
		return ""
	}
	return fmt.Sprintf("The sandbox of the plugin may have refused it: %s.", g.hint)
}

func (g *generation) lastLines() []string {
	if g.child == nil {
		return nil
	}
	return g.child.tail.last(tailLines)
}
