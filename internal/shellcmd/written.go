package shellcmd

import (
	"strings"
	"sync"
)

// An output says which words of a command name files or folders that it writes to.
type output struct {
	command  string // as in a deny rule
	operands string // which ones: "all", "first", "last", the "rest" after the first, or none
	files    string // the options whose value is one
	values   string // the options with another value
}

var outputs = []output{
	{"cp", "last", "-t --target-directory", "-S --suffix"},
	{"mv", "all", "-t --target-directory", "-S --suffix"},
	{"ln", "last", "-t --target-directory", "-S --suffix"},
	{"link", "last", "", ""},
	{"install", "last", "-t --target-directory", "-m --mode -o --owner -g --group -S --suffix"},
	{"install -d", "all", "", "-m --mode -o --owner -g --group"},
	{"tee", "all", "", ""}, {"sponge", "all", "", ""},
	{"touch", "all", "", "-d --date -r --reference -t --time"},
	{"truncate", "all", "", "-s --size -r --reference"},
	{"mkdir", "all", "", "-m --mode"}, {"mkfifo", "all", "", "-m --mode"}, {"mknod", "first", "", "-m --mode"},
	{"chmod", "rest", "", "--reference"},
	{"sed -i", "rest", "", "-e --expression -f --file -l --line-length"},
	{"patch", "first", "-o --output -d --directory -r --reject-file", "-i --input -p --strip -B -z -D -F"},
	{"split", "last", "", "-a -b -C -l -n -t --lines --bytes --number --suffix-length"},
	{"csplit", "", "-f --prefix", "-b -n"},
	{"find", "", "-fprint -fprint0 -fprintf -fls", ""},
	{"sort", "", "-o --output", "-k --key -t --field-separator -S --buffer-size -T --temporary-directory"},
	{"tar -x", "", "-C --directory", "-f --file -T -X"},
	{"tar -c", "", "-f --file", "-C --directory -T -X"},
	{"tar -r", "", "-f --file", "-C --directory -T -X"},
	{"tar -u", "", "-f --file", "-C --directory -T -X"},
	{"tar -A", "", "-f --file", "-C --directory -T -X"},
	{"unzip", "", "-d", "-x -P"}, {"zip", "first", "-O --output-file", "-i -x -P -b"},
	{"curl", "", "-o --output --output-dir -D --dump-header -c --cookie-jar --trace",
		"-d -H -X -F -u -A -e -T -b -K -x -w -m"},
	{"wget", "", "-O --output-document -P --directory-prefix -o --output-file -a --append-output",
		"-U -e -i -t -T -w"},
	{"gcc", "", "-o", ""}, {"g++", "", "-o", ""}, {"cc", "", "-o", ""}, {"c++", "", "-o", ""},
	{"clang", "", "-o", ""}, {"clang++", "", "-o", ""}, {"go build", "", "-o", ""}, {"rustc", "", "-o --out-dir", ""},
	{"git clone", "last", "--separate-git-dir", "-b --branch -o --origin -c --config -u --upload-pack --depth -j --jobs " +
		"--reference --template --filter"},
	{"git init", "all", "--separate-git-dir", "-b --initial-branch --template"},
	{"git worktree add", "first", "", "-b -B --reason"},
	{"git archive", "", "-o --output", ""}, {"git format-patch", "", "-o --output-directory", ""},
	{"git diff", "", "--output", ""}, {"git log", "", "--output", ""}, {"git show", "", "--output", ""},
	{"uniq", "last", "", "-f -s -w --skip-fields --skip-chars --check-chars"},
	{"xxd", "last", "", "-c -cols -g -groupsize -l -len -n -name -o -s -seek -R"},
	{"openssl", "", "-out -keyout -writerand", ""}, {"ssh-keygen", "", "-f", ""}, {"gpg", "", "-o --output", ""},
	{"less", "", "-o -O --log-file --LOG-FILE", ""}, {"tree", "", "-o", ""}, {"sdiff", "", "-o --output", ""},
	{"base64", "", "-o --output", ""}, {"pandoc", "", "-o --output", ""}, {"yq -i", "rest", "", ""},
	{"go test", "", "-coverprofile -cpuprofile -memprofile -blockprofile -mutexprofile -trace -outputdir -o", ""},
	{"gofmt -w", "all", "", "-r"}, {"strip", "all", "-o", ""}, {"objcopy", "last", "", ""},
	{"ffmpeg", "last", "", ""}, {"convert", "last", "", ""}, {"magick", "last", "", ""},
	{"docker cp", "last", "", ""}, {"kubectl cp", "last", "", ""}, {"7z x", "", "-o", ""}, {"7z e", "", "-o", ""},
}

// outputsOf are the outputs by program: most commands have none.
var outputsOf = sync.OnceValue(func() map[string][]output {
	m := map[string][]output{}
	for _, o := range outputs {
		name, _, _ := strings.Cut(o.command, " ")
		m[name] = append(m[name], o)
	}
	return m
})

// written returns the words of a command that name what it writes to.
func (c *Command) written() (out []Word) {
	name := c.Name
	if name == "" {
		name = c.Program.Text
	}
	for _, o := range outputsOf()[name] {
		if prefix := strings.Fields(o.command); denies(prefix, c) {
			out = append(out, c.writtenAs(o, prefix)...)
		}
	}
	return out
}

func (c *Command) writtenAs(o output, prefix []string) (out []Word) {
	args, values := c.dashed(), strings.Fields(o.values+globalValues[c.Name])
	var operands []Word
	named := false // what the first operand would be is in an option, such as -e of sed
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.Text == "--" {
			operands = append(operands, args[i+1:]...)
			break
		}
		if len(a.Text) < 2 || a.Text[0] != '-' {
			operands = append(operands, a)
			continue
		}
		for _, option := range append(strings.Fields(o.files), values...) {
			v, has := optionValue(a.Text, option)
			if !has || strings.HasPrefix(a.Text, "--") != strings.HasPrefix(option, "--") {
				continue
			}
			value := Word{Text: v, Static: a.Static, kind: a.kind}
			if v == "" && i+1 < len(args) {
				i++
				value = args[i]
			}
			if strings.Contains(" "+o.files+" ", " "+option+" ") {
				out = append(out, value)
			}
			named = true
			break
		}
	}
	for _, token := range prefix[1:] {
		if token[0] != '-' && len(operands) > 0 {
			operands = operands[1:]
		}
	}
	switch n := len(operands); {
	case o.operands == "all", o.operands == "rest" && named:
		out = append(out, operands...)
	case o.operands == "rest" && n > 0:
		out = append(out, operands[1:]...)
	case o.operands == "first" && n > 0:
		out = append(out, operands[0])
	case o.operands == "last" && n > 1:
		out = append(out, operands[n-1])
	}
	return out
}
