package shellcmd

import (
	"regexp"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/lazy"
)

// A spec is the knowledge about a program, or one of its sub-commands: the options that only do what its rules allow,
// and the kind of its operands. Other options are not known to be harmless.
type spec struct {
	options  map[string]arity
	values   map[string]func() *regexp.Regexp // the only values that some of them may have
	operands operands
	max      int                    // the most operands; 0 for any number, -1 for none
	read     bool                   // it only reads
	digits   bool                   // operands may be digits that are only known at run time
	says     bool                   // operands, and values of options, may be any text that is only known at run time
	globs    globLevel              // how it handles names of files that look like options
	oneDash  bool                   // long options have one dash, as those of go and find
	count    bool                   // -5 is an option
	fixed    bool                   // operands select what runs: a rule that lists one covers no others
	raw      bool                   // it has no options; what looks like one is an operand
	first    bool                   // options end at the first operand: what follows is operands, whatever it looks like
	separate bool                   // the value of a short option is always the next word; only digits may be attached
	pretty   bool                   // --format and --pretty may name a format in the settings of git
	runs     func(text string) bool // accepts what it runs
	check    func(*invocation) string
}

// An arity is the number and kind of words after an option.
type arity uint8

const (
	flag      arity = iota + 1
	value           // any text
	pathValue       // a path
	maybe           // nothing, or text after =
	pair            // two words of text
	pairPath        // a word of text, and a path
	code            // text that it runs
)

// arities are told by the signs behind an option.
var arities = map[string]arity{"": flag, "=": value, "/": pathValue, "?": maybe, "==": pair, "=/": pairPath, "=!": code}

// operands is the kind of the words that are not options.
type operands uint8

const (
	texts     operands = iota // nothing that is opened
	paths                     // files
	firstText                 // a pattern or a script, then files
	mixed                     // names of revisions, packages or files: those that look like paths are
)

type globLevel uint8

const (
	noGlob   globLevel = iota
	nameGlob           // names without a slash: no option takes another kind of path
	anyGlob            // no option does any harm
)

// A row is a line of the tables. Options are words: one letter is a short option, more are a long one; a sign at the
// end says what follows: = text, / a path, ? perhaps text after =, == two words of text, =/ one and a path, =! text
// that runs must accept. An expression in brackets behind = says what the text may be.
type row struct {
	names   string // with | between programs that are alike; with blanks for sub-commands
	options string
	spec    spec
}

var specs = sync.OnceValue(func() map[string]*spec {
	return addRows(addRows(addRows(map[string]*spec{}, readRows, true), gitRows, true), buildRows, false)
})

// addRows adds rows to a table, by program, or by program and sub-command.
func addRows(m map[string]*spec, list []row, read bool) map[string]*spec {
	for _, r := range list {
		s := r.spec
		s.read = read
		s.readOptions(r.options)
		programs, subs, _ := strings.Cut(r.names, " ")
		for name := range strings.SplitSeq(programs, "|") {
			for sub := range strings.SplitSeq(subs, "|") {
				m[strings.TrimSpace(name+" "+sub)] = &s
			}
		}
	}
	return m
}

// readOptions reads the options of a row into a spec.
func (s *spec) readOptions(text string) *spec {
	s.options, s.values = map[string]arity{}, map[string]func() *regexp.Regexp{}
	for o := range strings.FieldsSeq(text) {
		name := o
		if end := strings.IndexAny(o, "=/?"); end > 0 {
			name = o[:end]
		}
		rest := strings.TrimLeft(o[len(name):], "=/?!")
		s.options[name] = arities[o[len(name):len(o)-len(rest)]]
		if rest != "" {
			s.values[name] = lazy.Regexp("^=?" + rest + "$")
		}
	}
	return s
}

// hasSubs are programs whose first operand is a sub-command.
const hasSubs lazy.Words = `git go cargo npm yarn pnpm bun deno docker podman kubectl helm terraform gh glab pip pip3
	uv poetry brew apt apt-get dnf yum systemctl gcloud aws az rustup dotnet mix bundle composer just gem conda pyenv tofu
	openssl ip make gmake gradle ./gradlew mvn ./mvnw bazel swift flutter adb fnm pixi nx lerna`

// spec finds what is known about a command; nil when nothing is.
func (c *Command) spec() *spec {
	s, _ := c.find()
	return s
}

// tabled are the programs with sub-commands in the tables of specs, and inspected those in the tables of uses that
// read.
var (
	tabled = sync.OnceValue(func() map[string]bool {
		m := programsOf(specs(), false)
		delete(m, "yq") // its sub-commands are other spellings of it
		return m
	})
	inspected = sync.OnceValue(func() map[string]bool {
		m := programsOf(useSpecs(), false)
		m["ip"], m["aws"] = true, true // whose sub-commands their checks know
		return m
	})
)

// programsOf are the programs of a table that are there alone, or with sub-commands.
func programsOf(table map[string]*spec, alone bool) map[string]bool {
	m := map[string]bool{}
	for key := range table {
		if program, _, sub := strings.Cut(key, " "); sub || alone {
			m[program] = true
		}
	}
	return m
}

