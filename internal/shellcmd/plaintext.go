package shellcmd

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/lazy"
)

// Texts for interpreters that certainly only compute, print, and read and write files that they name: python -c
// 'print(1)'. They are asked about, as a script is, but are not high. All words in them that are no strings must be
// known; a text in which something else could be called is not plain.

// An expression is compiled when it is first used: most programs need few of them.
type expression = func() *regexp.Regexp

// A dialect is what plain texts in a language may have in them. Words that are bound in the text are known, too.
type dialect struct {
	script   bool         // JavaScript: strings can name members
	files    bool         // operands are files that it reads, by names that may also be commands
	takes    expression   // options that the text comes behind
	options  expression   // other options
	texts    expression   // strings; what is in a group stays
	unsafe   expression   // what has code in a string
	replaces []replace    // for what is known as a whole
	refuses  expression   // what is never plain
	binds    []expression // what gives a name a meaning
	own      bool         // only names that look like ownName can be bound
	writes   expression   // writes to files; the groups are those that are named
	names    lazy.Words   // words that are not behind a dot
	members  lazy.Words   // words behind a dot; "" for all
	calls    lazy.Words   // what may be called; "" for all
	never    lazy.Words   // words that are never plain, except for members
}

type replace struct {
	from expression
	to   string
}

// text is a string as replaces see it: its letters, digits and a few signs, with \x02 for all others; file is one that
// is a path.
const (
	text = "\x01[^\x01]*\x01"
	file = "\x01[\\w.@-]+(?:/[\\w.@-]+)*\x01"
)

// patterns are those of perl and ruby between slashes, where no division can be: not behind a variable
// such as $; or $if.
func patterns(words string) string {
	return `(^|(?:^|[^$@%?*&])[(,{;~|=]\s*|&&\s*|(?:^|[^\w$@%])!\s*|` +
		`(?:^|[^\w$@%&*>:.-])(?:if|unless|while|and|or|not|return` + words + `)\s+)/(?:[^/\\\n]|\\.)*/[gimsxo]*`
}

