package shellcmd

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/redact"
)

// checkTee accepts the one place that nothing is written to.
func checkTee(u *use) string {
	for _, o := range u.operands {
		if o.Text != "/dev/null" {
			return "it writes to " + shorten(o.Text)
		}
	}
	return ""
}

// checkUnpacks wants programs that put a file in the place of another to print instead.
func checkUnpacks(u *use) string {
	if !u.has("c", "l", "t", "stdout", "to-stdout", "list", "test") && len(u.operands) > 0 {
		return "it puts a file in the place of another"
	}
	return ""
}

// checkUnzip wants it to list.
func checkUnzip(u *use) string {
	if !u.has("l", "v", "Z") {
		return "it writes what it unpacks"
	}
	return ""
}

// checkTar accepts listing an archive: the letters t, v, f and those for how it is packed, in one word or several. A colon in the
// archive's name is another machine.
func checkTar(u *use) string {
	const more = "tar does more than list an archive"
	letters, archive, args := "", Word{}, u.command.Args
	for i := 0; i < len(args); i++ {
		text := args[i].Text
		switch {
		case !args[i].Static:
			return more
		case i == 0 && text != "" && text[0] != '-', len(text) > 1 && text[0] == '-' && text[1] != '-':
			given := strings.TrimPrefix(text, "-")
			if strings.Trim(given, "tvfzjJa") != "" || strings.Count(given, "f") > 1 || text[0] == '-' && strings.Contains(given, "f") && given[len(given)-1] != 'f' {
				return more
			}
			letters += given
			if strings.Contains(given, "f") && i+1 < len(args) {
				i++
				archive = args[i]
			}
		case text == "--list":
			letters += "t"
		case text == "--verbose" || text == "--gzip" || text == "--bzip2" || text == "--xz":
		case strings.HasPrefix(text, "--file="):
			archive = static(strings.TrimPrefix(text, "--file="))
		case strings.HasPrefix(text, "-"):
			return more
		}
	}
	if !strings.Contains(letters, "t") || archive.Text == "" || !archive.Static || strings.Contains(archive.Text, ":") {
		return more
	}
	return u.place.path(archive)
}

// checkPrintenv wants names of variables that by their names hold no secrets.
func checkPrintenv(u *use) string {
	if len(u.operands) == 0 {
		return "it shows all variables"
	}
	for _, o := range u.operands {
		if !o.Static || secretVariable(o.Text) {
			return o.Text + " may hold a secret"
		}
	}
	return ""
}

// secretVariables are ends of names of variables that hold secrets, besides those that all redaction knows.
var secretVariables = strings.Fields("_KEY _PASS _PWD _URL _URI _DSN _SAS _CREDS _COOKIE _SESSION _PAT _CERT _AUTH")

// secretVariable tells variables that by their names hold a secret.
func secretVariable(name string) bool {
	upper := strings.ToUpper(name)
	return redact.Name(name) || slices.ContainsFunc(secretVariables, func(end string) bool { return strings.HasSuffix(upper, end) })
}

// plainOperands wants operands that are names, and neither paths nor addresses of files.
func plainOperands(u *use) string {
	for _, o := range u.operands {
		if strings.Contains(o.Text, "/") || strings.HasSuffix(o.Text, ".") {
			return o.Text + " is a file"
		}
	}
	return ""
}
