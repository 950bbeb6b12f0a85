package match

import (
	"strings"
	"testing"
)

// words are those that stand for code left out, and are names of variables as well.
var words = []string{"rest", "remaining", "remainder", "existing", "unchanged", "unmodified", "omitted", "elided",
	"same", "snip", "truncated", "props", "args"}

// Dots that are an operator stand for nothing, whatever the variable behind or before them is called.
func TestSpreadsAreCode(t *testing.T) {
	jsx := "export function B({ a }) {\n  return (\n    <button\n      className={a}\n    />\n  );\n}\n"
	js := "const a = {foo: 1};\nconst b = [1];\nconst f = (a) => a;\n"
	for _, file := range []string{"a.js", "a.jsx", "a.ts", "a.tsx", "a.mjs", "a.vue", "a.svelte"} {
		for _, w := range words {
			for _, c := range []struct{ data, old, fresh string }{
				{jsx, "      className={a}\n", "      className={a}\n      {...W}\n"},
				{jsx, "{ a }) {\n  return (\n    <button\n      className={a}\n",
					"{ a, ...W }) {\n  return (\n    <button\n      className={a}\n      {...W}\n"},
				{jsx, "      className={a}\n", "      {...W}\n"},
				{jsx, "      className={a}\n", "      {...W.button}\n"},
				{js, "{foo: 1}", "{...W, foo: 1}"},
				{js, "{foo: 1}", "{foo: 1, ...W}"},
				{js, "{foo: 1}", "{...W}"},
				{js, "{foo: 1}", "{ ...W }"},
				{js, "{foo: 1}", "{ ...W, a }"},
				{js, "{foo: 1}", "{...W.of(a), b: [...W]}"},
				{js, "{foo: 1}", "{...(W || {}), a}"},
				{js, "{foo: 1}", "{...(a ? W : {})}"},
				{js, "{foo: 1}", "{...props, ...W}"},
				{js, "{foo: 1}", "{\n  ...W, a: 1,\n}"},
				{js, "{foo: 1}", "{\n  ...W,\n  a: 1,\n}"},
				{js, "{foo: 1}", "{\n  ...W\n}"},
				{js, "[1]", "[...W, x]"},
				{js, "[1]", "[...new Set(W)]"},
				{js, "[1]", "[...(await W())]"},
				{js, "[1]", "[...W].sort()"},
				{js, "[1]", "[\n  ...W.slice(1), x\n]"},
				{js, "[1]", "[\n  [...W, x],\n  {...W},\n]"},
				{js, "(a) => a", "(...W) => W"},
				{js, "(a) => a", "(...W: string[]) => W"},
				{js, "(a)", "(\n  ...W: Rest<T>\n)"},
			} {
				old, fresh := c.old, strings.ReplaceAll(c.fresh, "W", w)
				written(t, file, c.data, old, fresh)
			}
		}
	}
	for _, c := range []struct{ file, data, old, fresh string }{
		{"a.php", "$a = [1];\n", "[1]", "[...$W, 2]"},
		{"a.php", "$a = f(1);\n", "(1)", "(...$W)"},
		{"a.dart", "var a = [1];\n", "[1]", "[...?W, 2]"},
		{"a.go", "x := f(1)\n", "x := f(1)", "x = append(existing, W...)"},
		{"a.go", "x := f(1)\n", "f(1)", "f(W...)"},
		{"a.go", "x := f(1)\n", "x := f(1)", "x := append([]T{&W}, a.b[1:]...)"},
		{"a.go", "x := f(1)\n", "f(1)", "f(W.g(h(1))[0]...)"},
		{"a.go", "x := f(1)\n", "f(1)", "f(a,\n\tW.x[2:]...)"},
		{"a.go", "func f(a int) {}\n", "(a int)", "(W ...int)"},
		{"a.cpp", "f(1);\n", "f(1);", "f(std::forward<W>(W)...);"},
		{"a.cpp", "auto s = 1;\n", "1", "(... && W)"},
		{"a.cpp", "f(1);\n", "f(1)", "return f(a, W...)"},
		{"a.py", "x = y[0]\n", "[0]", "[..., W]"},
		{"a.py", "x: Tuple[int]\n", "[int]", "[W, ...]"},
	} {
		for _, w := range words {
			fresh := strings.ReplaceAll(c.fresh, "W", w)
			written(t, c.file, c.data, c.old, fresh)
		}
	}
}

