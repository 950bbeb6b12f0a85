package config

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/zclconf/go-cty/cty"
)

var bytesPattern = regexp.MustCompile(`^([1-9][0-9]{0,6})(KiB|MiB|GiB|TiB)$`)

// bytes reads a size such as "512MiB", 0 when there is none.
func (f *fields) bytes(name string) int64 {
	v, e := f.typed(name, kind{`a size such as "512MiB"`, textKind.is}, func(cty.Value) string {
		return fmt.Sprintf(`write %s = "512MiB"; the units are KiB, MiB, GiB and TiB`, name)
	})
	if e == nil {
		return 0
	}
	m := bytesPattern.FindStringSubmatch(v.AsString())
	if m == nil {
		f.wrong(e.Range(), "%s cannot be %q", name, brief(v.AsString())).hint(`write a whole number and KiB, MiB, GiB or TiB, such as "512MiB"`)
		return 0
	}
	n, _ := strconv.ParseInt(m[1], 10, 64) // what matches is a number
	return n << map[string]int{"KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}[m[2]]
}
