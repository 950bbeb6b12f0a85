package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Each token is put into every sentence, and must be gone from it with nothing else.
func TestTokensOfServices(t *testing.T) {
	hex32 := strings.Repeat("0a1b2c3d", 4)
	tokens := []string{
		fake("np"+"m_", 36), fake("sk"+"_live_", 24), fake("sk"+"_test_", 24), fake("rk"+"_live_", 24),
		fake("wh"+"sec_", 32), fake("h"+"f_", 34),
		fake("py"+"pi-", 120), fake("S"+"G.", 22) + "." + fake("", 43), "AGE-SECRET" + "-KEY-1" +
			strings.ToUpper(fake("", 58)),
		fake("xa"+"pp-1-", 40), fake("xox"+"e.xox"+"p-1-", 40), fake("gl"+"rt-", 20), fake("gl"+"dt-", 20),
		fake("glp"+"tt-", 40), "rubygems" + "_" + hex32 + hex32[:16],
		fake("ci"+"o", 32), fake("dckr"+"_pat_", 27), "key" + "-" + hex32, fake("hv"+"s.", 90), fake("", 14) + ".atlas" +
			"v1." + fake("", 60),
		"dop" + "_v1_" + hex32 + hex32, "shp" + "at_" + hex32, fake("sq0"+"atp-", 22), fake("pul"+"-", 40),
		fake("gs"+"k_", 50), fake("lin"+"_api_", 40),
		fake("nt"+"n_", 46), fake("fig"+"d_", 40), fake("gl"+"sa_", 40), fake("sntry"+"s_", 60), fake("NR"+"AK-", 27),
		fake("dp."+"pt.", 43), fake("PM"+"AK-", 59),
		fake("AT"+"ATT3x", 180), "dap" + "i" + hex32, fake("tskey"+"-auth-", 24), "123456789" + ":" + fake("A"+"A", 33),
		fake("abc8"+"Q~", 34), fake("GOC"+"SPX-", 28),
		fake("ya"+"29.", 60), fake("gh"+"p_", 36), fake("sk"+"-ant-", 40), fake("r8"+"_", 37), fake("nvapi"+"-", 60),
	}
	for _, token := range tokens {
		for _, around := range []string{"%s", "use %s now", "a=%s", `"%s"`, "(%s)", "x: %s,", "https://x/?a=1&t=%s&b=2",
			"\n%s\n", "curl -H 'X-Key: %s' https://x"} {
			got := New().Text(fmt.Sprintf(around, token))
			if want := fmt.Sprintf(around, "[redacted]"); got != want {
				t.Errorf("%s in %q became %q", token[:8], around, got)
			}
			in, _ := json.Marshal(map[string]string{"text": fmt.Sprintf(around, token)})
			if out := string(New().JSON(in)); strings.Contains(out, token) || !strings.Contains(out, redacted) {
				t.Errorf("%s in %q became %s as JSON", token[:8], around, out)
			}
		}
	}
}