// find also gives how many arguments are the name of the sub-command.
func (c *Command) find() (s *spec, n int) { return c.findIn(specs()) }

func (c *Command) findIn(table map[string]*spec) (s *spec, n int) {
	name := c.Name
	best, at := table[name], 0
	for i, a := range c.plainArgs()[:min(2, len(c.plainArgs()))] {
		if !a.Static {
			break
		}
		name += " " + a.Text
		if sub := table[name]; sub != nil {
			best, at = sub, i+1
		}
	}
	return best, at
}

// plainArgs are the arguments without options that only affect display.
func (c *Command) plainArgs() []Word {
	if c.kept != nil {
		return c.kept
	}
	return c.Args[c.skip:]
}

// goBuild has no -mod=mod, which changes go.mod and go.sum, and fetches what is missing.
const goBuild = " v x n a race msan asan work short trimpath p= tags= mod=(readonly|vendor) " +
	"buildvcs? cover covermode= coverpkg= "

// buildRows are programs that run something of the project, and a sub-command that changes what others have. They are
// never allowed as reading; a rule must list them, and then covers these options.
var buildRows = []row{
	{"go version", "m v", goWords},
	{"go env", "json changed", spec{oneDash: true}},
	{"go list", goBuild + " m u f= json? deps test e find compiled export versions retracted", goWords},
	{"go vet", goBuild + " json c=", goWords},
	{"go build", goBuild, goWords},
	{"go test", goBuild + " run= skip= bench= benchmem benchtime= count= timeout= failfast json parallel= cpu= list= " +
		"shuffle= vet= fullpath", goWords},
	{"go doc", "all c cmd short src u", goWords},
	{"go mod verify|graph|why", "m vendor", goWords},
	{"go fmt", "n x", goWords},
	{"gofmt", "l d e s", files},
	{"cargo check|build|test|clippy|bench|doc", "v q r j= p= release all workspace all-features no-default-features " +
		"features= lib bins bin= tests test= examples example= benches bench= all-targets package= exclude= locked offline " +
		"frozen verbose quiet jobs= no-run no-fail-fast keep-going profile= doc no-deps message-format= color=",
		spec{check: checkCargo}},
	{"cargo fmt", "check all", noWords},
	{"cargo tree|metadata", "p= i= e= d duplicates no-dev-dependencies depth= no-deps format-version= locked offline " +
		"frozen all-features", noWords},
	{"npm|pnpm|yarn test|t|run|ls|list|outdated", "s silent if-present depth= all json long",
		spec{operands: mixed, fixed: true}},
	{"make|gmake", "j? k s B n silent quiet keep-going always-make no-print-directory dry-run output-sync?",
		spec{fixed: true, check: noAssignments}},
	{"pytest|py.test", "q v x s k= m= l lf ff tb= maxfail= durations= collect-only co last-failed failed-first " +
		"no-header no-summary exitfirst quiet verbose color= -ra -rA -rs", spec{operands: mixed, check: noLists}},
	{"tsc", "noEmit version", noWords},
	{"ruff check", "quiet statistics no-fix select= ignore=", spec{operands: mixed}},
	{"mypy", "strict ignore-missing-imports", spec{operands: mixed, check: noLists}},
	{"git push", "u v q n 4 6 set-upstream verbose quiet dry-run porcelain progress no-progress atomic tags follow-tags " +
		"ipv4 ipv6 no-force no-delete no-prune no-mirror", spec{operands: mixed, check: checkPush}},
}

