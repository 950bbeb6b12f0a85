package shellcmd

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/sdk/filenames"
)

// A Context is where a text would run.
type Context struct {
	// Dir is the folder it starts in, and Root the workspace it must stay in. Both are absolute; either may be "", and
	// then is the same as the other. With both unknown only relative paths that do not lead up count as inside.
	Dir, Root string
	// Env holds the variables that are set for it: their names, or NAME=VALUE.
	Env []string
	// Given are the variables that every command gets from the operator. Only Catastrophe uses them.
	Given map[string]string
	// Stdin is true when it is given input.
	Stdin bool
}

// A workdirs is the folders a command may run in, and the workspace.
type workdirs struct {
	root string
	dirs []string
	any  bool // paths do not matter
	lost bool // the folders may be others

	tests bool // data is that of tests

	reads bool // the command only reads, so that machineFiles may be named
}

// machineFiles describe the machine, alike for all users, and hold nothing that anyone would hide.
const machineFiles lazy.Words = `/etc/os-release /etc/lsb-release /etc/debian_version /etc/redhat-release
	/etc/alpine-release /etc/issue /usr/lib/os-release /proc/cpuinfo /proc/meminfo /proc/version /proc/loadavg
	/proc/uptime`

func (c Context) workdirs(dirs []string) workdirs {
	root, dir := c.Root, c.Dir
	switch {
	case root == "" && dir == "":
		root, dir = "/the workspace", "/the workspace" // a path that no one writes
	case root == "":
		root = dir
	case dir == "":
		dir = root
	}
	p := workdirs{root: path.Clean(root)}
	for _, d := range dirs {
		p.dirs = append(p.dirs, p.real(joined(path.Clean(dir), d)))
	}
	return p
}

// topFolder stands for the folder that git names as the top of the checkout. It counts as the workspace: a workspace
// is one, or is inside one.
const topFolder = "/(top)"

func (p workdirs) real(file string) string {
	if rest, ok := strings.CutPrefix(file, topFolder); ok && (rest == "" || rest[0] == '/') {
		return path.Clean(p.root + rest)
	}
	return file
}

// folderOf returns the folder that a substitution prints: that of $(pwd), or topFolder; "" for any other.
func folderOf(c *syntax.CmdSubst) string {
	if len(c.Stmts) != 1 || c.Stmts[0].Background || c.Stmts[0].Negated {
		return ""
	}
	for _, r := range c.Stmts[0].Redirs {
		if to := readWord(r.Word, "", nil); to.Text != "/dev/null" || r.N == nil || r.N.Value != "2" {
			return ""
		}
	}
	call, ok := c.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 {
		return ""
	}
	var words []string
	for _, a := range call.Args {
		words = append(words, a.Lit())
	}
	switch strings.Join(words, " ") {
	case "pwd":
		return "."
	case "git rev-parse --show-toplevel":
		return topFolder
	}
	return ""
}

// atRoot reports that it can only run in the workspace's own folder.
func (p workdirs) atRoot() bool {
	return p.any || !slices.ContainsFunc(p.dirs, func(d string) bool { return d != p.root })
}

func (p workdirs) inside(file string) bool {
	return p.root == "/" || under(file, p.root)
}

// path says why a file may not be opened.
func (p workdirs) path(x Word) string {
	text := x.path()
	switch {
	case x.kind == source || text == "-" || text == "/dev/null" || p.any, p.reads && x.Static && machineFiles.Has(text):
		return ""
	case secret(x), x.kind == folder && secret(static(text)):
		return text + " may hold secrets"
	}
	if why := p.outside(x); why != "" {
		return why
	}
	for _, d := range p.dirs {
		full := p.real(joined(d, text))
		if d != p.root && secret(Word{Text: strings.TrimPrefix(full, p.root+"/"), Static: x.Static, kind: x.kind}) {
			return x.Text + " may hold secrets, where it is" // as in cd config/secrets && cat prod
		}
	}
	return ""
}

// path is the text of a word, for one in a folder that is known behind that.
func (x Word) path() string {
	if x.kind == folder {
		return x.file
	}
	return x.Text
}

// outside says that a file is not in the workspace.
func (p workdirs) outside(x Word) string {
	text := x.path()
	if x.kind == source || text == "-" || text == "/dev/null" || p.any {
		return ""
	}
	for _, d := range p.dirs {
		if !p.inside(p.real(joined(d, text))) {
			return x.Text + " is outside of the workspace"
		}
	}
	return ""
}

// operand says why an operand may not be used.
func (p workdirs) operand(x Word, kind operands) string {
	switch kind {
	case paths:
		return p.path(x)
	case mixed:
		if text, ok := strings.CutPrefix(x.Text, ":("); ok && strings.Contains(text, ")") { // of git
			_, text, _ = strings.Cut(text, ")")
			if secretPattern(text) && !p.any {
				return text + " may hold secrets"
			}
			return p.operand(Word{Text: text, Static: x.Static, kind: x.kind}, mixed)
		}
		// after = @ : or a comma there may be a path, too
		for part := range strings.FieldsFuncSeq(x.Text, func(r rune) bool { return strings.ContainsRune("=@:,", r) }) {
			if why := p.path(Word{Text: part, Static: x.Static, kind: x.kind}); why != "" {
				return why
			}
			if strings.ContainsAny(part, "*?[") && secretPattern(part) && !p.any {
				return part + " may hold secrets" // a pattern that git reads, for one
			}
		}
		return p.path(x)
	case texts:
		if x.kind == glob {
			return p.path(x)
		}
	}
	return ""
}

