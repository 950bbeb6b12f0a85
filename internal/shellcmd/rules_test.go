package shellcmd_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolhost/toolhost/internal/shellcmd"
)

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		rules    shellcmd.Rules
		warnings []string // what each says
		err      string
	}{
		"narrow rules": {rules: shellcmd.Rules{Allow: tokens("ls", "git log", "npm run build", "bash x.sh"),
			Deny: tokens("git", "rm"), Otherwise: "deny"}},
		"broad rules": {rules: shellcmd.Rules{Allow: tokens("git", "find", "npm", "make", "docker", "python3.12", "bash",
			"env", "xargs", "npm run", "awk")},
			warnings: strings.Fields("git find npm make docker python bash env xargs script awk")},
		"a wrapper":     {rules: shellcmd.Rules{Allow: tokens("sudo ls")}, warnings: []string{"sudo runs other commands"}},
		"no words":      {rules: shellcmd.Rules{Allow: [][]string{{}}}, err: "allow[0]: a rule without words"},
		"a blank":       {rules: shellcmd.Rules{Deny: [][]string{{"a"}, {"git push"}}}, err: `deny[1]: the word "git push"`},
		"an empty word": {rules: shellcmd.Rules{Deny: [][]string{{""}}}, err: `deny[0]: the word ""`},
		"a bad effect":  {rules: shellcmd.Rules{Otherwise: "maybe"}, err: `otherwise = "maybe"`},
	} {
		t.Run(name, func(t *testing.T) {
			warnings, err := c.rules.Check()
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("the error is %v", err)
			}
			if len(warnings) != len(c.warnings) {
				t.Fatalf("the warnings are %q", warnings)
			}
			for i, w := range warnings {
				if !strings.Contains(w, c.warnings[i]) {
					t.Errorf("%q does not say %q", w, c.warnings[i])
				}
			}
		})
	}
}

func TestJudgeSaysWhy(t *testing.T) {
	for text, want := range map[string]string{
		"ls":                     "it only reads",
		"ls > x":                 "it writes to x",
		"cat ../x":               "../x is outside of the workspace",
		"rm x":                   "commands that begin with rm are denied",
		"sort -o x":              "the option -o of sort is not known to be harmless",
		"cat $x":                 "$x is only known when it runs",
		"make":                   "make is not known to only read",
		"sh -c 'echo \"$(rm)\"'": "commands that begin with rm are denied",
		"ls (":                   "the command is not understood",
	} {
		v := shellcmd.Rules{ReadOnly: true, Deny: tokens("rm")}.Judge(text, here)
		if !strings.Contains(v.Reasons[0].Why, want) && !strings.Contains(v.Reasons[len(v.Reasons)-1].Why, want) {
			t.Errorf("%q: the reasons are %v", text, v.Reasons)
		}
	}
}

// A prefix under which there is both what reads and what changes is warned of, if it covers both.
func TestCheckOfGroups(t *testing.T) {
	for prefix, want := range map[string]string{
		"gh pr": "gh pr list", "gh issue": "gh issue view", "gh run": "gh run list", "docker volume": "docker volume ls",
		"docker image": "docker image ls", "docker container": "docker container logs", "podman network": "podman network ls",
		"kubectl config": "kubectl config current-context", "kubectl rollout": "kubectl rollout status",
		"helm repo": "helm repo list", "npm config": "npm config get", "git worktree": "git worktree list",
		"git stash": "git stash list", "git notes": "git notes list", "git bisect": "git bisect log",
		"gh pr list": "", "gh pr merge": "", "docker volume ls": "", "git status": "", "git log": "", "git push": "",
		"git remote": "", "npm test": "", "go mod": "", "make build": "", "kubectl get": "", "docker compose": "", "ls -l": "",
	} {
		rules := shellcmd.Rules{Allow: tokens(prefix)}
		warnings, err := rules.Check()
		if err != nil || (want == "") != (len(warnings) == 0) || want != "" && !strings.Contains(warnings[0], want) {
			t.Errorf("the warnings for %s are %q, %v", prefix, warnings, err)
		}
		if want == "" {
			continue
		}
		if v := rules.Judge(prefix+" unknown", here); v.Effect != "allow" {
			t.Errorf("%s is warned of, and does not cover all: %v", prefix, v.Reasons)
		}
	}
}