var dialects = sync.OnceValue(func() map[string]*dialect {
	const quotes = `"(?:[^"\\\n]|\\[nt"'\\])*"|'(?:[^'\\\n]|\\[nt"'\\])*'`
	const anyQuotes = `"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'`
	const modules = `(?:json|sys|re|math|datetime|time|platform|ast|tomllib|base64|hashlib|textwrap|uuid|secrets|struct|` +
		`random|statistics|itertools|collections|functools|string|pprint|csv|yaml|pathlib|glob|urllib\.parse|difflib|` +
		`dataclasses|typing|decimal|fractions|bisect|heapq)`
	const imported = `(?:Path|Counter|defaultdict|OrderedDict|namedtuple|timezone|timedelta|date|datetime|time|Decimal|` +
		`reduce|chain|pprint|glob|literal_eval|dedent|dumps?|loads?)`
	const arrays = `arange|linspace|array|asarray|zeros|ones|full|eye|diag|mean|median|std|var|dot|sum|prod|cumsum|` +
		`min|max|argm(?:ax|in)|argsort|sort|abs|sqrt|exp|log(?:2|10)?|sin|cos|tan|pi|e|inf|nan|isnan|isclose|allclose|` +
		`unique|where|concatenate|[vh]?stack|percentile|quantile|histogram|clip|round|diff|outer|cross|matmul|trace|inv|` +
		`det|eig|eigvals|norm|solve|svd|seed|randn?|randint|normal|uniform|default_rng|choice|u?int(?:8|16|32|64)|` +
		`float(?:32|64)|poly(?:fit|val)|corrcoef|cov|count_nonzero|nonzero|any|all|__version__`
	const plainEnv = "\x01(?:HOME|PATH|PWD|USER|LANG|SHELL|PORT|CI|DEBUG|PYTHONPATH|VIRTUAL_ENV)\x01"
	const fs = "(?:\\brequire\\(\\s*\x01(?:node.)?fs\x01\\s*\\)|\\bfs)"
	all := lazy.Regexp
	replaces := func(pairs ...string) (out []replace) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, replace{all(pairs[i]), pairs[i+1]})
		}
		return out
	}
	python := &dialect{
		takes:   all(`^-c$`),
		options: all(`^-(u|B|q|s|E|I|OO?)$`),
		texts: all(`\b[rbuRBUfF]{1,2}(?:"""(?:[^\\]|\\[\s\S])*?"""|'''(?:[^\\]|\\[\s\S])*?'''|` + anyQuotes + `)|` +
			`"""(?:[^\\]|\\[\s\S])*?"""|'''(?:[^\\]|\\[\s\S])*?'''|` + anyQuotes + `|#[^\n]*`),
		replaces: replaces(
			`\b(?:open|write_\w+)\b[\s\S]*\bimport\b`, "#", // what it wrote
			`\.replace\(\s*(?:[^,()*=\[\]{}]|\([^()*=]*\)|\[[^\[\]]*\])*,\s*([^)\s*])`, ".strip($1", // not that of a path
			`\.copy\(\s*\)`, ".strip()",
			`\b(?:(print|len)\(\s*|(in)\s+)sys\.path\s*(\)|:)`, "$1$2 (1$3",
			`\bopen\(\s*(?:`+text+`|sys\.argv\[\d\])\s*(,\s*(mode=)?`+"\x01[rwabtx]*\x01"+`\s*)?`+
				`(,\s*(encoding|newline|errors)=`+text+`\s*)*\)`, "\x01\x01",
			`(?:\bpathlib\s*\.\s*|\b)Path\(\s*(?:`+text+`)?\s*\)`, "\x01\x01",
			`\bfrom\s+`+modules+`\s+import\s+`+imported+`(\s*,\s*`+imported+`)*\s*([;\n]|$)`, ";",
			`\bimport\s+`+modules+`(\s*,\s*`+modules+`|\s*,\s*os)*\s*([;\n]|$)`, ";",
			`\bimport\s+(?:numpy|pandas)\b[\s\S]*\.(?:dump|load)s?\b`, "#", // which pickle
			`\bimport\s+(?:numpy\s+as\s+np|pandas\s+as\s+pd)\s*([;\n]|$)`, ";",
			`\b(?:np\.(?:(?:linalg|random)\.)?(?:`+arrays+`)|pd\.(?:DataFrame|Series|concat|to_datetime|isna))\b`, "len",
			`\bpd\.read_(?:csv|json|table|parquet|excel)\(\s*`+file+`\s*([,)])`, "len(1$1", // no address
			`\.__name__\b`, ".name",
			`\bimport\s+os(\s*,\s*`+modules+`)*\s*([;\n]|$)`, ";",
			`\bos\.(getcwd|cpu_count|listdir|path\.(exists|isfile|isdir|join|basename|dirname|abspath|getsize))\(`, "len(",
			`\b(yaml\.safe_load(_all)?|i?glob\.i?glob|secrets\.token_\w+|urllib\.parse\.(un)?(quote|urlparse|urlencode)\w*)\(`,
			"len(",
			`\bos\.environ(?:\.get\(\s*`+plainEnv+`\s*(?:,\s*`+text+`\s*)?\)|\[\s*`+plainEnv+`\s*\])`, "1",
			`\bimport\s+[a-z_][\w.]*(\s+as\s+\w+)?\s*[;\n]\s*print\((\s*,?\s*[a-z_]\w*(\.\w+)*\.(__version__|__file__|VERSION|`+
				`is_available\(\)|device_count\(\)))+\s*\)\s*$`, ";",
			`^(?:\s*(?:import\s+[a-z_][\w.]*(?:\s*,\s*[a-z_][\w.]*)*|`+
				`from\s+\.*[a-z_][\w.]*\s+import\s+\w+(?:\s*,\s*\w+)*)\s*(?:[;\n]|$))+(?:\s*print\(\s*`+
				text+`\s*\))?\s*$`, "1"), // whether that works
		refuses: all("[^\\x00-\\x7f]|[\"'`#@\\\\\r]|__|:=|\\w\x01|[)\\]}\x01][ \\t]*\\("),
		binds: []expression{all(`(?:^|[;\n(\[,:\s])([a-z_]\w*)\s*=[^=]`),
			all(`\bdef\s+([a-z_]\w*\s*\([\w\s,]*)`), all(`\b(?:for|as|lambda)\s+\(?([a-z_]\w*(?:\s*,\s*\(?[a-z_]\w*)*)`)},
		writes: all(`\bopen\(\s*(` + text + `|[^,()]*),\s*(?:mode=)?` + "\x01[rbt]*[wax]" + `|\bPath\(\s*(` + text +
			`|[^()]*)\)|\.write_(?:text|bytes)\(`),
		names: `print len sorted sum min max str int float bool list dict set tuple range enumerate zip map filter any all
			abs round repr type isinstance reversed chr ord hex bin bytes next iter divmod pow format json sys re math datetime
			time platform ast tomllib base64 hashlib textwrap uuid random statistics itertools collections functools string
			pprint csv struct difflib decimal heapq bisect Counter defaultdict OrderedDict namedtuple timezone timedelta date
			Decimal reduce chain for in if else elif not and or is lambda while break continue pass with as try raise assert def
			return yield except finally True False None Exception KeyError ValueError SystemExit IndexError TypeError`,
		members: `load loads dump dumps version version_info platform argv stdin stdout stderr read readline readlines
			write split rsplit splitlines strip lstrip rstrip join get keys values items format startswith endswith
			lower upper title count index find append extend sort encode decode hexdigest digest md5 sha1 sha256 sha512
			b64encode b64decode parse literal_eval machine system release python_version now today utcnow strftime strptime
			isoformat date datetime timedelta timezone utc timestamp time sqrt pi e floor ceil log sin cos gcd factorial randint
			random choice uuid4 findall finditer match fullmatch search sub subn group groups groupdict start end span escape
			compile pprint reader DictReader Counter defaultdict most_common chain combinations permutations product mean median
			stdev reduce exit executable prefix maxsize byteorder dedent indent wrap fill ascii_letters ascii_lowercase
			ascii_uppercase SystemRandom digits pop isdigit isalpha isspace zfill ljust rjust center total_seconds
			read_text read_bytes write_text write_bytes exists is_file is_dir name stem suffix rglob glob iterdir stat st_size
			update add insert setdefault remove union intersection difference rfind rindex partition rpartition splitlines
			unpack pack calcsize unified_diff M MULTILINE S DOTALL I IGNORECASE X VERBOSE casefold swapcase expandtabs
			mean std var dot T shape reshape ravel flatten astype tolist item cumsum prod argmax argmin argsort dtype ndim sum
			min max round any all abs head tail describe columns dtypes groupby value_counts isna isnull dropna fillna
			sort_values sort_index reset_index nunique unique drop_duplicates duplicated nlargest nsmallest loc iloc corr
			to_dict quantile
			removeprefix removesuffix fromisoformat year month day hour minute second weekday`,
		never: `exec eval compile open getattr setattr delattr vars globals locals input raw_input breakpoint help execfile
			file reload apply os yaml`,
	}
	// What it reads is named by one expression: a second one could say how the file is opened.
	const oneFile = `(\s*(?:` + text + "|[^(){},.\x01]" + `|\.\w|path\.\w+\([^(){}]*\))*` +
		"(?:,\\s*\x01[\\w-]+\x01\\s*)?\\))"
	node := &dialect{
		script:  true,
		own:     true,
		takes:   all(`^(-e|-p|-pe|--eval|--print|eval)$`),
		options: all(`^--(no-warnings|input-type=(module|commonjs))$`),
		texts:   all(quotes + "|`[^`$\\\\]*`"),
		replaces: replaces(
			"\\brequire\\(\\s*\x01[\\w./@-]+\\.json\x01\\s*\\)", "JSON",
			"\\brequire\\(\\s*\x01[\\w./@-]+\x01\\s*\\)\\.(version|VERSION)\\b", "JSON",
			"\\bimport\\s+(?:\\*\\s*as\\s+)?(?:fs\\s+from\\s*\x01(?:node.)?fs|"+
				"path\\s+from\\s*\x01(?:node.)?path)\x01\\s*([;\n])", "$1",
			`\b(const|let|var)\s+(?:fs\s*=\s*`+fs+"|path\\s*=\\s*require\\(\x01(?:node.)?path\x01\\))"+`\s*([;,\n])`, "$1 x$2",
			fs+`\.(?:readFileSync|existsSync|readdirSync)\(`+oneFile, "String($1",
			fs+`\.writeFileSync\(`, "String(",
			`\bObject\.(keys|values|entries|fromEntries)\b`, "Array.$1",
			`\bpath\.(resolve|join|basename|dirname|extname|relative)\(`, "String(",
			`\bprocess\.env\.(?:NODE_ENV|HOME|PATH|PWD|USER|LANG|SHELL|PORT|CI|DEBUG)\b`, "JSON",
			`\bprocess\.(versions?|platform|arch|argv|pid|cwd\(\)|uptime\(\)|memoryUsage\(\))`, "JSON",
			`\bprocess\.stdout\.write\(`, "console.log("),
		refuses: all("[^\\x00-\\x7f]|[\"'`#@\\\\/$]|__|\\._std|<!--|-->|[)\\]\x01]\\s*\\(|" +
			"\\?\\.\\s*[(\\[]|[\\w)\\]]\\s*\x01|[\\w)\\]\x01]\\s*\\[\\s*[^\\d\\s\x01]|" +
			"[\\w)\\]\x01]\\s*\\[\\s*(\\d+|\x01)\\s*[^\\d\\s\\]]"),
		binds: []expression{all(`\b(?:const|let|var)\s+(\w+)`), all(`\b(\w+)\s*=>`),
			all(`\(\s*(\w+(?:\s*,\s*\w+)*)\s*\)\s*=>`)},
		writes: all(`writeFileSync\(\s*(?:(` + text + `)\s*,|([^,]*))`),
		names: `console JSON Array Math Date String Number Boolean Buffer Set Map const let var of in for if else
			return true false null undefined typeof new parseInt parseFloat isNaN`,
		calls: `log error info table keys values entries fromEntries map filter forEach reduce find some every includes join
			split slice sort reverse indexOf startsWith endsWith trim toString toFixed padEnd padStart repeat replace concat
			flat flatMap parse stringify isArray at push max min floor ceil round abs pow sqrt random now toISOString from
			toLowerCase toUpperCase String Number Boolean Date Set Map Array parseInt parseFloat isNaN if for`,
		never: `fs vm os v8 child_process cluster module process global globalThis require eval Function constructor
			prototype Reflect Proxy WebAssembly import path`,
	}
	const braced = `(?:[^{}\\]|\\[\s\S])*`
	substitutes := ""
	for mark := range strings.FieldsSeq(`/ \| , \# !`) {
		part := `(?:[^` + mark + `\\]|\\[\s\S])*` + mark
		substitutes += `|(?:s|tr|y)` + mark + part + part + `[gimsxrcd]*|m` + mark + part + `[gimsxo]*`
	}
	perl := &dialect{
		files: true,
		takes: all(`^-[pnlaw]*(0[0-7]*)?[pnlaw]*[eE]$`),
		options: all(`^-([pnlaw]*(0[0-7]*)?[pnlaw]*(i(\.bak|\.orig|\.old|\.tmp)?)?|F([^({"'$@/` + "`]*|/[^({$@/`" + `]*/)|` +
			`C[A-Z]*|M(List::Util|POSIX|strict|warnings|utf8|Data::Dumper|JSON::PP)(=[\w,]+)?)$`),
		texts: all(anyQuotes + `|(^|[^\w$@%&*<>:-])(?:s\{` + braced + `\}\{` + braced + `\}[gimsxr]*|m\{` + braced +
			`\}[gimsxo]*` + substitutes + `)|` + patterns("|split|grep")),
		// In a string, only numbers and variables are no code between [ and ], and neither are words between { and }.
		unsafe: all(`[$@]\s*\{|\(\?[?p]?\{|\(\*\*?\{|[$@](?:\w+|[^\w\s({\[])(?:(?:->)?[\[{][\w$-]*[\]}])*(?:->)?` +
			`(?:\[(?:[^\d$\]-]|-?\d+[^\d\]]|-?\$\w*[^\w\]]|-[^\d$])|\{(?:[^\w$}]|\w+[^\w}]|\$\w*[^\w}]|\$\}))`),
		replaces: replaces(
			`\b(map|grep|sort|first|any)\s*\{([^{}]*)\}\s*\(`, "$1 {$2}, (", `[\]}]\s*\(|\bsort[\s(]*\$|[*%]\s*\x01`, "#",
			`\bqw\s*\([\w\s.-]*\)`, "1", "[=!]~\\s*(\x01\x01|\\$\\w)", ", $1",
			"\\bsplit(\\s*\\(?)\\s*\x01[^\x01]{0,3}\x01\\s*([,);}\\n]|$)", "join$1 1$2",
			`(\$\w+|[)\]]|\b\d+(?:\.\d+)?)(?://?|\s+//?(\s))`, "$1+$2",
			`<=>|<(?:STDIN)?>`, ",", `([$@](?:\w+|\.)|[)\]]|\b\d+)(?:<=?|\s+<=?\s+)([$\d(])`, "$1 , $2",
			`((?:^|[^$@%])[(,;={]\s*|(?:^|[^\w$@%>&*{-])(?:my|keys|values|each)\s*)%[a-z_]\w*`, "$1\x01\x01",
			`\b\w+\s*=>`, ",", `[$@]([a-z_]\w*|\d+|F\b)|\$[.,;&!](\s|\x01|\))`, "\x01\x01$2", "\x01\\{\\w+\\}", "\x01"),
		refuses: all("(?m)[^\\x00-\\x7f]|[\"'`#\\\\/<~]|[$@]\\W|(^|[^&])&\\s*[\\w$@{\x01]|->\\s*[^\\[{]|\\*\\s*\\{|^=\\w|::"),
		names: `print printf say if unless and or not xor for foreach my push pop shift unshift splice join map grep
			sort reverse keys values each exists delete defined length substr index rindex lc uc lcfirst ucfirst sprintf chomp
			chop chr ord hex oct abs int sqrt sum sum0 max min first uniq shuffle scalar wantarray next last redo while until
			else elsif BEGIN END undef x eq ne lt gt le ge cmp STDIN STDERR STDOUT eof return Dumper`,
	}
	ruby := &dialect{
		files: true,
		own:   true,
		takes: all(`^-[nplaw]*e$`),
		options: all(`^-([nplaw]+|i(\.bak|\.orig|\.old|\.tmp)?|W0|` +
			`r(json|yaml|date|time|set|csv|digest|securerandom|pp|bigdecimal))$`),
		texts:  all(anyQuotes + `|` + patterns("")),
		unsafe: all(`#[{$@]`),
		replaces: replaces(
			`\brequire\s*\(?\s*`+"\x01(json|yaml|date|time|set|csv|pp)\x01"+`\s*\)?\s*([;\n]|$)`, ";",
			`\b(File\.(read|readlines|exist\?|size|basename|dirname|extname|foreach)|YAML\.(safe_)?load_file|`+
				`JSON\.load_file|CSV\.read)\s*\(?\s*`+"\x01[^\x01\x02][^\x01]*\x01", "p(\x01\x01", // no |command
			`\bDir(\.(glob|children|entries)\s*\(|\[)\s*`+text, "p(\x01\x01",
			`&:(\w+)`, " .$1 ", `\$[_\d]`, "p", `((?:\b\d+|[)\]`+"\x01"+`]|\b[a-z]|[^.]\.\w+)\s*)% `, "$1+ ",
			`(\b\d+(?:\.\d+)?\s*|[)\]]\s*|[^.]\.\w+)(?:/| / )`, "$1+ "),
		refuses: all("(?m)[^\\x00-\\x7f]|[\"'`#\\\\@$/%]|\\?\x01|<<|->|(^|[^&])&([^&]|$)|\\.\\s*[^\\w\\s.\x01]|^=\\w|" +
			":([^\\s\\w\x01]|\\w+[=!~|])"),
		binds: []expression{all(`\|\s*(\w+(?:\s*,\s*\w+)*)\s*\|`), all(`(?:^|[;\n({,\s])(\w+)\s*=[^=~]`)},
		names: `puts p print pp printf if unless else elsif end do while until and or not in for next break then true false
			nil gets STDIN RUBY_VERSION RUBY_PLATFORM RUBY_ENGINE RUBY_PATCHLEVEL JSON Date Time Math Integer Float String Array
			Hash Set BEGIN END format sprintf`,
		members: `map flat_map each select reject filter sum to_s to_i to_f to_a to_h to_sym keys values first last size
			length count uniq sort sort_by min max min_by max_by join split strip chomp lstrip rstrip sub gsub scan match upcase
			downcase capitalize reverse include start_with end_with each_with_index with_index each_line lines flatten compact
			zip group_by tally find any all none empty key has_key dig fetch merge parse generate pretty_generate today now
			strftime iso8601 year month day new read inspect even odd zero abs round floor ceil sqrt times step each_slice
			each_cons partition take drop chars bytes ord chr hex index slice transform_values to_json to_yaml rjust ljust
			center succ digits gcd`,
		never: `system exec spawn fork eval send open load require method instance_eval binding trap abort syscall test`,
	}
	php := &dialect{
		takes:   all(`^-r$`),
		options: all(`^-n$`),
		texts:   all(anyQuotes),
		unsafe:  all(`\{\$|\$\{`),
		replaces: replaces(`\b(file_get_contents|file|file_exists|is_file|is_dir|filesize|parse_ini_file)\(\s*`+file,
			"count(\x01\x01", `\$([a-z]\w*|_\b)`, "\x01\x01"),
		refuses: all("[^\\x00-\\x7f]|[\"'`#\\\\@$]|//|/\\*|\\?>|<<|->|::|[)\\]}\x01]\\s*\\("),
		names: `echo print print_r var_dump var_export printf sprintf number_format json_encode json_decode date time mktime
			strtotime strlen count implode explode join array array_keys array_values array_slice array_sum array_merge
			array_unique array_reverse array_combine array_column array_key_exists in_array sort rsort ksort strtoupper
			strtolower ucfirst ucwords trim ltrim rtrim str_replace str_contains str_starts_with str_repeat str_pad substr
			strpos strrev nl2br round floor ceil abs max min intdiv pow sqrt pi rand mt_rand random_int random_bytes is_array
			is_string is_int is_null isset empty phpversion php_uname php_sapi_name ini_get extension_loaded
			get_loaded_extensions sys_get_temp_dir memory_get_usage memory_get_peak_usage microtime hash md5 sha1 crc32
			base64_encode base64_decode bin2hex uniqid mb_strlen mb_substr parse_url urlencode urldecode rawurlencode
			htmlspecialchars range defined function_exists date_default_timezone_get hash_algos foreach as for if else elseif
			while true false null and or PHP_VERSION PHP_EOL PHP_OS PHP_OS_FAMILY PHP_INT_MAX PHP_INT_SIZE PHP_BINARY
			JSON_PRETTY_PRINT JSON_UNESCAPED_SLASHES JSON_THROW_ON_ERROR DATE_ATOM E_ALL M_PI`,
	}
	return map[string]*dialect{"python": python, "node": node, "bun": node, "deno": node, "perl": perl, "ruby": ruby,
		"php": php}
})

