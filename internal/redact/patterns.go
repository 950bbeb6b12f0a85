package redact

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/lazy"
)

// A pattern finds secrets by how they look. The secret is the last group that matched, if there are groups, otherwise
// all.
type pattern struct {
	hints      []string // in lower case; a text without any of them has no match
	expression func() *regexp.Regexp
	scope      func() *regexp.Regexp // or nil; the expression is then searched for in each match of the scope only
	named      bool                  // a text without any of namedHints has no match either
	starts     string                // the words with which a match begins, or "" for any
}

func (p pattern) find(found []span, text string) []span {
	if p.scope == nil {
		return p.findIn(found, text, 0)
	}
	for _, m := range p.scope().FindAllStringIndex(text, -1) {
		found = p.findIn(found, text[m[0]:m[1]], m[0])
	}
	return found
}

func (p pattern) findIn(found []span, text string, offset int) []span {
	for _, m := range p.expression().FindAllStringSubmatchIndex(text, -1) {
		found = appendSecret(found, text, m, offset)
	}
	return found
}

// findFrom is find for a pattern that has starts, which is the i-th one: to search all of a text for its expression
// would take microseconds for each byte.
func (p pattern) findFrom(starts []start, i int, found []span, text string) []span {
	end := 0
	for _, s := range starts {
		if s.at < end || !s.of.starts.has(i) {
			continue
		}
		if m := p.expression().FindStringSubmatchIndex(text[s.at:]); m != nil {
			before := len(found)
			found, end = appendSecret(found, text[s.at:], m, s.at), s.at+m[1]
			if len(found) > before {
				found[before].to = lineValue(text, found[before])
			}
		}
	}
	return found
}

// oneVariable is the start of a line that has nothing but a name and a value, which is not in quotes. It has at most
// maxVariable bytes.
var oneVariable = lazy.Regexp(`^\s*(?:(?:export\s+)?[A-Z][A-Z0-9_]*=|[\w.-]+\s*[:=]\s+)$`)

const maxVariable = 300

// lineValue is the end of a value that goes on up to the end of its line, with characters that end other values.
// Most values are not the first of their line, which may be all of the text.
func lineValue(text string, value span) int {
	line := max(0, value.from-maxVariable)
	if i := strings.LastIndexByte(text[line:value.from], '\n'); i >= 0 {
		line += i + 1
	} else if line > 0 {
		return value.to
	}
	if !oneVariable().MatchString(text[line:value.from]) {
		return value.to
	}
	rest, _, _ := strings.Cut(text[value.to:], "\n")
	rest = strings.TrimRight(rest, " \t\r,;")
	if strings.ContainsAny(rest, " \t") {
		return value.to
	}
	return value.to + len(rest)
}

func appendSecret(found []span, text string, m []int, offset int) []span {
	s := span{m[0], m[1]}
	for g := 2; g < len(m); g += 2 {
		if m[g] >= 0 {
			s = span{m[g], m[g+1]}
		}
	}
	if s.from < s.to && !strings.HasPrefix(redacted, text[s.from:s.to]) { // some groups end before the bracket
		found = append(found, span{s.from + offset, s.to + offset})
	}
	return found
}

