package filenames

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// Secret reports whether a file by its name holds passwords, tokens or private keys, which models must not read: .env
// files, private keys and key stores, and where programs keep their logins (.netrc, .aws, all that is in .ssh).
// Examples and templates of .env files are no secrets, nor are public keys (*.pub).
//
// The target of a link has its own name: check both.
func Secret(name string) bool {
	return copies(canonical(name), secret)
}

// MaySecret reports whether a file has a common name that often holds secrets beside other things, such as config.json,
// or is an old copy of any file. HoldsSecret looks at its content.
func MaySecret(name string) bool {
	name = canonical(name)
	return !copies(name, secret) && (copies(name, maySecret) || oldCopy(path.Base(name)) ||
		inOneOf(looseFolders, path.Dir(name)) && !public(path.Base(name)))
}

// copies reports whether a file, or the one that it is an older copy of, satisfies is.
func copies(name string, is func(name string) bool) bool {
	folder, base := path.Split(name)
	if of := strings.TrimRight(strings.Trim(base, "#"), "~"); of != "" { // an editor's copy is no better
		base = of
	}
	if base == "" {
		return false
	}
	if is(folder + base) {
		return true
	}
	first := original(base)
	return first != base && first != "" && is(folder+first)
}

var copyEndings = []string{".bak", ".backup", ".old", ".orig", ".save", ".swp", ".copy"}

// original is the name of the file that this one may be an older copy of.
func original(base string) string {
	for slices.Contains(copyEndings, path.Ext(base)) {
		base = strings.TrimRight(strings.TrimSuffix(base, path.Ext(base)), "~")
	}
	return base
}

func oldCopy(base string) bool {
	return original(base) != base && !publicEndings()[path.Ext(original(base))]
}

func secret(name string) bool {
	base := path.Base(name)
	ending := path.Ext(base)
	switch {
	case envFile(base):
		return true
	case ending == ".pub":
		return false
	}
	if secretEndings.Has(ending) || secretNames()[base] || namedLike(base) || inPlace(secretPlaces, name) {
		return true
	}
	folder := name[:len(name)-len(base)]
	return inOneOf(secretFolders, folder) || inOneOf(codeFolders, folder) && !public(base)
}

// namedLike reports names that match one of secretPatterns; a look at a part of each comes first, as that is cheaper.
func namedLike(base string) bool {
	for _, part := range []string{"id_", "ssh_host_", "service", "client", "firebase", ".keystore."} {
		if strings.Contains(base, part) {
			return matchesAny(secretPatterns, base)
		}
	}
	return false
}

// inOneOf reports whether a path of folders goes through one of them.
func inOneOf(folders lazy.Words, name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if folders.Has(part) {
			return true
		}
	}
	return false
}

// public reports code and prose, which may well be about secrets.
func public(base string) bool { return publicEndings()[path.Ext(base)] || publicNames.Has(base) }

// envFile reports .env, .env.local, .env-prod, .envrc, prod.env and prod.env.local, but not those that are
// there to be copied.
func envFile(base string) bool {
	rest, dotted := strings.CutPrefix(base, ".env")
	dotted = dotted && (rest == "" || rest == "rc" || rest == "s" || strings.IndexByte("._-0123456789", rest[0]) >= 0)
	if !dotted && path.Ext(base) != ".env" && !strings.Contains(base, ".env.") || typedEnv.Has(path.Ext(base)) {
		return false
	}
	words := strings.FieldsFunc(base, func(r rune) bool { return strings.ContainsRune("._-", r) })
	example := slices.ContainsFunc(words, envExamples.Has)
	return !example || matchesAny([]string{"*.local", "*.bak"}, base)
}

func maySecret(name string) bool {
	base := path.Base(name)
	return mayEndings.Has(path.Ext(base)) || mayNames()[base] || matchesAny(mayPatterns, base)
}