var (
	wordsIn = lazy.Regexp(`(\.+\s*|[{,]\s*)?\b([A-Za-z_]\w*)\b(\s*\(|\s*:)?`)
	reaches = lazy.Regexp(`constructor|prototype|__`)
	// ownName are names that are none of JavaScript, node or Ruby, so that one bound in a part of a text is not one of
	// theirs in another.
	ownName = lazy.Regexp(`^(\w{1,2}|data|json|pkg|file|item|key|val|value|name|list|text|obj|res|result|lines?|arr|acc|rows?)$`)
	others  = lazy.Regexp(`[^\w./@-]`)
	// inBraces are the expressions in a string of Python, and formats what may be behind one.
	inBraces = lazy.Regexp(`\{([^{}]*)\}`)
	formats  = lazy.Regexp(`(![rsa])?(:[\w.,<>^+%= -]*)?$`)
	// taker is a call whose first argument may be a constant; the group is one that opens a file.
	taker = lazy.Regexp(`\b(?:(open|Path)|print|len)\(\s*`)
	// assignedText gives a name a string, on a line of its own.
	assignedText = lazy.Regexp("(?:^|[;\n])[ \t]*([a-z_]\\w*)[ \t]*=[ \t]*(" + text + ")[ \t]*(?:[;\n]|$)")
)

