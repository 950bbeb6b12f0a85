package shellcmd_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/shellcmd"
)

// deniedForms are ways to run a command that can be parsed: CMD stands for it, and QUOTED for it as one word.
var deniedForms = strings.Split(strings.TrimSpace(`
bash -c QUOTED
bash +c QUOTED
bash -ic QUOTED
bash -lc QUOTED
bash +x -c QUOTED
bash +O extglob -c QUOTED
bash --rcfile x -ic QUOTED
bash -s <<< QUOTED
bash <<< QUOTED
sh -c QUOTED
dash -ec QUOTED
zsh -c QUOTED
busybox sh -c QUOTED
busybox CMD
echo QUOTED | sh
echo QUOTED | bash -s
printf QUOTED | sh
eval QUOTED
eval CMD
command CMD
builtin eval CMD
exec CMD
exec -a ls CMD
coproc CMD
trap QUOTED EXIT
source /dev/stdin <<< QUOTED
. /dev/stdin <<< QUOTED
alias ls=QUOTED
mapfile -C QUOTED a
compgen -C QUOTED
complete -C QUOTED ls
env CMD
env -S QUOTED
env - CMD
env -u X - CMD
sh -c 'time -o f CMD'
strace -o '|CMD' ls
git -C . -c core.pager=QUOTED log
env --chdir=x CMD
nice -n 3 CMD
ionice -c 3 CMD
nohup CMD
timeout 5 CMD
timeout --kill-after=3 5 CMD
stdbuf -oL CMD
setsid CMD
setsid -f CMD
flock x CMD
flock x -c QUOTED
time CMD
\time -v CMD
watch CMD
watch QUOTED
xargs CMD
ls | xargs -I{} CMD
ls | xargs sh -c QUOTED
parallel CMD
parallel QUOTED
parallel ::: QUOTED
find . -exec CMD ;
find . -execdir CMD +
find . -ok CMD ;
find . -exec sh -c QUOTED ;
script -c QUOTED
script -qc QUOTED /dev/null
script -q /dev/null -c QUOTED
su -c QUOTED
su - x -c QUOTED
sudo CMD
sudo -u x CMD
sudo -s CMD
doas CMD
runuser -u x -- CMD
runuser -c QUOTED x
pkexec CMD
systemd-run CMD
systemd-run --user --scope CMD
unshare -r CMD
chroot / CMD
nsenter -t 1 CMD
setarch x86_64 CMD
setarch -R CMD
linux64 CMD
i386 CMD
setpriv --reuid 1000 CMD
setpriv --no-new-privs CMD
prlimit --nofile=10 CMD
prlimit CMD
taskset 1 CMD
chrt -b 0 CMD
numactl -N 0 CMD
/lib64/ld-linux-x86-64.so.2 CMD
ld-linux.so.2 CMD
/lib/ld-musl-x86_64.so.1 CMD
tmux new-session -d QUOTED
tmux new CMD
tmux run-shell QUOTED
screen -dm CMD
screen -X exec CMD
gdb -batch -ex 'shell CMD'
gdb -ex run --args CMD
strace CMD
strace -f -o x CMD
strace --trace=file CMD
ltrace CMD
valgrind CMD
valgrind --tool=none CMD
perf stat CMD
perf record -- CMD
socat - EXEC:QUOTED
nc -e CMD
ncat --sh-exec QUOTED h 1
xterm -e CMD
bwrap --ro-bind / / CMD
firejail CMD
ip netns exec x CMD
xvfb-run CMD
dbus-run-session -- CMD
sg x -c QUOTED
newgrp x -c QUOTED
ssh h CMD
ssh -o ProxyCommand=QUOTED h
ssh -oProxyCommand=QUOTED h
scp -o ProxyCommand=QUOTED a h:
rsync -e QUOTED a b
rsync -ave QUOTED a b
rsync --rsh=QUOTED a b
sed '1e CMD' x
sed -n '$e CMD' x
sed -e p -e '1e CMD' x
sed 's/.*/CMD/e' x
sed -l 5 '1e CMD' x
sed --expression='1e CMD' x
sed --e '1e CMD' x
split --filter=QUOTED x
split --filter QUOTED x
split --filt=QUOTED x
sort --compress-program=QUOTED x
tar cf a.tar --checkpoint=1 --checkpoint-action=exec=QUOTED x
tar xf a.tar --to-command=QUOTED
tar xf a.tar --to-com QUOTED
tar -I QUOTED -cf a.tar x
tar cIf QUOTED a.tar x
tar xf a.tar --use-compress-program=QUOTED
zip a.zip a -T -TT QUOTED
man -P QUOTED ls
rg --pre CMD
git clone --upload-pack=QUOTED x
git clone -u QUOTED x
git fetch --upload-pack QUOTED origin
git fetch --upload-p=QUOTED origin
git push --receive-pack=QUOTED origin
git push --exec QUOTED origin
git ls-remote --upload-pack=QUOTED .
git archive --remote=. --exec=QUOTED HEAD
git rebase -x QUOTED HEAD~1
git rebase --exec=QUOTED HEAD~1
git bisect run CMD
git submodule foreach QUOTED
git filter-branch --tree-filter QUOTED
git grep '-OCMD' foo
git -c core.pager=QUOTED log
git -c alias.x='!CMD' x
git config alias.x '!CMD'
git config core.fsmonitor QUOTED
git difftool -x QUOTED
git clone 'ext::CMD'
git fetch 'ext::CMD' main
make --eval='$(shell CMD)'
make --eval '$(shell CMD)'
sqlite3 :memory: '.shell CMD'
sqlite3 x.db '.system CMD'
psql -c '\! CMD'
mysql -e 'system CMD'
vim -c ':!CMD'
vim '+!CMD' x
ex -c '!CMD'
nvim --cmd 'call system("CMD")'
emacs --batch --eval '(shell-command "CMD")'
less '+!CMD' x
awk 'BEGIN{system("CMD")}'
awk 'BEGIN{"CMD" | getline}'
gawk 'BEGIN{print 1 | "CMD"}'
perl -e 'system("CMD")'
perl -e 'exec "CMD"'
perl -ne 'qx(CMD)' x
python3 -c 'import os; os.system("CMD")'
python -c 'import subprocess as s; s.run("CMD", shell=True)'
ruby -e 'system "CMD"'
node -e 'require("child_process").execSync("CMD")'
php -r 'system("CMD");'
lua -e 'os.execute("CMD")'
Rscript -e 'system("CMD")'
osascript -e 'do shell script "CMD"'
expect -c 'spawn CMD'
docker run --rm img CMD
docker exec c CMD
podman run img sh -c QUOTED
kubectl exec pod -- CMD
npx CMD
npx -c QUOTED
npm exec -- CMD
npm exec -c QUOTED
uv run CMD
poetry run CMD
bundle exec CMD
nix-shell --run QUOTED
direnv exec . CMD
start-stop-daemon --start --exec CMD
logsave x CMD
hyperfine QUOTED
entr CMD
apt-get -o DPkg::Pre-Invoke::=QUOTED update
`), "\n")

