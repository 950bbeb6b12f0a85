package testutil

import "testing"

// Long skips a test that sweeps over many cases in `make test`, which runs with -short. `make check` and CI run all.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long: make check runs it")
	}
}
