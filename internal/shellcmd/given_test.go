package shellcmd

import (
	"strings"
	"testing"
)

// carriers give the words TO to the program RM in some other way than as its words.
var carriers = []string{
	`f() { RM "$1"; }; f TO`, `f() { RM $1; }; f TO`, `f() { RM "$@"; }; f TO`, `function f { RM "$2"; }; f a TO`,
	`f() { local d=$1; RM "$d"; }; f TO`, `f() { shift; RM "$1"; }; f a TO`, `g() { RM "$1"; }; f() { g "$1"; }; f TO`,
	`f() { for d in "$@"; do RM "$d"; done; }; f a TO`, `rm() { command RM "$@"; }; rm TO`,
	`f() { cd "$1" && RM *; }; f TO`, `set -- a TO; shift; RM "$1"`, `set -- a b TO; shift 2; RM "$1"`,
	`echo TO | xargs RM`, `echo TO | sort | xargs RM`, `printf '%s\n' TO | tac | sudo xargs RM`, `echo TO | xargs -r RM --`,
	`echo TO | xargs -I{} RM {}`, `echo TO | xargs -I% RM %`, `echo TO | xargs --replace RM {}`, `xargs RM <<< TO`,
	`xargs RM < <(echo TO)`, `sudo xargs RM <<< TO`, "cat <<E | sort | xargs RM\nTO\nE", "xargs RM <<E\nTO\nE",
	`echo TO | xargs sh -c 'RM "$@"' _`, `echo TO | xargs sh -c 'RM "$0"'`, `echo TO | xargs -n1 bash -c 'RM $1' _`,
	`echo TO | xargs -I{} sh -c 'RM {}'`, `echo TO | xargs -I% sh -c "RM %"`, `echo 'RM TO' | xargs -I{} sh -c {}`,
	`echo TO | while read x; do RM "$x"; done`, `while read -r x; do RM $x; done <<< TO`,
	`while IFS= read -r x; do RM "$x"; done < <(echo TO)`, "while read x; do RM $x; done <<E\nTO\nE",
	`echo a TO | tr ' ' '\n' | while read x; do echo "$x"; RM "$x"; done`, `read x <<< TO; RM "$x"`,
	`mapfile -t a < <(echo TO); RM "${a[@]}"`, `for x in TO; do RM "$x"; done`, `for x in $(echo TO); do RM $x; done`,
	`eval "$(echo RM TO)"`, `eval "RM TO"`, `eval $(printf 'RM TO')`, `x='RM TO'; eval "$x"`, `x='RM TO'; $x`,
	`x='RM'; $x TO`, `bash -c "$(echo RM TO)"`, `x='RM TO'; bash -c "$x"`, `sh -s TO <<< 'RM $1'`, `bash -s <<< 'RM TO'`,
	`env -S 'RM TO'`, `env -S 'RM' TO`, `env -iS 'RM TO'`, `env --split-string='RM TO'`, `busybox sh -c 'RM TO'`,
	`parallel RM ::: TO`, `parallel 'RM {}' ::: a TO`, `parallel -j4 RM {} ::: TO`, `echo TO | parallel RM`,
	`echo TO | parallel 'RM {}'`, `echo 'RM TO' | parallel`, `parallel sh -c 'RM {}' ::: TO`,
	// by programs that print for a shell
	`awk 'BEGIN{print "RM TO"}' | sh`, `awk 'BEGIN{printf "RM %s", "TO"}' | bash`, `echo TO | awk '{print "RM " $1}' | sh`,
	`perl -e 'print "RM TO"' | sh`, `python3 -c 'print("RM TO")' | sh`, `ruby -e 'puts "RM " + "TO"' | bash -s`,
	`node -p '"RM TO"' | sh`, `php -r 'echo "RM TO";' | sh`, `jq -nr '"RM TO"' | sh`, `yes 'RM TO' | head -1 | sh`,
	`expr 'RM TO' | sh`, `printf 'RM %s\n' TO | sh`, `printf '%s ' RM TO | sh`, `paste -d' ' <(echo RM) <(echo TO) | sh`,
	`eval "$(awk 'BEGIN{print "RM TO"}')"`, `bash <(perl -e 'print "RM TO"')`, `echo TO | xargs echo RM | sh`,
	`echo RM,TO | tr , ' ' | sh`, `echo TO | sed 's|^|RM |' | sh`, `echo 'XX TO' | sed 's|XX|RM|' | sh`,
	`awk 'BEGIN{print "RM TO"}' > x; sh x`, `echo 'RM TO' | tee >(sh)`, `echo 'RM TO' > >(sh)`, `exec > >(sh); echo RM TO`,
	`{ echo RM TO; } > >(bash)`, `(echo :; echo 'RM TO') | sh`,
	// by files and descriptors
	`cp <(echo 'RM TO') x; sh x`, `cat <(echo 'RM TO') > x; . ./x`, `install <(printf 'RM TO') x; ./x`, `mv <(echo RM TO) x; sh x`,
	`echo 'RM TO' > x; sh < x`, `echo 'RM TO' > x; cat x | sh`, `echo 'RM TO' > x; eval "$(cat x)"`,
	`exec 3<<< 'RM TO'; sh <&3`, `exec 3< <(echo 'RM TO'); bash <&3`, `exec < <(echo RM TO); sh`, `make -f <(printf 'a:\n\tRM TO\n')`,
	`echo TO > x; xargs RM < x`, `echo TO > x; xargs -a x RM`, `echo TO > x; cat x | xargs RM`, `xargs -a <(echo TO) RM`,
	`xargs -d, RM <<< "a,TO"`, `echo RM TO | xargs env`, `echo RM TO | xargs nice -n 5`,
	`echo TO > x; while read -r y; do RM "$y"; done < x`, `while read -r x; do sh -c "$x"; done <<< 'RM TO'`,
	// by expansions
	`x=a; RM "${x/#a/TO}"`, `x=a; RM "${x/%a/TO}"`, `x=a; RM "${x//a/TO}"`, `x=1; RM "${x:+TO}"`, `x=R_M; y=${x//R_M/RM}; $y TO`, `x=TO; y=x; RM "${!y}"`,
	`declare -n y=x; x=TO; RM "$y"`, `mapfile -t a <<< 'RM TO'; ${a[0]}`, `IFS=,; x=TO,a; RM $x`, `RM TO"$(true)"`,
}

