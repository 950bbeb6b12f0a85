package shellcmd

import (
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/lazy"
)

// Uses of harmful programs that change nothing: dry runs, and those that only look. They may show secrets, fetch, and
// write files of the workspace, as other programs that are asked about do.

const changesSystems = "it changes running systems"

// dryRuns are commands that only say what they would do when they are given one of the options, by program and
// sub-command, "" for any.
var dryRuns = [][3]lazy.Words{
	{"-n --dry-run", "git", "push clean prune rm mv"}, {"--dry-run", "npm pnpm", "publish unpublish"},
	{"--dry-run", "bun poetry deno uv", "publish"}, {"-n --dry-run", "cargo", "publish"},
	{"--dry-run=client --dry-run=server", "kubectl oc", "apply create delete replace patch scale run expose annotate " +
		"label set"},
	{"--dry-run --dry-run=client --dry-run=server", "helm", "install upgrade uninstall rollback"},
	{"--dryrun", "aws", "s3"}, {"--dry_run", "bq", "query"}, {"-n --dry-run --just-print", "make", ""},
	{"--check -C --syntax-check --list-hosts --list-tasks --list-tags", "ansible-playbook", ""},
}

// noValue are options that take no word behind them in any of dryRuns; what follows another one may be its value.
const noValue lazy.Words = `-f -d -x -X -q -v -u -a -A --force --force-with-lease --all --tags --delete --mirror --prune
	--quiet --verbose --follow-tags --cached --install --wait --atomic --allow-dirty --no-verify --no-git-checks`

// dryBundle is a bundle of letters for git that has n in it, and none that takes a value.
var dryBundle = lazy.Regexp(`^-[dfqvxX]*n[dfqvxX]*$`)

// dryRun reports a command that is given such an option for sure.
func (c *Command) dryRun() bool {
	sub, rest := c.gitArgs()
	if sub == "" {
		args := c.subFirst().Args
		if len(args) == 0 || !args[0].Static {
			return false
		}
		sub, rest = args[0].Text, args[1:]
	}
	var options lazy.Words
	for _, row := range dryRuns {
		if row[1].Has(c.Name) && row[2] == "" {
			options, rest = row[0], c.Args
		} else if row[1].Has(c.Name) && row[2].Has(sub) {
			options = row[0]
		}
	}
	for i, a := range rest {
		switch {
		case !a.Static || a.Text == "--":
			return false
		case !options.Has(a.Text) && !(c.Name == "git" && options != "" && dryBundle().MatchString(a.Text)):
		case i == 0, rest[i-1].Text == "" || rest[i-1].Text[0] != '-', strings.Contains(rest[i-1].Text, "="),
			noValue.Has(rest[i-1].Text):
			return true
		}
	}
	return false
}

// looking are first words of programs that change running systems, with which they do not.
var looking = table{
	{"init plan validate fmt show output graph providers version modules get", "terraform tofu terragrunt"},
	{"hclfmt", "terragrunt"}, {"preview about whoami version", "pulumi"}, {"diff synth synthesize ls list doctor metadata",
		"cdk"}, {"diff synth list", "cdktf"},
	{"get describe logs top explain diff kustomize wait version api-resources api-versions cluster-info port-forward " +
		"events options config", "kubectl oc"},
	{"template lint list ls status history get show search pull package verify env version dependency dep repo diff",
		"helm"}, {"render build diagnose version schema config", "skaffold"},
	{"build validate local list logs version", "sam"}, {"analyze version proxy-status ps validate", "istioctl"},
	{"diff template lint list build status deps fetch", "helmfile"},
	{"ls lsd lsl lsf lsjson size check about version listremotes tree", "rclone"},
}

// lookVerbs say that a command only looks, where no word before them is one of changeVerbs.
const (
	lookVerbs lazy.Words = `get describe list ls show status logs info version history whoami tail log get-value
		get-iam-policy get-versions can-i preview view diff read cat du members help`
	changeVerbs lazy.Words = `delete remove rm create update set add deploy ssh scp start stop reset import export restore
		resize move mv attach detach enable disable rollback promote patch apply replace run exec invoke call publish submit
		purge destroy up down scale edit undo restart put post write push del drop kill cp rb mb drain operator`
	lookOptions lazy.Words = `--list --list-all --list-units --status --status-all --state --show -l -s`
	awsLooks    lazy.Words = `ls tail wait query scan help`
	awsBegins   lazy.Words = `describe list get head filter validate lookup batch-get estimate search`
	lookGroups  lazy.Words = `state workspace stack rollout auth`
)

