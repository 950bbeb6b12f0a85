package sdk_test

import (
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

func TestEncode(t *testing.T) {
	t.Parallel()
	if got := string(sdk.Encode(map[string]any{"a": "<b> & c\n"})); got != `{"a":"<b> & c\n"}` {
		t.Errorf("%s", got)
	}
	if got := sdk.Encode(make(chan int)); got != nil {
		t.Errorf("%s", got)
	}
}
