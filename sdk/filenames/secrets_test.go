package filenames

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// secretExamples are of this list's own families, and those of other agents' lists.
var secretExamples = strings.Fields(`.env app/.env .env.local .env.production.local .ENV .Env.Local prod.env .env.example.local .env.bak .env~ ./a/../.env
	.env-prod .env_staging .env2 .envrc app.env.local a.env.production
	server.pem tls/Server.PEM private.key cert.p12 cert.pfx passwords.kdbx release.jks a/b/id_rsa id_dsa id_ed25519 id_ecdsa id_ecdsa_sk id_rsa.bak ID_RSA
	my.keystore my.truststore server.crt server.cer my.ppk secring.gpg app.secret app.secrets api.token token auth.json credentials credentials.json
	data.db data.sqlite data.sqlite3 data.mdb data.accdb .netrc _netrc .npmrc web/.npmrc .pypirc .git-credentials .htpasswd .pgpass .vault-token
	.aws/credentials home/.AWS/credentials .aws/config .kube/config .docker/config.json .cargo/credentials.toml kubeconfig .gcp/x.json .azure/accessTokens.json
	.ssh/config .ssh/keys/old /home/x/.ssh/known_hosts .gnupg/trustdb.gpg .gpg/x service-account.json service-account-prod.json client_secret_123.json
	prod.env.bak prod.env~ server.key.bak tls/server.pem.orig~ .server.key.swp #.env# .netrc.old .aws/credentials.bak .config/gcloud/credentials.db
	.config/gh/hosts.yml secrets/db_password secrets/prod.yaml .secrets/x tmp/secrets/x temp/secrets/api config/secrets.yml .env/config .git/config
	.bash_history etc/shadow oauth_creds.json .gemini/oauth_creds.json .codex/auth.json .claude/.credentials.json`)

var plainExamples = append(strings.Fields(`main.go env env.go .environment environment.ts .env.example .env.sample .env.template .env.dist a/.env.local.example
	example.env .env.d.ts vite-env.d.ts id_rsa.pub id_rsa.pub~ key.pub.bak #main.go# .env.example~ .ssh/id_ed25519.pub key.pub keys.go key monkey pem
	docker/config.json ssh/config hosts.yml scripts/gcloud/run.sh service-accounts.md .gitconfig .npmignore . / package.json tokenizer.json tokens.go
	credentials.py credentials.go credential_helper.js token_manager.py secret-utils.js token-validator.ts config-template.json secrets/store.go secrets/README.md
	internal/secrets/doc.go .gitignore go.sum Dockerfile README.md x.git/config .kubernetes/x docs/keys.md`), "")

func TestSecret(t *testing.T) {
	t.Parallel()
	for want, names := range map[bool][]string{true: append(secretExamples, "ID_R\u017fA"), false: plainExamples} {
		for _, name := range names {
			if got := Secret(name); got != want {
				t.Errorf("Secret(%q) is %v", name, got)
			}
		}
	}
}

// wide writes letters in the full-width form.
func wide(s string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f && r != '/' {
			return r - '!' + '\uff01'
		}
		return r
	}, s)
}

// disguises write a name in ways that some file system, or some person, takes for the same.
var disguises = map[string]func(string) string{
	"upper case":       strings.ToUpper,
	"a blank behind":   func(s string) string { return s + " " },
	"dots behind":      func(s string) string { return s + ".." },
	"a blank before":   func(s string) string { return path.Join(path.Dir(s), " "+path.Base(s)) },
	"a no-break space": func(s string) string { return s + "\u00a0" },
	"full width":       wide,
	"zero width": func(s string) string {
		return path.Join(path.Dir(s),
			path.Base(s)[:1]+"\u200b"+path.Base(s)[1:])
	},
	"in a folder": func(s string) string { return "a/b c/" + s },
	"a detour":    func(s string) string { return "a/../" + s },
	"a copy":      func(s string) string { return s + ".bak" },
}

func TestSecretsInDisguise(t *testing.T) {
	t.Parallel()
	for _, name := range secretExamples {
		for how, disguise := range disguises {
			if strings.HasPrefix(name, "/") || strings.HasSuffix(name, "~") || strings.HasSuffix(name, "#") {
				continue
			}
			if !Secret(disguise(name)) {
				t.Errorf("%s: %q is no secret", how, disguise(name))
			}
		}
	}
	for _, name := range []string{"main.go", "README.md", ".gitignore", "docs/a.txt"} {
		for how, disguise := range disguises {
			if Secret(disguise(name)) {
				t.Errorf("%s: %q is a secret", how, disguise(name))
			}
		}
	}
}