func notLetter(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }

// movesState are options of terraform init that move what other people use.
const movesState lazy.Words = `-migrate-state -force-copy --migrate-state --force-copy`

// onlyLooks reports a command of a program for running systems that does not change them.
func (c *Command) onlyLooks() bool {
	args := c.subFirst().Args
	if slices.ContainsFunc(args, func(a Word) bool { return movesState.Has(strings.TrimSuffix(a.Text, "=true")) }) {
		return false
	}
	for i, a := range args[:min(len(args), 4)] {
		verb := a.Text
		switch {
		case !a.Static:
			return false
		case i == 0 && looking.of(c.Name).Has(verb), i < 2 && c.Name == "aws" && awsLooks.Has(verb):
			return true
		case verb == "" || verb[0] == '-':
			return len(args) == 1 && lookOptions.Has(verb)
		case c.Name == "aws" && i == 1 && args[0].Text == "s3" && (verb == "cp" || verb == "sync"):
			to, _ := splitOptions(args[2:], "--exclude --include --region --profile")
			return len(to) == 2 && strings.HasPrefix(to[0].Text, "s3://") && to[1].Static &&
				!strings.HasPrefix(to[1].Text, "s3:") && !givenOption(args, "--delete")
		case c.Name == "aws":
			if i == 1 {
				begin, _, _ := strings.Cut(verb, "-")
				return awsBegins.Has(begin)
			}
		case looking.of(c.Name) != "" && (i > 1 || !lookGroups.Has(args[0].Text)):
			return false
		case i == 0 && c.Name == "gcloud" && verb == "run": // a group
		case lookVerbs.Has(verb), i == 0 && managers.Has(c.Name) && strings.HasPrefix(verb, "list-"):
			// but logs is also a group, of gcloud logging logs delete
			return i+1 == len(args) || !changeVerbs.Has(args[i+1].Text)
		case slices.ContainsFunc(strings.FieldsFunc(verb, notLetter), changeVerbs.Has):
			return false
		}
	}
	return false
}

// changesGitHub reports gh api, or glab api, with a method that is not for reading: fields make it POST, unless another
// is given. A query of GraphQL is always posted.
func (c *Command) changesGitHub() bool {
	if len(c.Args) == 0 || c.Args[0].Text != "api" {
		return false
	}
	posts := false
	operands, options := splitOptions(c.Args, "-X --method -f -F --field --raw-field --input")
	for _, g := range options {
		if g.name == "-X" || g.name == "--method" {
			return !strings.EqualFold(g.value.Text, "GET") && !strings.EqualFold(g.value.Text, "HEAD")
		}
		posts = true
	}
	query := hasWord(operands, "graphql") && !slices.ContainsFunc(c.Args, func(a Word) bool {
		return !a.Static || strings.Contains(a.Text, "mutation") || strings.Contains(a.Text, "@")
	})
	return posts && !query
}