// readRows are programs that examine files, change texts, report on the machine, or join commands.
var readRows = []row{
	{"ls|dir|vdir", "a A b B c C d f F g G h H i I= k l L m n N o p q Q r R s S t T= u U v w= x X Z 1 all almost-all " +
		"author escape block-size= ignore-backups color? directory classify? file-type format= full-time " +
		"group-directories-first no-group human-readable si hide= hyperlink? indicator-style= inode ignore= kibibytes " +
		"dereference numeric-uid-gid literal quote-name quoting-style= reverse recursive size sort= time= time-style= " +
		"width= zero version help", anyFiles},
	{"cat|tac", "A b e E n s t T u v number number-nonblank show-all show-ends show-nonprinting show-tabs squeeze-blank " +
		"version help", anyFiles},
	{"head", "c= n= q v z bytes= lines= quiet silent verbose zero-terminated version help",
		spec{operands: paths, globs: anyGlob, count: true}},
	{"tail", "c= n= q v z bytes= lines= quiet silent verbose zero-terminated version help",
		spec{operands: paths, globs: nameGlob, count: true}},
	{"wc", "c m l L w bytes chars lines max-line-length words total= version help",
		spec{operands: paths, globs: nameGlob}},
	{"nl", "b= d= f= h= i= l= n= p s= v= w= body-numbering= number-format= number-separator= number-width=", anyFiles},
	{"od", "A= j= N= t= v w? a b c d f i l o s x address-radix= format= read-bytes= skip-bytes= width?", anyFiles},
	{"strings", "a f n= t= e= o all bytes= radix= encoding=", spec{operands: paths, count: true, check: noLists}},
	{"hexdump", "b c C d n= o s= v x", files},
	{"hd", "v n= s=", files},
	{"xxd", "a b c= e g= i l= n= o= p s= u ps plain len= cols= seek=",
		spec{operands: paths, max: 1, oneDash: true, first: true}},
	{"file", "b h i k L N n r s 0 brief mime mime-type mime-encoding keep-going dereference no-dereference no-pad " +
		"extension", files},
	{"stat", "c= f L t format= printf= file-system dereference terse", anyFiles},
	{"du", "0 a b c d= D h H k l L m s S t= x B= all apparent-size block-size= bytes total max-depth= dereference " +
		"human-readable si separate-dirs summarize threshold= time? exclude= one-file-system",
		spec{operands: paths, globs: nameGlob}},
	{"df", "a B= h H i k l P t= T x= all block-size= total human-readable inodes local output? portability print-type " +
		"type= exclude-type=", spec{globs: anyGlob}}, // of a file it only tells where it is
	{"tree", "a C d D f F g h i I= L= n N p P= q Q r s S t u U v x gitignore noreport dirsfirst filelimit? matchdirs " +
		"ignore-case sort? prune du si inodes device charset? J X", spec{operands: paths, separate: true}},
	{"realpath", "e m L P q s z canonicalize-existing canonicalize-missing logical physical quiet no-symlinks zero " +
		"relative-to/ relative-base/", files},
	{"readlink", "e f m n q s v z canonicalize canonicalize-existing canonicalize-missing no-newline zero", anyFiles},
	{"md5sum|sha1sum|sha224sum|sha256sum|sha384sum|sha512sum|b2sum|cksum|sum", "b t z tag binary text zero", anyFiles},
	{"diff", "a b B c C= d E i I= N p q r s t T u U= w W= y Z brief recursive text unified? context? new-file " +
		"ignore-case ignore-all-space ignore-space-change ignore-blank-lines ignore-trailing-space ignore-matching-lines= " +
		"report-identical-files side-by-side suppress-common-lines color? width= minimal show-c-function exclude= " +
		"strip-trailing-cr label= x=", files},
	{"cmp", "b i= l n= s print-bytes verbose silent quiet bytes= ignore-initial=", files},
	{"comm", "1 2 3 i z check-order nocheck-order output-delimiter= total zero-terminated", anyFiles},
	{"find", "P name= iname= path= ipath= wholename= iwholename= regex= iregex= regextype= type= xtype= maxdepth= " +
		"mindepth= size= newer/ anewer/ cnewer/ newermt= newerct= newerat= mtime= mmin= ctime= cmin= atime= amin= empty " +
		"print print0 printf= ls prune o or a and not true false perm= user= group= uid= gid= links= inum= samefile/ xdev " +
		"mount depth daystart readable writable executable quit nouser nogroup lname= ilname=",
		spec{operands: paths, oneDash: true}},
	{"fd|fdfind", "e= t= H I d= E= a p g i s u F 0 S= c= extension= type= hidden no-ignore max-depth= min-depth= " +
		"exact-depth= exclude= absolute-path full-path glob ignore-case case-sensitive unrestricted fixed-strings print0 " +
		"size= changed-within= changed-before= color= max-results= no-ignore-vcs C/ base-directory/ search-path/",
		spec{operands: firstText}},
	{"grep|egrep|fgrep", "A= B= C= E F G P a b c e= f/ h H i I l L m= n o q r R s U v V w x y z T Z extended-regexp " +
		"fixed-strings basic-regexp perl-regexp regexp= file/ ignore-case no-ignore-case invert-match word-regexp " +
		"line-regexp count color? colour? files-without-match files-with-matches max-count= only-matching quiet silent " +
		"no-messages byte-offset with-filename no-filename label= line-number initial-tab null after-context= " +
		"before-context= context? text binary-files= exclude= exclude-from/ exclude-dir= include= recursive " +
		"dereference-recursive null-data line-buffered version help", spec{operands: firstText, globs: nameGlob, count: true,
		check: checkSelected}},
	{"rg", "A= B= C= E= F H I L M= N P S T= U a b c e= f/ g= h i j= l m= n o p q r= s t= u v w x 0 . after-context= " +
		"before-context= context= case-sensitive color= column count count-matches crlf encoding= engine= file/ files " +
		"files-with-matches files-without-match fixed-strings follow glob= glob-case-insensitive heading hidden iglob= " +
		"ignore-case invert-match json line-number line-regexp max-columns= max-columns-preview max-count= max-depth= " +
		"max-filesize= multiline multiline-dotall no-config no-filename no-heading no-ignore no-ignore-vcs no-line-number " +
		"no-messages no-require-git null one-file-system only-matching passthru pcre2 pretty quiet regexp= replace= " +
		"smart-case sort= sortr= stats text threads= trim type= type-not= type-list unrestricted vimgrep with-filename " +
		"word-regexp version help", spec{operands: firstText, check: checkSelected}},
	{"sed", "n E r s u z e= quiet silent expression= regexp-extended separate unbuffered null-data posix",
		spec{operands: firstText, check: checkSed}},
	{"jq", "r c s e n M C S a j R raw-output compact-output slurp exit-status null-input monochrome-output color-output " +
		"sort-keys ascii-output join-output raw-input raw-output0 tab indent= stream seq arg== argjson== slurpfile=/ " +
		"rawfile=/", spec{operands: firstText, check: checkJq}},
	{"yq", yqOptions, spec{operands: firstText, check: checkYq}},
	{"yq e|eval|ea|eval-all", yqOptions, spec{operands: firstText, check: checkYq}},
	{"sort", "b c C d f g h i k= m M n r R s S= t= u V z check? ignore-leading-blanks dictionary-order ignore-case " +
		"general-numeric-sort ignore-nonprinting month-sort human-numeric-sort numeric-sort random-sort reverse sort= " +
		"version-sort batch-size= key= merge buffer-size= stable field-separator= parallel= unique zero-terminated", files},
	{"uniq", "c d D f= i s= u w= z count repeated all-repeated? skip-fields= group? ignore-case skip-chars= unique " +
		"zero-terminated check-chars=", spec{operands: paths, max: 1, first: true}},
	{"cut", "b= c= d= f= n s z bytes= characters= delimiter= fields= complement only-delimited output-delimiter= " +
		"zero-terminated", anyFiles},
	{"tr", "c C d s t complement delete squeeze-repeats truncate-set1", spec{}},
	{"paste", "d= s z delimiters= serial zero-terminated", anyFiles},
	{"join", "a= e= i j= o= t= v= 1= 2= z ignore-case check-order nocheck-order header zero-terminated", anyFiles},
	{"fold", "b s w= bytes spaces width=", spec{operands: paths, globs: anyGlob, count: true}},
	{"fmt", "c s t u w= p= width= prefix= split-only uniform-spacing", spec{operands: paths, globs: anyGlob, count: true}},
	{"column", "t s= n x c= o= N= R= e table separator= output-separator= columns= fillrows table-columns= table-right=",
		anyFiles},
	{"expand|unexpand", "a i t= all initial first-only tabs=", anyFiles},
	{"rev", "", anyFiles},
	{"base64|base32", "d i w= decode ignore-garbage wrap=", anyFiles},
	{"awk|gawk|mawk|nawk", "F= v=", spec{operands: firstText, check: accepts(plainAwk, "an awk program that is not "+
		"known to be harmless")}},
	{"echo", "", spec{raw: true, globs: anyGlob, digits: true, says: true}},
	{"printf", "", spec{digits: true, says: true, globs: anyGlob, first: true, check: checkPrintf}},
	{"expr", "", spec{raw: true, digits: true}},
	{"seq", "f= s= w format= separator= equal-width", spec{count: true}},
	{"basename", "a s= z multiple suffix= zero", spec{globs: anyGlob, says: true}},
	{"dirname", "z zero", spec{globs: anyGlob, says: true}},
	{"whoami|arch|nproc|tty|groups|logname", "all version help", noWords},
	{"pwd", "L P", noWords},
	{"id", "a G g n r u z group groups name real user zero", spec{}},
	{"hostname", "a A d f i I s all-fqdns all-ip-addresses domain fqdn long ip-address short", noWords},
	{"uname", "a s n r v m p i o all kernel-name nodename kernel-release kernel-version machine processor " +
		"hardware-platform operating-system", noWords},
	{"date", "d= I? R u r/ date= iso-8601? rfc-3339= rfc-email utc universal reference/", spec{max: 1, check: checkDate}},
	{"uptime", "p s pretty since", noWords},
	{"free", "b k m g h t w bytes kibi mebi gibi human total wide si", noWords},
	{"ps", "A a d e f F H j l L N o= O= p= C= u= U= t= T w y forest pid= ppid= sort= user= format= no-headers headers",
		spec{check: checkPs}},
	{"which", "a all", spec{}},
	{"type", "a t p P f", spec{}},
	{"whereis", "b m s u", spec{}},
	{"sleep", "", spec{max: 1, check: checks(some("it does not say how long"), shortSleep)}},
	{"locale", "a", oneWord},
	// These join commands. They are allowed wherever their parts are.
	{"true|false|:", "", spec{raw: true, digits: true, says: true}},
	{"break|continue|exit|return", "", spec{max: 1, digits: true, count: true, check: checkNumbers}},
	{"cd", "", spec{operands: paths, max: 1}},
	{"set", "", spec{raw: true, check: checkSet}},
	{"test|[|[[", "", spec{raw: true, digits: true, check: checkTest}},
	{"wait", "n f", spec{digits: true, check: checkJobs}}, // -p sets a variable
}

