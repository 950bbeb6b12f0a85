package workspace

import "testing"

func TestSecret(t *testing.T) {
	tests := map[bool][]string{
		true: {
			".env", "app/.env", ".env.local", ".env.production.local", ".ENV", ".Env.Local", "prod.env", ".env.example.local", ".env.bak", ".env~", "./a/../.env",
			"server.pem", "tls/Server.PEM", "private.key", "cert.p12", "cert.pfx", "passwords.kdbx", "release.jks", "a/b/id_rsa", "id_ed25519", "id_ecdsa_sk", "id_rsa.bak",
			"ID_RSA", "ID_R\u017fA", ".netrc", "_netrc", ".npmrc", "web/.npmrc", ".pypirc", ".git-credentials", ".htpasswd", ".pgpass",
			".aws/credentials", "home/.AWS/credentials", ".kube/config", ".docker/config.json", ".cargo/credentials.toml", "kubeconfig",
			".ssh/config", ".ssh/keys/old", "/home/x/.ssh/known_hosts", ".gnupg/trustdb.gpg", "service-account.json", "service-account-prod.json",
			"client_secret_123.json", "prod.env.bak", "prod.env~", "server.key.bak", "tls/server.pem.orig~", ".server.key.swp", "#.env#", ".netrc.old", ".aws/credentials.bak", ".config/gcloud/credentials.db", ".config/gh/hosts.yml",
		},
		false: {
			"main.go", "env", "env.go", ".envrc", ".environment", "environment.ts", ".env.example", ".env.sample", ".env.template", ".env.dist", "a/.env.local.example", "example.env",
			"id_rsa.pub", "id_rsa.pub~", "key.pub.bak", "main.go.bak", "#main.go#", ".env.example~", ".ssh/id_ed25519.pub", "key.pub", "keys.go", "key", "monkey", "pem", "credentials", "config.json", "docker/config.json", ".kube/config.d",
			"aws/credentials", "ssh/config", "hosts.yml", "scripts/gcloud/run.sh", "service-accounts.md", ".gitconfig", ".npmignore", "", ".", "/", "package.json", "tokenizer.json",
		},
	}
	for want, paths := range tests {
		for _, path := range paths {
			if got := Secret(path); got != want {
				t.Errorf("Secret(%q) is %v", path, got)
			}
		}
	}
}