// showRows are uses of programs that run what they are given, or harm data, which only show something: they list,
// test a port, or ask a database.
var showRows = []row{
	{"crontab -l", "", noWords}, {"screen -ls|-list", "", noWords}, {"perf list", "", noWords},
	{"hash -r|-l", "", noWords}, {"ssh-agent -s|-c", "", noWords},
	{"tmux ls|list-sessions|list-windows|has-session|info", "", spec{raw: true, check: knownWords}},
	{"history", "", spec{max: 1, count: true, check: checkNumbers}},
	{"pkill|killall", "f full 9 15 2 TERM INT KILL HUP SIGTERM SIGINT SIGKILL e x n o i q",
		spec{oneDash: true, check: func(u *invocation) string {
			full := u.has("f", "full")
			return when(full != (u.command.Name == "pkill") || full && len(u.operands) > 1 ||
				slices.ContainsFunc(u.operands, func(o Word) bool {
					return !o.Static || full && !server().MatchString(o.Text) || !full && !serverNames.Has(o.Text)
				}), "it ends others")
		}}},
	{"rsync", "a A v z r h H l p t g o D P c n u i S x dry-run progress stats itemize-changes archive verbose delete " +
		"exclude=([\\w*./-]+) include=([\\w*./-]+)", spec{check: func(u *invocation) string {
		return when(!u.has("n", "dry-run") || knownWords(u) != "", "it copies")
	}}},
	{"ssh-keygen", "l v q E= f= F=", spec{says: true, check: needs("it makes a key", "l", "F")}},
	{"nc|ncat|netcat", "z v n u w= 4 6", spec{first: true, check: checks(needs("it connects", "z"), knownWords)}},
	{"lldb", "b Q batch o=! one-line=!", spec{oneDash: true, runs: plainGdb, check: checks(needs("it asks", "b", "batch"),
		knownWords, debugsOwn)}},
	{"gdb", "batch q nx args ex=! eval-command=!", spec{oneDash: true, runs: plainGdb, check: checks(needs("it asks",
		"batch"), knownWords, debugsOwn)}},
	{"sqlite3|duckdb", "json csv header noheader column line list box table markdown readonly batch separator= " +
		"nullvalue= c=!", spec{oneDash: true, runs: plainQuery, check: asks(1, "c")}},
	{"psql", "t A q X w x l h= U= d= p= F= c=! csv host= username= dbname= port= tuples-only no-align quiet no-psqlrc " +
		"no-password list command=! f=" + sqlFile + " file=" + sqlFile,
		spec{says: true, runs: plainQuery, check: asks(maxText, "c", "command", "l", "list", "f", "file")}},
	{"mysql|mariadb|cqlsh", mysqlOptions + " e=! execute=!", spec{says: true, runs: plainQuery, check: asks(maxText, "e",
		"execute")}},
	{"clickhouse-client", mysqlOptions + " q=! query=!", spec{says: true, runs: plainQuery, check: asks(maxText, "q",
		"query")}},
	{"mongosh|mongo", "quiet norc json eval=!", spec{max: 1, check: asksMongo,
		runs: func(text string) bool { return readsMongo().MatchString(text) }}},
}

const sqlFile = `([\w./~-]+\.sql)`

const mysqlOptions = "N B s t E h= u= D= P= p? host= user= database= port= table batch silent skip-column-names"

var (
	showSpecs    = sync.OnceValue(func() map[string]*spec { return addRows(map[string]*spec{}, showRows, false) })
	showPrograms = sync.OnceValue(func() map[string]bool { return programsOf(showSpecs(), true) })
)

// onlyShows reports such a use.
func (c *Command) onlyShows() bool {
	if !showPrograms()[c.Name] || c.gainsWords() {
		return false
	}
	s, n := c.findIn(showSpecs())
	return s != nil && s.uncovered(c, n, 0, workdirs{any: true}) == ""
}

var knownWords = operandsAre(func(o Word) bool { return o.Static && !strings.ContainsAny(o.Text, ";#") },
	" may be more than a name")

// asks is a check for queries, of which those that are values of options have been read: at least one of these options,
// or an operand from a number on, and each of those operands must be a query. No other one may be an option after all.
func asks(from int, options ...string) func(*invocation) string {
	return func(u *invocation) string {
		queries := u.operands[min(from, len(u.operands)):]
		if slices.ContainsFunc(u.operands, func(o Word) bool { return !o.Static && (o.split || o.kind == glob) }) {
			return "it may be given other options"
		}
		if slices.ContainsFunc(queries, func(q Word) bool { return !q.Static || !plainQuery(q.Text) }) {
			return "it is no query"
		}
		reads := slices.ContainsFunc(u.command.Redirects, func(r Redirect) bool { return r.Op[0] == '<' })
		file := u.command.inputFile()
		files := slices.DeleteFunc(slices.Clone(u.given), func(g given) bool { return g.name != "f" && g.name != "file" })
		return when(len(files) > 1 || reads && !strings.HasSuffix(file, ".sql") ||
			len(queries) == 0 && file == "" && !u.has(options...), "it reads queries")
	}
}

var asksMongo = checks(asks(1, "eval"),
	operandsAre(func(o Word) bool { return mongoName().MatchString(o.Text) }, " is a program"))