const gitShow = " p u s U? patch no-patch stat? shortstat numstat name-only name-status summary raw no-renames M? " +
	"C? R w b unified? no-color color? word-diff? color-words? minimal patience histogram diff-filter= " +
	"ignore-all-space ignore-space-change ignore-blank-lines ignore-space-at-eol full-index abbrev? binary check " +
	"exit-code quiet no-ext-diff no-textconv relative? src-prefix= dst-prefix= no-prefix text z find-renames? " +
	"find-copies? compact-summary dirstat? function-context W inter-hunk-context= pickaxe-regex S= G= color-moved? " +
	"no-color-moved color-moved-ws= I= ignore-matching-lines= ignore-cr-at-eol no-relative no-indent-heuristic " +
	"anchored= stat-width= stat-count= find-object= break-rewrites? irreversible-delete "

const gitLog = gitShow + " n= oneline graph decorate? no-decorate all branches? tags? remotes? max-count= skip= " +
	"since= after= until= before= author= committer= grep= i E F P all-match invert-grep merges no-merges first-parent " +
	"reverse topo-order date-order author-date-order date= pretty? format= abbrev-commit no-abbrev-commit follow L= c " +
	"cc m full-history simplify-by-decoration ancestry-path cherry-pick left-right boundary no-walk? regexp-ignore-case " +
	"fixed-strings extended-regexp notes? no-notes relative-date parents children source exclude= g walk-reflogs max-parents= " +
	"min-parents= left-only right-only cherry cherry-mark sparse dense no-expand-tabs "