// When the place is unknown, only paths that do not lead up are inside.
func TestJudgeWithoutAPlace(t *testing.T) {
	rules := shellcmd.Rules{ReadOnly: true}
	for _, c := range []struct {
		text    string
		context shellcmd.Context
		want    string
	}{
		{"cat a/b", shellcmd.Context{}, "allow"},
		{"cat ../a", shellcmd.Context{}, "ask"},
		{"cat /a", shellcmd.Context{}, "ask"},
		{"cat /a/b", shellcmd.Context{Dir: "/a"}, "allow"},
		{"cat /a/b", shellcmd.Context{Root: "/a"}, "allow"},
		{"cat ../b", shellcmd.Context{Root: "/a"}, "ask"},
		{"cat /etc/x", shellcmd.Context{Root: "/"}, "allow"},
	} {
		if v := rules.Judge(c.text, c.context); v.Effect != c.want {
			t.Errorf("%q in %+v is %s: %v", c.text, c.context, v.Effect, v.Reasons)
		}
	}
}

func TestPrefix(t *testing.T) {
	for text, want := range map[string][]string{
		"ls -la": {"ls"}, "git push": {"git", "push"}, "git push origin main": {"git", "push"},
		"npm run build": {"npm", "run", "build"},
		"npm test":      {"npm", "test"}, "go test ./...": {"go", "test"}, "make build": {"make", "build"},
		"./gradlew test":     {"./gradlew", "test"},
		"git --no-pager log": {"git", "log"}, "cargo check": {"cargo", "check"}, "mkdir a": {"mkdir"},
		"cat /etc/hosts":    {"cat"},
		"docker compose up": {"docker", "compose", "up"}, "git commit": {"git", "commit"},
		"gh pr list": {"gh", "pr", "list"}, "gh pr merge 5": {"gh", "pr", "merge"}, "docker ps": {"docker", "ps"},
		"git remote -v": {"git", "remote"}, "kubectl get pods": {"kubectl", "get"}, "make run": {"make", "run"},
		"getent passwd": {"getent", "passwd"}, "uv run pytest": {"uv", "run", "pytest"},
		// what no prefix stands for
		"ls; pwd": nil, "ls | wc": nil, "ls > x": nil, "ls 2>/dev/null": nil, "x=1 ls": nil, "ls $x": nil, "$x": nil,
		"ls &": nil, "ls (": nil, "": nil,
		"(ls)": nil, "time ls": nil, "env ls": nil, "sudo ls": nil, "xargs ls": nil, "sh -c ls": nil, "bash x.sh": nil,
		"python x.py":          nil,
		"python3.12 -m pytest": nil, "node x.js": nil, "awk 1 x": nil, "ssh host": nil, "find . -exec ls {} +": nil,
		"cd x": nil, "git": nil,
		"git -c a=b push": nil, "git push --force": nil, "rm x": nil, "chmod 777 x": nil, "echo $(ls)": nil,
		"mkdir -p a": nil, "eval ls": nil,
		"retry make": nil, "grc make": nil, "nq make": nil, "pueue add make": nil, "corepack yarn x": nil, "volta run node": nil,
	} {
		if diff := cmp.Diff(want, shellcmd.Prefix(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// A prefix covers no command with another effect: the sub-command of a group, and what is run elsewhere, are what a
// person has not seen.
func TestPrefixCoversNoOtherEffect(t *testing.T) {
	for text, other := range map[string]string{
		"gh pr list": "gh pr merge 5", "gh pr view 5": "gh pr close 5", "gh issue list": "gh issue delete 5",
		"gh auth status": "gh auth logout", "gh workflow list": "gh workflow run x",
		"gh repo view":     "gh repo delete x",
		"docker volume ls": "docker volume rm x", "docker image ls": "docker image prune",
		"docker network ls":   "docker network rm x",
		"docker container ls": "docker container rm x", "podman system df": "podman system prune",
		"docker volume create a": "docker volume rm a", "gh pr create": "gh pr merge 5",
		"kubectl config get-contexts": "kubectl config use-context x",
		"kubectl rollout status x":    "kubectl rollout undo x",
		"helm repo list":              "helm repo remove x", "npm config get registry": "npm config set script-shell ./x",
		"npm pkg get name": "npm pkg set scripts.test=./x", "npm run": "npm run deploy",
		"conda env list": "conda env remove x",
		"git notes list": "git notes remove x", "git bisect log": "git bisect reset", "git stash": "git stash drop",
		"git submodule status": "git submodule update", "uv pip list": "uv pip install x",
		"rustup toolchain list": "rustup toolchain uninstall x", "pip config list": "pip config set x y",
		"kill -0 1": "kill 1", "tee /dev/null": "tee a", "sysctl kernel.x": "sysctl kernel.x=1",
		"mount":   "mount a b",
		"ip addr": "ip addr del x", "ip link": "ip link set x down", "ifconfig x": "ifconfig x down",
		"docker exec web ls":           "docker exec web rm x",
		"docker container exec web ls": "docker container exec web rm x",
		"docker compose exec web ls":   "docker compose exec web rm x",
		"kubectl exec web ls":          "kubectl exec web rm x",
		"docker compose run web ls":    "docker compose run web rm x",
		"adb shell ls":                 "adb shell rm x", "adb devices": "adb shell rm x", "pixi run test": "pixi run rm", "fnm exec ls": "fnm exec rm x",
		"fnm use 18": "fnm uninstall 18", "nx build a": "nx exec rm", "lerna run a": "lerna exec rm", "snap list": "snap remove x",
		"git clean -n": "git clean -f", "git apply --check a": "git apply a", "apk info a": "apk del a", "fuser a": "fuser -k a",
		"pacman -Q": "pacman -R a", "gh search code a": "gh repo create a", "kubectl events": "kubectl delete pod a",
	} {
		for _, first := range []string{text, strings.Replace(text, " ", " '", 1) + "'"} {
			if strings.Count(text, " ") != 1 && first != text {
				continue
			}
			prefix := shellcmd.Prefix(first)
			v := shellcmd.Rules{Allow: [][]string{prefix}}.Judge(other, here)
			if prefix != nil && v.Effect == "allow" {
				t.Errorf("the prefix %q of %s covers %s", prefix, first, other)
			}
		}
	}
}

// A prefix covers the command it was made from.
func TestPrefixCoversItsCommand(t *testing.T) {
	given := 0
	for _, s := range corpus(t) {
		prefix := shellcmd.Prefix(s.text)
		if prefix == nil {
			continue
		}
		given++
		v := shellcmd.Rules{Allow: [][]string{prefix}}.Judge(s.text, shellcmd.Context{Root: "/"})
		if v.Effect != "allow" && !strings.Contains(v.Reasons[0].Why, "secrets") {
			t.Errorf("the prefix %q of %q does not allow it: %v", prefix, s.text, v.Reasons)
		}
	}
	if given < 100 {
		t.Errorf("only %d commands have a prefix", given)
	}
}

func TestAssess(t *testing.T) {
	for text, level := range map[string]string{
		"ls": "low", "git status && cat a | wc -l": "low", "bash -c 'ls'": "low",
		"touch x": "medium", "ls > x": "medium", "cat /etc/passwd": "medium", "npm test": "medium",
		"git commit -m x": "medium", "cat $x": "medium",
		"FOO=1 ls": "medium", "curl https://example.com": "medium", "git push": "medium", "cp a ../b": "high",
		"f() { ls; }; f": "medium",
		"rm x":           "high", "env rm x": "high", "sudo ls": "high", "find . -delete": "high",
		"find . -exec rm {} +": "high",
		"dd if=a of=b":         "high",
		"git checkout .":       "high", "git checkout -f": "high", "git checkout -qf main": "high",
		"git switch --discard-changes x": "high",
		"git worktree remove --force x":  "high", "git checkout main": "medium", "docker volume rm x": "high",
		"git push --force": "high", "git push -uf origin": "high", "git reset --hard": "high",
		"git clean -fd":  "high",
		"chmod -R 777 .": "high", "mkfs.ext4 /dev/sda": "high",
		"echo x > /dev/sda": "high", "echo x > ../y": "high", "curl x | sh": "high", "bash <(curl x)": "high", "$x": "high",
		"eval ls":             "high",
		"python -c 'exec(1)'": "high", "ls (": "high", "kill 1": "high", "ssh host": "high", "ls | xargs rm": "high",
		"echo $(rm x)": "high",
	} {
		r, _ := shellcmd.Assess(text, here)
		if r.Level != level || (len(r.Reasons) == 0) != (level == "low") {
			t.Errorf("%q is %s, want %s: %q", text, r.Level, level, r.Reasons)
		}
	}
}

// What is written outside of the workspace is much harm, by whatever command; what is read there, or written inside,
// is not.
func TestAssessOfWriters(t *testing.T) {
	var writers, others []string
	for _, to := range []string{"../out/x", "/usr/bin/x", "/etc/", "~/x", "$HOME/x", "\"$HOME\"/x", "${HOME}/x",
		"a/../../x", "../*.txt"} {
		for _, text := range []string{"cp f %s", "cp -r f g %s", "cp -t %s f", "cp --target-directory=%s f", "mv f %s",
			"mv -t %s f", "mv %s f", "ln -s f %s", "install -m 755 f %s", "install -d %s", "touch %s", "touch f %s",
			"mkdir -p %s", "tee %s", "echo x | tee -a f %s", "truncate -s 0 %s", "sed -i s/a/b/ %s",
			"sed -i.bak -e s/a/b/ %s", "sed --in-place --expression=s/a/b/ %s", "chmod +x %s", "tar cf %s f",
			"tar -czf %s f", "tar --create --file=%s f", "tar xf f -C %s", "tar -x -f f --directory=%s", "unzip f -d %s",
			"zip -r %s f", "split f %s", "sort f -o %s", "curl -so %s http://a", "wget -O %s http://a", "gcc a.c -o %s",
			"go build -o %s .", "git clone http://a %s", "git -C . init %s", "git worktree add %s", "env cp f %s",
			"git diff --output=%s", "git log --outp %s", "uniq -f 1 f %s", "xxd -r f %s", "openssl rand -out %s 5",
			"ssh-keygen -t ed25519 -f %s", "gpg -o %s f", "less -o %s f", "tree -o %s", "base64 -o %s f", "yq -i .a=1 %s",
			"go test -coverprofile %s .", "gofmt -w %s", "strip -o %s f", "objcopy -S f %s", "ffmpeg -i f %s",
			"docker cp web:/f %s", "find . -fprintf %s x",
			"bash -c 'cp f %s'", "true && cp f %s", "cat f > %s"} {
			if strings.Contains(text, "=%s") && to[0] == '~' || strings.Contains(text, "'") && strings.Contains(to, `"`) ||
				strings.HasSuffix(text, "> %s") && strings.Contains(to, "*") {
				continue // bash does not expand it, the quotes are others, or one file is written at most
			}
			writers = append(writers, strings.ReplaceAll(text, "%s", to))
		}
	}
	writers = append(writers, "cd .. && touch x", "cd / && cp x y", "7z x f -o/usr/x", "tar xPf f", "tar --extract --absolute-names -f f",
		"export PATH=/x", "export PATH=$PWD/bin:$PATH", "PATH=/x", "PATH=/x ls", "export LD_PRELOAD=./x.so",
		"LD_PRELOAD=./x.so ls", "env LD_PRELOAD=./x.so ls", "declare -x LD_LIBRARY_PATH=x", "export PYTHONPATH=/x",
		"export A=1 NODE_PATH=x", "export DYLD_INSERT_LIBRARIES=x", "BASH_ENV=x bash -c ls", "setx PATH x",
		"bash -c 'export PATH=/x'", "builtin export PATH=/x", "PATH+=:/x", "export PATH+=:/x")
	others = append(others, "cp ../f .", "cp ../f ../g sub/", "cp f g", "cp -r ../f sub", "mv f g", "ln -s ../f g",
		"ln -s ../f", "install ../f sub/", "touch f", "mkdir -p a/b", "tee f", "sed -i s/a/b/ f", "sed -i /x/d f", "sed -i -e /x/d f",
		"sed s/a/b/ ../f", "chmod 755 f", "tar xf ../f", "tar cf f ../g", "tar czf f -C / etc", "tar xf f -C sub",
		"unzip ../f -d sub", "curl -o f http://a/../b", "wget -O f http://a", "gcc -I/usr/include a.c -o a",
		"git diff --output=f", "uniq ../f g", "uniq ../f", "xxd ../f", "openssl rand -out f 5", "less -N ../f", "yq -i .a=1 f",
		"gofmt -w .", "docker cp f web:/f", "docker cp ../f web:/f", "git log --output-indicator-new=/x", "find .. -fprint f",
		"go build -o bin/a .", "git clone http://a sub", "git clone http://a/b", "split -b 1M ../f", "sort /x -o f",
		"export FOO=/x", "PYTHONPATH=src pytest", "export PATH", "docker exec web touch /x",
		"cp f "+workspace+"/g", "cp \"$PWD/f\" \"$PWD/g\"", "git commit -m 'touch /x'")
	for level, texts := range map[string][]string{"high": writers, "medium": others} {
		for _, text := range texts {
			if r, _ := shellcmd.Assess(text, here); r.Level != level {
				t.Errorf("%q is %s, want %s: %q", text, r.Level, level, r.Reasons)
			}
		}
	}
}

// A rule with one spelling of options denies all others, and no other options.
func TestDenyInAnySpelling(t *testing.T) {
	forced := []string{"-rf %s", "-fr %s", "-Rf %s", "-r -f %s", "-R -f %s", "-r --force %s", "--recursive -f %s",
		"--recursive --force %s", "--force --recursive %s", "%s --rec --forc", "-f %s -R", "-vrf %s", "--r --f %s",
		"-rvf -- %s"}
	for _, c := range []struct {
		deny, command string
		given, others []string
	}{
		{"rm -rf", "rm", forced, []string{"-r %s", "-f %s", "--recursive %s", "-ri %s", "--verbose --force %s",
			"-- -rf %s", "-v -- -rf", "-r -- -f", "-- --recursive --force %s"}},
		{"rm -Rf", "rm", forced, nil},
		{"rm --recursive --force", "rm", forced, nil},
		{"rm -r", "rm", []string{"-r %s", "-R %s", "--recursive %s", "-fR %s"}, []string{"%s", "-f %s", "--force %s"}},
		{"cp -r", "cp", []string{"-R %s y", "--recursive %s y", "-vR %s y"}, []string{"%s y", "-v %s y"}},
		{"cp --force", "cp", []string{"-f %s y", "-rf %s y"}, []string{"-r %s y"}},
		{"mv -f", "mv", []string{"--force %s y", "-t -- -f %s", "-f -- %s y"}, []string{"%s y", "-n %s y", "%s -- -f y"}},
		{"ln -s", "ln", []string{"--symbolic %s y", "-sf %s y", "--sym %s y"}, []string{"%s y", "-f %s y"}},
		{"mkdir -p", "mkdir", []string{"--parents %s", "-pv %s"}, []string{"%s", "-m 700 %s"}},
		{"chmod -R", "chmod", []string{"--recursive 700 %s", "-vR 700 %s"}, []string{"700 %s"}},
		{"chmod -R 777", "chmod", []string{"--recursive 777 %s"}, []string{"--recursive 700 %s", "777 %s"}},
		{"chown --recursive", "chown", []string{"-R me %s", "-hR me %s"}, []string{"me %s", "-h me %s"}},
		{"chgrp -R", "chgrp", []string{"--recursive me %s"}, []string{"me %s"}},
		{"tar -x", "tar", []string{"xf %s", "-xf %s", "--extract -f %s", "--get --file=%s", "zxvf %s"},
			[]string{"tf %s", "-cf %s y"}},
		{"tar --absolute-names", "tar", []string{"-xPf %s", "xPf %s"}, []string{"xpf %s"}},
		{"git clean -f", "git clean", []string{"--force", "-df", "-d --force", "--f"}, []string{"-n", "--dry-run"}},
		{"git commit --no-verify", "git commit", []string{"-n", "-nm x", "-a -n"}, []string{"-am x"}},
		{"git branch -d", "git branch", []string{"--delete %s"}, []string{"-m %s y", "-a"}},
		{"git checkout -f", "git checkout", []string{"--force %s"}, []string{"%s"}},
		{"git push --set-upstream", "git push", []string{"-u origin %s"}, []string{"origin %s"}},
		{"docker rm -f", "docker", []string{"rm --force %s", "rm -vf %s", "--context y rm --force %s"},
			[]string{"rm %s", "rm -v %s", "build --file %s ."}},
		{"docker run --volume", "docker run", []string{"-v /:/y %s", "-itv /:/y %s"}, []string{"-it %s"}},
		{"podman rm -f", "podman rm", []string{"--force %s"}, []string{"%s"}},
		{"npm install -g", "npm install", []string{"--global %s", "-g %s"}, []string{"%s", "-D %s"}},
		{"curl -o", "curl", []string{"--output y %s", "-sSLo y %s", "--output=y %s"}, []string{"%s", "-sS %s"}},
		{"curl --insecure", "curl", []string{"-k %s", "-sk %s"}, []string{"-s %s"}},
		{"wget -O", "wget", []string{"--output-document=y %s", "-qO y %s"}, []string{"-q %s"}},
		{"sed -i", "sed", []string{"--in-place s/a/b/ %s", "--in-place=.bak s/a/b/ %s", "-Ei s/a/b/ %s"},
			[]string{"s/a/b/ %s", "-E s/a/b/ %s"}},
	} {
		rules := shellcmd.Rules{Deny: tokens(c.deny), Otherwise: "allow"}
		for want, list := range map[bool][]string{true: c.given, false: c.others} {
			for _, rest := range list {
				text := c.command + " " + strings.ReplaceAll(rest, "%s", "x")
				if v := rules.Judge(text, here); (v.Effect == "deny") != want {
					t.Errorf("deny %q: %s is %s: %v", c.deny, text, v.Effect, v.Reasons)
				}
			}
		}
	}
}

// A program is denied by each of its names, and by whatever runs it.
func TestDenyOfOtherNames(t *testing.T) {
	rules := shellcmd.Rules{Deny: tokens("rm", "git push", "sudo", "gsed"), Otherwise: "allow"}
	for _, text := range []string{"grm x", "RM x", "Rm.EXE x", "rm.exe x", "/usr/bin/GRM x", "ls | gxargs rm",
		"gfind . -exec rm {} +",
		"gtimeout 5 grm x", "GIT push", "git.exe push", "Sudo ls", "sudo.exe ls", "gsed p x",
		"bash.exe -c 'rm x'", "SH -c 'rm x'",
		"run0 rm x", "please rm x", "systemd-inhibit --what=sleep rm x", "xcrun rm x", "arch -x86_64 rm x",
		"mpirun -n 1 rm x",
		"nsjail -Mo -- /bin/rm x", "concurrently 'ls' 'rm x'", "cross-env A=1 rm x", "pm2 start 'rm x'",
		"wine rm x"} {
		if v := rules.Judge(text, here); v.Effect != "deny" {
			t.Errorf("%s is %s: %v", text, v.Effect, v.Reasons)
		}
	}
	const spawned = `node -e 'require("child_process").spawnSync("git", ["push", "x"])'`
	if v := rules.Judge(spawned, here); v.Effect != "deny" {
		t.Errorf("%s is %s: %v", spawned, v.Effect, v.Reasons)
	}
	for _, text := range []string{"grep x y", "gzip x", "go version", "gcc a.c", "git status", "GREP x y",
		"sed p x", "tool.exe x"} {
		if v := rules.Judge(text, here); v.Effect == "deny" {
			t.Errorf("%s is denied: %v", text, v.Reasons)
		}
	}
	for _, text := range []string{"gsort x", "SORT x", "sort.exe x", "RM x",
		"Find ."} { // not the system's own for sure
		if v := (shellcmd.Rules{ReadOnly: true, Allow: tokens("sort", "rm",
			"find")}).Judge(text, here); v.Effect == "allow" {
			t.Errorf("%s is allowed: %v", text, v.Reasons)
		}
	}
}

// A sub-command is denied by each of its names, and so is an option that others together stand for.
func TestDenyOfSameCommands(t *testing.T) {
	t.Parallel()
	for rule, list := range map[string]string{
		"npm install":   "npm i|in|ins|add|isntall x, npm --registry a i x, npm --loglevel silent install x",
		"npm i x":       "npm install|add x",
		"npm uninstall": "npm rm|r|un|remove x", "npm run": "npm run-script x", "npm test": "npm t|tst",
		"pnpm remove": "pnpm rm|un|uninstall x", "bun add": "bun a x",
		"docker run --privileged": `docker container run --privileged|--privileged=true x,
			docker --context a run --rm --privileged x`,
		"docker container rm": "docker rm x, docker -H a rm x, docker container remove x",
		"docker logs x":       "docker logs -f x", "podman image rm": "podman rmi x, podman image remove x",
		"docker compose down": `docker-compose down, docker compose -f|--file|-p|--profile a down,
			docker-compose -f a down`,
		"docker-compose down -v": "docker compose down -v|--volumes, docker compose -p a down -v",
		"git branch -D":          "git branch -d|--delete -f|--force x, git branch -df|-fd|-D x, git -C a branch -d x -f",
		"git branch -M a":        "git branch -m|--move -f a, git branch -f -m a", "git add": "git stage x",
		"kubectl delete": `kubectl -v|--as-uid|--cache-dir 6 delete pod y,
			kubectl --insecure-skip-tls-verify delete a`,
		"helm uninstall": "helm delete|del|un y, helm -n a delete y", "brew rm": "brew uninstall|remove x",
		"cargo run": "cargo r, cargo +nightly r", "terraform destroy": "terraform apply -destroy",
		"pip install": "pip3|pip3.12 install x, python -m pip install x, uv pip install x",
		"python -c":   "python3|python3.12 -c x",
		"apt remove":  "apt-get|aptitude remove x, apt-get -y remove x", "dnf erase": "yum|dnf|dnf5 remove|rm x",
		"make install": "gmake install, make -j4 install", "node -e": "node|nodejs --eval|--eval=x|-pe x",
		"ls -R": "ls --recursive|-lR", "pacman -R": "pacman --remove|-Rns x", "dpkg --purge": "dpkg -P x",
	} {
		rules := shellcmd.Rules{Deny: tokens(rule), Otherwise: "allow"}
		for _, text := range each(list) {
			if v := rules.Judge(text, here); v.Effect != "deny" {
				t.Errorf("with %s, %s is %s: %v", rule, text, v.Effect, v.Reasons)
			}
		}
		for _, text := range each(`npm view|ci|pack x, docker ps|container\ ls|compose\ up, git branch -d|-f|-m|-v a, git diff, kubectl get delete,
			helm list, brew info rm, cargo build, terraform apply, python x, apt list, yum list, make test, node x, ls, pacman -Q,
			dpkg -l`) {
			if v := rules.Judge(text, here); v.Effect == "deny" {
				t.Errorf("with %s, %s is denied: %v", rule, text, v.Reasons)
			}
		}
	}
}

// A word that is only known at run time may match a deny rule.
func TestWordsThatMayBeDenied(t *testing.T) {
	r := shellcmd.Rules{ReadOnly: true, Otherwise: "allow", Deny: tokens("echo secret", "rm")}
	for text, want := range map[string]string{`echo "$x"`: "ask", `echo $(date)`: "ask", `echo x`: "allow",
		`x=secret; echo $x`: "deny", `for x in a secret; do echo $x; done`: "deny",
		`cat $(pwd)/a`: "allow", `printf %s "$x"`: "allow"} {
		if v := r.Judge(text, here); v.Effect != want {
			t.Errorf("%s: %v, want %s", text, v, want)
		}
	}
}
