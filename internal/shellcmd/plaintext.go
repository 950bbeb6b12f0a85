package shellcmd

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/lazy"
)

// Texts for interpreters that certainly only compute, read files and print: python -c 'print(1)'. They are asked
// about, as a script is, but are not high. All words in them that are no strings must be known; a text in which
// something else could be called is not plain.

// A dialect is what plain texts in a language may have in them. Words that are bound in the text are known, too.
type dialect struct {
	script   bool             // JavaScript: strings can name members, and options may come behind the text
	takes    lazy.Words       // options that the text comes behind
	options  *regexp.Regexp   // before those
	texts    *regexp.Regexp   // strings
	replaces []replace        // for what is known as a whole
	refuses  *regexp.Regexp   // what is never plain
	binds    []*regexp.Regexp // what gives a name a meaning
	names    lazy.Words       // words that are not behind a dot
	members  lazy.Words       // words behind a dot; "" for all
	calls    lazy.Words       // what may be called; "" for all
	never    lazy.Words       // words that are never plain, except for members
}

type replace struct {
	from *regexp.Regexp
	to   string
}

// text is a string as replaces see it: its letters, digits and a few signs, with _ for all others.
const text = "\x01[^\x01]*\x01"

var dialects = sync.OnceValue(func() map[string]*dialect {
	const quotes = `"(?:[^"\\\n]|\\[nt"'\\])*"|'(?:[^'\\\n]|\\[nt"'\\])*'`
	const modules = `(?:json|sys|re|math|datetime|time|platform|ast|tomllib|base64|hashlib|textwrap|uuid|` +
		`random|statistics|itertools|collections|functools|string|pprint|csv|yaml|os)`
	const fs = "(?:\\brequire\\(\\s*\x01(?:node_)?fs\x01\\s*\\)|\\bfs)"
	replaces := func(pairs ...string) (out []replace) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, replace{regexp.MustCompile(pairs[i]), pairs[i+1]})
		}
		return out
	}
	python := &dialect{
		takes:   "-c",
		options: regexp.MustCompile(`^-(u|B|q|s|E|I|OO?)$`),
		texts:   regexp.MustCompile(`\b[rbRB]{1,2}(` + quotes + `)|` + quotes),
		replaces: replaces(
			`\bopen\(\s*(?:`+text+`|sys\.argv\[\d\])\s*(,\s*`+"\x01r?[bt]?\x01"+`\s*)?(,\s*encoding=`+text+`)?\)`, "\x01\x01",
			`\bimport\s+`+modules+`(\s*,\s*`+modules+`)*\s*([;\n]|$)`, ";",
			`\bos\.(getcwd|cpu_count|listdir|path\.(exists|isfile|isdir|join|basename|dirname|abspath|getsize))\(`, "len(",
			`\byaml\.safe_load(_all)?\(`, "len(",
			`\bimport\s+[a-z_]\w*\s*;\s*print\(\s*[a-z_]\w*(\.\w+)*\.(__version__|__file__|VERSION|is_available\(\)|`+
				`device_count\(\))\s*\)\s*$`, ";"),
		refuses: regexp.MustCompile("[^\\x00-\\x7f]|[\"'`#@\\\\]|__|\\w\x01"),
		binds: []*regexp.Regexp{regexp.MustCompile(`(?:^|[;\n(\[,:\s])([a-z_]\w*)\s*=[^=]`),
			regexp.MustCompile(`\b(?:for|as|lambda)\s+([a-z_]\w*(?:\s*,\s*[a-z_]\w*)*)`)},
		names: `print len sorted sum min max str int float bool list dict set tuple range enumerate zip map filter any all
			abs round repr type isinstance reversed chr ord hex bin bytes next iter divmod pow format json sys re math
			datetime time platform ast tomllib base64 hashlib textwrap uuid random statistics itertools collections
			functools string pprint csv for in if else elif not and or is lambda while break continue pass with as try
			except finally assert True False None Exception KeyError ValueError`,
		members: `load loads dump dumps version version_info platform path argv stdin stdout stderr read readline
			readlines write split rsplit splitlines strip lstrip rstrip join get keys values items format replace startswith
			endswith lower upper title count index find append extend sort encode decode hexdigest digest md5 sha1 sha256
			sha512 b64encode b64decode parse literal_eval machine system release python_version now today utcnow strftime
			strptime isoformat date datetime timedelta timestamp time sqrt pi e floor ceil log sin cos gcd factorial randint
			random choice uuid4 findall match search sub group groups compile pprint reader DictReader Counter defaultdict
			most_common chain combinations permutations product mean median stdev reduce exit executable prefix maxsize
			byteorder dedent wrap fill ascii_letters ascii_lowercase
			ascii_uppercase SystemRandom digits pop copy isdigit zfill ljust rjust total_seconds`,
		never: `exec eval compile open getattr setattr delattr vars globals locals input raw_input breakpoint help
			execfile file reload apply`,
	}
	node := &dialect{
		script:  true,
		takes:   "-e -p -pe --eval --print",
		options: regexp.MustCompile(`^--no-warnings$`),
		texts:   regexp.MustCompile(quotes + "|`[^`$\\\\]*`"),
		replaces: replaces(
			"\\brequire\\(\\s*\x01[\\w./@-]+\\.json\x01\\s*\\)", "JSON",
			"\\brequire\\(\\s*\x01[\\w./@-]+\x01\\s*\\)\\.(version|VERSION)\\b", "JSON",
			`\b(const|let|var)\s+fs\s*=\s*`+fs+`\s*([;,\n])`, "$1 x$2",
			fs+`\.(readFileSync|existsSync|readdirSync)\(`, "String(",
			`\bprocess\.(versions?|platform|arch|argv|pid|cwd\(\)|uptime\(\)|memoryUsage\(\))`, "JSON",
			`\bprocess\.stdout\.write\(`, "console.log("),
		refuses: regexp.MustCompile("[^\\x00-\\x7f]|[\"'`#@\\\\/$]|<!--|-->|[)\\]\x01]\\s*\\(|\\?\\.\\s*[(\\[]|[\\w)\\]]\\s*\x01|" +
			"[\\w)\\]\x01]\\s*\\[\\s*[^\\d\\s\x01]|[\\w)\\]\x01]\\s*\\[\\s*(\\d+|\x01)\\s*[^\\d\\s\\]]"),
		binds: []*regexp.Regexp{regexp.MustCompile(`\b(?:const|let|var)\s+(\w+)`), regexp.MustCompile(`\b(\w+)\s*=>`),
			regexp.MustCompile(`\(\s*(\w+(?:\s*,\s*\w+)*)\s*\)\s*=>`)},
		names: `console JSON Object Array Math Date String Number Boolean Set Map const let var of in for if else return
			true false null undefined typeof new parseInt parseFloat isNaN`,
		calls: `log error info table keys values entries fromEntries map filter forEach reduce find some every includes join
			split slice sort reverse indexOf startsWith endsWith trim toString toFixed padEnd padStart repeat replace concat
			flat flatMap parse stringify isArray at push max min floor ceil round abs pow sqrt random now toISOString
			toLowerCase toUpperCase String Number Boolean Date Set Map Array parseInt parseFloat isNaN if for`,
		never: `fs vm os v8 child_process cluster module process global globalThis require eval Function constructor
			prototype Reflect Proxy WebAssembly import`,
	}
	return map[string]*dialect{"python": python, "node": node}
})