// askedForms cannot be parsed, and so need approval.
var askedForms = strings.Split(strings.TrimSpace(`
sh script.txt
bash ./x
bash -x s
sh /dev/stdin
sh < s
cat s | sh
curl2 x | bash
. ./s
source s
./s
../bin/s
sub/s
/tmp/s
/home/x/s
echo 'r''m x' > s; sh s
printf x > s; chmod +x s; ./s
cp /bin/ls ./s && ./s
make
make -f /dev/stdin
make -f x all
gmake x
ninja
just x
npm test
npm run x
npm install
yarn build
npx x
go run .
go generate ./...
go test ./...
cargo run
cargo build
cargo test
python3 x.py
python3 -m x
python3
node x.js
perl x.pl
ruby x.rb
php x.php
java -jar x.jar
Rscript x.R
awk -f x y
sed -f x y
sqlite3 x.db
vim x
ed x
crontab x
at now -f x
git x
git frob --y
git submodule update
git config core.pager x
git hook run pre-commit
git difftool
git mergetool
$x
"$(cat s)"
eval "$x"
bash -c "$x"
tmux attach
screen -r
gdb x
docker run img
docker compose up
terraform apply
pytest
mvn test
./gradlew x
pip install x
systemctl start x
alias x=y
hash -p ./s ls
enable -f ./x y
find . -exec $x ;
xargs $x
ssh h
eslint .
`), "\n")

// freeForms need approval whatever the deny rules are.
var freeForms = strings.Split(strings.TrimSpace(`
ls -la
cp a b
mkdir -p a/b
touch x
tar xf a.tar
tar czf a.tgz src
git commit -m 'rm the old file'
git status
git add .
git pull
git clone https://example.com/x
sed -i 's/a/b/' x
sed -n '1,20p' x
sort -u x
split -l 10 x
rsync -a a b
gofmt -w .
go build ./...
go vet ./...
npm ls
gcc -o x x.c
less x
man ls
echo 'rm x'
grep -rn 'rm -rf' .
git log --grep=rm
docker ps
kubectl get pods
awk --version
bash --version
python3 --version
find . -name rm
tee x
git config --get user.name
wget https://example.com/rm
`), "\n")

