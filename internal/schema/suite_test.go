package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What the test suite of JSON Schema has and this package has not. Each is refused in an own schema, and left out and
// noted in a foreign one.
var notSupported = []string{
	"leads out of this schema", "leads to one of several schemas", "unknown dialect",
	"must be a list of at least one value", // of enum, which must not be empty before 2020-12
	"points at no schema",                  // but below a keyword that is none
}

// Verdicts that differ on purpose, by file and test.
var differing = []string{
	"draft7/optional/content.json",              // contentEncoding and contentMediaType assert nothing, as in 2019-09
	"draft4/optional/zeroTerminatedFloats.json", // 1.0 is an integer, as in draft 6
	"optional/float-overflow.json",
	// Foreign schemas: additionalProperties beside a branch that names others, see unclose, and formats.
	"additionalProperties can't see bar even when foo2 is present", "format.json",
}

// TestOfficialSuite runs the official test suite of JSON Schema, which is among the test data of the library.
func TestOfficialSuite(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kaptinlin/jsonschema").Output()
	if err != nil {
		t.Fatal(err)
	}
	suite := filepath.Join(strings.TrimSpace(string(dir)), "testdata", "JSON-Schema-Test-Suite", "tests")
	for name, uri := range map[string]string{
		"draft4": "http://json-schema.org/draft-04/schema#", "draft6": "http://json-schema.org/draft-06/schema#",
		"draft7":       "http://json-schema.org/draft-07/schema#",
		"draft2019-09": "https://json-schema.org/draft/2019-09/schema",
		"draft2020-12": "https://json-schema.org/draft/2020-12/schema",
	} {
		files, _ := filepath.Glob(filepath.Join(suite, name, "*.json"))
		optional, _ := filepath.Glob(filepath.Join(suite, name, "optional", "*.json"))
		checked := 0
		for _, file := range append(files, optional...) {
			checked += runSuite(t, strings.TrimPrefix(file, suite+"/"), file, uri)
		}
		if checked < 1000 {
			t.Errorf("%s: only %d documents were checked", name, checked)
		}
	}
}

// runSuite returns how many documents it has checked.
func runSuite(t *testing.T, name, file, dialect string) (checked int) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var groups []struct {
		Description string
		Schema      json.RawMessage
		Tests       []struct {
			Description string
			Data        json.RawMessage
			Valid       bool
		}
	}
	if err := json.Unmarshal(text, &groups); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		if inner, isObject := bytes.CutPrefix(g.Schema, []byte("{")); isObject && !bytes.Contains(inner, []byte(`"$schema"`)) {
			declared := fmt.Sprintf(`{"$schema":%q,`, dialect)
			if string(bytes.TrimSpace(inner)) == "}" {
				declared = strings.TrimSuffix(declared, ",")
			}
			g.Schema = append([]byte(declared), inner...)
		}
		own, err := Compile(g.Schema)
		if err != nil && !contains(err.Error(), notSupported) {
			t.Errorf("%s: %s: %v", name, g.Description, err)
		}
		foreign, err := CompileForeign(g.Schema)
		if err != nil && !contains(err.Error(), notSupported) {
			t.Errorf("%s: %s: foreign: %v", name, g.Description, err)
		}
		for _, test := range g.Tests {
			id := name + ": " + g.Description + ": " + test.Description
			if contains(id, differing) {
				continue
			}
			if own != nil {
				checked++
				if wrong := own.Validate(test.Data); (wrong == nil) != test.Valid && len(own.Unchecked) == 0 {
					t.Errorf("%s: valid %v, %v", id, test.Valid, wrong)
				}
			}
			if foreign != nil {
				checked++
				if wrong := foreign.Validate(test.Data); (wrong == nil) != test.Valid &&
					(test.Valid || len(foreign.Unchecked) == 0) { // what is not checked makes a schema accept more, never less
					t.Errorf("%s: foreign: valid %v, %v", id, test.Valid, wrong)
				}
			}
		}
	}
	return checked
}

func contains(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}