// gitRows are the sub-commands of git that only read. A repository's own settings can name programs for git to run: a
// caller that runs these commands must turn them off, see GitFolders.
var gitRows = []row{
	{"git", "version help", spec{max: -1, check: func(u *invocation) string { // both show a page by a program
		return when(len(u.given) > 1, "these options together do more than print something")
	}}},
	{"git version", "build-options", noWords},
	{"git status", "s b u? v z short branch show-stash porcelain? long verbose untracked-files? ignored? " +
		"ignore-submodules? column? no-column ahead-behind no-ahead-behind renames no-renames find-renames?", gitMixed},
	{"git log|show|reflog show", gitLog, gitPretty},
	{"git reflog", gitLog, spec{max: -1, count: true, pretty: true}},
	{"git diff", gitShow + " cached staged merge-base no-index 0 1 2 3 base ours theirs", gitMixed},
	{"git diff-tree|diff-index|diff-files", gitShow + " r t cached root no-commit-id m", gitPretty},
	{"git branch", "a r v q i l vv all remotes verbose list show-current contains= no-contains= merged? no-merged? " +
		"points-at= sort= format= color? no-color column? no-column ignore-case abbrev? no-abbrev", spec{check: onlyListed}},
	{"git tag", "l n? i list contains= no-contains= merged? no-merged? points-at= sort= format= color? column? " +
		"no-column ignore-case", spec{check: onlyListed}},
	{"git rev-parse", "q verify short? abbrev-ref? symbolic symbolic-full-name all branches tags remotes show-toplevel " +
		"show-prefix show-cdup git-dir git-common-dir absolute-git-dir is-inside-work-tree is-inside-git-dir " +
		"is-bare-repository is-shallow-repository show-superproject-working-tree revs-only no-revs sq default= not " +
		"show-object-format?", gitMixed},
	{"git ls-files", "c d m o i s u k t v z z f cached deleted modified others ignored stage unmerged killed " +
		"exclude-standard error-unmatch full-name abbrev? eol deduplicate recurse-submodules", gitMixed},
	{"git ls-tree", "d r t l z long name-only name-status object-only full-name full-tree abbrev? format=", gitMixed},
	{"git blame|annotate", "b c e f l L= n p s t w M C root show-stats line-porcelain porcelain show-name show-number " +
		"show-email date= since= abbrev? first-parent reverse", gitMixed},
	{"git remote", "v verbose", spec{max: -1, first: true}},
	{"git remote show", "", noWords}, // with a name it asks the other machine
	{"git bisect log", "", noWords},
	{"git notes list", "", gitMixed},
	{"git cherry", "v abbrev?", gitMixed},
	{"git range-diff", gitShow + " creation-factor= left-only right-only", gitMixed},
	{"git fsck", "full no-full unreachable dangling no-dangling strict progress no-progress connectivity-only root tags " +
		"no-reflogs", noWords},
	{"git archive", "l list", spec{max: -1, check: needs("it makes an archive", "l", "list")}},
	{"git var", "", oneWord},
	{"git remote get-url", "all push", oneWord},
	{"git describe", "all tags contains always long abbrev? candidates= exact-match match= exclude= first-parent dirty? " +
		"broken? debug", gitMixed},
	{"git shortlog", "s n e c w? summary numbered email no-merges since= until= after= before= author= all group= format=",
		gitPretty},
	{"git stash list", gitLog, spec{max: -1, count: true, pretty: true}},
	{"git stash show", gitShow + " include-untracked only-untracked", gitMixed},
	{"git worktree list", "v z porcelain verbose", noWords},
	{"git config", "local get get-all show-origin show-scope null z type= bool int name-only default=",
		spec{max: 1, first: true, check: checkGitConfig}},
	{"git config get", "local all show-origin show-scope null z type= bool int default= show-names",
		spec{max: 1, check: checkSetting}},
	{"git show-branch", "a r all remotes current topo-order date-order list independent no-name sha1-name topics " +
		"reflog? color? no-color", gitMixed},
	{"git check-attr", "a all z cached", gitMixed},
	{"git hash-object", "t= no-filters", gitMixed},
	{"git cat-file", "t s e p batch-check? batch-all-objects unordered", gitMixed},
	{"git rev-list", gitLog + " count objects", gitPretty},
	{"git merge-base", "a all is-ancestor fork-point octopus independent", gitMixed},
	{"git name-rev", "name-only tags refs= always no-undefined", gitMixed},
	{"git for-each-ref", "count= sort= format= points-at= merged? no-merged? contains= no-contains= ignore-case color?",
		gitMixed},
	{"git show-ref", "s d q head heads tags branches hash? abbrev? dereference verify", gitMixed},
	{"git count-objects", "v H verbose human-readable", noWords},
	{"git check-ignore", "q v n z quiet verbose non-matching no-index", gitMixed},
	{"git symbolic-ref", "q short quiet", oneWord},
	{"git grep", "A= B= C= E F G P H I L W a c e= h i l n o p q v w z z cached untracked all-match and or not count " +
		"files-with-matches files-without-match line-number ignore-case word-regexp extended-regexp fixed-strings " +
		"perl-regexp basic-regexp max-depth= name-only show-function function-context context= after-context= " +
		"before-context= max-count= m= column heading break color? no-color only-matching invert-match full-name quiet " +
		"text exclude-standard", spec{operands: mixed, count: true, first: true}},
}