// named are ends of names whose values are secret, and value is a value, within quotes or not: an operator such as ==
// is none. What is named token needs more of a look where it does not follow "=".
const (
	named = `(?:(?:passw(?:or)?d|_pass|_pwd|passphrase|passcode|secret|` + namedKey +
		`|cred(?:ential)?s|credential)` + which + `|cookie|mnemonic|seed[_ -]?phrase)`
	namedToo = `(?:` + named + `|token` + which + `)`
	which    = `(?:[_-]?(?:\d+|prod(?:uction)?|staging|live|dev|test|old|new|base(?:64)?|string|value))?`
	calls    = "set( put( add( append( env( header( define( property("
	// nameStarts are the words with which named begins.
	nameStarts = "passw _pass _pwd passphrase passcode secret cred cookie mnemonic seed " +
		"api access private account signing encryption master shared deploy license subscription"
	// inQuotes takes the prefixes and the three quotes of Python too.
	inQuotes = `[bfru@$]{0,2}(?:"(?:"")?((?:[^"\\]|\\.)*)|'(?:'')?([^']*)|\\+"([^"\\]*)|\x60([^\x60\n]*))`
	value    = `(?:` + inQuotes + `|<<[-~]?["']?\w+["']?\n\s*([^\n]+)|(\[redacted\]|` +
		`=?[^\s"'\x60\\,;&(){}<>=][^\s"'\\,;&(){}<>]*))`

	several = `["']\s*:\s*([\[{][^\]}]*)`     // a list or an object, in JSON that was cut
	colon   = `\s*:\s*(?:[|>][+-]?\s*\n\s*)?` // also of a YAML block
	// assigns is between a name and a value in quotes, in code: ==, :=, =>, ": string =", and the end of an index.
	assigns = `\]?\s*(?:[:!?.]{0,3}=+>?|(?::\s*[&\w.<>]+|\sstring)\s*=)\s*`

	namedKey = `(?:api|access|private|secret|account|signing|encryption|master|shared|deploy|license|` +
		`subscription)[_. -]?key`
	word = `(?:"([^"]*)|'([^']*)|([^\s"']+))` // an argument of a command
	rest = `(?:"[^"\n]*"|'[^'\n]*'|\\\r?\n|[^\n|;&"'])*`
)

var namedHints = []string{"passw", "_pass", "-pass", "_pwd", "passphrase", "passcode", "secret", "key", "cred", "cookie",
	"token", "mnemonic", "seed"}

// nameHints are in the names of JSON that only json.go knows.
var nameHints = []string{"pwd", "auth", "connection", "webhook", "--", "-u", "-a"}

