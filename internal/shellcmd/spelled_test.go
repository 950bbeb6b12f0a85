package shellcmd_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/shellcmd"
)

// spelledForms are ways to write a command: PROGRAM and REST are its first word and the others, HEX is the program in
// the escapes of $'...'. With CMD it stands for itself, and QUOTED for it as one word.
var spelledForms = strings.Split(strings.TrimSpace(`
CMD
'PROGRAM' REST
"PROGRAM" REST
''PROGRAM REST
\PROGRAM REST
$'PROGRAM' REST
$'HEX' REST
$"PROGRAM" REST
/usr/bin/PROGRAM REST
./../../usr/bin/PROGRAM REST
x=PROGRAM; $x REST
x=PROGRAM; ${x} REST
x=PROGRAM; "$x" REST
x=PROGRAM; y=$x; $y REST
x=QUOTED; $x
x=QUOTED; eval "$x"
x=QUOTED; eval $x
x=QUOTED; bash -c "$x"
x=QUOTED; sh <<< "$x"
x=QUOTED; echo "$x" | sh
X=PROGRAM; $X REST
export X=PROGRAM; $X REST
declare x=PROGRAM; $x REST
read x <<< PROGRAM; $x REST
printf -v x PROGRAM; $x REST
: ${x:=PROGRAM}; $x REST
eval x=PROGRAM; $x REST
x=(CMD); "${x[@]}"
set -- CMD; "$@"
f() { "$@"; }; f CMD
f() { $1 REST; }; f PROGRAM
f() { CMD; }; f
function f { CMD; }
ls() { CMD; }; ls
alias ls=QUOTED; ls
IFS=,; CMD
$(echo PROGRAM) REST
$(printf %s PROGRAM) REST
$(echo QUOTED)
eval "$(echo QUOTED)"
eval CMD
eval QUOTED
eval eval QUOTED
CMD &
! CMD
time CMD
time -p CMD
(CMD)
( ( CMD ) )
{ CMD; }
true && CMD
false || CMD
true; CMD
true | CMD
CMD | cat
CMD > x
CMD 2>&1
CMD < x
< x CMD
> x CMD
A=1 CMD
if true; then CMD; fi
if CMD; then :; fi
while CMD; do break; done
until CMD; do :; done
for i in a; do CMD; done
for ((i=0; i<1; i++)); do CMD; done
case a in a) CMD ;; esac
select i in a; do CMD; done
[[ -n "$(CMD)" ]]
[ "$(CMD)" ]
echo $(CMD)
echo "$(CMD)"
echo "${x:-$(CMD)}"
echo $((1 + $(CMD)))
cat <(CMD)
cat > >(CMD)
x=$(CMD)
local x=$(CMD)
cat <<< "$(CMD)"
sh <<E\nCMD\nE
sh <<'E'\nCMD\nE
sh <<-E\n\tCMD\nE
cat <<E\n$(CMD)\nE
cat <<E | sh\nCMD\nE
bash <(echo QUOTED)
source <(echo QUOTED)
bash < <(echo QUOTED)
echo QUOTED | tee >(sh)
echo a #\nCMD
echo a \\\n; CMD
coproc CMD
coproc CMD | cat
coproc a=b CMD
coproc a=b c=d CMD >/dev/null
coproc x { CMD; }
trap QUOTED EXIT
trap QUOTED DEBUG
trap -- QUOTED 0
PROMPT_COMMAND=QUOTED
export PROMPT_COMMAND=QUOTED
PS4='$(CMD)' bash -x s
PS1='`+"`CMD`"+`' bash -i
PAGER=QUOTED man ls
GIT_PAGER=QUOTED git log
export GIT_PAGER=QUOTED; git log
declare -x EDITOR=QUOTED; git commit
env GIT_SSH_COMMAND=QUOTED git fetch
GIT_SSH_COMMAND=QUOTED git fetch
GIT_EDITOR=QUOTED git commit
GIT_SEQUENCE_EDITOR=QUOTED git rebase main
GIT_EXTERNAL_DIFF=QUOTED git diff
GIT_ASKPASS=QUOTED git fetch
LESSOPEN='|CMD' less a
BROWSER=QUOTED gh pr view --web
VISUAL=QUOTED crontab x
RUSTC_WRAPPER=QUOTED cargo build
CC=QUOTED make
make CC=QUOTED
make -f - <<E\na:\n\tCMD\nE
printf 'a:\n\tCMD' | make -f -
make -f /dev/stdin <<< $'a:;CMD'
make SHELL=QUOTED
fzf --preview QUOTED
fzf --bind 'enter:execute(CMD)'
julia -e 'run("CMD")'
R -e 'system("CMD")'
elixir -e 'System.cmd("CMD")'
deno eval 'run("CMD")'
bun -e 'run("CMD")'
mongosh --eval 'run("CMD")'
sudo -u x -- CMD
nice -n 5 nohup timeout 5 CMD
env -i A=1 CMD
env -S QUOTED
env -iS QUOTED
env -vS QUOTED
xargs -I {} CMD
xargs -n1 -P4 CMD
xargs --arg-file=x CMD
find . -exec env CMD \;
find . -type f -execdir sh -c QUOTED \;
busybox sh -c QUOTED
busybox env CMD
chroot / /bin/sh -c QUOTED
ssh localhost CMD
ssh localhost -- QUOTED
ssh -t localhost QUOTED
parallel -j1 ::: QUOTED
watch -n1 QUOTED
git -c alias.a='!CMD' a
git -c core.sshCommand=QUOTED fetch
git -c core.editor=QUOTED commit
git -c diff.external=QUOTED diff
git --config-env=core.pager=X log
git submodule foreach --recursive QUOTED
git rebase -i --exec QUOTED main
perl -e 'system(q{CMD})'
perl -MPOSIX -e 'exec "CMD"'
python3 -c 'import os; os.system("CMD")'
python3 <<E\nimport os; os.system("CMD")\nE
node -e 'require("child_process").exec("CMD")'
php -r 'exec("CMD");'
ruby -e 'exec "CMD"'
sqlite3 x '.shell CMD'
vim -es -c '!CMD' -c q
less +'!CMD' x
man -P QUOTED ls
tar cf a b --checkpoint=1 --checkpoint-action=exec=QUOTED
tar xf a --to-command QUOTED
zip a b -T -TT QUOTED
rsync -e QUOTED a b:
ssh -o ProxyCommand=QUOTED h
split --filter=QUOTED x
sort --compress-program=QUOTED x
awk 'BEGIN { system("CMD") }'
awk 'BEGIN { print | "CMD" }'
sed '1e CMD' x
script -qc QUOTED
nsenter -t 1 -m CMD
unshare -r CMD
setsid -w CMD
bash --norc --noprofile -c QUOTED
bash -O extglob -c QUOTED
bash -euo pipefail -c QUOTED
bash -c 'eval "$1"' x QUOTED
bash -c '"$@"' x CMD
sh -c "sh -c QUOTED"
`), "\n")