// What many rows say of operands: there are none, any, one, names, files, files with any names, or what go takes.
var (
	noWords    = spec{max: -1}
	oneWord    = spec{max: 1}
	plainWords = spec{check: plainOperands}
	plainNames = spec{check: plainName}
	files      = spec{operands: paths}
	anyFiles   = spec{operands: paths, globs: anyGlob}
	binaries   = spec{operands: paths, check: noLists}
	goWords    = spec{operands: mixed, oneDash: true}
	gitMixed   = spec{operands: mixed, count: true}
	gitPretty  = spec{operands: mixed, count: true, pretty: true}
)

// runners run a command, or a text for a shell, somewhere among their words. Its position is not known for each of
// their options, so deny rules consider all of it, and no rule allows any of it.
var runners = lazy.Set(`setarch linux32 linux64 i386 i486 i586 i686 x86_64 uname26 setpriv prlimit capsh chpst softlimit
	setuidgid envdir envuidgid daemon daemonize start-stop-daemon cgexec numactl choom valgrind perf rr hyperfine tmux
	screen dtach abduco zellij socat nc ncat netcat xvfb-run dbus-run-session dbus-launch firejail bwrap lxc-attach
	lxc-execute machinectl systemd-nspawn flatpak-spawn aa-exec runcon newgrp sg ssh-agent dumb-init tini su-exec catatonit
	rush cpulimit trickle proxychains proxychains4 torsocks torify tsocks eatmydata faketime libtool watchexec nodemon
	xterm gnome-terminal konsole alacritty kitty foot urxvt rxvt uxterm expect gdb gdbserver lldb cgdb stap bpftrace dtrace
	sqlite3 sqlite mysql mariadb mongosh mongo vim vi nvim view ex rvim rview vimdiff gvim emacs emacsclient ed red mail
	mailx mutt lftp ftp compgen complete mapfile readarray alias bind fc dialog whiptail inotifywait reptyr run-parts runc
	crun ctr nerdctl gksudo kdesu sudoedit logrotate logsave ssh-copy-id sshpass autossh mosh pssh parallel-ssh ansible
	salt dsh clush fakechroot pseudo schroot debootstrap chronic ts ifne vipe pee lckdo errno pwsh powershell nu elvish
	xonsh psql duckdb clickhouse-client cqlsh sqlcmd usql snowsql pspg withlock setlock with-lock-ex multilog runsvdir
	s6-setuidgid execlineb exec-fd doas-run sudo-rs run0 please gksu systemd-inhibit systemd-cat sandbox-exec arch xcrun
	nsjail minijail0 landrun switch_root pivot_root setuser lockf shlock socksify dtruss truss uftrace heaptrack kcov
	coreutils uutils box64 fex wine wine64 mono qemu-i386 qemu-x86_64 viddy reflex rlfe sem pexec pdsh byobu wezterm st osh
	ysh oil es rc at batch crontab incrontab anacron busctl dbus-send gio xdg-open open osascript cscript wscript cmd`)

// launchers are those of them that run nothing but what is among their words.
const launchers lazy.Words = `setarch linux32 linux64 i386 i686 x86_64 arch prlimit valgrind perf hyperfine tmux screen
	xvfb-run dbus-run-session eatmydata faketime watchexec nodemon chronic ts unbuffer cpulimit kcov heaptrack xcrun open
	xdg-open`

