package client_test

import (
	"context"
	"testing"

	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
)

func TestCallReturnsTheBytesOfTheResult(t *testing.T) {
	for _, mode := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "modern"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := dial(t, client.Options{Name: "test", Version: "1"}, mode)
			got, err := callTool(context.Background(), s, "echo", `{"b":1, "a":9007199254740993}`, nil)
			if want := `{"content":[],"structuredContent":{"b":1, "a":9007199254740993}}`; err != nil || got != want {
				t.Errorf("got %s, %v; want %s", got, err, want)
			}
			list, err := s.List(context.Background(), client.Tools)
			if err != nil || len(list.Items) != 3 || string(list.Items[1]) != "5" ||
				string(list.Items[0]) != `{"name":"one","b":1,"a":9007199254740993}` ||
				list.TTL.Milliseconds() != 3000 || list.Scope != "public" {
				t.Errorf("tools: %+v, %v", list, err)
			}
		})
	}
}