// secret reports paths whose names suggest keys or passwords, folders of such, and patterns made for them.
func secret(x Word) bool {
	if x.kind == glob && filenames.SecretPattern(x.Text) {
		return true
	}
	const anything = "/a.go" // which is code, and so secret only where everything is
	return filenames.Secret(x.Text) || filenames.Secret(x.Text+anything) || stateFile().MatchString(x.Text)
}

// naming are programs that use, list or test the files in their operands, and listers those that print their names. All
// others may show, copy or pack what is in them.
const (
	listers lazy.Words = `ls ll tree eza exa lsd find fd fdfind echo printf realpath readlink`
	naming             = listers + ` dir stat file du wc df test [ [[ cd pushd mkdir touch basename dirname which type
		md5sum sha1sum sha256sum sha512sum shasum cksum ssh ssh-add ssh-keygen ssh-copy-id mosh kubectl oc helm k9s stern
		argocd flux docker podman nerdctl docker-compose ansible ansible-playbook terraform tofu aws gcloud az export declare
		typeset local readonly lsblk findmnt blkid smartctl udevadm lsof fuser mvn mvnw`
	// packing are those that show, copy or pack files although how they are used is not known. Of a guess other names may
	// be any words.
	packing lazy.Words = `less more most bat batcat openssl gpg ag ack tee cp mv ln dd install rsync tar bsdtar zip 7z gzip
		xz zstd split sqlite3 duckdb pbcopy xclip`
)

var (
	// private are places outside of a workspace with what only their user may see, and public what all may see there.
	private = lazy.Regexp(`^/(home|Users|root|proc|run|var/run|dev/input|etc/(g?shadow-?$|sudoers|ssl/private|ssh/|kubernetes|` +
		`wireguard|openvpn|NetworkManager|krb5))\b`)
	public = lazy.Regexp(`(\.pub|/known_hosts|/authorized_keys|/\.ssh/config|/\.(aws|azure)/config)$`)
	// logins are where programs keep what they log in with, under names that have other uses elsewhere.
	logins = lazy.Regexp(`(?i)/(\.(mozilla|thunderbird|electrum|ethereum|bitcoin|subversion/auth|fly|netlify|wrangler|kaggle|` +
		`openai|snowsql)|\.local/share/(keyrings|kwalletd)|(\.config|Library/Application Support|AppData/[a-z]+)/(Google|` +
		`google-chrome|chromium|BraveSoftware|Microsoft.Edge|vivaldi|opera|Firefox|Signal|op|doctl|hub|glab-cli|sops|` +
		`solana|anthropic)|Library/(Keychains|Cookies)|etc/(wireguard|openvpn|NetworkManager/system-connections|` +
		`krb5\.keytab))[^/]*(/|$)`)
	// environment is that of a process, and inQuotes a path in a program that is given as text.
	environment = lazy.Regexp(`^/proc/([^/]+/(environ|mem)|kcore)$|^/dev/input/`)
	inQuotes    = lazy.Regexp(`["']([~/][^"'\s]*)["']`)
)

// showsKeys says which file with secrets outside of the workspace a command reads; those inside of it may be meant.
func (c *Command) showsKeys(p workdirs) string {
	words := c.inputs()
	if s, _ := c.find(); naming.Has(c.Name) || c.maybe && s == nil && !packing.Has(c.Name) {
		words = words[len(c.Args):]
	}
	if slices.Contains(c.Doubts, asProgram) {
		for _, m := range inQuotes().FindAllStringSubmatch(textOf(c.Args)+c.document(), -1) {
			words = append(words, static(m[1]))
			if strings.HasPrefix(m[1], "/.") { // behind a home folder
				words = append(words, static("~"+m[1]))
			}
		}
	}
	return cmp.Or(p.keys(words), c.searchesSecrets())
}

// searchesSecrets says which folder with what programs log in with a command searches for that.
func (c *Command) searchesSecrets() string {
	searches := lazy.Words("rg ag ack").Has(c.Name) ||
		strings.HasSuffix(c.Name, "grep") && givenOption(c.Args, "-r -R --recursive")
	if !searches || !anyMatches(c.Args, secretWord) {
		return ""
	}
	for _, a := range c.Args {
		if allSettings().MatchString(atHome(a)) {
			return a.Text + " may hold secrets"
		}
	}
	return ""
}

var (
	secretWord  = lazy.Regexp(`(?i)passw|secret|token|api.?key|access.?key|private|credential|akia|gh[ps]_|xox|\bsk-|auth|BEGIN`)
	allSettings = lazy.Regexp(`^(/|/root|/(home|Users)(/[^/]+)?|/etc)/?(\.config/?|\*)?$`)
)