// hide puts what replaces see in the place of strings; false if one has code in it.
func (d *dialect) hide(code string) (out string, ok bool) {
	var b strings.Builder
	last := 0
	for _, m := range d.texts().FindAllStringSubmatchIndex(code, -1) {
		b.WriteString(code[last:m[0]])
		begin := m[0]
		for g := 2; g < len(m); g += 2 {
			if m[g] >= 0 && m[g+1] > m[g] {
				b.WriteString(code[m[g]:m[g+1]])
				begin = m[g+1]
			}
		}
		last = m[1]
		literal := code[begin:last]
		if literal[0] == '\'' && begin > 0 && isWordByte(code[begin-1]) { // to perl the same as ::
			return "", false
		}
		if literal[0] == '#' {
			// It ends before its line does, or names an encoding, in which the text is another one.
			if strings.Contains(literal, "\r") || strings.Contains(literal, "coding") {
				return "", false
			}
			continue
		}
		at, plain := strings.IndexAny(literal, "\"'`/"), literal
		if d.files { // perl and ruby: without characters that do not begin code
			plain = escaped().ReplaceAllString(literal, " ")
		}
		if d.script && reaches().MatchString(literal) ||
			d.unsafe != nil && literal[0] != '\'' && d.unsafe().MatchString(plain) {
			return "", false
		}
		if d.files && literal[0] != '\'' && literal[0] != '"' {
			b.WriteString("\x01\x01") // a pattern
			continue
		}
		if at > 0 && strings.ContainsAny(literal[:at], "fF") && !d.files {
			inner := strings.NewReplacer("{{", "", "}}", "").Replace(literal[at:])
			for _, e := range inBraces().FindAllStringSubmatch(inner, -1) {
				part, plain := d.hide(formats().ReplaceAllString(e[1], ""))
				if !plain {
					return "", false
				}
				b.WriteString(" len(" + part + ") ")
			}
			if strings.ContainsAny(inBraces().ReplaceAllString(inner, ""), "{}") {
				return "", false
			}
			literal = `""`
		}
		literal = strings.TrimLeft(literal, "rbuRBUfF")
		if quote := literal[:1]; len(literal) > 5 && literal[:3] == quote+quote+quote {
			literal = literal[2 : len(literal)-2]
		}
		b.WriteString("\x01" + others().ReplaceAllString(literal[1:max(1, len(literal)-1)], "\x02") + "\x01")
	}
	b.WriteString(code[last:])
	return b.String(), true
}

