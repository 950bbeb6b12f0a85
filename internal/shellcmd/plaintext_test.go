package shellcmd_test

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/shellcmd"
)

// A text for an interpreter that only computes, reads and prints is not high, and is asked about; one in which
// something else may be called, in any disguise, is high.
func TestRiskOfPlainTexts(t *testing.T) {
	t.Parallel()
	texts := map[string][2]string{
		"python3 -c": {`
print(1+1)
import sys; print(sys.version)
import json,sys; print(json.load(sys.stdin)['name'])
import sys, json; d = json.load(sys.stdin); [print(k, v["a"]) for k, v in d.items() if len(v) > 1]
import numpy; print(numpy.__version__)
import torch; print(torch.cuda.is_available())
import ast; ast.parse(open("a.py").read())
import yaml; yaml.safe_load(open('a.yml', 'r', encoding='utf-8'))
import tomllib; print(tomllib.load(open("pyproject.toml","rb"))["project"]["version"])
import os; print(os.path.exists("a"), os.getcwd())
import datetime; print(datetime.datetime.now().isoformat())
import base64,sys; print(base64.b64decode(sys.argv[1]).decode())
for i in range(3): print(i)
import random, string; print("".join(random.SystemRandom().choice(string.ascii_lowercase) for _ in range(40)))
print("eval(x); rm -rf /", 'a"b')
print(sorted({"b": 1}.items(), key=lambda x: x[1], reverse=True)[:3])
`, `
import os; os.system("ls")
import os as json; json.system("x")
import os,json; p=os; p.remove("a")
import subprocess; print(subprocess.run("ls").VERSION)
import shutil; shutil.rmtree("a")
from os import system; system("x")
open("a","w").write("x")
open("a","r+").write("x")
open(p,"w")
"open("+exec("x")+")"
print("open("+exec("x")+")")
exec("x")
exec=print; exec("x")
map(exec, ["x"])
print(eval(input()))
print(f"{exec('x')}")
rf=1; print(rf"{exec('x')}")
fr=1; print(fr"{exec('x')}")
f=1; print(F'{exec("x")}')
""" " """; exec("x"); """ " """
''' ' '''; exec("x"); ''' ' '''
# " \nexec("x") # "
__import__("os").remove("a")
print(().__class__.__base__.__subclasses__())
import json; json.codecs.open("a","w")
import sys; sys.modules["os"].system("x")
import random; random._os.system("x")
import platform; platform.popen("x")
getattr(str, "x")
@exec
import yaml; yaml.load("x", Loader=yaml.Loader)
import pickle; pickle.load(open("a"))
import os; print(os.environ)
ｅxec("x")
print(compile("x","a","exec"))
help()
`},
		"node -e": {`
console.log(1+1)
console.log(require('./package.json').version)
console.log(process.version, process.platform)
console.log(JSON.stringify(require("./tsconfig.json"), null, 2))
const p=require("./package.json"); console.log(Object.keys(p.dependencies).length, p["name"])
const fs=require("fs"); console.log(JSON.parse(fs.readFileSync("a.json","utf8")).map(x=>x.name).join(","))
JSON.parse(require('fs').readFileSync('a.json'))
console.log(require('typescript').version)
console.log(new Date().toISOString())
[1,2].forEach((x, i) => console.log(x, i))
console.log({a: 1, b: "require('x')"})
`, `
require("child_process").execSync("ls")
require("./a.js")
fs.rmSync("a")
const fs=require("fs"); fs.writeFileSync("a","b")
const fs=require("fs"); ["a"].forEach(fs.unlinkSync)
["a"].forEach(require("fs").unlinkSync)
process.binding("x")
process.exit(1)
console.log(process.env)
["http://x"].map(fetch)
[1].map(fetch=>1); ["http://x"].map(fetch)
["http://x"].map(1?fetch:0)
["x"].map(x=>1?vm.runInThisContext:0)
[1].map(vm=>1); ["x"].map(vm.runInThisContext)
eval("x")
["x"].map(eval)
this["con"+"structor"]
"a"["constructor"]["constructor"]("x")()
"a"["\x63onstructor"]
a=[]; a[b]("x")
x=>x()
(x=>x)("a")
console.log.call("x")
const {constructor: c} = [].map; c("x")
import("fs")
globalThis.x
` + "`${eval('x')}`" + `
console.log` + "`x`" + `
/"/; eval("x"); /"/
1 // " \neval("x") // "
<!-- "
Object.defineProperty([], "x", {})
"require("+eval("x")+")"
new Function("x")
require("a" + ".json")
` + "`a`.replace(/`/, eval); eval(`x`)"},
	}
	for command, lists := range texts {
		for i, level := range []string{"medium", "high"} {
			for code := range strings.SplitSeq(strings.TrimSpace(lists[i]), "\n") {
				text := command + " '" + strings.ReplaceAll(strings.ReplaceAll(code, `\n`, "\n"), "'", `'\''`) + "'"
				r, _ := shellcmd.Assess(text, here)
				if r.Level != level {
					t.Errorf("%s is %s, want %s: %q", text, r.Level, level, r.Reasons)
				}
				if v := (shellcmd.Rules{ReadOnly: true, Otherwise: "allow"}).Judge(text, here); v.Effect != "ask" {
					t.Errorf("%s is %s", text, v.Effect)
				}
			}
		}
	}
	for text, level := range map[string]string{
		`node -e 1 -r ./a`: "high", `node -r ./a -e 1`: "high", `node -p 'process.arch' a b`: "medium",
		`python3 -u -c 'print(1)' -x $x`: "medium", `python3 -i -c 'print(1)'`: "high", `python3 -c "print($x)"`: "high",
		`python3.12 -c 'print(1)' > ~/.bashrc`: "high", `pypy3 -c 'print(1)'`: "high",
		`PATH=. python3 -c 'print(1)'`: "high", `PYTHONPATH=a python3 -c 'import json'`: "high",
	} {
		if r, _ := shellcmd.Assess(text, here); r.Level != level {
			t.Errorf("%s is %s, want %s: %q", text, r.Level, level, r.Reasons)
		}
	}
}
