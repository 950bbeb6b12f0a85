package shellcmd

import (
	"strings"
	"testing"
)

// settings assign, unset or evaluate the variable NAME.
var settings = []string{"read NAME", "read -r NAME", "read -r x NAME", "IFS=. read -r x NAME", "read -a NAME",
	"mapfile NAME", "mapfile -t NAME", "readarray NAME",
	"printf -v NAME x", "printf -vNAME x", "printf x%n NAME", "printf -- x%ln NAME",
	"wait -p NAME", "wait -pNAME", "wait -n -p NAME", "wait -np NAME", "wait -f -p NAME %1", "wait -fnpNAME",
	"wait -p NAME 1",
	"unset NAME", "unset -v NAME", "unset -n NAME", "declare NAME=x", "declare -i NAME=x", "declare -n y=NAME",
	"typeset NAME=x", "local NAME=x", "export NAME=x", "readonly NAME=x", "let NAME=1", "let NAME", "getopts a NAME",
	"getopts a NAME -a", "select NAME in a; do :; done", "for NAME in a; do :; done", "for ((NAME=1;0;)); do :; done",
	"coproc NAME { :; }", "exec {NAME}>/dev/null", ": {NAME}>/dev/null", "{ :; } {NAME}>/dev/null",
	"test -v NAME", "[ -v NAME ]", "[ ! -v NAME ]", "[ -R NAME ]", "[[ -v NAME ]]", "[[ -R NAME ]]", "[[ NAME -eq 1 ]]",
	"[[ 1 -lt NAME ]]", "((NAME))", "((NAME=1))", "echo $((NAME))", "echo $[NAME]", "NAME=x", "NAME+=x", "NAME=(x)",
	": ${NAME:=x}", ": ${NAME=x}", ": ${x[NAME]}", ": ${x:NAME}", ": ${!NAME}", ": ${NAME@P}"}

// around are the places in which a setting may stand.
var around = []string{"SET; ls", "command SET; ls", "builtin SET; ls", "(SET; ls)", "{ SET; ls; }", "true && SET && ls",
	"if SET; then ls; fi", "while SET; do ls; done", "echo $(SET; ls)", "bash -c 'SET; ls'"}

// allowing are rules that allow much.
var allowing = map[string]Rules{
	"reading": {ReadOnly: true, Deny: [][]string{{"rm"}}},
	"open":    {Otherwise: allow, Deny: [][]string{{"rm"}}},
	"listed": {Allow: [][]string{{"ls"}, {"wait"}, {"printf"}, {"test"}, {"["}, {"read"}, {"export"}},
		Deny: [][]string{{"rm"}}},
}

var workspaceHere = Context{Dir: "/ws", Root: "/ws"}

// A builtin that assigns, unsets or evaluates a variable which means something to the shell or to programs is at least
// asked about, wherever it stands.
func TestVariablesThatMeanSomethingAreNotSet(t *testing.T) {
	names := strings.Fields("PATH GIT_CONFIG_COUNT GIT_DIR IFS LD_PRELOAD BASH_ENV ENV PAGER http_proxy a[0]")
	for _, name := range names {
		for _, set := range settings {
			for _, place := range around {
				if i := strings.Index(set, "="); strings.HasPrefix(place, "command ") || strings.HasPrefix(place, "builtin ") {
					if i > 0 && !strings.Contains(set[:i], " ") {
						continue // there it is the name of a program
					}
				}
				text := strings.ReplaceAll(strings.ReplaceAll(place, "SET", set), "NAME", name)
				for by, rules := range allowing {
					if v := rules.Judge(text, workspaceHere); v.Effect == allow {
						t.Errorf("%s (%s): %v", text, by, v.Reasons)
					}
				}
			}
		}
	}
}

