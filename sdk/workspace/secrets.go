package workspace

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Secret tells whether a file is one that by its name holds passwords, tokens or private keys, which no model needs to
// see: .env files, private keys and key stores, and where programs keep their logins (.netrc, .aws/credentials, all that
// is in .ssh). Examples and templates of .env files are no secrets, nor are public keys (*.pub). Letters count alike in
// both cases.
//
// The path has slashes, and is relative to the workspace or absolute. Only its letters count: what a link points to is to
// be asked for by its own path, see AllowedSecrets.Against.
func Secret(name string) bool {
	name = oneCase(path.Clean(name))
	folder, base := path.Split(name)
	base = strings.TrimRight(strings.Trim(base, "#"), "~") // an editor's copy is no better
	if secretIn(folder, base) {
		return true
	}
	first := original(base)
	return first != base && secretIn(folder, first)
}

// original is the name of the file that this one may be an older copy of.
func original(base string) string {
	for _, ending := range []string{".bak", ".backup", ".old", ".orig", ".save", ".swp"} {
		base = strings.TrimSuffix(base, ending)
	}
	return base
}

func secretIn(folder, base string) bool {
	if envFile(base) {
		return true
	}
	if path.Ext(base) == ".pub" {
		return false
	}
	return secretEndings[path.Ext(base)] || secretNames[base] || matches(secretFiles, base) || inSecretPlace(folder, base)
}

// oneCase makes all forms of a letter one: a few (ſ) have an upper case only by way of another letter.
func oneCase(name string) string {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return strings.ToLower(strings.ToUpper(name))
		}
	}
	return strings.ToLower(name)
}

func inSecretPlace(folder, base string) bool {
	for _, place := range secretPlaces {
		if in, name := path.Split(place); name == base && path.Base(folder)+"/" == in {
			return true
		}
	}
	for part := range strings.SplitSeq(folder, "/") {
		if slices.Contains(secretFolders, part) {
			return true
		}
	}
	return false
}

// envFile tells of .env, .env.local or prod.env, but not of those that are there to be copied.
func envFile(base string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(base, "."), ".")
	if !(strings.HasPrefix(base, ".") && first == "env") && path.Ext(base) != ".env" {
		return false
	}
	return !slices.ContainsFunc(strings.Split(base, "."), func(word string) bool {
		return slices.Contains(envExamples, word)
	}) || matches([]string{"*.local", "*.bak"}, base)
}

var envExamples = []string{"example", "sample", "template", "dist"}

// Names of files that are secret wherever they are: by their ending, by the whole name, or as path.Match has them. The
// first two are maps, since walks ask for each of many files.
var (
	secretEndings = setOf(".pem", ".key", ".p12", ".pfx", ".p8", ".jks", ".keystore", ".ppk", ".kdb", ".kdbx", ".kubeconfig")
	secretNames   = setOf("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_xmss", ".netrc", "_netrc", ".npmrc", ".pypirc", ".git-credentials", ".htpasswd",
		".pgpass", ".my.cnf", ".vault-token", ".dockercfg", "application_default_credentials.json", "kubeconfig", "credentials.tfrc.json")
	secretFiles = []string{"id_rsa[._\\-]*", "id_dsa[._\\-]*", "id_ecdsa[._\\-]*", "id_ed25519[._\\-]*",
		"service-account*.json", "service_account*.json", "client_secret*.json"}
)

func setOf(names ...string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

// secretPlaces are files with a common name, with the folder that makes them secret.
var secretPlaces = []string{
	".aws/credentials", ".kube/config", ".docker/config.json", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials",
	"gh/hosts.yml", "gcloud/credentials.db", "gcloud/access_tokens.db",
}

// secretFolders are those in which everything is secret.
var secretFolders = []string{".ssh", ".gnupg", ".password-store", ".azure"}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	})
}