// constants puts strings in the place of names that stand for one, where files are opened: a name that is used in
// another way may get another value.
func constants(code string) string {
	assigned := assignedText().FindAllStringSubmatch(code, -1)
	if assigned == nil {
		return code
	}
	others := map[string]int{} // how often each name stands for something else
	for name := range strings.FieldsFuncSeq(code, notInWord) {
		others[name]++
	}
	takers := taker().FindAllStringSubmatchIndex(code, -1)
	for _, m := range takers {
		others[firstWord(code[m[1]:])]--
	}
	values := map[string]string{}
	for _, m := range assigned {
		if others[m[1]] == 1 && !taker().MatchString(m[1]+"(") { // the assignment
			values[m[1]] = m[2]
		}
	}
	var b strings.Builder
	last := 0
	for _, m := range takers {
		name := firstWord(code[m[1]:])
		if value := values[name]; value != "" && m[2] >= 0 {
			b.WriteString(code[last:m[3]] + "(" + value)
			last = m[1] + len(name)
		}
	}
	return b.String() + code[last:]
}

// firstWord is the word that a text begins with.
func firstWord(text string) string {
	if end := strings.IndexFunc(text, notInWord); end >= 0 {
		return text[:end]
	}
	return text
}

func notInWord(r rune) bool { return r >= 0x80 || !isWordByte(byte(r)) }