func TestMaySecret(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"config.json": true, "a/Config.YAML": true, "config.yml": true, "settings.json": true, "appsettings.json": true,
		"appsettings.Development.json": true,
		"docker-compose.override.yml":  true, "dump.bak": true, "notes.old": true, "x.orig": true, "prod.backup": true,
		"certs/ca": true, "private/notes.txt": true,
		"keys/list.txt": true, "prod.tfvars": true, "main.go.orig": false, "keys/keys.go": false, "package.json": false,
		"tsconfig.json": false, "main.go": false,
		".env": false, "docker-compose.yml": false, "toolhost.1": false, "": false,
	} {
		if MaySecret(name) != want {
			t.Errorf("MaySecret(%q) is not %t", name, want)
		}
	}
}

func TestHoldsSecret(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"api_key": "k3ep-0ut-of-h3re"}`: true, "DB_PASSWORD=hunter2\n": true, "password: 'correct horse'": true,
		"-----BEGIN PRIVATE KEY-----":         true,
		"-----BEGIN OPENSSH PRIVATE KEY-----": true, "x = ghp_" + strings.Repeat("a", 36): true,
		"url: postgres://user:pa55word@host/db":               true,
		`"ConnectionString": "Server=x;User=sa;Pwd=abcd1234"`: true, "client-secret = abcd-efgh": true,
		`"SECRET_TOKEN" => "abcdefg"`:    true,
		`{"name":"x","version":"1.0.0"}`: false, "password: ${DB_PASSWORD}": false, `"max_tokens": 4096`: false,
		"token_count: 12345": false, `"api_key": ""`: false,
		`"password": "changeme"`: false, "secret: <your secret>": false, "tokens: [a, b]": false,
		"url: https://host/path": false, "": false, "password = xxxxxxxx": false,
		"editor.tabSize: 4\nfiles.exclude: {}": false, "token = $TOKEN": false,
	} {
		if HoldsSecret([]byte(text)) != want {
			t.Errorf("HoldsSecret(%q) is not %t", text, want)
		}
	}
}

func TestSecretPattern(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]bool{
		"[i]d_rsa": true, "id_rs?": true, "*.env": true, ".e?v": true, ".en*": true, ".env*": true, "*.pem": true,
		"*.ke[y]": true, "a/*.key": true, "id_*": true,
		".s?h/config": true, ".ssh/*": true, "*/.ssh/*": true, "secrets/*": true, "*rsa*": true, "[[:lower:]]d_rsa": true,
		"[!a]d_rsa": true, "*_rsa": true, "cred*ls": true,
		"?env": true, "*.[p]em": true, "[I]D_RSA": true, ".aw[s]/credentials": true, "*.sqlite*": true,
		"*": false, "*.*": false, "*.go": false, "*.json": false, "**/*.ts": false, "src/*": false, "test_*": false,
		"*.md": false, "cmd/*/main.go": false, "a?.txt": false,
		"*_test.go": false, "[a-z]*": false, "[a-z]*.go": false, "Makefile*": false, "s*": false, "*.c": false,
		"secrets/*.go": false, "docs/**": false, "[": false,
	} {
		if SecretPattern(pattern) != want {
			t.Errorf("SecretPattern(%q) is not %t", pattern, want)
		}
	}
}

func BenchmarkSecret(b *testing.B) {
	for b.Loop() {
		Secret("internal/some/folder/handler_test.go")
	}
}

// Names may consist of nothing but the signs and endings of copies.
func TestNamesOfSignsAlone(t *testing.T) {
	parts := []string{"", "#", "~", "##", ".bak", ".old", ".orig", ".", "/"}
	for _, a := range parts {
		for _, b := range parts {
			for _, c := range parts {
				name := a + b + c
				if Secret(name) || MaySecret("x/"+name) && strings.Trim(name, "#~./") == "" {
					t.Errorf("%q is secret", name)
				}
				if base := strings.Trim(name, "./"); base != "" && !strings.Contains(name, "/") && !Secret(".ssh/"+name) {
					t.Errorf("%q is no secret in .ssh", name)
				}
				_ = SecretPattern(name)
			}
		}
	}
}

// A test of names is for secrets when it accepts the name of one, and no name that other files have.
func TestSecretMatch(t *testing.T) {
	for expression, want := range map[string]bool{`[.]env$`: true, `^\.e.v`: true, "p[e]m$": true, "pem": true,
		`id_rsa$`: true, "rsa$": true, ".": false, `^\.`: false, "server": false, "history": false, "rsa": false,
		`\.(go|pem)$`: false, "go$": false, "local": false, "service": false, "nothing": false} {
		name := SecretMatch(regexp.MustCompile(expression).MatchString)
		if (name != "") != want || name != "" && !Secret(name) {
			t.Errorf("%s is for %q, want a secret: %t", expression, name, want)
		}
	}
}