// packaged run a program, or a package, that is named among their words; a rule can allow such a command by its
// words.
var packaged = lazy.Set(`npx bunx pnpx uvx pipx dlx tsx ts-node npm-exec ccache distcc sccache icecc bear coverage
	py-spy memray scalene cross-env cross-env-shell env-cmd dotenv-cli concurrently cargo-watch dockerize wait-for-it
	start-server-and-test honcho foreman forever pm2 mpirun mpiexec orterun srun torchrun accelerate sbatch bsub qsub
	chamber aws-exec summon vaultenv teller infisical envconsul consul multipass lxc incus direnv dotenv op doppler
	aws-vault envchain sops docker podman kubectl oc heroku fly vagrant nix nix-shell guix devbox mise asdf rtx pyenv
	rbenv nodenv nvm volta conda mamba micromamba poetry uv pipenv hatch pdm rye snap flatpak bundle npm pnpm yarn bun
	deno stack cabal dotnet mix rustup cargo docker-compose toolbox distrobox lima limactl wsl R julia octave guile racket
	sbcl clisp elixir iex erl luajit gnuplot ghci groovy scala kotlin swift jshell adb fnm pixi dotenvx devcontainer
	apptainer singularity colima lerna nx devenv flox corepack watchmedo chokidar onchange pueue nq retry multitime openvt
	grc scan-build annotate-output plink`)

// projects are programs that run something of the project, or of a package that they fetch. With sub-commands, only
// those.
const projects lazy.Words = `make gmake bmake remake ninja samu just task rake ant gradle gradlew mvn mvnw sbt lein boot
	bazel bazelisk buck buck2 pants meson cmake ctest cpack scons waf tox nox invoke inv fab pytest py.test nosetests trial
	jest mocha vitest ava tap karma cypress playwright webpack vite rollup parcel gulp grunt nx turbo lerna eslint prettier
	stylelint pre-commit husky lint-staged lefthook ansible-playbook puppet chef-client chef-solo packer terraform tofu
	pulumi earthly dagger act skaffold tilt devspace docker-compose systemctl service launchctl java javaw groovy scala
	kotlin swift runghc runhaskell ghci julia R octave guile racket sbcl clisp elixir iex erl escript luajit wish gnuplot
	dpkg rpm apt apt-get yum dnf brew pacman apk pip pip3 gem cpan cpanm luarocks opam composer npx bunx pnpx uvx pipx`

const projectSubs lazy.Words = `go:test go:run go:generate go:tool go:get go:install cargo:build cargo:b cargo:check
	cargo:c cargo:test cargo:t cargo:run cargo:r cargo:bench cargo:doc cargo:d cargo:clippy cargo:install cargo:fix
	cargo:rustc cargo:nextest cargo:make cargo:xtask docker:run docker:exec docker:build docker:compose docker:start
	docker:buildx podman:run podman:exec podman:build podman:start podman:compose kubectl:exec kubectl:run kubectl:debug
	bundle:exec bundle:install uv:run uv:sync uv:pip uv:tool poetry:run poetry:install pipenv:run pipenv:install
	dotnet:run dotnet:test dotnet:build dotnet:exec mix:run mix:test mix:compile stack:exec stack:run stack:test
	stack:build cabal:run cabal:exec cabal:test cabal:build swift:run swift:test swift:build flutter:run flutter:test
	dart:run dart:test deno:run deno:test deno:task deno:eval bun:run bun:test bun:x bun:install nix:run nix:develop
	nix:shell gh:extension gh:alias hg:update svn:update perf:record zig:build vagrant:up direnv:exec hatch:run pdm:run`

// readNPM are sub-commands of package managers that run no scripts.
const readNPM lazy.Words = `ls list ll la view info show outdated why explain search root prefix bin help --version -v`

// gitSubs are the sub-commands of git that run nothing named in their words, or in a setting with a free name. All
// others may be aliases, or run their arguments.
const gitSubs lazy.Words = `add am annotate apply archive blame branch bundle cat-file check-attr check-ignore
	check-mailmap check-ref-format checkout checkout-index cherry cherry-pick clean clone commit commit-graph commit-tree
	count-objects describe diff diff-files diff-index diff-tree fast-export fast-import fetch fmt-merge-msg for-each-ref
	format-patch fsck gc get-tar-commit-id grep hash-object help index-pack init interpret-trailers log ls-files ls-remote
	ls-tree maintenance merge merge-base merge-file merge-index merge-tree mktag mktree multi-pack-index mv name-rev notes
	pack-objects pack-refs patch-id prune prune-packed pull push range-diff read-tree rebase reflog remote repack replace
	request-pull rerere reset restore rev-list rev-parse revert rm send-pack shortlog show show-branch show-index show-ref
	sparse-checkout stash status stripspace switch symbolic-ref tag unpack-file unpack-objects update-index update-ref
	update-server-info var verify-commit verify-pack verify-tag version worktree write-tree --version --help`