// written are the files that a text names to write to; false if it also writes to others.
func (d *dialect) written(code string) (files []Word, ok bool) {
	if d.writes == nil {
		return nil, true
	}
	if opens().MatchString(code) {
		return nil, false
	}
	writes := false
	var named []string
	for _, m := range d.writes().FindAllStringSubmatch(code, -1) {
		path := strings.HasPrefix(m[0], "Path")
		writes = writes || !path
		if name := strings.Join(m[1:], ""); name != "" || path {
			named = append(named, name)
		}
	}
	if !writes {
		return nil, true
	}
	through := folders().MatchString(code)
	if joins().MatchString(textIn().ReplaceAllString(code, "\x01")) || through && strings.Contains(code, "..") ||
		folders().MatchString(givenFolder().ReplaceAllString(code, "")) {
		return nil, false
	}
	for _, name := range named {
		if name = strings.TrimSpace(name); len(name) < 3 || name[0] != '\x01' ||
			strings.IndexByte(name[1:], '\x01') != len(name)-2 || strings.Contains(name, "\x02") ||
			through && !ownFolder().MatchString(name) {
			return nil, false
		}
		files = append(files, static(strings.Trim(name, "\x01")))
	}
	return files, len(files) > 0
}

var (
	// joins are ways to make a path of others, and folders those to go through one.
	opens   = lazy.Regexp(`\.\s*open\b|\btype\b[\s\S]*\.write_|\.write_[\s\S]*\btype\b`) // any file
	joins   = lazy.Regexp("\\bjoin\\(.*\\bopen|path\\.join|/\\s*[\x01\\w]|\\.parent|listdir")
	folders = lazy.Regexp(`\.\s*(r?glob|iterdir)\b`)
	// givenFolder is such a way with a pattern that is known, and ownFolder a folder of the project.
	givenFolder = lazy.Regexp("\\.(r?glob\\(\\s*\x01[^\x01]*\x01\\s*\\)|iterdir\\(\\s*\\))")
	ownFolder   = lazy.Regexp("^\x01(\\./)*\\w")
)