// Joints are allowed with the words in their row alone.
func TestJointsAreAllowedWithKnownWordsOnly(t *testing.T) {
	for joint := range joints.All() {
		if specs()[joint] == nil {
			t.Errorf("%s has no row in the tables", joint)
		}
		if raw := specs()[joint]; raw != nil && raw.raw && raw.check == nil {
			continue // it ignores its words
		}
		end := ""
		if joint == "[" {
			end = " ]"
		}
		for letter := 'A'; letter <= 'z'; letter++ {
			if letter > 'Z' && letter < 'a' || specs()[joint].options[string(letter)] == flag ||
				testWords.Has("-"+string(letter)) && testProgram.Has(joint) || joint == "set" {
				continue
			}
			for _, form := range []string{" -L PATH", " -LPATH", " -L", " --L=PATH", " 1 -L PATH"} {
				text := joint + strings.ReplaceAll(form, "L", string(letter)) + end
				for by, rules := range allowing {
					if v := rules.Judge(text, workspaceHere); v.Effect == allow {
						t.Errorf("%s (%s): %v", text, by, v.Reasons)
					}
				}
			}
		}
	}
}

// The substitutions in what a builtin evaluates are judged, as it runs them.
func TestEvaluatedSubstitutionsAreJudged(t *testing.T) {
	for _, text := range []string{`read 'a[$(rm x)]'`, `read "a[\$(rm x)]"`, `read -r x 'a[$(rm x)]'`,
		`mapfile 'a[$(rm x)]'`,
		`readarray 'a[$(rm x)]'`, `printf -v 'a[$(rm x)]' x`, `printf '-va[$(rm x)]' x`, `printf x%n 'a[$(rm x)]'`,
		`wait -p 'a[$(rm x)]' 1`, `wait '-pa[$(rm x)]'`, `wait -n -p 'a[$(rm x)]'`, `wait -np 'a["$(rm x)"]'`,
		"wait -p 'a[`rm x`]'", `command wait -p 'a[$(rm x)]'`, `builtin wait -p 'a[$(rm x)]'`,
		`unset 'a[$(rm x)]'`, `unset -v 'a[$(rm x)]'`, `declare 'a[$(rm x)]=1'`, `typeset 'a[$(rm x)]=1'`,
		`local 'a[$(rm x)]=1'`,
		`export 'a[$(rm x)]=1'`, `readonly 'a[$(rm x)]=1'`, `let 'a[$(rm x)]=1'`, `getopts a 'a[$(rm x)]'`,
		`test -v 'a[$(rm x)]'`, `[ -v 'a[$(rm x)]' ]`, `[ ! -v 'a[$(rm x)]' ]`, `[[ -v 'a[$(rm x)]' ]]`,
		`[[ 'a[$(rm x)]' -eq 1 ]]`, `[[ 1 -lt 'a[$(rm x)]' ]]`, `(('a[$(rm x)]'))`, `((a[$(rm x)]))`, `echo $((a[$(rm x)]))`,
		`echo $((a['$(rm x)']))`, `echo ${a[$(rm x)]}`, `echo ${a['$(rm x)']}`, `echo ${a:$(rm x)}`, `a[$(rm x)]=1`,
		`a['$(rm x)']=1`, `for ((a[$(rm x)];0;)); do :; done`, `for ((a['$(rm x)'];0;)); do :; done`,
		`bash -c 'wait -p "a[\$(rm x)]" 1'`} {
		for by, rules := range allowing {
			if v := rules.Judge(text, workspaceHere); v.Effect != deny {
				t.Errorf("%s (%s) is %s: %v", text, by, v.Effect, v.Reasons)
			}
		}
	}
	for _, text := range []string{`printf '%s\n' 'a[$(rm x)]'`, `echo 'a[$(rm x)]'`, `[ -n 'a[$(rm x)]' ]`,
		`[[ 'a[$(rm x)]' = y ]]`,
		`test 'a[$(rm x)]' -nt b`, `x='a[$(rm x)]'`, `printf -- %s -v`, `wait`, `wait 12`, `wait -n`, `wait -f %1`, `exit -1`,
		`exit $?`, `break 2`, `true -p x`} {
		if v := allowing["reading"].Judge(text, workspaceHere); v.Effect != allow {
			t.Errorf("%s, which evaluates nothing, is %s: %v", text, v.Effect, v.Reasons)
		}
	}
}
