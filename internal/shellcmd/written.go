package shellcmd

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/lazy"
)

// An output says which words of a command name files or folders that it writes to.
type output struct {
	command  string // as in a deny rule, with | between words that are alike
	operands string // which ones: "all", "first", "last", the "rest" after the first, none, or those of unnamed
	files    string // the options whose value is one
	values   string // the options with another value
}

// An outputUse is an output of a command with these words.
type outputUse struct {
	prefix []string
	output
}

// unnamed are files in the folder of an option, or else in the current one, that a command does not name.
const unnamed = "unnamed"

var outputs = []output{
	{"cp|ln", "last", "-t --target-directory", "-S --suffix"},
	{"mv", "all", "-t --target-directory", "-S --suffix"},
	{"install", "last", "-t --target-directory", "-m --mode -o --owner -g --group -S --suffix"},
	{"install -d", "all", "", "-m --mode -o --owner -g --group"},
	{"touch", "all", "", "-d --date -r --reference -t --time"},
	{"truncate|fallocate", "all", "", "-s --size -r --reference -l --length -o --offset"},
	{"mkdir|mkfifo", "all", "", "-m --mode"}, {"mknod", "first", "", "-m --mode"}, {"chmod", "rest", "", "--reference"},
	{"tee|sponge", "all", "", ""}, {"git mv", "all", "", ""}, {"strip", "all", "-o", ""},
	{"link|lz4|objcopy|ffmpeg|convert|magick", "last", "", ""}, {"docker|podman|nerdctl|kubectl cp", "last", "", ""},
	{"aws s3 cp|sync", "last", "", ""}, {"git bundle create", "first", "", ""},
	{"sed -i", "rest", "", "-e --expression -f --file -l --line-length"}, {"yq -i", "rest", "", ""},
	{"patch", unnamed, "-o --output -d --directory -r --reject-file", "-i --input -p --strip -B -z -D -F"},
	{"patch", "first", "-o --output -d --directory -r --reject-file", "-i --input -p --strip -B -z -D -F"},
	{"split", "last", "", "-a -b -C -l -n -t --lines --bytes --number --suffix-length"},
	{"csplit", "", "-f --prefix", "-b -n"}, {"find", "", "-fprint -fprint0 -fprintf -fls", ""},
	{"sort", "", "-o --output", "-k --key -t --field-separator -S --buffer-size -T --temporary-directory"},
	{"tar|bsdtar -x", unnamed, "-C --directory --one-top-level", "-f --file -T -X"},
	{"tar|bsdtar -c|-r|-u|-A", "", "-f --file", "-C --directory -T -X"},
	{"unzip", unnamed, "-d", "-x -P"}, {"unar", unnamed, "-o -output-directory", ""},
	{"cpio -i", unnamed, "-D --directory", "-F -E -H -R --file"}, {"cpio -p", "last", "-D --directory", "-E -H -R"},
	{"cpio -o", "", "-O -F --file", "-E -H -R"}, {"7z|7za|7zr|7zz x|e", unnamed, "-o", ""},
	{"unrar x|e", unnamed, "", ""}, {"unrar x|e", "last", "", ""}, {"ar x|xv", unnamed, "--output", ""},
	{"jar xf|xvf|-xf|-xvf|x", unnamed, "-C --dir", ""}, {"unsquashfs", "", "-d -dest", ""},
	{"scp", "last", "", "-P -i -o -F -J -S -l -c -D -X"},
	{"rsync", "last", "--log-file --backup-dir --partial-dir --temp-dir -T --write-batch",
		"-e --rsh --exclude --include -f --filter --exclude-from --include-from --files-from -B --bwlimit --timeout"},
	{"zip", "first", "-O --output-file", "-i -x -P -b"},
	{"curl -O|--remote-name-all", unnamed, "--output-dir", "-d -H -X -F -u -A -e -T -b -K -x -w -m -o"},
	{"curl", "", "-o --output --output-dir -D --dump-header -c --cookie-jar --trace",
		"-d -H -X -F -u -A -e -T -b -K -x -w -m"},
	{"wget", unnamed, "-O --output-document -P --directory-prefix -o --output-file -a --append-output",
		"-U -e -i -t -T -w"},
	{"aria2c", unnamed, "-o --out -d --dir", ""}, {"git clone|am|apply", unnamed, "--directory", ""},
	{"gcc|g++|cc|c++|clang|clang++|ld|as|shuf|iconv|zstd|brotli|gpg|sdiff|base64|pandoc", "", "-o --output", ""},
	{"go build", "", "-o", ""}, {"tree", "", "-o", ""}, {"rustc", "", "-o --out-dir", ""}, {"javac", "", "-d", ""},
	{"esbuild", "", "--outfile --outdir", ""}, {"prettier --write|-w", "all", "", "--config --parser"},
	{"gzip|gunzip|bzip2|bunzip2|xz|unxz|zstd|unzstd|dos2unix|unix2dos", "all", "", "-S -D -T"},
	{"pip|pip3 install", "", "-t --target --prefix --root", ""},
	{"npm|pnpm install|i|ci|add", "", "--prefix -C --dir", ""},
	{"cmake --install", "", "--prefix", ""}, {"cargo install", "", "--root", ""},
	{"tsc", "", "--outDir --outFile --declarationDir", ""}, {"shfmt -w", "all", "", "-i"}, {"gofmt -w", "all", "", "-r"},
	{"git submodule add", "last", "", "-b --name --reference --depth"},
	{"git clone", "last", "--separate-git-dir", "-b --branch -o --origin -c --config -u --upload-pack --depth -j " +
		"--jobs --reference --template --filter"},
	{"git init", "all", "--separate-git-dir", "-b --initial-branch --template"},
	{"git worktree add", "first", "", "-b -B --reason"}, {"git archive", "", "-o --output", ""},
	{"git format-patch", "", "-o --output-directory", ""}, {"git diff|log|show", "", "--output", ""},
	{"uniq", "last", "", "-f -s -w --skip-fields --skip-chars --check-chars"},
	{"xxd", "last", "", "-c -cols -g -groupsize -l -len -n -name -o -s -seek -R"},
	{"openssl", "", "-out -keyout -writerand", ""}, {"ssh-keygen", "", "-f", ""},
	{"less", "", "-o -O --log-file --LOG-FILE", ""},
	{"go test", "", "-coverprofile -cpuprofile -memprofile -blockprofile -mutexprofile -trace -outputdir -o", ""},
	{"strace|ltrace|valgrind|perf|hyperfine|heaptrack", "", "-o --output --log-file --xml-file --massif-out-file " +
		"--callgrind-out-file --cachegrind-out-file --export-json --export-csv --export-markdown", ""},
}

