package redact

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/toolhost/toolhost/internal/lazy"
)

// secretName matches names whose values are secret, whatever they look like: those that contain these words, with or
// without separators. Counts such as max_tokens are none.
var secretName = lazy.Regexp(`(?i)(?:passw(?:or)?d|passphrase|passcode|secret|api[_. -]?key|mnemonic|seed[_. ` +
	`-]?phrase` +
	`|(?:token|` + namedKey +
	`|credentials?|creds|(?:^|[_. -])cred|authorization|cookie|_pass|(?:^|_)(?:pwd|auth)|connection[_. -]?string` +
	`|webhook[_. -]?url)$)`)

// Name reports whether the value of a name is a secret, whatever it looks like: password, api_key, Authorization,
// also with blanks around it or in letters of full width.
func Name(name string) bool {
	return secretName().MatchString(strings.TrimFunc(norm.NFKC.String(name), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}))
}

// variableEndings are endings of variable names that hold secrets, besides those of Name.
const variableEndings lazy.Words = `_KEY _PASS _PWD _URL _URI _DSN _SAS _CREDS _COOKIE _SESSION _PAT _CERT _AUTH`

// variableWords are the words of names that hold secrets, wherever they are in the name; in lower case they are names
// in loops.
const variableWords lazy.Words = `AUTH BEARER COOKIE CRED CREDS JWT MNEMONIC OTP PASS PAT PEM PWD SEED SK SSHPASS ` +
	`WEBHOOK PASSPHRASE APIKEY`

// Variable reports names of variables of the environment that look like secrets.
func Variable(name string) bool {
	upper := strings.ToUpper(name)
	return Name(name) || slices.ContainsFunc(strings.Split(upper, "_"), func(part string) bool {
		return variableWords.Has(part) && name == upper && upper != "PWD" && upper != "OLDPWD" && upper != "SSH_AUTH_SOCK"
	}) || strings.Contains(upper, "_KEY_") ||
		variableEndings.Any(func(end string) bool { return strings.HasSuffix(upper, end) })
}

var (
	settingWords = lazy.Regexp(`(?i)(^|[_-])(key|token|secret|pat|auth|bearer|pass|pwd|credentials?|cookie|session)` +
		`($|[_-])|apikey|password|passwd`)
	variableKey = lazy.Regexp(`(?i)env[_-]?vars?$`) // its value is the name of a variable
)

// Setting reports whether the value of a variable, a header, an option or a parameter of that name, in the settings of
// another program, is a secret.
func Setting(name string) bool {
	return (Name(name) || settingWords().MatchString(name)) && !variableKey().MatchString(name)
}
