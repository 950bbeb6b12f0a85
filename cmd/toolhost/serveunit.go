package main

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// printUnit prints a unit of the user's own service manager that serves the configuration in this folder.
func (g *globals) printUnit(manager, program string, args []string) error {
	workdir, err := filepath.Abs(g.workdir)
	if err != nil {
		return err
	}
	command := append([]string{program}, args...)
	if manager == "launchd" {
		return g.printLaunchd(command, workdir)
	}
	quoted := make([]string, len(command))
	for i, word := range command {
		quoted[i] = systemdQuoted(word)
	}
	fmt.Fprintf(g.out, `# A unit of the user: save it as ~/.config/systemd/user/toolhost.service, then
#   systemctl --user daemon-reload
#   systemctl --user enable --now toolhost
[Unit]
Description=toolhost for %s

[Service]
Type=notify
NotifyAccess=all
ExecStart=%s
ExecReload=/bin/kill -USR2 $MAINPID
WorkingDirectory=%s
Restart=on-failure
KillMode=mixed
TimeoutStopSec=60

[Install]
WantedBy=default.target
`, strings.ReplaceAll(workdir, "%", "%%"), strings.Join(quoted, " "), strings.ReplaceAll(workdir, "%", "%%"))
	return nil
}

// systemdQuoted is a word of a command line of systemd, which expands % and $ also in quotes.
func systemdQuoted(word string) string {
	word = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$", "\n", `\n`).Replace(word)
	if strings.ContainsAny(word, " \t'\"\\;") || word == "" {
		return `"` + word + `"`
	}
	return word
}

func (g *globals) printLaunchd(command []string, workdir string) error {
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	var words strings.Builder
	for _, word := range command {
		fmt.Fprintf(&words, "\n    <string>%s</string>", xmlText(word))
	}
	fmt.Fprintf(g.out, `<?xml version="1.0" encoding="UTF-8"?>
<!-- Save it as ~/Library/LaunchAgents/toolhost.plist, then: launchctl load -w ~/Library/LaunchAgents/toolhost.plist -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>toolhost</string>
  <key>ProgramArguments</key>
  <array>%s
  </array>
  <key>WorkingDirectory</key>
  <string>%s</string>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>AbandonProcessGroup</key>
  <true/>
  <key>ExitTimeOut</key>
  <integer>60</integer>
  <key>StandardErrorPath</key>
  <string>%s</string>
</dict>
</plist>
`, words.String(), xmlText(workdir), xmlText(filepath.Join(home, "Library", "Logs", "toolhost.log")))
	return nil
}

func xmlText(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // a strings.Builder takes everything
	return out.String()
}
