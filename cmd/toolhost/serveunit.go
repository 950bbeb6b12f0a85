package main

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/toolhost/toolhost/host/api/local"
	"github.com/toolhost/toolhost/internal/lazy"
)

// A serviceUnit is a host for the user's own service manager.
type serviceUnit struct {
	name        string // differs for each configuration, work folder and profile
	description string
	command     []string
	workdir     string
}

// printUnit prints a unit of the user's own service manager that serves the configuration in this folder.
func (g *globals) printUnit(manager, profile, program string, args []string) error {
	workdir, err := filepath.Abs(g.workdir)
	if err != nil {
		return err
	}
	config, err := g.configKey()
	if err == nil {
		config, err = filepath.Abs(config)
	}
	if err != nil {
		return err
	}
	place, err := local.Find(config, workdir, profile)
	if err != nil {
		return err
	}
	u := serviceUnit{unitName(workdir, place), fmt.Sprintf("toolhost for %s (%s)", workdir, config),
		append([]string{program}, args...), workdir}
	if profile != "" {
		u.description = fmt.Sprintf("toolhost for %s (%s, profile %s)", workdir, config, profile)
	}
	for _, text := range append([]string{u.description}, u.command...) { // a line break would begin another setting
		if strings.ContainsFunc(text, unicode.IsControl) {
			return fmt.Errorf("a unit cannot name %q, which has a control character; rename the file or folder", text)
		}
	}
	if manager == "launchd" {
		return g.printLaunchd(u)
	}
	g.printSystemd(u)
	return nil
}

var notInUnitName = lazy.Regexp(`[^A-Za-z0-9_]+`)

// unitName has the name of the work folder, as far as it fits a unit's name, for people, and the ID of the place.
func unitName(workdir string, place local.Place) string {
	folder := notInUnitName().ReplaceAllString(filepath.Base(workdir), "-")
	folder = strings.Trim(folder[:min(len(folder), maxFolderName)], "-")
	return strings.ReplaceAll("toolhost-"+folder+"-"+place.ID(), "--", "-")
}

const maxFolderName = 32

func (g *globals) printSystemd(u serviceUnit) {
	quoted := make([]string, len(u.command))
	for i, word := range u.command {
		quoted[i] = systemdQuoted(word)
	}
	fmt.Fprintf(g.out, `# A unit of the user: save it as ~/.config/systemd/user/%[1]s.service, then
#   systemctl --user daemon-reload
#   systemctl --user enable --now %[1]s
[Unit]
Description=%[2]s

[Service]
Type=notify
NotifyAccess=all
ExecStart=%[3]s
ExecReload=/bin/kill -USR2 $MAINPID
WorkingDirectory=%[4]s
Restart=on-failure
KillMode=mixed
TimeoutStopSec=60

[Install]
WantedBy=default.target
`, u.name, strings.ReplaceAll(u.description, "%", "%%"), strings.Join(quoted, " "),
		strings.ReplaceAll(u.workdir, "%", "%%"))
}

// systemdQuoted is a word of a command line of systemd, which expands % and $ also in quotes.
func systemdQuoted(word string) string {
	word = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$").Replace(word)
	if strings.ContainsAny(word, " \t'\"\\;") || word == "" {
		return `"` + word + `"`
	}
	return word
}

func (g *globals) printLaunchd(u serviceUnit) error {
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	var words strings.Builder
	for _, word := range u.command {
		fmt.Fprintf(&words, "\n    <string>%s</string>", xmlText(word))
	}
	fmt.Fprintf(g.out, `<?xml version="1.0" encoding="UTF-8"?>
<!-- Save it as ~/Library/LaunchAgents/%[1]s.plist, then:
     launchctl load -w ~/Library/LaunchAgents/%[1]s.plist -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>%[1]s</string>
  <key>ProgramArguments</key>
  <array>%[2]s
  </array>
  <key>WorkingDirectory</key>
  <string>%[3]s</string>
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
  <string>%[4]s</string>
</dict>
</plist>
`, u.name, words.String(), xmlText(u.workdir), xmlText(filepath.Join(home, "Library", "Logs", u.name+".log")))
	return nil
}

func xmlText(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // a strings.Builder takes everything
	return out.String()
}