// keys says which of some words is a file with secrets outside of the workspace, or has one behind a sign. Those of
// options for keys and settings are used.
func (p workdirs) keys(words []Word) string {
	secretOutside := func(text string) bool {
		return !p.any && text != "" && slices.ContainsFunc(p.dirs, func(d string) bool {
			if text[0] != '/' && !strings.Contains(text, "..") && p.inside(d) {
				return false
			}
			file := joined(d, text)
			return !p.inside(p.real(file)) && (device().MatchString(file) || private().MatchString(file)) &&
				!public().MatchString(file) && (device().MatchString(file) || secret(static(file)) ||
				logins().MatchString(file) || environment().MatchString(file) ||
				strings.ContainsAny(file, "*?[") && filenames.SecretPattern(file))
		})
	}
	for i, a := range words {
		option, _, _ := strings.Cut(a.Text, "=")
		if i > 0 && words[i-1].Static && strings.HasPrefix(words[i-1].Text, "--") {
			option = words[i-1].Text
		}
		if option != a.Text && usesFile().MatchString(option) {
			continue
		}
		if secretOutside(atHome(a)) {
			return a.Text + " may hold secrets"
		}
		for part := range strings.FieldsFuncSeq(a.Text, func(r rune) bool { return strings.ContainsRune("=@:,", r) }) {
			if at := strings.IndexAny(part, "/~$"); at > 0 && part[0] == '-' {
				part = part[at:] // of an option
			}
			if secretOutside(atHome(Word{Text: part, kind: a.kind})) {
				return a.Text + " may hold secrets"
			}
		}
	}
	return ""
}

var usesFile = lazy.Regexp(`(?i)^("?[\w-]*|-[\w.-]*)(cert|key|config|settings|store|manifest|credential|defaults|netrc|env|` +
	`database|db|secret|password|token|ca)[\w-]*$`)

// atHome is the path in a word, with a folder in the place of the user's own.
func atHome(a Word) string {
	text := a.path()
	if a.kind != folder && a.file != "" {
		text = a.file
	}
	if a.kind == known && !strings.HasPrefix(text, "~/") || !homeFolder().MatchString(text) {
		return text
	}
	return homeFolder().ReplaceAllString(bareText.Replace(text), ownHome)
}

var bareText = strings.NewReplacer(`"`, "", "}", "", `\`, "")

// stateFile is a file of Terraform with the passwords it set. The file tools look into such a file, which is not
// possible before a command runs.
var stateFile = lazy.Regexp(`(?i)\.(tfstate|tfvars)(\.(backup|bak|old|json))*$`)

// writers are programs that change or create the files in their operands.
const writers lazy.Words = `cp mv tee install ln link touch dd truncate rsync scp patch mkdir mkfifo mknod rm rmdir
	unlink shred chmod chown chgrp chattr setfacl split csplit tar unzip cpio ed ex vi vim nano emacs sponge rename
	prename mmv sed perl sort curl wget git`

// gitKeeps are the sub-commands of git that do not change the files in their operands.
const gitKeeps lazy.Words = `add stage commit push blame log diff show status ls-files check-ignore fetch`

// isProtected says why a rule that allows a program does not cover what it may write to: files that other programs
// run or read as configuration, for which edits need approval too.
func isProtected(c *Command, prefix []string, p workdirs) string {
	s, sub := c.find()
	if s != nil && s.read && (sub > 0 || !tabled()[c.Name]) &&
		!slices.ContainsFunc(prefix[1:], func(token string) bool { return strings.HasPrefix(token, "-") }) {
		return "" // it only reads; an option that the rule lists, such as -i of sed, may make it write
	}
	if c.Name == "git" && len(prefix) > 1 && gitKeeps.Has(prefix[1]) {
		return ""
	}
	if why := p.overwrites(c); why != "" {
		return why
	}
	if writers.Has(c.Name) {
		return p.changes(c, filenames.EntryPoint, " is what builds, tests, CI or agents run or follow")
	}
	return ""
}

const executed = " is run or followed by other programs without being asked"

// overwrites returns the operands of a command that other programs run or read as configuration.
func (p workdirs) overwrites(c *Command) string {
	return p.changes(c, filenames.AutoExecuted, executed)
}

func (p workdirs) changes(c *Command, is func(name string) bool, why string) string {
	for _, a := range c.Args {
		text := a.Text
		if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "of=") {
			_, text, _ = strings.Cut(text, "=") // of an option, or of dd
		}
		if text == "" {
			continue
		}
		if slices.ContainsFunc(p.names(text), is) {
			return text + why
		}
	}
	return ""
}

// names are the possible paths of an operand, relative to the workspace where they are in it.
func (p workdirs) names(text string) (out []string) {
	for _, d := range p.dirs {
		full := joined(d, text)
		if p.root != "/" {
			full = strings.TrimPrefix(full, p.root+"/")
		}
		out = append(out, full)
	}
	if len(p.dirs) == 0 {
		out = append(out, path.Clean(text))
	}
	return out
}
