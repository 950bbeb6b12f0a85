package commandline

import (
	"strings"
	"testing"
)

func TestScriptAt(t *testing.T) {
	for command, want := range map[string]string{
		"/usr/bin/python3 app/plugin.py": "app/plugin.py", "python3.12 -u app.py --x": "app.py",
		"python3 -W error -X dev p": "p", "python -- -p": "-p",
		"python3 -m app x": "", "python3 -c print(1) x": "", "python3 -uc x y": "", "python3 -": "", "python3": "",
		"pypy3 p.py":     "p.py",
		"node server.js": "server.js", "node --require ./hook.js server.js": "server.js", "node -e 1 x": "",
		"node --import=x s.mjs": "s.mjs",
		"nodejs s.js":           "s.js", "deno run -A main.ts": "main.ts", "bun run x.ts": "x.ts", "bun x.ts": "x.ts",
		"npx -y tsx server.ts": "server.ts",
		"bash -e run.sh":       "run.sh", "sh -c ls": "", "bash -lc ls": "", "bash -o pipefail x": "x",
		"bash --rcfile r x": "x",
		"ruby -I lib x.rb":  "x.rb", "perl -w x.pl": "x.pl", "php -f x.php": "x.php", "php -d a=b x.php": "x.php",
		"java -jar app.jar": "app.jar", "java -cp x Main": "", "java Main.java": "Main.java",
		"env -i A=1 python3 x.py": "x.py", "timeout 5 node x.js": "x.js", "nice -n 5 uv run python p.py": "p.py",
		"uv run tool":         "",
		"./tool python3 x.py": "", "docker run python x": "", "": "",
	} {
		words := strings.Fields(command)
		got := ""
		if i := ScriptAt(words); i > 0 {
			got = words[i]
		}
		if got != want {
			t.Errorf("the script of %q is %q, want %q", command, got, want)
		}
	}
}