var (
	wordsIn = lazy.Regexp(`(\.\s*|[{,]\s*)?\b([A-Za-z_]\w*)\b(\s*\(|\s*:)?`)
	reaches = lazy.Regexp(`constructor|prototype|__`)
	// ownName are names that are none of JavaScript or node, so that one bound in a part of a text is not one of theirs
	// in another.
	ownName = lazy.Regexp(`^(\w{1,2}|data|json|pkg|file|item|key|val|value|name|list|text|obj|res|result|lines?|arr|acc|rows?)$`)
	others  = lazy.Regexp(`[^\w./@-]`)
)

// plain reports such a text.
func (d *dialect) plain(code string) bool {
	if strings.Contains(code, `"""`) || strings.Contains(code, "'''") || strings.Contains(code, "\x01") {
		return false
	}
	reaching := false
	code = d.texts.ReplaceAllStringFunc(code, func(s string) string {
		reaching = reaching || d.script && reaches().MatchString(s)
		s = strings.TrimLeft(s, "rbRB")
		return "\x01" + others().ReplaceAllString(s[1:len(s)-1], "_") + "\x01"
	})
	for _, r := range d.replaces {
		code = r.from.ReplaceAllString(code, r.to)
	}
	code = textIn().ReplaceAllString(code, "\x01")
	if reaching || d.refuses.MatchString(code) {
		return false
	}
	bound := map[string]bool{}
	for _, e := range d.binds {
		for _, m := range e.FindAllStringSubmatch(code, -1) {
			for name := range strings.SplitSeq(m[1], ",") {
				name = strings.TrimSpace(name)
				bound[name] = !d.script || ownName().MatchString(name)
			}
		}
	}
	for _, m := range wordsIn().FindAllStringSubmatch(code, -1) {
		behind, name, after := strings.HasPrefix(m[1], "."), m[2], strings.TrimSpace(m[3])
		key := d.script && after == ":" && m[1] != "" && !behind
		switch {
		case behind && d.members != "":
			if !d.members.Has(name) {
				return false
			}
		case d.never.Has(name), d.calls != "" && after == "(" && !d.calls.Has(name),
			!behind && !key && !d.names.Has(name) && !bound[name]:
			return false
		}
	}
	return true
}

var textIn = lazy.Regexp(text)

// plainProgram reports an interpreter with a plain text and, behind it, words for the text.
func plainProgram(c *Command) bool {
	d := dialects()[usualName(c.Name)]
	if d == nil || len(c.Assigns) > 0 { // PYTHONPATH is where its modules are
		return false
	}
	for i, a := range c.Args {
		switch {
		case !a.Static:
			return false
		case d.takes.Has(a.Text):
			more := func(x Word) bool { return d.script && (!x.Static || strings.HasPrefix(x.Text, "-")) }
			return i+1 < len(c.Args) && c.Args[i+1].Static && d.plain(c.Args[i+1].Text) &&
				!slices.ContainsFunc(c.Args[i+2:], more)
		case !d.options.MatchString(a.Text):
			return false
		}
	}
	return false
}
