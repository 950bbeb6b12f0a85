package shelltool

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/policy"
)

func TestWhere(t *testing.T) {
	for arguments, want := range map[string]string{
		`{}`: "/project /project [] false",
		`{"workdir":"a","env":{"B":"1","A":""},"stdin":"x"}`: "/project/a /project [A B] true",
		`{"workdir":"/etc","stdin":""}`:                      "/etc /project [] false",
		`{"workdir":""}`:                                     "/project /project [] false",
	} {
		got, err := Where(&policy.Query{Arguments: []byte(arguments), Workdir: "/project"})
		if text := strings.Join([]string{got.Dir, got.Root, "[" + strings.Join(got.Env, " ") + "]", map[bool]string{true: "true", false: "false"}[got.Stdin]}, " "); err != nil || text != want {
			t.Errorf("%s: %s and the error %v, want %s", arguments, text, err, want)
		}
	}
}