// In each text the secret is @, and is all that goes.
func TestCredentialsByTheirPlace(t *testing.T) {
	for _, in := range []string{
		"curl -u ann:@ https://x", "curl -sSu ann:@ https://x", "curl --user ann:@ -o f https://x", "curl --user=ann:@ x",
		`curl -u "ann:@" x`, "curl -fU ann:@ x", "cd a && curl -u ann:@ b | jq .",
		"curl -uann:@ x", "/usr/bin/curl --proxy-user ann:@ x", "wget --http-password=@ x", "wget --password @ x",
		"http -a ann:@ get x", "https --auth=ann:@ x",
		"mysql -u root -p@ db", "mysql -p'@' db", "mysqldump -h x -p@ db > f", "mariadb -uroot -p@", "MYSQL_PWD=@ mysql",
		"sshpass -p @ ssh x", "sshpass -p@ ssh x", "redis-cli -a @ ping",
		"docker login -u ann -p @ host", "helm registry login -u ann -p @ host", "az login -u a -p @",
		"ldapsearch -x -w @ -b dc=x", "openssl rsa -passin pass:@ -in k", "openssl enc -aes-256-cbc -k @",
		"7z x -p@ a.7z", "zip -P @ a.zip b", "smbclient -U ann%@ //x/y", "mongo -u a -p @ db", "sqlcmd -S x -U sa -P @",
		"lftp -u ann,@ host", "htpasswd -nb ann @",
		"gpg --batch --passphrase @ -d f", "psql 'host=x password=@ user=y'", "Server=x;Database=y;Uid=z;Pwd=@;",
		"DefaultEndpointsProtocol=https;AccountName=x;AccountKey=@;EndpointSuffix=y",
		"SharedAccessKey=@", "Endpoint=sb://x/;SharedAccessKeyName=R;SharedAccessKey=@",
		"https://x.blob.core.windows.net/c?sv=1&sig=@&se=2", "https://x/?X-Amz-Signature=@&a=b",
		"https://hooks.slack.com/services/@", "https://discord.com/api/webhooks/123456/@",
		"https://x.webhook.office.com/webhookb2/@", "https://@@github.com/x/y", "git clone https://oauth2:@@gitlab.com/x",
		"Private-Token: @", "PRIVATE-TOKEN: @\nHost: x", "Api-Key: @", "X-Api-Key: @", "X-Auth-Token: @",
		"Cookie: session=@", "Set-Cookie: a=@",
		"machine x login y password @", "//registry.npmjs.org/:_authToken=@", "_auth=@", "//x/:_password=@",
		"signing_key = '@'", "master-key: @", "encryptionKey=@", "passcode: @",
		"ｐａｓｓｗｏｒｄ=@", "Ｐassword： @", "tool --api-key @ --x y",
	} {
		secret := fake("Zq9", 20)
		if strings.Contains(in, "Cookie: ") {
			secret = in[strings.Index(in, ": ")+2:strings.Index(in, "@")] + secret
			in = in[:strings.Index(in, ": ")+2] + "@"
		}
		at := strings.Index(in, "@")
		full := in[:at] + secret + in[at+1:]
		if got, want := New().Text(full), in[:at]+redacted+in[at+1:]; got != want {
			t.Errorf("Text(%q) = %q, want %q", full, got, want)
		}
	}
}

func TestNoCredentials(t *testing.T) {
	for _, in := range []string{
		"mkdir -p a/b && mysql --version", "curl -o f https://x/a:b", "docker run -p 8080:80 x", "docker login",
		"ssh -p 22 host", "redis-server -a", "chown -R 1000:1000 x", "http get https://x",
		"PWD=/home/x make", "cd $PWD", "OLDPWD=/x", "author: me", "signature=short", "age-old question",
		"an msg.of.the.day here", "the npm_config_registry is set", "hf_short", "AccountName=x",
		"keyboard: qwerty", "token_count=5 tokens: 7", "the cookie jar", "net -p x", "zip -r a.zip b", "7z x a.7z",
		"git log --author=x -p", "grep -rn private-token docs", "2024-11-05:AAaa",
		"Ｈｅｌｌｏ， ｗｏｒｌｄ", "价格：１２元，密码不在这里", "http://x/webhooks/list", "see hooks.slack.com/docs",
	} {
		if got := New().Text(in); got != in {
			t.Errorf("Text(%q) = %q", in, got)
		}
	}
}

