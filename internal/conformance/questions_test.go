//go:build unix

package conformance

import (
	"strings"
	"testing"
)

// A tool that asks gets its answers from the client that called it, as that client's era does: by a request, or by a
// result that asks for them.
func TestQuestions(t *testing.T) {
	for _, revision := range []string{handshake, modern} {
		t.Run(revision, func(t *testing.T) {
			c := newBed(t, fixtureConfig(t)).mcp(revision, "--plain-names")
			for _, call := range []struct{ tool, arguments, want string }{
				{"test_elicitation", `{"message":"Hello?"}`, `User response: {\"form\":{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}}`},
				{"test_sampling", `{"prompt":"Hello?"}`, `\"text\":\"Paris\"`},
				{"test_input_required_result_multi_round", `{}`, `Answers: {\"step2\":`},
				{"test_input_required_result_list_roots", `{}`, `file:///test/root`},
				{"test_input_required_result_request_state", `{}`, `state-ok`},
			} {
				if got := c.call(call.tool, call.arguments); !strings.Contains(string(got), call.want) {
					t.Errorf("%s gives %s", call.tool, got)
				}
			}
		})
	}
}