var (
	typedEnv    lazy.Words = ".ts .js .go .rs .md" // as in .env.d.ts
	envExamples lazy.Words = "example examples sample template tmpl dist default defaults schema"

	// secretEndings make a file secret wherever it is, secretNames and secretPatterns (of path.Match) its whole name. The
	// first two are maps, since walks ask for each of many files.
	secretEndings lazy.Words = //nolint:gosec // names
	`.pem .key .p12 .pfx .pkcs12 .p8 .jks .keystore .truststore .bks .crt .cer .der .ppk .kdb .kdbx
		.kubeconfig .gpg .pgp
		.secret .secrets .token .tokens .ovpn .keychain .keychain-db .agekey .db .sqlite .sqlite3 .mdb .accdb`
	secretNames = lazy.Set(`id_rsa id_dsa id_ecdsa id_ed25519 id_xmss .netrc _netrc .npmrc .pypirc
		.git-credentials .htpasswd .htdigest .pgpass .my.cnf .mylogin.cnf .vault-token .vault_pass
		.vault-password .dockercfg .dockerconfigjson .s3cfg .boto .terraformrc terraform.rc .databrickscfg
		.authinfo .msmtprc .smbcredentials application_default_credentials.json kubeconfig credentials.tfrc.json
		credentials credentials.json credentials.yml credentials.yaml credentials.toml credentials.xml
		credentials.csv .credentials .credentials.json oauth_creds.json auth.json token .token token.json
		.secret .secrets secrets.json secrets.yml secrets.yaml secrets.toml secrets.xml secrets.ini
		secrets.properties secrets.txt password.txt passwords.txt passwd.txt serviceaccountkey.json rclone.conf
		wallet.dat logins.json .bash_history .zsh_history .sh_history .psql_history .mysql_history
		.rediscli_history .python_history .node_repl_history .sqlite_history`)
	secretPatterns = []string{"id_rsa[._\\-]*", "id_dsa[._\\-]*", "id_ecdsa[._\\-]*", "id_ed25519[._\\-]*",
		"ssh_host_*_key", "service-account*.json",
		"service_account*.json", "client_secret*.json", "client-secret*.json", "*firebase-adminsdk*.json", "*.keystore.*"}
	// secretPlaces are files with a common name, with the folder that makes them secret.
	secretPlaces = []string{".docker/config.json", ".cargo/credentials", "gh/hosts.yml", "gcloud/credentials.db",
		"gcloud/access_tokens.db", "github-copilot/hosts.json", "github-copilot/apps.json", ".m2/settings.xml",
		".m2/settings-security.xml", ".gradle/gradle.properties", ".git/config", "etc/shadow", "etc/gshadow",
		"etc/sudoers"}
	// secretFolders are those in which everything is secret, codeFolders those in which all but code and prose is. What
	// else is in one of looseFolders may be.
	secretFolders lazy.Words = ".ssh .gnupg .gpg .password-store .azure .aws .gcp .gcloud .kube" //nolint:gosec // names
	codeFolders   lazy.Words = "secrets .secrets .env .private"
	looseFolders  lazy.Words = "private certs certificates keys .docker"

	mayEndings lazy.Words = ".tfvars .tfstate .asc .properties"
	mayNames              = lazy.Set(`config.json config.yaml config.yml config.toml config.ini settings.json
		local_settings.py appsettings.json docker-compose.override.yml docker-compose.override.yaml
		compose.override.yml compose.override.yaml wp-config.php database.yml secret.yml secret.yaml secret.json
		.yarnrc .yarnrc.yml nuget.config google-services.json googleservice-info.plist .curlrc .wgetrc .pip.conf
		pip.conf`)
	mayPatterns = []string{"appsettings.*.json", "*.tfvars.json", "*secret*.yml", "*secret*.yaml", "*secret*.json"}

	publicEndings = lazy.Set(`.go .py .js .jsx .ts .tsx .mjs .cjs .rs .java .kt .kts .scala .c .h .cc .cpp .hpp .cs .fs .rb
		.php .swift .m .lua .ex .exs .erl .hs .ml .dart
		.vue .svelte .sh .bash .ps1 .proto .graphql .html .css .scss .md .mdx .rst .adoc .tf .nix .zig .pl .r .jl .clj .groovy
		.gradle .sol .pyi .d .svg .png`)
	publicNames lazy.Words = "readme license makefile dockerfile .gitignore .gitkeep .keep build build.bazel"
)

// HoldsSecret reports whether a text looks as if it held a password, token or private key: an assignment to a name of
// one, a private key, a token of a known form, an address with a password. Placeholders and references to variables are
// none. It looks at the first MiB.
func HoldsSecret(text []byte) bool {
	text = text[:min(len(text), 1<<20)]
	if bytes.Contains(text, []byte("PRIVATE KEY")) || knownToken().Match(text) {
		return true
	}
	return slices.ContainsFunc(assigned().FindAllSubmatch(text, 200),
		func(found [][]byte) bool { return !placeholder(string(found[len(found)-1])) })
}

var (
	knownToken = lazy.Regexp(`\b(gh[pousr]_[A-Za-z0-9]{20}|github_pat_\w{20}|glpat-[\w-]{16}|xox[abprs]-[\w-]{10}|AKIA[0-9A-Z]{16}|ASIA[0-9A-Z]{16}|AIza[\w-]{30}|` +
		`sk-[\w-]{16}|sk_live_\w{16}|rk_live_\w{16}|npm_[A-Za-z0-9]{20}|hf_[A-Za-z0-9]{20}|pypi-[\w-]{16}|SG\.[\w-]{16}|AGE-SECRET-KEY-1|eyJ[\w-]{10,}\.eyJ[\w-]{10})` +
		`|://[^/\s:@"']+:[^/\s@"'${<]+@|AccountKey=[\w+/=]{20}`)
	assigned = lazy.Regexp(`(?i)[\w.-]*(passw(or)?d|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|account[_-]?key|auth[_-]?key|credential|connection[_-]?string|client[_-]?secret)` +
		`s?["']?\s*(=>|[:=])\s*["']?([^\s"',;}{\[\]()]{4,})`)
	words lazy.Words = `true false null none nil string text number boolean object array required optional
		undefined changeme change_me change-me example placeholder todo secret password token your-password
		your_password process.env os.environ env default disabled enabled`
)

// placeholder reports values that are placeholders for a secret.
func placeholder(value string) bool {
	lower := strings.ToLower(strings.Trim(value, `"'`))
	return words.Has(lower) || strings.Trim(lower, "x*.-_#") == "" || strings.Trim(lower, "0123456789") == "" ||
		strings.ContainsAny(lower[:1], "$<%{./") ||
		strings.HasPrefix(lower, "your") || strings.HasPrefix(lower, "process.env") || strings.HasPrefix(lower, "os.") ||
		strings.HasPrefix(lower, "env.")
}
