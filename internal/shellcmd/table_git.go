package shellcmd

const gitShow = " p u s U? patch no-patch stat? shortstat numstat name-only name-status summary raw no-renames M? C? R w b unified? no-color color? word-diff? color-words? minimal patience histogram diff-filter= ignore-all-space ignore-space-change ignore-blank-lines ignore-space-at-eol full-index abbrev? binary check exit-code quiet no-ext-diff no-textconv relative? src-prefix= dst-prefix= no-prefix text z find-renames? find-copies? compact-summary dirstat? function-context W inter-hunk-context= pickaxe-regex S= G= "

const gitLog = gitShow + " n= oneline graph decorate? no-decorate all branches? tags? remotes? max-count= skip= since= after= until= before= author= committer= grep= i E F P all-match invert-grep merges no-merges first-parent reverse topo-order date-order author-date-order date= pretty? format= abbrev-commit no-abbrev-commit follow L= c cc m full-history simplify-by-decoration ancestry-path cherry-pick left-right boundary no-walk? regexp-ignore-case fixed-strings extended-regexp notes? no-notes relative-date parents children source exclude= "

// changeRows are sub-commands that change something, and that a rule must list. It then covers these options.
var changeRows = []row{
	{"git push", "u v q n 4 6 set-upstream verbose quiet dry-run porcelain progress no-progress atomic tags follow-tags ipv4 ipv6 no-force no-delete no-prune no-mirror", spec{operands: mixed, check: checkPush}},
}

// gitRows are the sub-commands of git that only read. A repository's own settings can name programs for git to run: who runs
// these commands must turn them off, see GitFolders.
var gitRows = []row{
	{"git", "version", spec{max: -1}},
	{"git version", "build-options", spec{max: -1}},
	{"git status", "s b u? v z short branch show-stash porcelain? long verbose untracked-files? ignored? ignore-submodules? column? no-column ahead-behind no-ahead-behind renames no-renames find-renames?", gitMixed},
	{"git log|show|reflog show", gitLog, gitPretty},
	{"git reflog", gitLog, spec{max: -1, count: true, pretty: true}},
	{"git diff", gitShow + " cached staged merge-base 0 1 2 3 base ours theirs", gitMixed},
	{"git diff-tree|diff-index|diff-files", gitShow + " r t cached root no-commit-id m", gitPretty},
	{"git branch", "a r v q i l vv all remotes verbose list show-current contains= no-contains= merged? no-merged? points-at= sort= format= color? no-color column? no-column ignore-case abbrev? no-abbrev", spec{operands: texts, check: onlyListed}},
	{"git tag", "l n? i list contains= no-contains= merged? no-merged? points-at= sort= format= color? column? no-column ignore-case", spec{operands: texts, check: onlyListed}},
	{"git rev-parse", "q verify short? abbrev-ref? symbolic symbolic-full-name all branches tags remotes show-toplevel show-prefix show-cdup git-dir git-common-dir absolute-git-dir is-inside-work-tree is-inside-git-dir is-bare-repository is-shallow-repository show-superproject-working-tree revs-only no-revs sq default= not show-object-format?", gitMixed},
	{"git ls-files", "c d m o i s u k t v z z f cached deleted modified others ignored stage unmerged killed exclude-standard error-unmatch full-name abbrev? eol deduplicate recurse-submodules", gitMixed},
	{"git ls-tree", "d r t l z long name-only name-status object-only full-name full-tree abbrev? format=", gitMixed},
	{"git blame|annotate", "b c e f l L= n p s t w M C root show-stats line-porcelain porcelain show-name show-number show-email date= since= abbrev? first-parent reverse", gitMixed},
	{"git remote", "v verbose", spec{max: -1, first: true}},
	{"git remote get-url", "all push", spec{operands: texts, max: 1}},
	{"git describe", "all tags contains always long abbrev? candidates= exact-match match= exclude= first-parent dirty? broken? debug", gitMixed},
	{"git shortlog", "s n e c w? summary numbered email no-merges since= until= after= before= author= all group= format=", gitPretty},
	{"git stash list", gitLog, spec{max: -1, count: true, pretty: true}},
	{"git stash show", gitShow + " include-untracked only-untracked", gitMixed},
	{"git worktree list", "v z porcelain verbose", spec{max: -1}},
	{"git config", "local get get-all show-origin show-scope null z type= bool int name-only default=", spec{operands: texts, max: 1, first: true, check: checkGitConfig}},
	{"git cat-file", "t s e p", gitMixed},
	{"git rev-list", gitLog + " count objects", gitPretty},
	{"git merge-base", "a all is-ancestor fork-point octopus independent", gitMixed},
	{"git name-rev", "name-only tags refs= always no-undefined", gitMixed},
	{"git for-each-ref", "count= sort= format= points-at= merged? no-merged? contains= no-contains= ignore-case color?", gitMixed},
	{"git show-ref", "s d q head heads tags branches hash? abbrev? dereference verify", gitMixed},
	{"git count-objects", "v H verbose human-readable", spec{max: -1}},
	{"git check-ignore", "q v n z quiet verbose non-matching no-index", gitMixed},
	{"git symbolic-ref", "q short quiet", spec{operands: texts, max: 1}},
	{"git grep", "A= B= C= E F G P H I L W a c e= h i l n o p q v w z z cached untracked all-match and or not count files-with-matches files-without-match line-number ignore-case word-regexp extended-regexp fixed-strings perl-regexp basic-regexp max-depth= name-only show-function function-context context= after-context= before-context= max-count= m= column heading break color? no-color only-matching invert-match full-name quiet text exclude-standard", spec{operands: mixed, count: true, first: true}},
}

var (
	gitMixed  = spec{operands: mixed, count: true}
	gitPretty = spec{operands: mixed, count: true, pretty: true}
)