// spell writes a command in a form.
func spell(form, command string) string {
	if strings.HasPrefix(form, "sed 's/") {
		command = strings.ReplaceAll(command, "/", `\/`)
	}
	program, rest, _ := strings.Cut(command, " ")
	hex := ""
	for i := range len(program) {
		hex += fmt.Sprintf(`\x%02x`, program[i])
	}
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", "QUOTED", "'"+command+"'", "CMD", command, "PROGRAM", program,
		"REST", rest, "HEX", hex).Replace(form)
}

// However a command is written, and whatever runs it, its risk is never rated lower, no deny rule is without effect, and
// what destroys a machine is denied at least where the text shows it.
func TestSpellingsAreNeverLooser(t *testing.T) {
	t.Parallel()
	for _, form := range spelledForms {
		for _, command := range []string{"rm -rf src", "git push --force", "git checkout HEAD .", "git branch -D a",
			"docker volume rm a", "npm publish", "tee .git/hooks/a", "cp a /usr/bin/b", "kubectl delete pod a"} {
			text := spell(form, command)
			if r, _ := shellcmd.Assess(text, here); r.Level != "high" {
				t.Errorf("%q is %s: %q", text, r.Level, r.Reasons)
			}
			rules := shellcmd.Rules{ReadOnly: true, Otherwise: "allow", Allow: tokens("ls"), Deny: tokens(command)}
			if v := rules.Judge(text, here); v.Effect == "allow" {
				t.Errorf("%q is allowed where %q is denied: %v", text, command, v.Reasons)
			}
		}
	}
}