// programOptions take a program, or a text for a shell. Letters are found in bundles, names also abbreviated.
var programOptions = table{
	{"--checkpoint-action --to-command --use-compress-program --rsh-command --info-script --new-volume-script -I -F",
		"tar"}, {"--use-compress-program", "bsdtar"}, {"--rsh-command", "cpio"}, {"--compress-program", "sort"},
	{"--filter", "split"}, {"--pre --hostname-bin", "rg"}, {"--rsh --rsync-path -e", "rsync"},
	{"-TT -T --unzip-command", "zip"}, {"-P --pager -H --html", "man"}, {"-o", "ssh apt apt-get"}, {"-S -o", "scp"},
	{"-S -o -b", "sftp"}, {"-exec -toolexec -vettool --exec --toolexec --vettool", "go"},
	{"-x -X --exec --exec-batch", "fd fdfind"}, {"--use-askpass", "wget"}, {"-z", "tcpdump"}, {"-wrapper", "gcc g++ cc"},
	{"-fplugin", "clang"}, {"--filter --lua-filter -F -L", "pandoc"}, {"--eval -E", "make gmake"},
	{"--diff-cmd --diff3-cmd --editor-cmd --config-option", "svn"}, {"--config", "hg cargo"},
	{"--helm-command --enable-exec --enable-alpha-plugins", "kubectl"}, {"--helm-command", "oc"},
	{"--post-renderer", "helm"}, {"-k --lesskey-file", "less"}, {"--pre-invoke --post-invoke", "dpkg"},
	{"--script", "nmap"}, {"--options", "ctags"}, {"-engine", "openssl"}, {"--preview --bind", "fzf"}, {"--pipe", "rpm"},
	{"--exec --exec-before-download", "yt-dlp youtube-dl"}, {"--password-command", "rclone restic"},
}.indexed()

// gitProgramOptions are those of sub-commands of git.
var gitProgramOptions = table{
	{"--upload-pack -u --config -c --template", "clone"}, {"--upload-pack", "fetch pull"},
	{"--upload-pack --exec", "ls-remote fetch-pack"}, {"--receive-pack --exec", "push send-pack"},
	{"--exec --remote", "archive"}, {"--exec -x", "rebase"}, {"--open-files-in-pager -O", "grep"},
	{"--extcmd -x", "difftool"}, {"--template", "init"}, {"foreach", "submodule"}, {"run", "bisect"},
	{"--sendmail-cmd --smtp-server --to-cmd --cc-cmd", "send-email"},
	{"--setup --env-filter --tree-filter --index-filter --parent-filter --msg-filter --commit-filter " +
		"--tag-name-filter", "filter-branch"},
}

// useRows are read-only uses of programs that also do other things. They count for reading alone: a rule that lists
// such a program covers the same uses as without them.
var useRows = []row{
	{"nm", "A a C D g n p r u", binaries},
	{"tee", "a i append ignore-interrupts", spec{operands: paths, check: checkTee}},
	{"zcat|gzcat|bzcat|xzcat|lzcat|zstdcat", "", files},
	{"gzip|gunzip|bzip2|bunzip2|xz|unxz|zstd|unzstd", "c d l q t v decompress list quiet stdout test to-stdout " +
		"uncompress verbose", spec{operands: paths, check: checkUnpacks}},
	{"bc", "i l q s w interactive mathlib quiet standard warn", files},
	{"tar", "t x O v f/ z j J a list verbose gzip bzip2 xz file/", spec{first: true, check: checkTar}},
	{"unzip", "h l p q v Z 1 2 s m", spec{operands: mixed, check: checkUnzip}},
	{"zipinfo", "1 2 h l m s t v z", spec{operands: mixed}},
	{"tokei", "f files s= t= sort= type= no-ignore hidden", files},
	{"printenv", "0 null", spec{check: checks(some("it shows all variables"), namesNoSecret)}},
	{"lsof", "a b i? l n P R t w c= d= g= p= s? u=", plainWords},
	{"ss", "0 4 6 a b e E H i l m n o O p r s t u w x all extended info ipv4 ipv6 listening memory no-header numeric " +
		"oneline options processes resolve summary tcp udp unix", spec{}},
	{"netstat", "a e g i l n o p r s t u w x all extend groups interfaces listening numeric program route statistics " +
		"tcp timers udp unix wide 4 6", noWords},
	{"man|whatis|apropos", "a f k s= w all apropos sections= whatis where", plainWords},
	{"git clean", "d e= f n q x X dry-run exclude= force quiet", spec{operands: mixed, check: needs("it deletes", "n",
		"dry-run")}},
	{"git apply", "check numstat stat summary p= R v verbose reverse", spec{operands: paths, check: needs(
		"it changes files", "check", "numstat", "stat", "summary")}},
	{"pip|pip3 list|freeze|check", "v q l o e user local outdated uptodate editable format= not-required exclude=",
		noWords},
	{"pip|pip3 show", "f v q files verbose", plainWords},
	{"npm root|prefix|bin", "g global", noWords},
	{"npm ls|list|ll|explain|why|query", "a g l p all global long parseable json depth= omit= include= prod", plainWords},
}

var useSpecs = sync.OnceValue(func() map[string]*spec {
	return addRows(addRows(map[string]*spec{}, useRows, true), inspectRows, true)
})

// reading is find for read-only commands, with such uses of programs that also do other things.
func (c *Command) reading() (s *spec, n int) {
	s, n = c.find()
	if use, m := c.findIn(useSpecs()); s == nil || !s.read || m > n {
		return use, m
	}
	return s, n
}
