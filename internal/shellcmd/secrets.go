package shellcmd

import (
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/redact"
)

// sentSecrets say which commands send what others read from files with secrets, or all variables: what they are given
// on the input, and the substitutions in their words. The value of a header is there to be sent.
func sentSecrets(s *Script) (why []string) {
	secrets := sync.OnceValue(s.secrets)
	var kept []int // commands of git that keep what a push sends
	all := false   // find has named all files
	for i := range s.Commands {
		part := &s.Commands[i]
		switch sub, _ := part.gitArgs(); sub {
		case "add", "stage", "commit", "commit-tree", "tag", "notes", "hash-object":
			kept = append(kept, i)
		case "push":
			for _, at := range kept {
				if from := secrets().keptBy(&s.Commands[at]); from != "" {
					why = append(why, part.Text+": it sends "+from+", which may hold secrets")
					break
				}
			}
			kept = nil
		}
		if part.Name == "find" {
			all = len(wholeTrees(strings.Fields(textOf(part.Args)))) > 0
		}
		first := ""
		if len(part.Args) > 0 {
			first = part.Args[0].Text
		}
		sends := senders.Has(part.Name) && (part.Name != "openssl" || first == "s_client") ||
			part.Name == "git" && strings.Contains(textOf(part.Args), "://")
		if !downloaders.Has(part.Name) && !sends {
			continue
		}
		sendsInput := sends || part.Name == "http" || part.Name == "https" || part.Name == "xh" ||
			anyMatches(part.Args, sendsStdin)
		var files []string
		switch _, given := splitOptions(part.Args, "-F --field --body-file --notes-file --input"); part.Name {
		case "gh", "glab", "git": // other words may be about a file
			for _, g := range given {
				files = append(files, g.value.Text[strings.LastIndexByte(g.value.Text, '@')+1:])
			}
		case "openssl": // uses files
		default:
			for _, a := range part.Args {
				if part.Name == "smbclient" { // has commands in a word
					files = append(files, strings.Fields(a.Text)...)
				} else if sends {
					files = append(files, a.Text)
				}
			}
		}
		for _, r := range part.Redirects {
			if r.Op == "<" && sendsInput {
				files = append(files, r.Target.Text)
			}
		}
		for _, file := range files {
			if secret(static(file)) && !part.local() && !strings.Contains(file, " ") && !usesFile().MatchString(file) {
				why = append(why, part.Text+": it sends "+file+", which may hold secrets")
			}
		}
		for _, file := range part.sentFiles() {
			if all && len(part.Via) > 0 && strings.ContainsAny(file, "{$") && !part.local() {
				why = append(why, part.Text+": it sends all files that find names, which may hold secrets")
			}
			if from := secrets().files[part.found(file)]; from != "" {
				why = append(why, part.Text+": it sends what "+from+" prints, which may hold secrets")
			}
		}
		if from := secrets().opened[i]; sendsInput && from != "" {
			why = append(why, part.Text+": it sends what "+from+" has opened, which may hold secrets")
		}
		via := part.Via[max(0, len(part.Via)-1):]
		piped := slices.Contains(via, "xargs") || slices.Contains(via, "parallel")
		if given := secrets().givenTo(part, piped || sendsInput); given != "" {
			why = append(why, part.Text+": it sends "+given+", which may hold secrets")
		}
	}
	return why
}

// What a text holds of secrets: the commands that read them, and where it keeps what these print.
type secretsIn struct {
	commands  []Command
	readers   []int             // found once: there may be many that send
	files     map[string]string // with the command that has written to it
	variables map[string][]int  // the readers, and -1 for the value of a secret variable
	functions map[string]bool   // those that print secrets are true
	sourced   []int             // commands that set any variable to what is in a file with secrets
	values    map[string]string // of variables that the text sets itself
	opened    map[int]string    // commands that read from a descriptor for such a file, and what has opened it
}

