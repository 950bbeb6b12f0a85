package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// fake makes what looks like a key. It is put together here, so that no one takes this file for a leak.
func fake(prefix string, n int) string { return prefix + strings.Repeat("aB3", n)[:n] }

func TestTextPatterns(t *testing.T) {
	jwt := fake("eyJ", 20) + "." + fake("eyJ", 30) + "." + fake("", 20)
	key := "-----BEGIN RSA PRIVATE" + " KEY-----\n" + fake("", 60) + "\n-----END RSA PRIVATE" + " KEY-----"
	for in, want := range map[string]string{
		"use " + fake("gh"+"p_", 36) + " now":               "use [redacted] now",
		"use " + fake("gh"+"o_", 36):                        "use [redacted]",
		"use " + fake("github_"+"pat_", 82):                 "use [redacted]",
		"id " + strings.ToUpper(fake("AK"+"IA", 16)) + ".":  "id [redacted].",
		"id " + strings.ToUpper(fake("AS"+"IA", 16)):        "id [redacted]",
		fake("AI"+"za", 35):                                 "[redacted]",
		fake("sk"+"-proj-", 40) + ",":                       "[redacted],",
		fake("xox"+"b-12-", 20):                             "[redacted]",
		fake("gl"+"pat-", 20):                               "[redacted]",
		"got " + jwt + " back":                              "got [redacted] back",
		"a\n" + key + "\nb":                                 "a\n[redacted]\nb",
		"a " + key[:60]:                                     "a [redacted]",
		"git clone https://ann:s3cret@host/x":               "git clone https://ann:[redacted]@host/x",
		"postgres://ann:p@ss:w@db:5432/x?a=b@c":             "postgres://ann:[redacted]@db:5432/x?a=b@c",
		`curl -H "Authorization: Bearer abc.def" https://x`: `curl -H "Authorization: [redacted]" https://x`,
		"authorization: Basic YTpi\nHost: x":                "authorization: [redacted]\nHost: x",
		"Proxy-Authorization=abc":                           "Proxy-Authorization=[redacted]",
		"bearer " + fake("", 20):                            "bearer [redacted]",
		"PGPASSWORD=hunter2 psql":                           "PGPASSWORD=[redacted] psql",
		"export API_KEY='a b' X=1":                          "export API_KEY='[redacted]' X=1",
		`password="a \" b" x`:                               `password="[redacted]" x`,
		"https://x/?a=1&access_token=abc&b=2":               "https://x/?a=1&access_token=[redacted]&b=2",
		`msg {"password":"a b","n":1}`:                      `msg {"password":"[redacted]","n":1}`,
		`msg {\"client_secret\":\"a b\"}`:                   `msg {\"client_secret\":\"[redacted]\"}`,
		"token: " + fake("", 20):                            "token: [redacted]",
		"login --password hunter2 --user x":                 "login --password [redacted] --user x",
		"login --api-key=hunter2":                           "login --api-key=[redacted]",
		"secret: [redacted], password=[redacted]":           "secret: [redacted], password=[redacted]",
		// a value that goes on up to the end of its line
		"A=1\nDB_PASSWORD=a&b;(c{d<e>f,g\nB=2": "A=1\nDB_PASSWORD=[redacted]\nB=2",
		"export A_TOKEN=a(b)=c":                "export A_TOKEN=[redacted]",
		"  password: a{b}&c\r\nx: y":           "  password: [redacted]\r\nx: y",
		"db.password = a;b":                    "db.password = [redacted]",
		"PASSWORD=a;":                          "PASSWORD=[redacted];",
		"PASSWORD=a; psql -h x":                "PASSWORD=[redacted]; psql -h x",
		"user=a&password=b&c=d":                "user=a&password=[redacted]&c=d",
		// & and brackets in values that have an end of their own
		"Uid=u;Pwd=a&b;":                        "Uid=u;Pwd=[redacted];",
		"/x?a=b&pwd=c&d=e":                      "/x?a=b&pwd=[redacted]&d=e",
		"<password>a]b</password>":              "<password>[redacted]</password>",
		"<password><![CDATA[a]<b]]></password>": "<password><![CDATA[[redacted]]]></password>",
		"</a><password><![CDATA[a]<b":           "</a><password><![CDATA[[redacted]",
		// what was redacted before
		`{"password": [redacted]}, 1`:               `{"password": [redacted]}, 1`,
		"<password>[redacted]</password>":           "<password>[redacted]</password>",
		"<a-token><![CDATA[[redacted]]]></a-token>": "<a-token><![CDATA[[redacted]]]></a-token>",
		// bodies and users of curl over several lines
		"curl -H 'A: b' \\\n  -d 'x' \\\r\n  -u ann:" + fake("", 9): "curl -H 'A: b' \\\n  -d 'x' \\\r\n  -u ann:[redacted]",
		`curl --user "ann":"` + fake("", 9) + `" x`:                 `curl --user "ann":"[redacted]" x`,
		"curl -u " + fake("", 20) + ": https://x":                   "curl -u [redacted]: https://x",
	} {
		if got := New().Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTextStays(t *testing.T) {
	for _, in := range []string{"", "max_tokens=100", "unexpected token: }", "unexpected token: expected a name",
		"http://host:80/a@b", "http://[::1]:80/",
		"task-force-of-the-many-people", "asset", "ghp_short", "the secret of success", "bearer of news", "password",
		"--token-file path", "key = value",
		"if token == other", "password := f()", "for _, cookie := range all", "m[token] = x", "next(token, err)",
		`case "secret", "password":`, "set(name, value)", "napi_create_external_arraybuffer",
		`"name": "secret", "type": "text"`, "the env token is set", "<secret/>", "authorization == x",
		"a:b@c", "eyJ.x.y", "sk-short", "monkey: banana", `{"password":""}`} {
		if got := New().Text(in); got != in {
			t.Errorf("Text(%q) = %q", in, got)
		}
	}
}

func TestKnownSecrets(t *testing.T) {
	r := New("hunter22", `qu"ote\é<&`, "aaaaaa", "zzzzzz", "overlap-one", "one-and-two", "short", "")
	for in, want := range map[string]string{
		"x hunter22 y hunter22":            "x [redacted] y [redacted]",
		`in JSON qu\"ote\\é<&`:             "in JSON [redacted]",
		`in JSON qu\"ote\\é\u003c\u0026`:   "in JSON [redacted]",
		"in a URL qu%22ote%5C%C3%A9%3C%26": "in a URL [redacted]",
		"aaaaaaaaa b":                      "[redacted] b",
		"x overlap-one-and-two y":          "x [redacted] y",
		"zzzzzzaaaaaa":                     "[redacted]",
		"too short: short":                 "too short: short",
		"hunter2":                          "hunter2",
	} {
		if got := r.Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

// Reasons and errors quote the beginning of a command or a value, which may end within a secret.
func TestSecretsThatWereCut(t *testing.T) {
	secret := "Zebra-Quilt-Harbor-Mosaic"
	r := New(secret, "other-one")
	for n := minSecret; n < len(secret); n++ {
		for _, in := range []string{`"x --header @…": no rule`, "x @... and y @…", `{"a":"b @…"}`, `["@..."]`} {
			text, want := strings.ReplaceAll(in, "@", secret[:n]), strings.ReplaceAll(in, "@", redacted)
			if got := r.Text(text); got != want {
				t.Errorf("Text(%q) = %q", text, got)
			}
		}
	}
	for _, in := range []string{"Zebra…", "the Zebra-Quilt", "…", "a...b...", "Zebra-Quilt is…"} {
		if got := r.Text(in); got != in {
			t.Errorf("Text(%q) = %q", in, got)
		}
	}
}

func TestJSON(t *testing.T) {
	r := New("hunter22", "12345678", `qu"ote\n`, "not\xffUTF-8")
	for in, want := range map[string]string{
		`{"a":"hunter22"}`:                                  `{"a":"[redacted]"}`,
		`{"a":"hunt\u0065r22"}`:                             `{"a":"[redacted]"}`,
		`{"a":"\u0068\u0075nter22 <x>"}`:                    `{"a":"[redacted] <x>"}`,
		`{"a":"qu\u0022ote\u005cn"}`:                        `{"a":"[redacted]"}`,
		"{\"a\":\"not\xffUTF-8\"}":                          `{"a":"[redacted]"}`,
		`{"hunter22":1}`:                                    `{"[redacted]":1}`,
		`{"a": 12345678 , "b":[-12345678.5]}`:               `{"a": "[redacted]" , "b":["[redacted]"]}`,
		`{ "password" : "x" }`:                              `{ "password" : "[redacted]" }`,
		`{"pass\u0077ord":"x","n":1}`:                       `{"pass\u0077ord":"[redacted]","n":1}`,
		`{"PASSWD":7,"b":{"apiKey":["x",{"y":"}"}]},"c":2}`: `{"PASSWD":"[redacted]","b":{"apiKey":"[redacted]"},"c":2}`,
		`{"x-api-key":"x","client_secret":"x","auth_token":"x","Authorization":"x"}`: `{"x-api-key":"[redacted]",` +
			`"client_secret":"[redacted]","auth_token":"[redacted]","Authorization":"[redacted]"}`,
		`{"password":null,"token":true,"secret":"","max_tokens":10,"tokens":[1]}`: `{"password":null,"token":true,` +
			`"secret":"","max_tokens":10,"tokens":[1]}`,
		`{"body":"{\"password\":\"x y\",\"n\":1}"}`: `{"body":"{\"password\":\"[redacted]\",\"n\":1}"}`,
		`["password","x"]`:                          `["password","x"]`,
		` "hunter22" `:                              ` "[redacted]" `,
		`{"a":1.50,"b":"\u00e9"}`:                   `{"a":1.50,"b":"\u00e9"}`,
		`{"a":"hunter22`:                            `{"a":"[redacted]`, // not JSON
		`{"password":"two words`:                    `{"password":"[redacted]`,
		``:                                          ``,
	} {
		if got := string(r.JSON([]byte(in))); got != want {
			t.Errorf("JSON(%s) = %s, want %s", in, got, want)
		}
	}
}

// However a secret is escaped, and wherever it stands in JSON, it is gone.
func TestEscapedSecretsAreGone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-zA-Z"<é/]{6,20}`).Draw(t, "secret")
		var escaped strings.Builder
		for _, c := range secret {
			if c == '"' || rapid.Bool().Draw(t, "escaped") {
				escaped.WriteString(escape(c))
			} else {
				escaped.WriteRune(c)
			}
		}
		around := rapid.SampledFrom([]string{`{"a":"x%sy"}`, `[1,{"b":["%s"]}]`, `{"%s":1}`, ` "%s " `}).Draw(t, "around")
		out := New(secret).JSON([]byte(strings.Replace(around, "%s", escaped.String(), 1)))
		var value any
		if err := json.Unmarshal(out, &value); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		plain, _ := json.Marshal(value)
		if strings.Contains(string(plain), secret) || !strings.Contains(string(plain), redacted) {
			t.Fatalf("%s", out)
		}
	})
}

func escape(c rune) string {
	const digits = "0123456789abcdef"
	return `\u` + string([]byte{digits[c>>12], digits[c>>8&15], digits[c>>4&15], digits[c&15]})
}

func TestKeysOverSeveralLines(t *testing.T) {
	begin, end := "-----BEGIN OPENSSH PRIVATE"+" KEY-----", "-----END OPENSSH PRIVATE"+" KEY-----"
	for in, want := range map[string]string{
		"a\n" + begin + "\nAAAA\nBBBB\n" + end +
			"\nb": "a\n[redacted]\nb",
		"key: " + begin + "\nAAAA\n" + end + "\nb\n" + begin + "\nCC\n" +
			end: "key: [redacted]\nb\n[redacted]",
		"x " + begin + " AAAA " + end +
			" y\nb": "x [redacted] y\nb",
		`{"@message":"` + begin + `"}` + "\n" + `{"@message":"AAAA"}` + "\n" + `{"@message":"` + end + `"}` +
			"\nb": `{"@message":"[redacted]"}` + "\nb",
		"no BEGIN of a PRIVATE thing\nb":                   "no BEGIN of a PRIVATE thing\nb",
		"Private-Lines: 2\nAAAA\nBBBB\nPrivate-MAC: 00\nb": "Private-Lines: 2\nb",
		begin + strings.Repeat("\nAAAA", maxBlock) + "\nb": "[redacted]\nb",
	} {
		var blocks Blocks
		var out []string
		for line := range strings.SplitSeq(in, "\n") {
			quiet := blocks.Quiet([]byte(line))
			if inside := blocks.Inside([]byte(line)); !inside {
				out = append(out, New().Text(line))
			} else if quiet {
				t.Errorf("%q is called quiet", line)
			}
		}
		if got := strings.Join(out, "\n"); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// Each token is put into every sentence, and must be gone from it with nothing else.
func TestTokensOfServices(t *testing.T) {
	hex32, jwt := strings.Repeat("0a1b2c3d", 4), fake("eyJ", 20)+"."+fake("eyJ", 30)+"."+fake("", 20)
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
		fake("rzp"+"_live_", 14), fake("", 52) + fake("JQQ"+"J99", 30), fake("lsv"+"2_pt_", 32) + "_0a1b2c3d4e",
		"sk" + "_" + hex32, hex32 + "-us" + "12", "v1" + ".0-" + hex32[:24] + "-" + strings.Repeat(hex32, 4),
		"pat-" + "na1-" + "0a1b2c3d-0a1b-2c3d-0a1b-0a1b2c3d0a1b",
		strings.ToUpper("A3" + "-0a1b2c-0a1b2c-0a1b2-0a1b2-0a1b2-0a1b2"),
		fake("ZX"+"lKhbGci", 60), fake("eyJ"+"hdXRo", 40), fake("eyJ"+"rIjoi", 70), fake("BB"+"DC-", 40), fake("EA"+"A", 60),
		fake("LS0tLS1CRUdJTiB"+"SU0Eg", 90), fake("LS0tLS1CRUdJTiB"+"QUklW", 76) + "\n  " + fake("", 76),
		fake("pc"+"sk_aB3aB_", 63), fake("dt0"+"c01.", 24) + "." + fake("", 64), "gh" + "s_12345_" + jwt,
	}
	for _, begins := range strings.Fields("npm_ hf_ api_org_ sb_secret_ vcp_ vck_ vercel_blob_rw_ nfp_ rnd_ fm2_ fo1_ pscale_ napi_ bkua_ " +
		"CCIPAT_ CCIPRJ_ sqp_ squ_ sqa_ pcsk_ xkeysib- xsmtpsib- shippo_live_ jina_ CLOJARS_ KGAT_ CFPAT- " +
		"tfp_ HRKU- FLWSECK- FLWSECK_ pnu_ rdme_ sgp_ phx_ polar_ wandb_v1_ e2b_ crsr_ ops_eyJ ATSTT " +
		"cfut_ secret_ 1//0 AQ.Ab LTAI AKID AKCp cmVmdGtu AQVN ABSK EZAK dt0c01. shpss_ NRII- hvb. figo_ " +
		"tvly- sha256~ apify_api_ alcht_ duffel_test_ ico- cfat_ cfk_ EZTK shippo_test_") {
		tokens = append(tokens, fake(begins, 40))
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
		"keytool -list -storepass @", "jarsigner -keypass @ x.jar a", "plink -l root -pw @ host", "xfreerdp /u:a /p:@ /v:x",
		"rdesktop -u a -p @ host", "twine upload -u a -p @ dist/*", "usermod -p '@' ann", "sqlplus ann/@@host",
		"jdbc:oracle:thin:ann/@@host:1521/x", "gh secret set A -b @", `gh secret set A --body="@"`,
		"npm config set //registry.npmjs.org/:_authToken @", "aws configure set aws_secret_access_key @",
		"echo @ | sudo -S ls", `echo "@" | docker login -u a --password-stdin`, "printf '@' | gh auth login --with-token",
		"echo '@' | chpasswd", "echo '@' | passwd --stdin ann", "echo @ | x login --token-stdin",
		"requirepass @", "masterauth @", "bindpw: @", "bind_pw = @", "tool -password @", "tool --pass @", "tool --db-pass=@",
		"https://x/?key=@&a=b", "https://x/?a=b&code=@", "https://x/?jwt=@", "https://x/?a=b&pass=@", "https://x/?pwd=@",
		"OPENAI_KEY=@", "A_KEY: @", `"STRIPE_KEY": "@"`, "X-Auth-Key: @", "Api-Token: @", "creds = @", "my_creds: '@'",
		"password = <<EOT\n@\nEOT", "<Password><![CDATA[@]]></Password>",
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

// A value behind the name of a secret is gone in every notation, and is all that goes.
func TestValuesBehindNames(t *testing.T) {
	for _, name := range []string{"password", "DB_PASSWORD", "db_pass", "api_key", "apiKey", "client-secret", "clientSecret",
		"AWS_SECRET_ACCESS_KEY", "token", "GITHUB_TOKEN", "access_token"} {
		for _, form := range []string{
			`NAME=@`, `NAME="@"`, "NAME: @", `{"NAME" : "@"}`, `{'NAME': '@'}`, `'NAME' => '@',`, `:NAME => "@"`, `NAME := "@"`,
			`if NAME == "@" {`, `NAME !== '@'`, `NAME: string = "@"`, `NAME: &str = "@"`, `config['NAME'] = '@'`,
			`os.environ["NAME"] = "@"`, `os.Setenv("NAME", "@")`, `req.Header.Set("NAME", "@")`, `#define NAME "@"`,
			"<NAME>@</NAME>", `<NAME a="b">@</NAME>`, `<x NAME="@"/>`, `<add key="NAME" value="@" />`,
			`<property name="a.NAME" value="@"/>`, "<key>NAME</key>\n\t<string>@</string>", "- name: NAME\n  value: @",
			"- name: \"NAME\"\n  value: \"@\"", `[{"name":"NAME","value":"@"}]`, `{\"key\": \"NAME\", \"value\": \"@\"}`,
			"NAME ?= '@'", "NAME ?= @", `$NAME .= "@"`, "NAME := `@`", `var NAME string = "@"`, `NAME = """@"""`, "NAME = '''@'''",
			`NAME = f"@"`, `NAME = rb'@'`, `NAME = $"@"`, `NAME_2 = "@"`, `NAME_PROD=@`, `NAMEString = "@"`,
			"NAME: |\n  @\nx: y", "NAME: >-\n  @", "set -x NAME @", "ENV NAME @", `$env:NAME = "@"`, "--NAME @",
			`["--NAME", "@"]`, "https://h/p?NAME=@&x=1", "docker run -e NAME=@ x", "-DNAME=@",
		} {
			in := strings.ReplaceAll(form, "NAME", name)
			full, want := strings.Replace(in, "@", fake("Zq9", 20), 1), strings.Replace(in, "@", redacted, 1)
			if got := New().Text(full); got != want {
				t.Errorf("Text(%q) = %q, want %q", full, got, want)
			}
		}
	}
	if got := New().Text("ALTER USER x IDENTIFIED BY 'hunter2'"); got != "ALTER USER x IDENTIFIED BY '[redacted]'" {
		t.Error(got)
	}
}

// JSON within a text, and JSON that is given as a text or was cut, hides no more than JSON does.
func TestJSONThatIsText(t *testing.T) {
	for _, in := range []string{`{"password":["@"],"a":1}`, `{"a":{"api_key":{"b":"@"}}}`, `[{"pass\u0077ord":"@"}]`,
		`{"token":["@",2]}`, `["curl","-u","ann:@"]`, `{"name":"DB_PASSWORD","type":"text","value":"@"}`,
		`{"a":"b","password":["@","c`, `{"a":"b","secret":{"c":"@`, `{"access_token": [ "@"`} {
		secret := fake("Zq9", 20)
		text := strings.Replace(in, "@", secret, 1)
		nested, _ := json.Marshal(map[string]string{"body": text})
		twice, _ := json.Marshal([]string{string(nested)})
		for _, got := range []string{New().Text(text), New().Text(string(nested)), string(New().JSON(nested)),
			New().Text(string(twice))} {
			if strings.Contains(got, secret) || !strings.Contains(got, redacted) {
				t.Errorf("%s became %s", text, got)
			}
		}
	}
}

func TestPairsOfNameAndValue(t *testing.T) {
	for in, want := range map[string]string{
		`[{"name":"DB_PASSWORD","value":"x"},{"name":"a","value":"b"}]`: `[{"name":"DB_PASSWORD","value":"[redacted]"},` +
			`{"name":"a","value":"b"}]`,
		`{"Key":"api_key","type":"text","Value":["x"]}`:         `{"Key":"api_key","type":"text","Value":"[redacted]"}`,
		`{"header":"Authorization","val":"x","value":null}`:     `{"header":"Authorization","val":"[redacted]","value":null}`,
		`{"name":"token","in":{"value":"b"},"c":{"value":"d"}}`: `{"name":"token","in":{"value":"b"},"c":{"value":"d"}}`,
		`{"title":"password","value":"b"}`:                      `{"title":"password","value":"b"}`,
	} {
		if got := string(New().JSON([]byte(in))); got != want {
			t.Errorf("JSON(%s) = %s, want %s", in, got, want)
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
		"echo $TOKEN | docker login --password-stdin", "echo 'a b' | git hash-object -w --stdin",
		"echo 'let a = 1' | prettier --stdin-filepath x.js", "sort --key 2", "cache_key: go-1234567890abcdef-linux",
		"password policy",
		"mkdir -pw x", "LC_KEY=simple", "PRIMARY_KEY = session_tokens", "pass=5 fail=0", "x.com/?key=name&code=404",
		"@@ -1 +1 @@\n-secret\n+public\n", "@@ -1 +1 @@\n-token is read\n",
		"set -token", "task_0a1b sk_buff_head_init_of_a_list", "sha256~x", "en-us12", "v1.0-rc1", "pat-nap",
		"Ｈｅｌｌｏ， ｗｏｒｌｄ", "价格：１２元，密码不在这里", "http://x/webhooks/list", "see hooks.slack.com/docs",
	} {
		if got := New().Text(in); got != in {
			t.Errorf("Text(%q) = %q", in, got)
		}
	}
}

// A line that is all of a text is not read again for each value in it.
func TestManyValuesOnALine(t *testing.T) {
	text := "x " + strings.Repeat("A_TOKEN=a(", 100_000)
	began := time.Now()
	if got := New().Text(text); strings.Count(got, redacted) != 100_000 {
		t.Errorf("%.100s", got)
	}
	if took := time.Since(began); took > 20*time.Second { // a hundredth of what it takes where it is read again
		t.Errorf("it took %v", took)
	}
}

func TestSecretNames(t *testing.T) {
	for _, name := range []string{"password ", " password", "password\u00a0", "ｐａｓｓｗｏｒｄ", "passwordｓ", "API KEY",
		"api.key", "_auth", "auth", "pwd", "account_key", "AccountKey", "signingKey", "webhook_url",
		"db_pass", "db_pwd", "connectionString", "seed_phrase", "X-Api-Key", "Private-Token", "--token", "clientSecret:",
		"mnemonic", "creds"} {
		in, _ := json.Marshal(map[string]string{name: "x"})
		if out := New().JSON(in); !strings.Contains(string(out), redacted) {
			t.Errorf("%q: %s", name, out)
		}
	}
	for _, name := range []string{"author", "authority", "key", "pass", "bypass", "pwd_length", "max_tokens", "keyboard", "account",
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
		`["--pass","x","--db-pass","y"]`:            `["--pass","[redacted]","--db-pass","[redacted]"]`,
		`["--bypass","x"]`:                          `["--bypass","x"]`,
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
			text = strings.ReplaceAll(text, "\n", rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "end"))
		}
		breaks := strings.Repeat(rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "break"),
			rapid.IntRange(0, 90).Draw(t, "breaks"))
		out := New(secret).Text("the value " + breaks + text + " is here")
		for _, left := range []string{secret, base64.RawStdEncoding.EncodeToString([]byte(secret)),
			hex.EncodeToString([]byte(secret)), url.QueryEscape(secret)} {
			if strings.Contains(lineBreaks.Replace(out), left) {
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
	if len(patterns())+1 >= len(patternSet{})*64 {
		t.Fatalf("%d patterns do not fit into a patternSet", len(patterns()))
	}
	for i, p := range patterns() {
		for _, hint := range p.hints {
			if len(hint) < 2 || hint != strings.ToLower(hint) {
				t.Errorf("%q is no hint", hint)
			}
			text := "x" + strings.ToUpper(hint)
			if p.named {
				text = "secret " + text
			}
			if set, _ := likely(text); !set.has(i) {
				t.Errorf("%q is not found", hint)
			}
		}
	}
}

// What was JSON stays JSON, and a second look finds nothing new.
func FuzzRedactJSON(f *testing.F) {
	for _, seed := range []string{`{}`, `{"password":"x"}`, `{"a":"hunter22","b":[1,2.5e3,null]}`,
		`{"a":"hunt\u0065r22"}`, ` [ "token: abcdefghijklmnopqr" ] `, `"\ud800"`, "\"\xff\"",
		`{"token":{"a":"]","b":[]},"c":1}`, `{"hunter22":{"secret":[{}]}}`, `1`, `"`, `{"a":"password=\"x"}`} {
		f.Add([]byte(seed))
	}
	r := New("hunter22")
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		out := r.JSON(text)
		if !bytes.Equal(text, before) {
			t.Fatal("the input was changed")
		}
		if !json.Valid(text) {
			return
		}
		if !json.Valid(out) {
			t.Fatalf("%q became %q", text, out)
		}
		if again := r.JSON(out); !json.Valid(again) || bytes.Contains(again, []byte("hunter22")) {
			t.Errorf("%q became %q, and then %q", text, out, again)
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	r := New("hunter22")
	text := []byte(`{"command":"go test ./...","output":"` + string(make64K()) + `"}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.JSON(text)
	}
}

// Source code has many names of secrets, and few values.
func BenchmarkRedactSource(b *testing.B) {
	r, text := New(), strings.Repeat("\tname, err := r.Header.Get(cookie.Name), token.Value(secret, key) // access\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Text(text)
	}
}

func make64K() []byte {
	out := make([]byte, 64<<10)
	for i := range out {
		out[i] = "a line of text with some words: and values = 1, "[i%48]
	}
	return out
}
