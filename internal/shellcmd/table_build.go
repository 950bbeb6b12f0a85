package shellcmd

const goBuild = " v x n a race msan asan work short trimpath p= tags= mod= buildvcs? cover covermode= coverpkg= "

// buildRows are programs that run what a project holds. They are never allowed as reading; a rule must list them, and then
// covers these options.
var buildRows = []row{
	{"go version", "m v", spec{operands: mixed, oneDash: true}},
	{"go env", "json changed", spec{operands: texts, oneDash: true}},
	{"go list", goBuild + " m u f= json? deps test e find compiled export versions retracted", spec{operands: mixed, oneDash: true}},
	{"go vet", goBuild + " json c=", spec{operands: mixed, oneDash: true}},
	{"go build", goBuild, spec{operands: mixed, oneDash: true}},
	{"go test", goBuild + " run= skip= bench= benchmem benchtime= count= timeout= failfast json parallel= cpu= list= shuffle= vet= fullpath", spec{operands: mixed, oneDash: true}},
	{"go doc", "all c cmd short src u", spec{operands: mixed, oneDash: true}},
	{"go mod verify|graph|why", "m vendor", spec{operands: mixed, oneDash: true}},
	{"go fmt", "n x", spec{operands: mixed, oneDash: true}},
	{"gofmt", "l d e s", spec{operands: paths}},
	{"cargo check|build|test|clippy|bench|doc", "v q r j= p= release all workspace all-features no-default-features features= lib bins bin= tests test= examples example= benches bench= all-targets package= exclude= locked offline frozen verbose quiet jobs= no-run no-fail-fast keep-going profile= doc no-deps message-format= color=", spec{operands: texts, check: checkCargo}},
	{"cargo fmt", "check all", spec{max: -1}},
	{"cargo tree|metadata", "p= i= e= d duplicates no-dev-dependencies depth= no-deps format-version= locked offline frozen all-features", spec{max: -1}},
	{"npm|pnpm|yarn test|t|run|ls|list|outdated", "s silent if-present depth= all json long", spec{operands: mixed, fixed: true}},
	{"make|gmake", "j? k s B n silent quiet keep-going always-make no-print-directory dry-run output-sync?", spec{operands: texts, fixed: true, check: noAssignments}},
	{"pytest|py.test", "q v x s k= m= l lf ff tb= maxfail= durations= collect-only co last-failed failed-first no-header no-summary exitfirst quiet verbose color= -ra -rA -rs", spec{operands: mixed, check: noLists}},
	{"tsc", "noEmit version", spec{max: -1}},
	{"ruff check", "quiet statistics no-fix select= ignore=", spec{operands: mixed}},
	{"mypy", "strict ignore-missing-imports", spec{operands: mixed, check: noLists}},
}
