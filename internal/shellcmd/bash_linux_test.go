package shellcmd_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/shellcmd"
)

// A stub of a program records how it was called, and does nothing.
const stub = `#!/bin/bash
call=${0##*/}
for word; do call+=$'\001'$word; done
printf '%s\002' "$call" >> "${0%/*}/../calls"
`

var plainName = regexp.MustCompile(`^[a-z][a-z0-9._-]*$`)

// stubs makes a folder with a stub of each program that the commands name; shells are real, so that their commands
// run.
func stubs(t *testing.T, samples []sample) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bin")
	names := map[string]bool{"rm": true, "touch": true, "make": true}
	for _, s := range samples {
		if script, err := shellcmd.Parse(s.text); err == nil {
			for _, c := range script.Commands {
				names[c.Name] = plainName.MatchString(c.Name)
			}
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, ok := range names {
		var err error
		switch {
		case !ok:
		case name == "bash" || name == "sh":
			err = os.Symlink("/bin/"+name, filepath.Join(dir, name))
		default:
			err = os.WriteFile(filepath.Join(dir, name), []byte(stub), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A command that is allowed as reading starts, in the real bash, no program that was not listed with the same words.
func TestBashRunsWhatWasListed(t *testing.T) {
	samples := corpus(t)
	bin, root := stubs(t, samples), t.TempDir()
	calls, seen := filepath.Join(filepath.Dir(bin), "calls"), 0
	for _, s := range samples {
		text := strings.ReplaceAll(s.text, workspace, root)
		if (shellcmd.Rules{ReadOnly: true}).Judge(text, shellcmd.Context{Dir: root, Root: root}).Effect != "allow" {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		c := exec.CommandContext(ctx, "/bin/bash", "--noprofile", "--norc", "-c", text)
		c.Dir, c.Env = root, []string{"PATH=" + bin}
		out, err := c.CombinedOutput() // a command may fail because stubs do nothing; that does not matter
		cancel()
		if strings.Contains(string(out), "syntax error") {
			t.Errorf("%q: %v: %s", text, err, out)
		}
		script, _ := shellcmd.Parse(text)
		for _, call := range takeCalls(t, calls) {
			seen++
			if !isListed(script, strings.Split(call, "\x01")) {
				t.Errorf("%q runs %q, which is not listed", text, call)
			}
		}
		if files, _ := os.ReadDir(root); len(files) > 0 {
			t.Fatalf("%q has written %v", text, files)
		}
	}
	if seen < 150 {
		t.Errorf("bash has started %d programs only", seen)
	}
}

func takeCalls(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x02"), "\x02")
}

func isListed(s *shellcmd.Script, call []string) bool {
	for _, c := range s.Commands {
		same := c.Name == call[0] && len(c.Args) == len(call)-1
		for i := 0; same && i < len(c.Args); i++ {
			same = !c.Args[i].Static || c.Args[i].Text == call[i+1]
		}
		if same {
			return true
		}
	}
	return false
}

// Quotes, expansions and substitutions around each other: where bash ends one elsewhere than the parser, a command in
// it would run that was not listed.
func TestBashEndsWhatTheParserEnds(t *testing.T) {
	t.Parallel()
	around := []string{`echo "%s"`, `echo %s`, "echo `echo %s`", `echo $(echo %s)`, "cat <<E\n%s\nE", `[[ a == %s ]]`, `x=%s`,
		`echo "$(echo "%s")"`}
	expansions := []string{`%s`, `${x:-%s}`, `${x#%s}`, `${x+%s}`, `${x:-"%s"}`, "`echo %s`", `$(echo %s)`, `$$(%s)`,
		`$$%s`, `$((%s))`, `$'%s'`}
	quotes := []string{`%s`, `'%s'`, `"%s"`, `\%s`, `'"%s"'`, `"'%s'"`, `'%s`, `"%s`, `# %s`}
	hidden := []string{`$(rm x)`, "`rm x`", "a ` ; rm x; echo ` b", `"; rm x; echo "`, `'; rm x; echo '`, `}"; rm x; echo "`,
		`)"; rm x; echo "'`, `}'; rm x; echo '`, `"$(rm x)"`, `'$(rm x)'`, `)); rm x; ((`, "\nrm x\n", `) rm x (`}
	bin, root := stubs(t, nil), t.TempDir()
	calls, allowed := filepath.Join(filepath.Dir(bin), "calls"), 0
	fill := func(in, what string) string { return strings.ReplaceAll(in, "%s", what) }
	for _, a := range around {
		for _, e := range expansions {
			for _, q := range quotes {
				for i, h := range hidden {
					if testing.Short() && i%3 != 0 {
						continue
					}
					text := fill(a, fill(e, fill(q, h)))
					if (shellcmd.Rules{ReadOnly: true}).Judge(text, shellcmd.Context{Dir: root, Root: root}).Effect != "allow" {
						continue
					}
					allowed++
					c := exec.CommandContext(t.Context(), "/bin/bash", "--noprofile", "--norc", "-c", text)
					c.Dir, c.Env = root, []string{"PATH=" + bin}
					_ = c.Run() // it may be a mistake to bash; that does not matter
					for _, call := range takeCalls(t, calls) {
						if strings.HasPrefix(call, "rm\x01") {
							t.Errorf("%q runs %q", text, call)
						}
					}
				}
			}
		}
	}
	if allowed < 100 {
		t.Errorf("only %d texts are allowed", allowed)
	}
}
