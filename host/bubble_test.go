package host_test

import (
	"testing"
	"testing/synctest"
)

// bubble runs a test with a clock of its own: waiting takes no time, and deadlines are exact.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Parallel()
	synctest.Test(t, f)
}
