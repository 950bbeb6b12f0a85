package sdk_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// envRole makes the test binary another program: tests about processes start it in a role.
const envRole = "SDK_TEST_ROLE"

var roles = map[string]func(){
	"greet":  main,
	"slow":   slow,
	"family": family,
	"host":   host,
	"hang":   hang,
}

func hang() { <-time.After(time.Minute) }

func TestMain(m *testing.M) {
	if role, ok := roles[os.Getenv(envRole)]; ok {
		role()
		return
	}
	goleak.VerifyTestMain(m)
}

// as makes a command of the test binary in a role, with env added to the environment.
func as(ctx context.Context, role string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(append(os.Environ(), envRole+"="+role), env...)
	return cmd
}

// runByHand returns what a plugin prints when a person starts it.
func runByHand(role string) string {
	out, _ := as(context.Background(), role).CombinedOutput() // it exits with 2
	return strings.TrimSpace(string(out))
}
