package shellcmd

import (
	"strings"
	"testing"
)

func TestAwkPrograms(t *testing.T) {
	for _, harmless := range []string{`{print $1}`, `{print $1, $NF}`, `NR>=10 && NR<=20`, `$3 > 100 {print $1}`,
		`/foo|bar/ {n++} END {print n}`, `BEGIN{FS=":"} {print $1 "\t" $2}`,
		`{sum += $1} END {printf "%.2f\n", sum/NR}`, `!seen[$0]++`, `NF`, `length > 80`,
		`length($0) > 80 {print FILENAME":"FNR": "$0}`,
		`{a[$1] = a[$1] ? a[$1] "," $2 : $2} END {for (k in a) print k, a[k]}`,
		`/^func /{f=1} f; /^}/{f=0}`, `{gsub(/[ \t]+/, " "); print}`, `{print ($1 > 5 ? "big" : "small")}`, `{print (1 > 2)}`,
		`$1 ~ /a/ || $2 !~ /b/`, `{ x = $1 / 2; y = $2 / 3; print x, y }`,
		"# a comment | with > signs\n{print}", `{print "a | b > c"}`, `{print length / 2}`,
		`function f(x) { return x / 2 } {print f($1)}`, `{print $NF/1024 "M"}`, `{print a[1]/b[2]/c}`, "{print $1\n}",
		`END{print NR}`,
		`{split($0, a, ","); print a[2]}`, `tolower($0) ~ /x/`, `$2 == "system" {print}`, `/system/`, `{printf("%s\n", $1)}`,
		`{ if ($1 > max) max = $1 } END { print max }`, "{ print $1\n if ($2 > 3) n++ }", `{print $1/1024/1024/1024 " GB"}`,
		`{printf "%.1f%%\n", $3/$2*100; print "x"}`, `/[[:space:]]+"/ {print}`, `{ if (NF) print "a/b" }`} {
		if !awkOnlyPrints(harmless) {
			t.Errorf("%s is not known to be harmless", harmless)
		}
	}
	for _, reaches := range []string{`BEGIN{system("id")}`, `{print | "sh"}`, `{print > "out"}`, `{print >> "out"}`,
		`{printf "%s", $1 > "out"}`, `{"date" | getline d; print d}`, `{while ((getline l < "f") > 0) print l}`,
		`BEGIN{getline; print}`, `{print $1 > $2}`, `{print $1, $2 > "/dev/stderr"}`, `{print($1) > "out"}`,
		`{print |& "cmd"}`, `@load "x"`, `@include "x"`, `{f="system"; @f("id")}`, `BEGIN{ARGV[1]="/etc/passwd"; ARGC=2}`,
		`BEGIN{print ENVIRON["HOME"]}`, `BEGIN{for (k in SYMTAB) print k}`, `BEGIN { x = 4 / 2; system("id") / 2 }`,
		`{print "a" "b" > "c" ".txt"}`, "BEGIN{print \"x\"\\\n> \"out\"}", `/[/]/{system("id")}`, `/[/]"/{print > "x"} #/`,
		`a = b / system("id") / c`, `{ x = y /1; print z >"f"; w = 1/ 2}`, `{print a[1] > b}`, `{print (a)(b) > "c"}`,
		`{ print -1 > "f" }`, `"unterminated`, `/unterminated`, `{print $1 > "f" ; }`, `BEGIN{x++ /1; system("a") /1}`,
		"{print /a/ > \"f\"}", `{print ++i > "f"}`, `{ print i++ > "f" }`, `{ print 1 | "cat" }`,
		`BEGIN { (x) / 1; print 1 > "f" / 1 }`, `BEGIN { printf("%s") > "f" }`, `BEGIN{"id"|getline}`,
		// a slash that divides for one awk and begins an expression for another
		`BEGIN{exit /"/} END{system("id")} #"`, `{x++ /"/; system("id")} #"`, `{x = length /"/; system("id")} #"`,
		`{if (1) /"/; system("id")} #"`, `{while (0) /"/; print > "f"} #"`, `{print x++ /(/ > y}`,
		`{x = case / system("id") / 1}`, `{if (1) /a/ && /"/; system("id")} #"`, `$1 ~ /[^]/]"/ {system("id")} #"`,
		`/[[:alpha:]/]"/ {system("id")} #"`, `/[[.a.]/]"/ {system("id")} #"`, `{x = ` + strings.Repeat("a/b/", 99) + `c}`,
		"{print a,\nb > \"f\"}", "{print a,  # x\n b > \"f\"}", "{print a &&\n\n b > \"f\"}"} {
		if awkOnlyPrints(reaches) {
			t.Errorf("%s counts as harmless", reaches)
		}
	}
}