func (s *Script) secrets() *secretsIn {
	in := &secretsIn{commands: s.Commands, files: map[string]string{}, variables: map[string][]int{},
		functions: map[string]bool{}, values: s.values, opened: map[int]string{}}
	opened := "" // by exec 3< .env
	for i := range s.Commands {
		c := &s.Commands[i]
		reads := in.functions[c.Name] || c.readsSecret()
		redirected := slices.ContainsFunc(c.Redirects, func(r Redirect) bool { return r.Op[0] == '<' })
		switch {
		case (c.Name == "exec" && len(c.Args) == 0 || c.built) && redirected && (reads || slices.ContainsFunc(
			s.Commands[c.input.from:c.input.to], func(c Command) bool { return c.readsSecret() })):
			opened = c.Text
		case opened != "" && (slices.ContainsFunc(c.Redirects, func(r Redirect) bool { return r.Op == "<&" }) ||
			!redirected && c.input == (span{}) && strings.HasPrefix(opened, "exec <")):
			in.opened[i], reads = opened, true
		}
		if reads && (c.Name == "." || c.Name == "source") {
			in.sourced = append(in.sourced, i)
		}
		for _, via := range c.Via {
			if name, ok := strings.CutPrefix(via, inFunction); ok {
				in.functions[name] = in.functions[name] || reads
			}
		}
		fed := len(in.reading(c.input)) > 0
		if reads {
			in.readers = append(in.readers, i)
		}
		files := c.redirected()
		if fed || slices.ContainsFunc(c.Args, secret) {
			files = append(files, c.written()...)
		}
		for n := 0; n < len(files) && (reads || fed); n++ {
			in.files[c.found(files[n].Text)] = c.Text
		}
	}
	for range 3 { // the value of a variable may be that of another one
		for i := range s.Commands {
			in.set(i)
		}
		for _, name := range slices.Sorted(maps.Keys(s.values)) {
			if readers := in.held(s.values[name]); readers != nil {
				in.variables[name] = readers
			}
		}
	}
	return in
}

// set records the variables that a command sets to what a reader prints: of read, and the arguments of a function.
func (in *secretsIn) set(i int) {
	c := &in.commands[i]
	names, texts, readers := c.Args, c.Args, []int(nil)
	_, calls := in.functions[c.Name]
	switch {
	case c.Name == "read" || c.Name == "mapfile" || c.Name == "readarray":
		readers = slices.Concat(in.reading(c.input), in.reading(span{i, i + 1})) // by a redirect
		for _, r := range c.Redirects {
			texts = append(slices.Clip(texts), r.Target)
		}
	case c.Name == "printf" && len(c.Args) > 1 && c.Args[0].Text == "-v":
		names = c.Args[1:2]
	case len(c.Assigns) > 0 && (c.Name == "" || exports.Has(c.Name)):
		names, texts = nil, []Word{{Text: c.Text}}
		for _, name := range c.Assigns {
			names = append(names, static(name))
		}
	case exports.Has(c.Name):
		for _, a := range c.Args { // export $(cat .env)
			in.sourced = append(in.sourced, in.held(a.Text)...)
		}
		in.sourced = slices.Compact(slices.Sorted(slices.Values(in.sourced[:min(len(in.sourced), maxHeld)])))
		return
	case calls || shells.Has(c.Name):
		names = []Word{{Text: "1"}, {Text: "2"}, {Text: "3"}, {Text: "@"}, {Text: "*"}}
	default:
		return
	}
	for n := 0; n < len(texts) && len(readers) == 0; n++ {
		readers = in.held(texts[n].Text)
	}
	for n := 0; n < len(names) && len(readers) > 0; n++ {
		in.variables[names[n].Text] = readers
	}
}

// reading are the readers among some commands.
func (in *secretsIn) reading(s span) []int {
	from, _ := slices.BinarySearch(in.readers, s.from)
	to, _ := slices.BinarySearch(in.readers, s.to)
	return in.readers[from:max(from, to)]
}

