package supervise

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// inherited are the variables of the host's environment that plugins get, besides LC_*. Everything else, tokens above
// all, stays with the host.
var inherited = []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "TERM"}

// environment is what a plugin's process gets: the allow-list, a folder for temporary files in the place of ours, what the
// spec adds, and go-plugin's and our own last, so that nothing replaces those.
func environment(spec Spec, temp string, ours []string) []string {
	out := append(inheritedEnvironment(spec), "TMPDIR="+temp)
	for _, name := range slices.Sorted(maps.Keys(spec.Env)) {
		out = append(out, name+"="+spec.Env[name])
	}
	out = append(out, ours...)
	return append(out, sdk.EnvKeepDir+"="+os.TempDir(), sdk.EnvLifeline+"=stdin", sdk.EnvHostPID+"="+strconv.Itoa(os.Getpid()))
}

func inheritedEnvironment(spec Spec) (out []string) {
	if spec.InheritEnv != nil && *spec.InheritEnv {
		return proctree.Environ()
	}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); slices.Contains(inherited, name) || strings.HasPrefix(name, "LC_") {
			out = append(out, kv)
		}
	}
	return out
}