// plain reports such a text, and the files that it writes to.
func (d *dialect) plain(code string) (files []Word, ok bool) {
	if strings.ContainsAny(code, "\x01\x02") {
		return nil, false
	}
	if code, ok = d.hide(code); !ok {
		return nil, false
	}
	code = constants(code)
	if files, ok = d.written(code); !ok {
		return nil, false
	}
	for _, r := range d.replaces {
		code = r.from().ReplaceAllString(code, r.to)
	}
	code = textIn().ReplaceAllString(code, "\x01")
	if d.refuses().MatchString(code) {
		return nil, false
	}
	bound := map[string]bool{}
	for _, e := range d.binds {
		for _, m := range e().FindAllStringSubmatch(code, -1) {
			for name := range strings.FieldsFuncSeq(m[1], notInWord) {
				bound[name] = !d.own || ownName().MatchString(name)
			}
		}
	}
	for _, m := range wordsIn().FindAllStringSubmatch(code, -1) {
		name, after := m[2], strings.TrimSpace(m[3])
		behind := strings.HasPrefix(m[1], ".") && !strings.HasPrefix(m[1], "..") && // a range, or all of an object
			(d.script || d.members != "") // it joins strings in perl and php
		key := d.script && after == ":" && m[1] != "" && !behind
		switch {
		case behind && d.members != "":
			if !d.members.Has(name) {
				return nil, false
			}
		case d.never.Has(name), d.calls != "" && after == "(" && !d.calls.Has(name),
			!behind && !key && !d.names.Has(name) && !bound[name]:
			return nil, false
		}
	}
	return files, true
}

