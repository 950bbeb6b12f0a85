package config

import (
	"net/url"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/internal/commandline"
	"github.com/toolhost/toolhost/internal/loopback"
)

// A Notify is a webhook or command that is called when a call starts and stops waiting for a person at a running host.
type Notify struct {
	Name    string
	URL     string
	Secret  string   // signs what a webhook gets; "" when its reference has no value
	Command []string // program and arguments, never through a shell
	Source  string   // such as "config.hcl:12"
}

// approval reads the approval block.
func (r *reader) approval(top *hclfile.Body) {
	in := top.Inner("approval")
	if in == nil {
		return
	}
	r.config.Host.Mode = host.Mode(in.OneOf("mode", modes))
	r.config.Host.ApprovalTimeout = in.Duration("timeout", 24*time.Hour)
	for name, n := range in.Each("notify", hclfile.PluginNaming) {
		one := Notify{Name: name, URL: n.Text("url", checkWebhook), Secret: n.Text("secret", hclfile.CheckLine),
			Source: n.Where()}
		words := r.command(n, "command", "write the program, and its arguments")
		one.Command, _ = commandline.ResolvePaths(words, r.config.Dir)
		n.Needs("secret", "url", `"https://chat.example.org/hook"`)
		refuseWrittenOut(n, "secret", one.Secret, "TOOLHOST_HOOK_SECRET")
		if n.Given("url") == n.Given("command") {
			n.Wrong(n.Header(), "needs either url or command").WithHint(
				`write url = "https://…" for a webhook, or command = ["program", "argument"]`)
		}
		r.config.Notify = append(r.config.Notify, one)
	}
	in.Done()
}

// checkWebhook refuses addresses that others could read along with.
func checkWebhook(s string) (problem, hint string) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "is not an address of a webhook", "write one such as \"https://chat.example.org/hook\""
	case u.Scheme == "http" && !loopback.Is(u.Hostname()):
		return "is not encrypted, and leaves this machine", "use https"
	}
	return "", ""
}
