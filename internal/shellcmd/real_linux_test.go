package shellcmd

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/testutil"
)

// Commands judged as reading are tried with the real programs: in a folder of traps nothing may change, and no other
// program may run.

// untried are left out: if their judgement were wrong, they would change this machine and not the folder, or wait.
// Git has a test in the shell plugin, which turns off what a repository's settings name. Others have their effects on
// other machines and on services, wait for them, or keep caches in the home folder, which is the folder here.
var untried = strings.Fields("date hostname sleep git docker podman kubectl helm terraform tofu gh aws systemctl " +
	"journalctl timedatectl hostnamectl localectl apt apt-cache dpkg brew conda pyenv gem npm mpstat iostat vmstat top " +
	"dmesg")

// traps are words that make some program write or run.
var traps = strings.Fields("-o -O -i -w -e -f -r -R -s -S -x -X -p -d -D -m -T -k -u -ok ./-x -- - + -o=out " +
	"--output=out --outp=out -oout " +
	"--in-place --compress-program=./mark --compress-prog=./mark -exec -execdir -ok ; {} -delete -fprint -fprintf -fls " +
	"-fprint0 out -files0-from " +
	"--pre=./mark --pre --hostname-bin=./mark -z --search-zip ./mark mark 1e./mark w&out s/a/b/wout s/a/b/e 1p $p " +
	"--expression=wout -nfout " +
	"-Io -Lo -Po -ion -len=5 -ps -plain --files0-from=list --fromfile --from-file=list @list -C --set=1 --debug " +
	"--filter=./mark -rf -uo -no -zo " +
	"--random-source=a.txt -month-sort -silent -noreport -l -E --exec=./mark --exec -H -J --help --version -1 -2 +1 " +
	"--color=always -c -n")

var operandWords = strings.Fields("a.txt b.txt dir dir/c.txt . ./a.txt x=y 1 2 3,4 a b . * ./* dir/* a* *.txt -1 , : " +
	".a .[] '' %s s/a/b/ 1,2p /a/d")

const markScript = "#!/bin/sh\necho \"$0 $*\" >> \"$TRAP_MARKS\"\ncat\n"

// trapped are programs that reading programs are known to run when they are asked to.
var trapped = strings.Fields("gpg ssh less more pr vi ed gzip xz bzip2 zcat mark lesspipe pager dircolors perl awk c " +
	"a b out x dir cat.old")

// newTraps makes the folder, and one with the only programs that can be found: the real ones, and traps.
func newTraps(t testing.TB, programs []string) (root, bin, marks string) {
	t.Helper()
	base := t.TempDir()
	root, bin, marks = filepath.Join(base, "work"), filepath.Join(base, "bin"), filepath.Join(base, "marks")
	write := func(name, text string, mode fs.FileMode) {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a.txt", "b.txt", "dir/c.txt", "list", "-x", "-o", "-rf", "-delete", "--output=out",
		"--pre=mark", "-fprint", "--exec=mark"} {
		write(filepath.Join(root, name), "a b 1\nb a 2\n./a.txt\n", 0o644)
	}
	write(filepath.Join(root, "mark"), markScript, 0o755)
	for _, name := range trapped {
		write(filepath.Join(bin, name), markScript, 0o755)
	}
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			if path, err = filepath.EvalSymlinks(path); err == nil {
				_ = os.Remove(filepath.Join(bin, name))
				// several programs are one file
				write(filepath.Join(bin, name), "#!/bin/bash\nexec -a "+name+" "+path+" \"$@\"\n", 0o755)
			}
		}
	}
	return root, bin, marks
}