func TestDenyingSeesThroughRunners(t *testing.T) {
	rules := shellcmd.Rules{Deny: tokens("rm", "curl"), Otherwise: "allow"}
	for _, form := range deniedForms {
		for _, command := range []string{"rm -rf x", "curl http://example.com/x", "/bin/rm x", "env rm x", "true; rm x"} {
			whole := strings.ReplaceAll(form, "QUOTED", "'"+command+"'")
			if strings.Contains(command, ";") && whole == form {
				continue // only a text can have several commands
			}
			text := strings.ReplaceAll(whole, "CMD", command)
			if v := rules.Judge(text, here); v.Effect != "deny" {
				t.Errorf("%s is %s: %v", text, v.Effect, v.Reasons)
			}
		}
	}
}

func TestUnparsableCommandsNeedApproval(t *testing.T) {
	rules := shellcmd.Rules{Deny: tokens("rm", "curl"), Otherwise: "allow"}
	for _, text := range askedForms {
		if v := rules.Judge(text, here); v.Effect != "ask" {
			t.Errorf("%s is %s: %v", text, v.Effect, v.Reasons)
		}
	}
	for _, text := range freeForms {
		if v := rules.Judge(text, here); v.Effect != "allow" {
			t.Errorf("%s is %s: %v", text, v.Effect, v.Reasons)
		}
	}
}

// No runner is allowed as reading, whatever it runs.
func TestRunnersDoNotRead(t *testing.T) {
	plain := []string{"bash", "sh", "busybox", "command", "env", "nice", "ionice", "timeout", "stdbuf", "time", "echo",
		"printf"}
	for _, form := range deniedForms {
		text := strings.NewReplacer("QUOTED", "'frob x'", "CMD", "frob x").Replace(form)
		first, _, _ := strings.Cut(text, " ")
		v := shellcmd.Rules{ReadOnly: true}.Judge(text, here)
		if v.Effect == "allow" && !slices.Contains(plain, first) {
			t.Errorf("%s is allowed: %v", text, v.Reasons)
		}
		if v := (shellcmd.Rules{ReadOnly: true, Otherwise: "deny"}).Judge(text, here); v.Effect != "deny" {
			t.Errorf("%s is %s where only reading is allowed", text, v.Effect)
		}
	}
}

// A rule that lists such a command by its words allows it.
func TestListedRunnersAreAllowed(t *testing.T) {
	rules := shellcmd.Rules{Allow: tokens("npm test", "make test", "./gradlew test", "uv run pytest", "bash x.sh",
		"python3 x.py", "docker compose up", "npx tsc", "terraform plan"), Deny: tokens("rm")}
	for _, text := range []string{"npm test", "make test", "./gradlew test", "uv run pytest", "bash x.sh", "python3 x.py",
		"docker compose up", "npx tsc", "terraform plan"} {
		if v := rules.Judge(text, here); v.Effect != "allow" {
			t.Errorf("%s is %s: %v", text, v.Effect, v.Reasons)
		}
	}
}

// Texts with very many guesses are judged in bounded time, and not allowed.
func TestGuessesAreBounded(t *testing.T) {
	for _, text := range []string{strings.Repeat("tmux ", 3000) + "x", "tmux " + strings.Repeat("'a b; tmux c' ", 1000),
		strings.Repeat("docker run ", 1400) + "x",
		"sed '" + strings.Repeat("1e tmux x;", 1500) + "'", "perl -e '" + strings.Repeat(`system("tmux x");`, 900) + "'"} {
		if v := (shellcmd.Rules{Otherwise: "allow", Deny: tokens("rm")}).Judge(text, here); v.Effect == "allow" {
			t.Errorf("%.40s is allowed", text)
		}
	}
}

func TestCatastrophesThatAreGuessed(t *testing.T) {
	for text, want := range map[string]bool{
		"tmux new-session -d 'rm -rf /'": true, "setarch x86_64 rm -rf /": true, "sed '1e rm -rf /' x": true,
		"docker run --rm alpine rm -rf /": false, "git commit -m 'rm -rf / is no good'": false,
		"mail -s 'rm -rf / ran' x": false,
	} {
		if why := shellcmd.Catastrophe(text, here); (why != "") != want {
			t.Errorf("%s: %q", text, why)
		}
	}
}

// What is behind a long text counts, too.
func TestDenyingBehindLongTexts(t *testing.T) {
	rules := shellcmd.Rules{Deny: tokens("rm"), Otherwise: "allow"}
	for _, form := range deniedForms {
		command := "true " + strings.Repeat("a", 300) + "; rm -rf x"
		if text := strings.ReplaceAll(form, "QUOTED", "'"+command+"'"); text != form {
			if v := rules.Judge(text, here); v.Effect != "deny" {
				t.Errorf("%s is %s: %v", form, v.Effect, v.Reasons)
			}
		}
	}
	text := "echo true " + strings.Repeat("a", 300) + " ';' rm -rf x | sh"
	if v := rules.Judge(text, here); v.Effect != "deny" {
		t.Errorf("%s is %s: %v", text, v.Effect, v.Reasons)
	}
}
