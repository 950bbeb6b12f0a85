package shellcmd

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/testutil"
)

// Whatever builtin of the real bash, with whatever option: what is allowed sets none of the variables that mean
// something, and runs nothing that is in its words.
func TestAllowedBuiltinsSetAndRunNothing(t *testing.T) {
	testutil.Long(t)
	t.Parallel()
	root, bin, marks := newTraps(t, nil)
	list, err := exec.Command("/bin/bash", "--noprofile", "--norc", "-c", "compgen -b; echo '[['").Output()
	if err != nil {
		t.Fatal(err)
	}
	builtins := strings.Fields(string(list))
	if !slices.Contains(builtins, "wait") || len(builtins) < 50 {
		t.Fatalf("bash has the builtins %q", builtins)
	}
	var allowed []string
	add := func(text string) {
		for _, rules := range []Rules{{ReadOnly: true}, {Otherwise: allow}} {
			rules.Deny = [][]string{{"mark"}}
			if rules.Judge(text, Context{Dir: root, Root: root}).Effect == allow {
				allowed = append(allowed, text)
				return
			}
		}
	}
	for _, b := range builtins {
		if slices.Contains(strings.Fields("suspend kill fg bg ulimit umask"), b) {
			continue // they act on this test
		}
		end := strings.Repeat(" ]", min(1, strings.Count(b, "["))) + strings.Repeat("]", max(0, strings.Count(b, "[")-1))
		for _, x := range []string{"PATH", "IFS", "GIT_CONFIG_COUNT", `'a[$(mark)]'`, `'PATH[$(mark)]'`} {
			for _, form := range []string{"X", "1 X", "X 1", "X=1", "X X", "-- X", "%n X", "1 -eq X"} {
				add(b + " " + strings.ReplaceAll(form, "X", x) + end)
			}
			for letter := 'A'; letter <= 'z' && (x == "PATH" || x[1] == 'a'); letter++ {
				for _, form := range []string{"-L X", "-LX", "-n -L X 1"} {
					if letter <= 'Z' || letter >= 'a' {
						add(b + " " + strings.NewReplacer("L", string(letter), "X", x).Replace(form) + end)
					}
				}
			}
		}
	}
	for _, set := range settings {
		for _, x := range []string{"PATH", "IFS", "GIT_CONFIG_COUNT", `'a[$(mark)]'`, `a[$(mark)]`} {
			add(strings.ReplaceAll(set, "NAME", x))
		}
	}
	if len(allowed) < 100 {
		t.Errorf("only %d commands are allowed, and so tried", len(allowed))
	}
	var did []string
	for from := 0; from < len(allowed); from += 50 {
		did = append(did, runEach(t, root, bin, marks, allowed[from:min(from+50, len(allowed))])...)
	}
	for _, d := range did {
		t.Error(d)
	}
}

// runEach runs each text in a subshell of one bash, and returns those that set a variable or ran the trap.
func runEach(t *testing.T, root, bin, marks string, texts []string) (did []string) {
	t.Helper()
	var script strings.Builder
	script.WriteString("check() { [ \"$PATH,$IFS,$GIT_CONFIG_COUNT\" = \"$TRAP_PATH, \t\n,7\" ] ||\n" +
		"builtin echo \"$tried sets a variable\" >&3\n" +
		"[ ! -s \"$TRAP_MARKS\" ] || builtin echo \"$tried ran a trap\" >&3; : > \"$TRAP_MARKS\"; }\n")
	for _, text := range texts {
		fmt.Fprintf(&script,
			"( tried=%s; trap check EXIT; while :; do %s\nbreak; done ) 3>&1 >/dev/null 2>&1 </dev/null\n", quote(text),
			text)
	}
	c := exec.CommandContext(t.Context(), "/bin/bash", "--noprofile", "--norc", "-c", script.String())
	c.Dir = root
	c.Env = []string{"PATH=" + bin, "TRAP_PATH=" + bin, "TRAP_MARKS=" + marks, "GIT_CONFIG_COUNT=7", "HOME=" + root}
	out, _ := c.Output() // many of them are invalid; that does not matter
	_ = os.Remove(marks)
	for line := range strings.SplitSeq(strings.TrimSpace(string(out)), "\n") {
		if line != "" {
			did = append(did, line)
		}
	}
	return did
}