const maxHeld = 8 // readers of which a text holds something; more make no difference

// held are the readers whose output is in a text, and -1 for the value of a secret variable.
func (in *secretsIn) held(text string) (readers []int) {
	for _, m := range variables().FindAllStringSubmatch(text, 10) {
		readers = append(readers, in.variables[m[1]]...)
	}
	for i := 0; i < len(in.readers) && len(readers) < maxHeld && strings.ContainsAny(text, "(`"); i++ {
		c := &in.commands[in.readers[i]]
		if strings.Contains(text, c.Text) && (!in.functions[c.Name] || strings.Contains(text, "$("+c.Text) ||
			strings.Contains(text, "`"+c.Text)) {
			readers = append(readers, in.readers[i])
		}
	}
	if hasSecret(text) {
		readers = append(readers, -1)
	}
	slices.Sort(readers)
	readers = slices.Compact(readers)
	return readers[:min(len(readers), maxHeld)]
}

// givenTo says what a command sends of that, "" for nothing.
func (in *secretsIn) givenTo(c *Command, input bool) string {
	own := func(reader int) bool { // for a program of this machine
		return c.local() && (archivers.Has(in.commands[reader].Name) || dumps.Has(in.commands[reader].Name))
	}
	for _, reader := range in.reading(c.input) {
		if input && !own(reader) {
			return "what " + in.commands[reader].Text + " prints"
		}
	}
	for n, a := range c.Args {
		if a.Static {
			continue
		}
		if len(in.sourced) > 0 && c.sendsSourced(n, in.values) {
			return "what " + in.commands[max(0, in.sourced[0])].Text + " sets"
		}
		for _, reader := range in.held(a.Text) {
			switch {
			case reader < 0 && c.sendsVariable(n):
				return a.Text
			case reader >= 0 && !own(reader) && !c.usesToken(n, &in.commands[reader]):
				return "what " + in.commands[reader].Text + " prints"
			}
		}
	}
	return ""
}

// sendsSourced reports a word that sends the value of a variable that the text does not set itself: in a body, behind
// the host of an address, or in front of one. Which host it is, and who logs in, a file with settings may say.
func (c *Command) sendsSourced(n int, values map[string]string) bool {
	text := c.Args[n].Text
	other := func(m []string) bool {
		return values[m[1]] == "" && !inherited().MatchString(m[1]) && !homeVariable(m[1])
	}
	if c.local() || !slices.ContainsFunc(variables().FindAllStringSubmatch(text, 10), other) {
		return false
	}
	option, _, attached := strings.Cut(text, "=")
	if !attached || !strings.HasPrefix(option, "--") {
		option = c.Args[max(0, n-1)].Text
	}
	switch {
	case option == "-H" || option == "--header":
		return !authorizes().MatchString(text)
	case bodyOption().MatchString(option):
		return true
	}
	return besideHost().MatchString(text)
}

var (
	bodyOption = lazy.Regexp(`^(-[dFb]|--(data|form|json|cookie|post|body)[\w-]*|--url-query)$`)
	besideHost = lazy.Regexp(`://[\w.:@-]+[/?].*\$|^"?[^:/]*\$\{?\w+\}?"?\.[\w-]+\.?[\w.-]*"?$`)
)

// selecting are programs that print a part of what they read, or what they are given.
const selecting lazy.Words = "grep egrep rg ag awk gawk sed jq yq cut python python3 node ruby perl php echo printf"

var (
	tokenFile  = lazy.Regexp(`(?i)token|api[_-]?key|jwt|passw`)
	authorizes = lazy.Regexp(`(?i)^"?(authorization|[\w-]*(key|token|auth))\s*:`)
)

// usesToken reports a word that is a header, or a user, with a single secret: it is there to be sent.
func (c *Command) usesToken(n int, reader *Command) bool {
	if n == 0 || !slices.Contains([]string{"-H", "--header", "-u", "--user"}, c.Args[n-1].Text) {
		return false
	}
	return tokenFile().MatchString(textOf(reader.Args)) || selecting.Has(reader.Name) &&
		(strings.HasSuffix(c.Args[n-1].Text, "u") || strings.HasSuffix(c.Args[n-1].Text, "user") ||
			authorizes().MatchString(c.Args[n].Text))
}