var (
	reads = lazy.Regexp(`(?i)^((select|with|show|describe|desc|explain|values)\b|` +
		`pragma (table_x?info|table_list|index_list|index_info|foreign_key_list|foreign_key_check|integrity_check|` +
		`quick_check|database_list|compile_options|user_version|page_count)\s*(\(\s*['"]?\w+['"]?\s*\))?$)`)
	describes = lazy.Regexp(`^(\\(d[a-zA-Z]*\+?|l\+?|conninfo|x|timing)( [\w.*]+)?|\.(tables|schema|indexes|databases|` +
		`fullschema|dbinfo|dump)( [\w.*%]+)*)$`)
	// adds begins a statement that only adds; its group begins what is no table, but a file or another machine.
	adds = lazy.Regexp(`(?i)^(?:insert into\b(\s+(?:table\s+)?function\b|\s*/\*|\s*--)?|(?:create (?:table|` +
		`(?:unique )?index|view|schema|database|type|sequence)|alter table [\w."]+ add|show create)\b)`)
	// changes are words by which a query may do more: in other statements, and functions that write or run something.
	changes = lazy.Regexp(`(?i)\b(insert|update|delete|drop|alter|disable|create|truncate|grant|revoke|copy|into|attach|call|do|exec|` +
		`execute|set|merge|load_extension|load_file|writefile|readfile|edit|lo_\w+|dblink\w*|nextval|setval|set_config|` +
		`pg_(read|write|ls|terminate|cancel|rotate|reload|switch|create|drop|advisory|notify|promote|sleep|logical|` +
		`replication|file|import|start|stop|backup)\w*)\b|\\|` + "`")
)

// plainGdb reports commands that run a program, and show where it is.
func plainGdb(text string) bool { return showsFrames().MatchString(text) }

// debugsOwn requires that it debugs a program of the workspace: one of the system may do harm, or run what it is given.
func debugsOwn(u *invocation) string {
	if len(u.operands) == 0 {
		return ""
	}
	name := usualName(u.operands[0].Text)
	_, interprets := interpreterOf(name)
	_, wraps := wrappers()[name]
	if interprets || wraps || shells.Has(name) || leadsOut(u.operands[0]) || harmful(name) != "" {
		return "it runs " + u.operands[0].Text
	}
	return ""
}

var showsFrames = lazy.Regexp(`^(r(un)?( [\w./-]+)*|start|(thread apply all )?(bt|backtrace|where)( full|-?\d+)?|info \w+|` +
	`q(uit)?|c(ontinue)?|n(ext)?|s(tep)?|up|down|fin(ish)?|l(ist)?( [\w.:]+)?|f(rame)?( \d+)?|b(reak)? [\w.:/]+|` +
	`p(rint)? [\w.>*-]+|x/\w+ [$\w]+|set (pagination|confirm|width) \w+|disas(semble)?( \w+)?)$`)

// readsMongo is a chain of calls that read, with arguments in which nothing is called.
var readsMongo = lazy.Regexp(`^\s*(printjson\(|JSON\.stringify\(|EJSON\.stringify\(|print\()?db(\.[\w-]+)*?\.` +
	`(find|findOne|count|countDocuments|estimatedDocumentCount|distinct|version|stats|getCollectionNames|getIndexes|` +
	`getCollectionInfos|serverStatus|hello|isMaster)\([^()$\x60]*\)(\.(forEach\(print(json)?\)|` +
	`(limit|skip|sort|toArray|count|pretty|explain|length|size)(\([^()$\x60]*\))?))*\)?;?\s*$`)

var mongoName = lazy.Regexp(`^([\w-]+|mongodb(\+srv)?://[\w.:@/%?&=,+-]+)$`)

// plainQuery reports statements that only select or add, and commands of a client that only describe.
func plainQuery(text string) bool {
	if describes().MatchString(text) {
		return true
	}
	some := false
	for statement := range strings.SplitSeq(text, ";") {
		if statement = strings.TrimSpace(strings.TrimSuffix(statement, `\G`)); statement == "" {
			continue
		}
		added := adds().FindStringSubmatch(statement)
		if added != nil {
			statement = statement[len(added[0]):]
		}
		if added == nil && !reads().MatchString(statement) || added != nil && added[1] != "" ||
			changes().MatchString(statement) {
			return false
		}
		some = true
	}
	return some
}