// patterns are keys and tokens of well-known services by their published prefixes, private keys, credentials in URLs
// and headers, values behind telling names, and passwords among the arguments of well-known commands.
var patterns = sync.OnceValue(func() []pattern {
	return append([]pattern{
		starting(`[\w-]{16,}`, "sk- xapp- pypi- tskey- NRAK- NRII- NRJS- NRAL- doo_v1_ dop_v1_ dor_v1_ shpat_ shpss_ "+
			"shpca_ shppa_"),
		starting(`[\w-]{20,}`, "GOCSPX- ya29. hvs. hvb. hvr. pul- r8_ gsk_ tvly- fw_ nvapi- xai- pplx- lin_api_ "+
			"lin_oauth_ ntn_ figd_ figo_ figc_ PMAK- sha256~ apify_api_ alcht_ duffel_live_ duffel_test_ ico-"),
		starting(`(?:[A-Za-z0-9]+[_.-]){0,3}[A-Za-z0-9]{20,}(?:[.-]?\w)*`, "npm_ hf_ api_org_ tgp_v1_ csk- lsv2_ sbp_ "+
			"sb_secret_ vcp_ vck_ vercel_blob_rw_ nfp_ rnd_ fm2_ fo1_ pscale_ napi_ bkua_ CCIPAT_ CCIPRJ_ sqp_ "+
			"squ_ sqa_ pcsk_ xkeysib- xsmtpsib- shippo_live_ jina_ CLOJARS_ KGAT_ CFPAT- tfp_ HRKU- FLWSECK- "+
			"FLWSECK_ pnu_ rdme_ sgp_ phx_ polar_ wandb_v1_ e2b_ crsr_ ops_eyJ ATSTT cfut_ cfat_ cfk_ secret_ 1//0 "+
			"AQ.Ab LTAI AKID AKCp cmVmdGtu AQVN ABSK EZAK EZTK shippo_test_ dt0c01."),
		prefixed(`gh[oprsu]_(?:[A-Za-z0-9]{16,}|\d+_eyJ[\w.-]+\w)`, "ghp_", "gho_", "ghr_", "ghs_", "ghu_"),
		prefixed(`github_pat_\w{16,}`, "github_pat_"),
		prefixed(`gl[a-z]{1,6}-[\w.-]{16,}`, "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-",
			"glsoat-", "glffct-", "glwt-"),
		prefixed(`(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`, "akia", "asia", "abia", "acca"),
		prefixed(`AIza[\w-]{30,}`, "aiza"),
		prefixed(`(?:sk|rk|rzp)_(?:live|test|prod)_\w{10,}`, "k_live_", "k_test_", "k_prod_", "p_live_", "p_test_"),
		// also in base64: JSON web tokens, logins of Docker, private keys
		prefixed(`(?:whsec_|BBDC-|ZXlK|eyJhdXRo|eyJrIjoi)[\w+/=]{16,}`, "whsec_", "bbdc-", "zxlk", "eyjhdxro", "eyjrijoi"),
		prefixed(`LS0tLS1CRUdJTiB(?:SU0Eg|QUklW|FQyBQ|FTkNS|PUEVO|EU0Eg)[\w+/=]+(?:\r?\n\s*[\w+/]{40,})*`,
			"ls0tls1crudjtib"),
		prefixed(`EAA[\w=-]{40,}`, "eaa"),
		prefixed(`sk_[0-9a-f]{32,}\b`, "sk_"),
		prefixed(`v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}`, "v1.0-"),
		prefixed(`pat-(?:na|eu)\d-[0-9a-f-]{36}`, "pat-na", "pat-eu"),
		prefixed(`[0-9a-f]{32}-us\d+\b`, strings.Fields("-us1 -us2 -us3 -us4 -us5 -us6 -us7 -us8 -us9")...),
		prefixed(`A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}\b`, "a3-"),
		prefixed(`xox[a-z](?:\.xox[a-z])?-[\w-]{8,}`, "xox"),
		prefixed(`rubygems_[0-9a-f]{32,}`, "rubygems_"),
		prefixed(`cio[A-Za-z0-9]{32}\b`, "cio"),
		prefixed(`dckr_[a-z]{2,4}_[\w-]{16,}`, "dckr_"),
		prefixed(`SG\.[\w-]{16,}\.[\w-]{16,}`, "sg."),
		prefixed(`key-[0-9a-f]{32}\b`, "key-"),
		prefixed(`AGE-(?:SECRET-KEY|PLUGIN-[A-Z0-9]+)-1[A-Z0-9]{16,}`, "age-secret-key-1", "age-plugin-"),
		prefixed(`[A-Za-z0-9]{10,}\.atlasv1\.[\w-]{30,}`, ".atlasv1."),
		prefixed(`sq0[a-z]{3}-[\w-]{20,}`, "sq0"),
		prefixed(`gl(?:sa|c)_[\w+/=]{20,}`, "glsa_", "glc_"),
		prefixed(`sntry[su]_[\w+/=.-]{20,}`, "sntrys_", "sntryu_"),
		prefixed(`dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{20,}`, "dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.",
			"dp.audit."),
		prefixed(`AT(?:ATT|CTT|BB)[\w=-]{20,}`, "atatt", "atctt", "atbb"),
		prefixed(`dapi[0-9a-f]{32}\b`, "dapi"),
		prefixed(`\d{8,10}:AA[\w-]{32,}`, ":aa"),
		prefixed(`\w{3}[78]Q~[\w.~-]{30,}`, "q~"),
		prefixed(`\w{52}JQQJ99\w{20,}`, "jqqj99"),
		prefixed(`eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)*`, "eyj"),
		seen(`(?s)-{4,5} ?BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}.*?(?:-{4,5} ?END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? `+
			`?-{4,5}|\z)`, "private key"),
		seen(`(?is)\bPrivate-Lines:\s*\d+(.*?)(?:Private-MAC|\z)`, "private-lines:"),
		seen(`://[^\s/?#@:"]*:([^\s/?#"]+)@`, "://"),
		seen(`://([\w.~%+-]{16,})@`, "://"),
		seen(`hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/([\w/-]{8,})`, "hooks.slack"),
		seen(`discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d+/([\w-]{16,})`, "/webhooks/"),
		seen(`webhook\.office\.com/webhookb2/([^\s"'<>]{16,})`, "webhook.office.com"),
		seen(`(?i)[?&](?:sig|x-amz-signature|x-goog-signature|signature|key|code|auth|jwt)=([\w%+/=.-]{16,})`, "sig=",
			"signature=", "?key=", "&key=", "?code=", "&code=", "?auth=", "&auth=", "?jwt=", "&jwt="),
		seen(`(?i)(?:authorization|(?:private|auth|access|csrf|api)-token|api-key)\\*["']?\s*[:=]\s*\\*["']?`+
			`([^\s"'\\=][^"'\\\r\n]*)`, "authorization", "-token", "api-key"),
		seen(`(?i)\bcookie\\*["']?\s*:\s*\\*["']?([^\s"'\\=][^"'\\\r\n]*)`, "cookie"),
		seen(`(?i)\bbearer\s+([\w.~+/=-]{16,})`, "bearer"),
		seen(`(?i)(?:\b_auth\s*=\s*|"auth\\*"\s*:\s*\\*")([\w+/=]{8,})`, "_auth", `"auth"`, `"auth\`),
		seen(`(?i)(?:^|[_;"'\s])pwd=([^;"'\s/\\$][^;"'\s]*)`, "pwd="),
		seen(`(?i)[?&](?:pwd|pass)=([^;&"'\s/\\$][^;&"'\s]*)`, "pwd=", "?pass=", "&pass="),
		seen(`(?i)\b(?:requirepass|masterauth|bind_?pw)[\s:=]+["']?([^\s"']+)`, "requirepass", "masterauth", "bindpw",
			"bind_pw"),
		seen(`(?i)(?:\bsqlplus\s+(?:-\w+\s+)*|jdbc:oracle:\w+:)["']?[\w.$#]+/([^\s@"']+)@`, "sqlplus", "jdbc:oracle"),
		seen(`\b(?:echo|printf)\s+(?:-\w+\s+)?["']?([^\s"'$|][^"'|\n]*?)["']?\s*\|[^|\n]*?`+
			`(?:(?:pass\w*|token|secret|key)-stdin\b|\bpasswd\s[^|\n]*--stdin\b|\ssudo\s[^|\n]*-S\b|\bchpasswd|--with-token)`,
			"-stdin", "sudo ", "chpasswd", "--with-token"),
		seen(`(?i)\blogin\s+\S+\s+password\s+(\S+)`, "password"),
		atWords(nameStarts+" token", namedToo+`\\*["']?\s*(?:\?|::)?=\s*`+value, namedHints...),
		atWords(nameStarts, named+`\\*(?:`+several+`|["']?(?:`+assigns+`(?:`+inQuotes+`)|`+colon+value+`))`,
			namedHints...),
		// a name such as OPENAI_KEY or X-Auth-Key, with a value that a person would not choose
		atWords("_key -key", `(?-i:_KEY|-Key)\\*["']?\s*[:=]\s*\\*["']?([a-z~+/=.-]{0,15}\d[\w.~+/=-]{12,})`, "_key", "-key"),
		atWords("token", `token`+which+`\\*(?:`+several+`|["']?(?:`+colon+`\\*["'\x60]?|`+assigns+`\\*["'\x60])`+
			`([\w.~+/=-]{16,}))`, "token"),
		// among arguments, in XML, as pairs of a name and a value, in commands, and in calls that set something
		behind(`(?:--|(?:^|[ \t])-)(?:[\w-]*`+namedToo+`|(?:[\w-]+-)?pass)(?:\\*["']\s*,\s*\\*["']([^"'\\]+)|[\s=]+`+
			value+`)`, "--", "-pass", "-token", "-secret"),
		behind(`<(?:[\w:.-]*`+namedToo+`(?:\s[^<>]*)?>|key>[^<]*`+namedToo+`</key>\s*<string>)\s*`+
			`(?:<!\[CDATA\[((?s:.*?))(?:\]\]>|\z)|([^<>\s][^<>]*))`, "</"),
		atWords("name key header field variable", `(?:name|key|header|field|variable)\\*["']?\s*[:=]\s*\\*["']?`+
			`[\w.$-]*`+namedToo+`\\*["']?\s*,?\s*\\*["']?value\\*["']?\s*[:=]\s*`+value,
			"value:", "value=", "value ", `value"`, `value\`, "value'"),
		behind(`(?:\b(?-i:ENV|setx|setenv|set\s+-\w+|config(?:ure)?\s+set)|#define)\s+[\w./:-]*`+namedToo+`\s+`+value,
			"env ", "setx ", "setenv ", "set -", "config set", "configure set", "#define"),
		atWords(calls, `\w+\(\\*["'][\w.:-]*`+namedToo+`\\*["'],\s*(?:`+inQuotes+`)`, strings.Fields(calls)...),
		seen(`(?i)\b(?:password|identified\s+by)\s+'([^']+)`, "password '", "identified"),
	}, commandPatterns()...)
})

// commandPatterns find passwords among the arguments of programs that take them there.
func commandPatterns() (out []pattern) {
	for _, c := range []struct {
		hints              []string
		programs, argument string
	}{
		{[]string{"curl", "wget"}, `curl|wget2?`,
			`\s(?:-[A-Za-z#]*[uU]\s*|--(?:proxy-)?user[\s=]+)["']?` +
				`(?:([^\s"':]{16,}):(?:["'\s]|$)|[^\s"':]*["']?:["']?([^"'\s]+))`},
		{[]string{"curl"}, `curl`, `\s(?:-b\s*|--cookie[\s=]+)(?:"([^"=]+=[^"]*)|'([^'=]+=[^']*)|([^\s"'=]+=[^\s"']+))`},
		{[]string{"http ", "https ", "xh ", "xhs "}, `https?|xhs?`, `\s(?:-a\s*|--auth[\s=]+)["']?[^\s"':]*:([^"'\s]+)`},
		{[]string{"mysql", "mariadb"}, `(?:mysql|mariadb)[\w-]*`, `\s-p` + word},
		{[]string{"sshpass", "rdesktop", "twine", "snowsql", "useradd", "usermod"},
			`sshpass|rdesktop|twine|snowsql|useradd|usermod`, `\s-p\s*` + word},
		{[]string{"freerdp"}, `\w*freerdp\d?`, `\s/p:` + word},
		{[]string{"keytool", "jarsigner"}, `keytool|jarsigner`, `\s-\w+pass\s+` + word},
		{[]string{"plink", "pscp", "psftp", "putty"}, `plink|pscp|psftp|putty`, `\s-pw\s+` + word},
		{[]string{"gh secret"}, `gh\s+secret\s+set`, `\s(?:-b|--body)[\s=]*` + word},
		{[]string{"redis-cli", "valkey-cli"}, `redis-cli|valkey-cli`, `\s-a\s+` + word},
		{[]string{"login"}, `(?:docker|podman|nerdctl|helm|oras|crane|skopeo|buildah|az|oc|cf)\s+(?:[\w-]+\s+)?login`,
			`\s-p\s*` + word},
		{[]string{"ldap"}, `ldap\w+`, `\s-w\s*` + word},
		{[]string{"openssl"}, `openssl`, `\s(?:pass:|-[kK]\s+)` + word},
		{[]string{"7z", "rar "}, `7z[arz]?|rar|unrar`, `\s-p` + word},
		{[]string{"zip "}, `zip|unzip`, `\s-P\s*` + word},
		{[]string{"smb", "rpcclient"}, `smb\w+|rpcclient`, `\s(?:-U\s*|--user[\s=]+)["']?[^\s"'%]+%([^"'\s]+)`},
		{[]string{"mongo", "cqlsh", "influx"}, `mongo\w*|cqlsh|influx`, `\s-p\s+` + word},
		{[]string{"sqlcmd", "bcp ", "isql", "tsql"}, `sqlcmd|bcp|isql|tsql|osql`, `\s-P\s*` + word},
		{[]string{"ftp "}, `lftp|ncftp\w*`, `\s-[up]\s*(?:[^\s,]+,)?` + word},
		{[]string{"htpasswd"}, `htpasswd`, `\s-\w*b\w*\s+(?:-\w+\s+)*\S+\s+(?:\S+\s+)?` + word + `\s*$`},
	} {
		out = append(out, pattern{
			hints:      c.hints,
			expression: lazy.Regexp(c.argument),
			scope:      lazy.Regexp("(?:^|[\\s/\"'=;&|(`])(?:" + c.programs + `)(?:\.exe)?\s` + rest),
		})
	}
	return out
}

// starting finds tokens that begin with one of the words, and continue as the expression says.
func starting(rest, words string) pattern {
	return prefixed(`(?:`+strings.ReplaceAll(regexp.QuoteMeta(words), " ", "|")+`)`+rest,
		strings.Fields(strings.ToLower(words))...)
}

// prefixed finds tokens that begin in a way of their own.
func prefixed(expression string, hints ...string) pattern {
	return pattern{hints: hints, expression: lazy.Regexp(`\b` + expression)}
}

// atWords finds what begins with one of the words, which the expression says again, in any case.
func atWords(starts, expression string, hints ...string) pattern {
	return pattern{hints: hints, starts: starts, expression: lazy.Regexp(`\A(?i:` + expression + `)`)}
}

// behind finds values behind the names of secrets.
func behind(expression string, hints ...string) pattern {
	return pattern{hints: hints, expression: lazy.Regexp(`(?i)` + expression), named: true}
}

func seen(expression string, hints ...string) pattern {
	return pattern{hints: hints, expression: lazy.Regexp(expression)}
}

// A patternSet is a set of indexes of patterns.
type patternSet [4]uint64

func (s *patternSet) add(i int)     { s[i/64] |= 1 << (i % 64) }
func (s patternSet) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

// A hint is one that is in texts, the patterns that it is for, and those of whose starts it is one.
type hint struct {
	text             string
	patterns, starts patternSet
}

// A start is a place of a text where a hint that is one of some patterns' starts stands.
type start struct {
	at int
	of *hint
}

// A hintIndex has all hints by their first two bytes, so that a text is read once however many there are.
type hintIndex struct {
	lists [1 << 16]uint16 // by two bytes, in either case: which of the lists of hints may begin there
	hints [][]hint        // the first is empty
	named patternSet      // patterns that also need a name of a secret
}

var hints = sync.OnceValue(func() *hintIndex {
	index := &hintIndex{hints: [][]hint{nil}}
	add := func(i int, hints []string, set func(*hint) *patternSet) {
		for _, text := range hints {
			text = strings.ToLower(text)
			list := &index.lists[pair(text[0], text[1])]
			if *list == 0 {
				*list = uint16(len(index.hints)) // some hundreds
				index.hints = append(index.hints, nil)
			}
			same := index.hints[*list]
			n := slices.IndexFunc(same, func(h hint) bool { return h.text == text })
			if n < 0 {
				same, n = append(same, hint{text: text}), len(same)
			}
			set(&same[n]).add(i)
			index.hints[*list] = same
		}
	}
	gates := func(h *hint) *patternSet { return &h.patterns }
	for i, p := range patterns() {
		add(i, p.hints, gates)
		add(i, strings.Fields(p.starts), func(h *hint) *patternSet { return &h.starts })
		if p.named {
			index.named.add(i)
		}
	}
	add(len(patterns()), nameHints, gates)
	add(len(patterns())+1, namedHints, gates)
	for key, list := range index.lists {
		if list != 0 {
			first, second := byte(key>>8), byte(key)
			index.lists[pair(upper(first), second)] = list
			index.lists[pair(first, upper(second))] = list
			index.lists[pair(upper(first), upper(second))] = list
		}
	}
	return index
})

// likely are the patterns that may have a match in the text, and where those with starts may. It reads all that is
// recorded, a byte in about a nanosecond.
func likely(text string) (set patternSet, starts []start) {
	index := hints()
	for i := 1; i < len(text); i++ {
		list := index.lists[pair(text[i-1], text[i])]
		if list == 0 {
			continue
		}
		for n := range index.hints[list] {
			h := &index.hints[list][n]
			if !hasPrefixFold(text[i-1:], h.text) {
				continue
			}
			for w := range set {
				set[w] |= h.patterns[w]
			}
			if h.starts != (patternSet{}) {
				starts = append(starts, start{i - 1, h})
			}
		}
	}
	if !set.has(len(patterns()) + 1) {
		for w := range set {
			set[w] &^= index.named[w]
		}
	}
	return set, starts
}

// hasPrefixFold reports whether a text begins with a hint, which is in lower case, in any case.
func hasPrefixFold(text, hint string) bool {
	if len(text) < len(hint) {
		return false
	}
	for i := 2; i < len(hint); i++ { // its first two bytes were found
		if c := text[i]; c != hint[i] && c != upper(hint[i]) {
			return false
		}
	}
	return true
}

func pair(a, b byte) uint16 { return uint16(a)<<8 | uint16(b) }

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}