func TestSecretNames(t *testing.T) {
	for _, name := range []string{"password ", " password", "password\u00a0", "ｐａｓｓｗｏｒｄ", "passwordｓ", "API KEY",
		"api.key", "_auth", "auth", "pwd", "account_key", "AccountKey", "signingKey", "webhook_url",
		"connectionString", "seed_phrase", "X-Api-Key", "Private-Token", "--token", "clientSecret:", "mnemonic"} {
		in, _ := json.Marshal(map[string]string{name: "x"})
		if out := New().JSON(in); !strings.Contains(string(out), redacted) {
			t.Errorf("%q: %s", name, out)
		}
	}
	for _, name := range []string{"author", "authority", "key", "pwd_length", "max_tokens", "keyboard", "account",
		"signature", "seed", "hook"} {
		in, _ := json.Marshal(map[string]string{name: "x"})
		if out := New().JSON(in); string(out) != string(in) {
			t.Errorf("%q: %s", name, out)
		}
	}
}

func TestArgumentsOfPrograms(t *testing.T) {
	for in, want := range map[string]string{
		`{"argv":["x","--password","hunter2","y"]}`: `{"argv":["x","--password","[redacted]","y"]}`,
		`["--api-key" , "hunter2"]`:                 `["--api-key" , "[redacted]"]`,
		`["curl","-u","ann:hunter2"]`:               `["curl","-u","ann:[redacted]"]`,
		`["docker","-u","1000:1000"]`:               `["docker","-u","1000:1000"]`,
		`["--token",["hunter2"]]`:                   `["--token",["hunter2"]]`,
		`{"a":"--token","b":"c"}`:                   `{"a":"--token","b":"c"}`,
		`["--token-file","x"]`:                      `["--token-file","x"]`,
	} {
		if got := string(New().JSON([]byte(in))); got != want {
			t.Errorf("JSON(%s) = %s, want %s", in, got, want)
		}
	}
}

// A known secret is gone in every encoding, whatever stands around it.
func TestEncodedSecretsAreGone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[ -~é]{6,60}`).Draw(t, "secret")
		before, after := rapid.StringMatching(`[ -~]{0,70}`).Draw(t, "before"),
			rapid.StringMatching(`[ -~]{0,70}`).Draw(t, "after")
		all := []byte(before + secret + after)
		text := map[string]string{
			"base64":    base64.StdEncoding.EncodeToString(all),
			"base64url": base64.RawURLEncoding.EncodeToString(all),
			"hex":       hex.EncodeToString(all),
			"HEX":       strings.ToUpper(hex.EncodeToString(all)),
			"query":     url.QueryEscape(string(all)),
			"path":      url.PathEscape(string(all)),
		}[rapid.SampledFrom([]string{"base64", "base64url", "hex", "HEX", "query", "path"}).Draw(t, "encoding")]
		if strings.HasPrefix(text, base64.StdEncoding.EncodeToString(all)) {
			text = wrapped(text, rapid.SampledFrom([]int{1000, 76, 64}).Draw(t, "width"))
		}
		out := New(secret).Text("the value " + text + " is here")
		for _, left := range []string{secret, base64.RawStdEncoding.EncodeToString([]byte(secret)),
			hex.EncodeToString([]byte(secret)), url.QueryEscape(secret)} {
			if strings.Contains(strings.ReplaceAll(out, "\n", ""), left) {
				t.Fatalf("%q is left of %q in %q", left, secret, out)
			}
		}
		if !strings.Contains(out, redacted) || !strings.HasPrefix(out, "the value ") || !strings.HasSuffix(out, " is here") {
			t.Fatalf("%q", out)
		}
	})
}

func wrapped(text string, width int) (out string) {
	for len(text) > width {
		out, text = out+text[:width]+"\n", text[width:]
	}
	return out + text
}

func TestHintsFindTheirPatterns(t *testing.T) {
	if len(patterns) >= len(patternSet{})*64 {
		t.Fatalf("%d patterns do not fit into a patternSet", len(patterns))
	}
	for i, p := range patterns {
		for _, hint := range p.hints {
			if len(hint) < 2 || hint != strings.ToLower(hint) {
				t.Errorf("%q is no hint", hint)
			}
			if !likely("x" + strings.ToUpper(hint)).has(i) {
				t.Errorf("%q is not found", hint)
			}
		}
	}
}