// keptBy says what a command of git keeps of a secret: in a message, or as a file.
func (in *secretsIn) keptBy(c *Command) string {
	if from := in.givenTo(c, true); from != "" {
		return from
	}
	_, rest := c.gitArgs()
	operands, options := splitOptions(rest, "-F --file -m --message -C -c --author --date -t --template -u --local-user")
	for _, g := range options {
		if g.name == "-F" || g.name == "--file" {
			operands = append(operands, g.value)
		}
	}
	if givenOption(rest, "-A -a --all -u") {
		operands = append(operands, static("."))
	}
	for _, o := range operands {
		if secret(o) {
			return o.Text
		}
		folder, found := c.found(o.Text), ""
		for file := range in.files {
			if under(file, folder) || folder == "." && !path.IsAbs(file) {
				found = max(found, file) // always the same one
			}
		}
		if found != "" {
			return found
		}
	}
	return ""
}

// senders are other programs that send what is in their words, what they read, or the files that they name.
const senders lazy.Words = `dig nslookup host ping open xdg-open drill kdig delv getent whois traceroute tracepath mtr
	openssl redis-cli logger kcat kafkacat wscat websocat grpcurl gh glab telegram-send slackcat wormhole
	magic-wormhole croc ffsend transfer ncftpput smbclient msmtp swaks`

// sendsVariable reports a word with the value of a secret variable that is an address, or a body.
func (c *Command) sendsVariable(n int) bool {
	body := n > 0 && slices.Contains([]string{"-d", "--data", "--data-raw", "--data-binary", "--json", "-F", "--form"},
		c.Args[n-1].Text)
	login := c.Name == "git" && loginVariable().MatchString(c.Args[n].Text) // which is there to be sent
	return (body || strings.Contains(c.Args[n].Text, "://") && !login) && !c.local()
}

// hasSecret reports a text with a variable whose name is that of a secret.
func hasSecret(text string) bool {
	m := variables().FindStringSubmatch(text)
	return m != nil && redact.Variable(m[1])
}

// loginVariable is an address with a single variable, for who logs in.
var loginVariable = lazy.Regexp(`^"?https://([\w.-]+:)?\$\{?\w+\}?@[\w.-]+/[\w./~-]*"?$`)

var sendsStdin = lazy.Regexp(`([@=<]|^-T|^)(-|/dev/stdin|/dev/fd/\d+|/proc/self/fd/\d+)$`)

// readsSecret reports a command that names a file with secrets, or shows a secret variable or all, one that packs many
// files, and a program that is given as text and reads files.
func (c *Command) readsSecret() bool {
	secretWord := func(a Word) bool { return !a.Static && hasSecret(a.Text) }
	says := (c.Name == "echo" || c.Name == "printf") && slices.ContainsFunc(c.Args, secretWord)
	sub, _ := c.gitArgs()
	return says || archivers.Has(c.Name) || dumps.Has(c.Name) || sub == "bundle" || sub == "archive" ||
		slices.Contains(c.Doubts, asProgram) && readsFiles().MatchString(textOf(c.Args)+c.document()) ||
		showsAll.Has(c.Name) && (len(c.Args) == 0 || c.Args[0].Text == "-p" || c.Args[0].Text == "-x" && len(c.Args) == 1) ||
		c.showsKeys(workdirs{dirs: []string{"/"}}) != "" ||
		!downloaders.Has(c.Name) && slices.ContainsFunc(c.Args, func(a Word) bool {
			return (a.Static || a.kind == glob) && secret(a)
		}) || slices.ContainsFunc(c.Redirects, func(r Redirect) bool { return r.Op == "<" && secret(r.Target) })
}
