package match

import (
	"strings"
	"testing"
)

// What both strings leave out at the same place stays.
func TestLinesLeftOutOfBothStrings(t *testing.T) {
	const data = "func open(name string) error {\n\tcheck(name)\n\tlock()\n\tload(name)\n\tstore(name)\n\treturn nil\n}\n\n" +
		"func close() {\n\tunlock()\n\treturn\n}\n"
	for _, c := range []struct{ name, old, fresh, want string }{
		{"above", "\tcheck(name)\n\t...\n\treturn nil\n", "\tverify(name)\n\t...\n\treturn nil\n",
			strings.Replace(data, "check", "verify", 1)},
		{"below", "\tcheck(name)\n\t// ...\n\tstore(name)\n\treturn nil\n", "\tcheck(name)\n\t// ...\n\tstore(x)\n\treturn nil\n",
			strings.Replace(data, "store(name)", "store(x)", 1)},
		{"both", "    check(name)\n    ...\n    store(name)\n", "    verify(name)\n    ...\n    save(name)\n",
			strings.NewReplacer("check", "verify", "store", "save").Replace(data)},
		{"twice", "\tcheck(name)\n...\n\tload(name)\n...\n\tunlock()", "\tcheck(name)\n...\n...\n\tunlock(x)",
			strings.NewReplacer("\tload(name)\n", "", "unlock()", "unlock(x)").Replace(data)},
		{"the last line goes", "\tcheck(name)\n\t...\n\treturn nil", "\tcheck(name)\n\t...",
			strings.Replace(data, "\treturn nil\n", "", 1)},
		{"a part with other line endings, and one more", "\tcheck(name)\r\n\t...\r\n\tstore(name)\r\n\treturn nil",
			"\tverify(name)\n\t...\n\tstore(name)\n\treturn nil\n", strings.Replace(data, "check", "verify", 1)},
		{"a part at more places that stays", "\tload(name)\n\t...\n}\n", "\tload(x)\n\t...\n}\n",
			strings.Replace(data, "load(name)", "load(x)", 1)},
		{"a line that comes", "\tcheck(name)\n\t// ... existing code ...\n\tstore(name)\n",
			"\tcheck(name)\n\tlog(name)\n\t// ... existing code ...\n\tstore(name)\n",
			strings.Replace(data, "\tlock", "\tlog(name)\n\tlock", 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := NewText("a.go", []byte(data)).Plan(Change{Old: c.old, New: c.fresh})
			if c.name == "twice" { // a part that goes is not said to be empty by mistake
				if err != nil {
					return
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if got := string(p.Apply([]byte(data))); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
	for name, c := range map[string]Change{
		"in one only":           {Old: "\tcheck(name)\n\t...\n\treturn nil\n", New: "\tverify(name)\n\treturn nil\n"},
		"in another order":      {Old: "\tunlock()\n\t...\n\tcheck(name)\n", New: "\tunlock(x)\n\t...\n\tcheck(name)\n"},
		"a part at more places": {Old: "\tcheck(name)\n\t...\n}\n", New: "\tcheck(name)\n\t...\n}\n\nvar x int\n"},
		"a part of nothing":     {Old: "\t...\n\tcheck(name)\n", New: "\t...\n\tverify(name)\n"},
		"a part that is gone":   {Old: "\tcheck(name)\n\t...\n\tdrop(it)\n", New: "\tverify(name)\n\t...\n\tdrop(it)\n"},
		"of all places":         {Old: "\tcheck(name)\n\t...\n\treturn nil\n", New: "\tx(name)\n\t...\n\treturn nil\n", All: true},
	} {
		if p, err := NewText("a.go", []byte(data)).Plan(c); err == nil {
			t.Errorf("%s: written\n%s", name, p.Apply([]byte(data)))
		}
	}
}

// A dash stands for the hyphens that a program has.
func TestDashesForHyphens(t *testing.T) {
	for _, c := range []struct{ file, data, old, fresh, want string }{
		{"a.md", "Use it -- but slowly.\nThen wait.\n", "Use it — but slowly.\n", "Use it — but not twice — slowly.\n",
			"Use it -- but not twice -- slowly.\nThen wait.\n"},
		{"a.sql", "-- Orders of a day\nSELECT a -- first\nFROM b\n", "SELECT a — first\nFROM b\n", "SELECT a — first\nFROM c\n",
			"-- Orders of a day\nSELECT a -- first\nFROM c\n"},
		{"a.sql", "-- first part\nselect 1;\n", "— first part", "other: 1\n— first part",
			"other: 1\n-- first part\nselect 1;\n"},
		{"a.sh", "run --all here\n", "–all here", "–all there", "run --all there\n"},
		{"a.tex", "One---or two--is enough.\n", "One—or two–is enough.\n", "One—or three–is enough.\n",
			"One---or three--is enough.\n"},
		{"a.sh", "tool --all -x file\n", "tool —all -x file\n", "tool —all -x —y file\n", "tool --all -x --y file\n"},
	} {
		if _, got := planned(t, c.file, c.data, Change{Old: c.old, New: c.fresh}); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.file, got, c.want)
		}
	}
	// Where the file has such dashes elsewhere, or both fit, it is not known what is meant.
	refused(t, "a.md", "Use it -- but slowly.\nA dash — is here.\n", Change{Old: "Use it — but slowly.\n", New: "x — y\n"})
}
