package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

// roleVar makes the test binary the plugin greet.
const roleVar = "TEST_PLAY_GREET"

// TestMain gives tests their own user folders, and the examples a configuration in the current one.
func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "":
	case "services":
		serveServices()
	default:
		serveGreet()
	}
	dir, err := os.MkdirTemp("", "bootstrap-test")
	for _, name := range []string{"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "HOME"} {
		folder := filepath.Join(dir, name)
		err = errors.Join(err, os.MkdirAll(folder, 0o700), os.Setenv(name, folder))
	}
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "TOOLHOST_") {
			err = errors.Join(err, os.Unsetenv(name))
		}
	}
	work := filepath.Join(dir, "work")
	config := fmt.Sprintf(exampleConfig, os.Args[0], roleVar)
	err = errors.Join(err, os.Mkdir(work, 0o700), os.Chdir(work), os.WriteFile("config.hcl", []byte(config), 0o600))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// exampleConfig has the test binary as the plugin greet.
const exampleConfig = `
plugin "greet" {
  command = [%q]
  env     = { %s = "yes" }
}
audit {
}
profile "quiet" {
  exclude = ["greet__send"]
}
`

type greetArgs struct {
	Name string `json:"name"`
}

type dayForm struct {
	Day string `json:"day" enum:"Monday|Friday"`
}

func serveGreet() {
	p := sdk.New("greet", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "hello", Description: "Greets a person.", Hints: sdk.Hints{ReadOnly: sdk.Yes}},
		func(_ context.Context, _ *sdk.Request, in greetArgs) (*sdk.Result, error) {
			return sdk.Text("Hello, " + in.Name + "."), nil
		})
	sdk.AddTool(p, sdk.Tool{Name: "send", Description: "Sends a greeting to a person."},
		func(_ context.Context, _ *sdk.Request, in greetArgs) (*sdk.Result, error) {
			return sdk.Text("Sent to " + in.Name + "."), nil
		})
	sdk.AddTool(p, sdk.Tool{Name: "invite", Description: "Invites a person, on the day that the user says.",
		Hints: sdk.Hints{ReadOnly: sdk.Yes}},
		func(ctx context.Context, r *sdk.Request, in greetArgs) (*sdk.Result, error) {
			day, err := sdk.Ask[dayForm](ctx, r, "On which day?")
			if err != nil || day.Action != sdk.Accepted {
				return sdk.Text("No one is invited."), err
			}
			return sdk.Textf("%s is invited for %s.", in.Name, day.Value.Day), nil
		})
	sdk.Serve(p)
	os.Exit(0)
}
