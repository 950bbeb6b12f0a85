package supervise

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/nesting"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// inherited are the variables of the host's environment that plugins get, besides LC_*. All others, tokens above all,
// are withheld.
var inherited = []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "TERM", "XDG_STATE_HOME"}

// environment is the environment of a plugin's process: the allow-list, a folder for temporary files, the spec's
// variables, then go-plugin's and the host's, which nothing overrides.
func environment(spec Spec, config, temp, state string, protocol []string) []string {
	out := append(inheritedEnvironment(spec), TempEnvironment(temp)...)
	out = nesting.Below(append(out, ownEnvironment(spec)...), config, spec.title(), true)
	return append(append(out, protocol...),
		wire.EnvInstance+"="+spec.Name, wire.EnvKeepDir+"="+os.TempDir(), wire.EnvLifeline+"=stdin",
		wire.EnvStateDir+"="+state,
		wire.EnvHostPID+"="+strconv.Itoa(os.Getpid()))
}

// TempEnvironment has programs use a folder for their temporary files.
func TempEnvironment(dir string) (out []string) {
	for _, name := range tempVariables {
		out = append(out, name+"="+dir)
	}
	return out
}

// title is how errors, and hosts that the plugin runs, name it.
func (s Spec) title() string { return fmt.Sprintf("plugin %q", s.Name) }

// Environment is the part of the host's environment that a plugin gets, and the variables of the spec.
func (s Spec) Environment() []string { return append(inheritedEnvironment(s), ownEnvironment(s)...) }

func ownEnvironment(spec Spec) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(spec.Env)) {
		out = append(out, name+"="+spec.Env[name])
	}
	return out
}

func inheritedEnvironment(spec Spec) (out []string) {
	if spec.InheritEnv != nil && *spec.InheritEnv {
		return proctree.Environ()
	}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); isInherited(name) {
			out = append(out, kv)
		}
	}
	return out
}