var (
	textIn = lazy.Regexp(text)
	edits  = lazy.Regexp(`^-[pnlaw0-7]*i`) // the files behind it
)

// plainProgram reports an interpreter with a plain text, and with words for the text behind it. The text is behind an
// option, or in a here-document.
func plainProgram(c *Command) (files []Word, ok bool) {
	d := dialects()[usualName(c.Name)]
	if c.scriptOnInput() {
		stdin := *c
		stdin.Name, stdin.Args = scriptLanguage(c.Name), []Word{static("-")}
		c, d = &stdin, dialects()[stdin.Name]
	}
	given := func(a Word) bool { return len(c.Via) > 0 && strings.Contains(a.Text, "{}") && len(a.Text) > 2 }
	if d == nil || len(c.Assigns) > 0 || // PYTHONPATH is where its modules are
		c.gainsWords() || slices.ContainsFunc(c.Args, given) {
		return nil, false
	}
	changes := false // the files behind it
	for i := 0; i < len(c.Args); i++ {
		a := c.Args[i]
		option := len(a.Text) > 1 && a.Text[0] == '-' || d.takes().MatchString(a.Text)
		switch {
		case ok && d.members != "" && !d.files: // of Python
			return files, true // words for the text
		case ok && d.files && !option && (a.Static || a.kind == glob):
			if strings.ContainsAny(a.Text, "|<>&") {
				return nil, false
			}
			if changes {
				files = append(files, a)
			}
		case !a.Static, ok && option && !d.files:
			return nil, false
		case ok && !option:
		case d.takes().MatchString(a.Text) && !ok:
			if i++; i == len(c.Args) || !c.Args[i].Static {
				return nil, false
			}
			if files, ok = d.plain(c.Args[i].Text); !ok {
				return nil, false
			}
		case d.members != "" && !d.files && warning().MatchString(a.Text):
		case d.members != "" && !d.files && i+1 < len(c.Args) && warning().MatchString(a.Text+c.Args[i+1].Text):
			i++
		case d.options().MatchString(a.Text):
			changes = changes || d.files && edits().MatchString(a.Text)
		case a.Text != "-" || i+1 < len(c.Args):
			return nil, false
		}
	}
	for i, r := range c.Redirects {
		if strings.HasPrefix(r.Op, "<<") && !ok && r.Target.Static {
			others := append(slices.Clone(c.Redirects[:i]), c.Redirects[i+1:]...)
			if slices.ContainsFunc(others, func(r Redirect) bool { return r.Op[0] == '<' }) {
				return nil, false // the last one is what it reads
			}
			return d.plain(r.Target.Text)
		}
	}
	return files, ok
}