// trees list all that is in TO for RM, or give it to it.
var trees = []string{
	`find TO | xargs RM`, `find TO | sort | xargs RM`, `find TO -print0 | sort -zu | xargs -0 RM`,
	`find TO -type f | cat | tee list | xargs RM`, `find TO | grep -v x | xargs RM`, `find TO | sed 's/ /_/' | xargs RM`,
	`find TO | awk '{print $1}' | xargs RM`, `find TO | tr '\n' '\0' | xargs -0 RM`, `find TO -print0 | xargs -0 -I{} RM {}`,
	`find TO -print0 | xargs -0 -I{} sh -c 'RM {}'`, `find TO | xargs -n1 sh -c 'RM "$1"' _`, `find TO | parallel RM`,
	`find TO | parallel RM {}`, `find TO | while read x; do RM "$x"; done`,
	`find TO -print0 | while IFS= read -r -d '' x; do RM "$x"; done`, `while read x; do RM "$x"; done < <(find TO)`,
	`for x in $(find TO -type f); do RM $x; done`, `find TO -exec RM {} +`, `find TO -exec RM {} \;`,
	`find TO -execdir RM {} \;`, `find TO -ok RM {} \;`, `find TO -exec sh -c 'RM "$1"' _ {} \;`,
	`find TO -exec sh -c 'RM "$@"' _ {} +`, `find TO -exec bash -c 'RM {}' \;`, `find TO -depth -mindepth 1 -exec RM {} +`,
	`find TO ! -name x -exec RM {} +`, `find TO -not -path './x/*' -exec RM {} +`, `find TO -name '*' -exec RM {} +`,
}

// What is not allowed to anyone is found whatever gives the words, and is nowhere judged as reading or allowed.
func TestCatastropheByWhatIsGiven(t *testing.T) {
	t.Parallel()
	removers := []string{"rm -rf", "rm -r -f", "rm --recursive --force", "/bin/rm -rf", "sudo rm -rf", "env A=1 rm -rf",
		"command rm -rf", "busybox rm -rf", "nice rm -fr"}
	listRemovers := append([]string{"rm", "rm -f", "unlink", "shred -u", "sudo shred"}, removers...)
	at := Context{Dir: "/w/a", Root: "/w/a"}
	check := func(form, rm, to string, deadly bool) {
		text := strings.NewReplacer("RM", rm, "TO", to).Replace(form)
		why := Catastrophe(text, at)
		if (why != "") != deadly {
			t.Errorf("%s: %q, want one: %t", text, why, deadly)
		}
		if v := (Rules{ReadOnly: true}).Judge(text, at); v.Effect == allow {
			t.Errorf("%s is judged as reading", text)
		}
		risk, _ := Assess(text, at)
		if v := (Rules{Otherwise: allow}).Judge(text, at); v.Effect == allow && risk.Level != "high" {
			t.Errorf("%s is allowed without a question", text)
		}
	}
	for _, form := range carriers {
		for _, rm := range removers {
			for _, to := range strings.Fields("/ /usr /etc/.. ~ $HOME /home/alice") {
				check(form, rm, to, true)
			}
			check(form, rm, "build", false)
			check(form, rm, "/tmp/x", false)
		}
	}
	for _, form := range trees {
		for _, rm := range listRemovers {
			for _, to := range strings.Fields("/ /usr /. ~ $HOME /home/alice") {
				check(form, rm, to, true)
			}
			check(form, rm, "build", false)
			check(form, rm, "/tmp/x", false)
		}
	}
}