// outputsOf are the outputs by program: most commands have none.
var outputsOf = sync.OnceValue(func() map[string][]outputUse {
	m := map[string][]outputUse{}
	for _, o := range outputs {
		for _, prefix := range spelledOut(strings.Fields(o.command)) {
			m[prefix[0]] = append(m[prefix[0]], outputUse{prefix, o})
		}
	}
	return m
})

// outputs are those that are about a command.
func (c *Command) outputs() (out []outputUse) {
	for _, o := range outputsOf()[cmp.Or(c.Name, c.Program.Text)] {
		if deniesAs(o.prefix, c) {
			out = append(out, o)
		}
	}
	return out
}

// written returns the words of a command that name what it writes to.
func (c *Command) written() (out []Word) {
	out = slices.Clip(c.writes)
	if c.Name == "dd" {
		for _, file := range valuesOf(textsOf(c.Args)) {
			out = append(out, static(file))
		}
	}
	for _, o := range c.outputs() {
		out = append(out, c.writtenAs(o)...)
	}
	return out
}

// unpacks says that a command writes files that others choose: the author of an archive, of a patch, of a server.
func (c *Command) unpacks() string {
	named := c.Name == "wget" && hasOption(c.Args, "-O", spellings([]string{"wget"}))
	if !named && slices.ContainsFunc(c.outputs(), func(o outputUse) bool { return o.operands == unnamed }) {
		return "it writes files that the command does not name"
	}
	return ""
}

func (c *Command) writtenAs(o outputUse) (out []Word) {
	operands, given := splitOptions(c.dashed(), o.files+" "+o.values+" "+string(globalValues.of(c.Name)))
	for _, g := range given {
		if lazy.Words(o.files).Has(g.name) {
			out = append(out, g.value)
		}
	}
	for _, token := range o.prefix[1:] {
		if token[0] != '-' && len(operands) > 0 {
			operands = operands[1:]
		}
	}
	switch n := len(operands); {
	case o.operands == unnamed && len(out) == 0:
		out = append(out, static("."))
	case o.operands == "all", o.operands == "rest" && len(given) > 0: // the first one is in an option, such as -e of sed
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

// splitOptions separates operands, and options with values, which are listed.
func splitOptions(args []Word, values string) (operands []Word, options []given) {
	list := strings.Fields(values)
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.Text == "--" {
			return append(operands, args[i+1:]...), options
		}
		if len(a.Text) < 2 || a.Text[0] != '-' {
			operands = append(operands, a)
			continue
		}
		for _, option := range list {
			v, has := optionValue(a.Text, option)
			if !has || strings.HasPrefix(a.Text, "--") != strings.HasPrefix(option, "--") {
				continue
			}
			value := Word{Text: v, Static: a.Static, kind: a.kind}
			if v == "" && i+1 < len(args) {
				i++
				value = args[i]
			}
			options = append(options, given{option, value})
			break
		}
	}
	return operands, options
}
