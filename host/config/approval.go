package config

import "time"

// Approval says how people are asked. Zero values are not set.
type Approval struct {
	Mode    string        // ask, auto_edit, plan or never_ask
	Timeout time.Duration // at most a day
}

var modes = []string{"ask", "auto_edit", "plan", "never_ask"}

// approval reads the approval block.
func (f *fields) approval() {
	b := f.block("approval")
	if b == nil {
		return
	}
	in := f.open(b.Body, "approval", "approval")
	f.config.Approval = Approval{Mode: in.oneOf("mode", modes), Timeout: in.duration("timeout", 24*time.Hour)}
	in.done()
}

// Audit says that calls are recorded, and where.
type Audit struct {
	Path    string   // of the file, absolute; "" for the default
	Content bool     // arguments and results are recorded too
	Secrets []string // texts that must not get into the record
	Source  string   // such as "config.hcl:12"
}

// audit reads the audit block.
func (f *fields) audit() {
	b := f.block("audit")
	if b == nil {
		return
	}
	in := f.open(b.Body, "audit", "audit")
	secrets, _ := in.texts("secrets", checkSecret)
	f.config.Audit = &Audit{Path: in.folder("path"), Content: in.boolean("content"), Secrets: secrets, Source: f.place(b.TypeRange)}
	in.done()
}

func checkSecret(s string) (problem, hint string) {
	if len(s) < 6 {
		return "is shorter than 6 bytes", "so short a text stands everywhere; remove it"
	}
	return "", ""
}
