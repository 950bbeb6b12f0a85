package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// call runs a tool of the server.
func (f *fake) call(m *fakeMessage) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f.mu.Lock()
	f.cancel[string(m.ID)] = cancel
	f.mu.Unlock()
	args, id := m.Params.Arguments, m.ID
	switch m.Params.Name {
	case "echo":
		f.result(id, `{"content":[],"structuredContent":%s}`, args)
	case "meta": // the _meta of the request
		f.result(id, `{"content":[],"structuredContent":%s}`, m.Params.Meta)
	case "send": // a text of the arguments, ID standing for the id
		var text string
		_ = json.Unmarshal(args, &text)
		f.send("%s", strings.ReplaceAll(text, "ID", string(id)))
	case "progress":
		var n int
		_ = json.Unmarshal(args, &n)
		for i := range n {
			f.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, id, i+1)
			f.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%d}}`, i+1)
		}
		f.result(id, `{"content":[]}`)
	case "ask": // a question, whose answer is the result
		f.result(id, `{"content":[],"structuredContent":%s}`, f.ask("elicitation/create", string(args)))
	case "hang":
		fmt.Fprintln(os.Stderr, "hanging")
		<-ctx.Done()
		fmt.Fprintln(os.Stderr, "canceled "+string(id))
		f.result(id, `{"content":[],"late":true}`)
	case "exit":
		fmt.Fprintln(os.Stderr, "panic: out of cheese")
		os.Exit(5)
	case "kill":
		own, _ := os.FindProcess(os.Getpid())
		_ = own.Kill()
	case "large": // a result of so many bytes and a little more, with the id in front or at the end
		var large struct {
			Bytes int
			Last  bool
		}
		_ = json.Unmarshal(args, &large)
		f.large(id, large.Bytes, large.Last)
	case "half": // half a message, and silence
		f.mu.Lock()
		f.out.WriteString(`{"jsonrpc":"2.0","id":`)
		f.out.Flush()
		time.Sleep(time.Hour)
	case "children":
		cmd := exec.Command("/bin/sleep", "1000")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		_ = cmd.Start()
		f.result(id, `{"content":[],"structuredContent":%d}`, cmd.Process.Pid)
	default:
		f.failure(id, -32602, "Unknown tool: "+m.Params.Name)
	}
}

// ask sends a request and returns the answer.
func (f *fake) ask(method, params string) json.RawMessage {
	answer := make(chan json.RawMessage, 1)
	f.mu.Lock()
	id := fmt.Sprintf(`"q%d"`, len(f.asked))
	f.asked[id] = answer
	f.mu.Unlock()
	f.send(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
	select {
	case a := <-answer:
		return a
	case <-time.After(time.Minute):
		return json.RawMessage(`"no answer"`)
	}
}

func (f *fake) large(id json.RawMessage, size int, last bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if last {
		f.out.WriteString(`{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"`)
	} else {
		fmt.Fprintf(f.out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, id)
	}
	piece := bytes.Repeat([]byte("x"), 1<<16)
	for left := size; left > 0; left -= len(piece) {
		f.out.Write(piece[:min(left, len(piece))])
	}
	f.out.WriteString(`"}]}`)
	if last {
		fmt.Fprintf(f.out, `,"id":%s`, id)
	}
	f.out.WriteString("}\n")
	f.out.Flush()
}