// What only looks like a spread stands for the lines that are gone, in languages that have spreads as in others.
func TestPlaceholdersBesideSpreads(t *testing.T) {
	const data = "one(alpha)\ntwo(beta)\nthree(gamma)\nfour(delta)\n"
	for _, l := range []string{"{... rest}", "[... rest]", "{ ... existing ... }", "[... existing ...]",
		"[...existing code...]", "{...rest of the code}", "{...rest of code, unchanged}", "[...existing, and the rest of it]",
		"(...rest of the file)",
		"...rest of the code", "...existing code...", "...(rest of the function)", "{...(existing code)}",
		"...rest: unchanged", "[...rest]", "(...existing)", "[...omitted]", "[...snip...]", "{…rest}", "[…existing]",
		"{....rest}", "// {...rest}", "{/* ...rest */}", "// ...rest", "/* {...existing} */", "# [...rest]",
		"<!-- ...rest -->", "{...existing methods, unchanged methods}", "[...remaining items]",
		"{...existing, other existing fields}",
		"(rest of the code...)", "[existing code...]", "(existing...)", "... rest, x", "{... existing, a: 1}"} {
		for _, file := range []string{"a.js", "a.tsx", "a.php", "a.dart", "a.go", "a.cpp", "a.py", "a.rb", "a.rs", "a.java",
			"a.css", "a.unknown"} {
			for _, c := range []Change{
				{Old: "one(alpha)\ntwo(beta)\nthree(gamma)\n", New: "one(first)\n" + l + "\nthree(gamma)\n"},
				{Old: "two(beta)\nthree(gamma)\n", New: l + "\n"},
				{Old: "two(beta)\nthree(gamma)\n", New: l},
			} {
				if r := refused(t, file, data, c); r.Kind != Guard {
					t.Errorf("%s: %s: %v", file, l, r)
				}
			}
		}
	}
	for _, l := range []string{"{...rest}", "{...existing, a: 1}", "[...rest, x]", "{...unchanged}"} { // no spreads there
		for _, file := range []string{"a.py", "a.rs", "a.rb", "a.css", "a.unknown", "a.java", "a.php"} {
			refused(t, file, data, Change{Old: "two(beta)\nthree(gamma)\n", New: l + "\n"})
		}
	}
}

// A comment on the data below it, a sentence that goes on and a body are written as they are, where no line is lost.
func TestRestsThatAreMeant(t *testing.T) {
	const code = "func f() {\n\tone(l)\n\ttwo(l)\n}\n"
	const text = "It takes the first, the second\nand more.\n\nThe end of it.\n"
	const py = "@overload\ndef f(x: int) -> int: pass\n\ndef g(): pass\n"
	for _, c := range []struct{ file, data, old, fresh string }{
		{"a.go", code, "\ttwo(l)\n", "\t// keep the rest of the list\n\ttwo(l)\n"},
		{"a.go", code, "\tone(l)\n\ttwo(l)\n", "\tone(l)\n\t// The rest of the options\n\ttwo(li)\n"},
		{"a.sql", code, "\ttwo(l)\n", "\t-- the remainder of the table\n\ttwo(l)\n"},
		{"a.md", text, "and more.\n", "and more\n...and the rest of it.\n"},
		{"a.txt", text, "The end of it.", "The end of it\n...but the remaining part is for later."},
		{"a.py", py, "int: pass", "int: ..."},
		{"a.py", py, "-> int: pass\n", "-> int: ...\n"},
		{"a.py", py, "def g(): pass", "def g(): ..."},
		{"a.pyi", py, "def g(): pass", "def g(): ..."},
	} {
		written(t, c.file, c.data, c.old, c.fresh)
	}
	one := "@overload\ndef f(x: int) -> int: pass\n"
	for _, file := range []string{"a.py", "a.pyi"} {
		written(t, file, one, "pass", "...")
	}
	for _, c := range []struct{ file, data, old, fresh string }{
		{"a.go", code, "\tone(l)\n\ttwo(l)\n", "\t// keep the rest of the list\n\tfour()\n"},
		{"a.go", code, "\tone(l)\n\ttwo(l)\n", "\tone(l, 2)\n\t// keep the rest of the list\n\tfour()\n"},
		{"a.go", code, "\tone(l)\n\ttwo(l)\n", "\tone(l, 2)\n\t// keep the rest of the list\n"},
		{"a.go", code, "\ttwo(l)\n", "\ttwo(l, 2)\n\t// keep the rest of the list\n"},
		{"a.go", code, "\ttwo(l)\n", "\t// keep the rest of the function\n\ttwo(l)\n"},
		{"a.md", text, "and more.\n\nThe end of it.\n", "and more.\n\n...and the rest of it.\n"},
		{"a.md", text, "The end of it.\n", "...and the rest of it.\n"},
		{"a.txt", text, "and more.\n", "...rest of the document\nand more.\n"},
		{"a.py", "def f(x): return x + 1\n", "return x + 1", "..."},
		{"a.pyi", "x: int\n", "int", "..."},
		{"a.py", "x: int = compute(1)\n", "int = compute(1)", "..."},
		{"a.py", "def f(x): pass\n", "pass", "...\n    return x"},
	} {
		if r := refused(t, c.file, c.data, Change{Old: c.old, New: c.fresh}); r.Kind != Guard {
			t.Errorf("%s: %q: %v", c.file, c.fresh, r)
		}
	}
}