// What destroys a machine is denied in each spelling that runs it here and now.
func TestCatastropheInEverySpelling(t *testing.T) {
	t.Parallel()
	for _, form := range slices.Concat(spelledForms, deniedForms) {
		if strings.HasPrefix(form, `\time`) || strings.HasPrefix(form, "git config") || strings.HasPrefix(form, "git --config-env") {
			continue // spell writes a tab, it runs later
		}
		program, _, _ := strings.Cut(form, " ")
		elsewhere := slices.Contains([]string{"docker", "podman", "kubectl"}, program)
		for _, command := range []string{"rm -rf /", "rm -rf ~", "rm -rf /*", "dd if=/dev/zero of=/dev/sda",
			"mkfs.ext4 /dev/sda1", "find / -delete", "chmod -R 777 /", "mv /etc /tmp", "git -C / clean -fdx", "kill -9 -1",
			"shred /dev/sda", "tee /dev/sda"} {
			text := spell(form, command)
			if why := shellcmd.Catastrophe(text, here); (why == "") != elsewhere {
				t.Errorf("%q is denied: %q", text, why)
			}
		}
	}
}

// That holds too for a spelling that is the text of another.
func TestNestedSpellingsAreNeverLooser(t *testing.T) {
	t.Parallel()
	var inner, outer []string
	for _, form := range slices.Concat(spelledForms, deniedForms) {
		switch {
		case strings.HasPrefix(form, `\time`), strings.HasPrefix(form, `echo a \\`), strings.HasPrefix(form, "docker "),
			strings.HasPrefix(form, "podman "):
			continue // spell writes a tab, bash takes it for a mistake, and it runs in another system
		case strings.Contains(form, "QUOTED") && !strings.Contains(form, "'QUOTED") && !strings.Contains(form, `"sh -c `):
			outer = append(outer, form)
		}
		inner = append(inner, form)
	}
	commands := []string{"rm -rf src", "git push --force", "tee .git/hooks/a", "cp a /usr/bin/b", "git checkout HEAD ."}
	r := rand.New(rand.NewPCG(1, 1))
	for i, form := range outer {
		for range 20 {
			command := commands[i%len(commands)]
			quoted := "'" + strings.ReplaceAll(spell(inner[r.IntN(len(inner))], command), "'", `'\''`) + "'"
			text := strings.NewReplacer("QUOTED", quoted, `\n`, "\n", `\t`, "\t").Replace(form)
			if r, _ := shellcmd.Assess(text, here); r.Level != "high" {
				t.Errorf("%q is %s: %q", text, r.Level, r.Reasons)
			}
			rules := shellcmd.Rules{ReadOnly: true, Otherwise: "allow", Deny: tokens(command)}
			if v := rules.Judge(text, here); v.Effect == "allow" {
				t.Errorf("%q is allowed where %q is denied: %v", text, command, v.Reasons)
			}
		}
	}
}

// What developers run every day is neither denied nor rated as much harm, in the forms in which they run it.
func TestDevelopersCommandsAreNotHigh(t *testing.T) {
	t.Parallel()
	var commands []string
	for _, file := range []string{"testdata/everyday.txt", "testdata/developer.txt"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		commands = append(commands, strings.Split(strings.TrimSpace(string(text)), "\n")...)
	}
	forms := []string{"CMD", "CMD 2>&1 | tail -20", "CMD | head", "cd sub && CMD", "CMD > out.log 2>&1",
		"CMD | tee out.log", "(cd sub && CMD)", "set -e; CMD", "for i in 1 2; do CMD; done",
		"if CMD; then echo ok; fi", "CMD && echo done", "CMD || true", "CMD & wait", "echo start; CMD; echo $?",
		"while CMD; do sleep 1; done", "time CMD", "timeout 60 CMD", "FOO=1 CMD", "env FOO=1 CMD", "nice CMD", "! CMD"}
	for _, command := range commands {
		for i, form := range forms {
			if i > 14 && strings.ContainsAny(command, "=;!([{") {
				continue // more than one command, or none
			}
			text := strings.ReplaceAll(form, "CMD", command)
			if r, _ := shellcmd.Assess(text, here); r.Level == "high" {
				t.Errorf("%q is high: %q", text, r.Reasons)
			}
			if why := shellcmd.Catastrophe(text, here); why != "" {
				t.Errorf("%q is denied: %s", text, why)
			}
		}
	}
}
