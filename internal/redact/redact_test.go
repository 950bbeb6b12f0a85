package redact

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// fake makes what looks like a key. It is put together here, so that nobody takes this file for a leak.
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
		`{"x-api-key":"x","client_secret":"x","auth_token":"x","Authorization":"x"}`: `{"x-api-key":"[redacted]","client_secret":"[redacted]","auth_token":"[redacted]","Authorization":"[redacted]"}`,
		`{"password":null,"token":true,"secret":"","max_tokens":10,"tokens":[1]}`:    `{"password":null,"token":true,"secret":"","max_tokens":10,"tokens":[1]}`,
		`{"body":"{\"password\":\"x y\",\"n\":1}"}`:                                  `{"body":"{\"password\":\"[redacted]\",\"n\":1}"}`,
		`["password","x"]`:        `["password","x"]`,
		` "hunter22" `:            ` "[redacted]" `,
		`{"a":1.50,"b":"\u00e9"}`: `{"a":1.50,"b":"\u00e9"}`,
		`{"a":"hunter22`:          `{"a":"[redacted]`, // not JSON
		`{"password":"two words`:  `{"password":"[redacted]`,
		``:                        ``,
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