// fingerprint returns for every file in a folder its content, mode and time.
func fingerprint(t testing.TB, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := []byte{}
		if info.Mode().IsRegular() {
			if text, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		out[path] = fmt.Sprintf("%v %v %x", info.Mode(), info.ModTime(), sha256.Sum256(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// drawCommand makes a command of a program from the options in its table, abbreviated, bundled and with values in all
// places, and from traps.
func drawCommand(r *rand.Rand, key string, s *spec) string {
	options := slices.Sorted(maps.Keys(s.options))
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	words := strings.Fields(key)
	for range r.IntN(5) + 1 {
		switch n := r.IntN(10); {
		case n < 4 && len(options) > 0:
			name := pick(options)
			text := "--" + name
			if len(name) == 1 || s.oneDash {
				text = "-" + strings.TrimPrefix(name, "-")
			}
			switch r.IntN(6) {
			case 0:
				text += "=" + pick(operandWords)
			case 1:
				text += pick(operandWords)
			case 2:
				text += pick(options) // bundled
			case 3:
				text = text[:r.IntN(len(text))+1] // cut short
			}
			words = append(words, text)
			if k := s.options[name]; k != flag && r.IntN(3) > 0 {
				words = append(words, pick(operandWords))
			}
		case n < 7:
			words = append(words, pick(operandWords))
		default:
			words = append(words, pick(traps))
		}
	}
	for i, x := range words {
		if i > 0 && strings.Trim(x, "*./abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_=-") != "" &&
			x != "''" {
			words[i] = quote(x)
		}
	}
	return strings.Join(words, " ")
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// readingKeys are the programs, with sub-commands, that the tables know to read and that this machine has.
func readingKeys(t testing.TB) (keys, programs []string) {
	t.Helper()
	var missing []string
	for _, key := range slices.Sorted(maps.Keys(readingSpecs())) {
		program, _, _ := strings.Cut(key, " ")
		switch {
		case !readingSpecs()[key].read || slices.Contains(untried, program):
		case joints.Has(program) || constructs.Has(program) || program == "type" ||
			program == "echo" || program == "printf":
			keys = append(keys, key)
		default:
			if _, err := exec.LookPath(program); err != nil {
				missing = append(missing, program)
				continue
			}
			keys, programs = append(keys, key), append(programs, program)
		}
	}
	t.Logf("not installed here, and so not tried: %s; left to other tests: %s", strings.Join(missing, ", "),
		strings.Join(untried, ", "))
	return keys, programs
}

// readingSpecs are the specs of programs, and of those uses of other programs that read.
var readingSpecs = sync.OnceValue(func() map[string]*spec {
	m := maps.Clone(specs())
	maps.Copy(m, useSpecs())
	return m
})

// trapEnviron is the environment of commands among traps. A registry that pip asks for newer packages is not there, so
// that it does not wait for one.
func trapEnviron(root, bin, marks string) []string {
	return []string{"PATH=" + bin, "TRAP_MARKS=" + marks, "LC_ALL=C", "HOME=" + root, "TMPDIR=" + filepath.Dir(root),
		"PIP_INDEX_URL=http://127.0.0.1:9", "PIP_RETRIES=0", "PIP_DISABLE_PIP_VERSION_CHECK=1"}
}

// tryReading runs commands of each program until some of them were judged as reading, and checks their effects.
func tryReading(t *testing.T, seed uint64, forEach int) (ran int) {
	keys, programs := readingKeys(t)
	root, bin, marks := newTraps(t, programs)
	before := fingerprint(t, root)
	r := rand.New(rand.NewPCG(seed, 1))
	at := Context{Dir: root, Root: root}
	for _, key := range keys {
		if key == "wait" || key == "exit" || key == "return" {
			continue
		}
		allowed, enough := 0, forEach
		if strings.HasPrefix(key, "pip") { // it takes a second to start, and has two names
			enough = 1
		}
		for tries := 0; allowed < enough && tries < 60*enough; tries++ {
			text := drawCommand(r, key, readingSpecs()[key])
			if (Rules{ReadOnly: true}).Judge(text, at).Effect != allow {
				continue
			}
			allowed++
			ran++
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			c := exec.CommandContext(ctx, "/bin/bash", "--noprofile", "--norc", "-c", text)
			c.Dir, c.Env = root, trapEnviron(root, bin, marks)
			c.WaitDelay = time.Second    // a process that it started may live on, such as one that waits for a server
			out, _ := c.CombinedOutput() // many of them are invalid; that does not matter
			cancel()
			if text2, err := os.ReadFile(marks); err == nil {
				t.Errorf("seed %d: %s\nis judged as reading, and ran %s\n%s", seed, text, text2, out)
				_ = os.Remove(marks)
			}
			if after := fingerprint(t, root); !maps.Equal(before, after) {
				maps.DeleteFunc(after, func(path, now string) bool { return before[path] == now })
				t.Fatalf("seed %d: %s\nis judged as reading, and changed %v\n%s", seed, text, slices.Sorted(maps.Keys(after)), out)
			}
		}
	}
	return ran
}

func TestReadingProgramsOnlyRead(t *testing.T) {
	testutil.Long(t)
	t.Parallel()
	if ran := tryReading(t, 1, 4); ran < 100 {
		t.Errorf("only %d commands were run", ran)
	}
}

// FuzzReadingPrograms tries more of them than there is time for in each test run.
func FuzzReadingPrograms(f *testing.F) {
	testutil.Long(f)
	f.Add(uint64(2))
	f.Fuzz(func(t *testing.T, seed uint64) {
		tryReading(t, seed, 1)
	})
}

// Names of files are given to programs that only read; a folder of third parties may hold any names.
func TestProgramsThatAreGivenNamesOnlyRead(t *testing.T) {
	testutil.Long(t)
	t.Parallel()
	keys, programs := readingKeys(t)
	root, bin, marks := newTraps(t, append(programs, "find", "xargs", "ls"))
	for _, name := range []string{"x -o out", "x -i y", "x --output=out", "-i", "-exec mark", "x;mark", "$(mark)",
		"x\n-o\nout", "x /etc/passwd", "--files0-from=list"} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte("a b\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	slow := strings.Fields("tail man apropos whatis whereis lsof") // tail -f waits, as it may
	before, ran := fingerprint(t, root), 0
	for _, key := range keys {
		for _, form := range []string{"ls | xargs CMD", "find . -type f | xargs CMD a", "find . -type f -exec CMD {} +",
			"find . -name 'x*' -exec CMD a {} ';'"} {
			text := strings.ReplaceAll(form, "CMD", key)
			if slices.Contains(slow, key) ||
				(Rules{ReadOnly: true}).Judge(text, Context{Dir: root, Root: root}).Effect != allow {
				continue
			}
			ran++
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			c := exec.CommandContext(ctx, "/bin/bash", "--noprofile", "--norc", "-c", text)
			c.Dir, c.Env = root, trapEnviron(root, bin, marks)
			c.WaitDelay = time.Second // a process that it started may live on, such as one that waits for a server
			out, _ := c.CombinedOutput()
			cancel()
			if did, err := os.ReadFile(marks); err == nil {
				t.Fatalf("%s ran %s\n%s", text, did, out)
			}
			if after := fingerprint(t, root); !maps.Equal(before, after) {
				maps.DeleteFunc(after, func(path, now string) bool { return before[path] == now })
				t.Fatalf("%s changed %v\n%s", text, slices.Sorted(maps.Keys(after)), out)
			}
		}
	}
	if ran < 100 {
		t.Errorf("only %d commands were run", ran)
	}
}
