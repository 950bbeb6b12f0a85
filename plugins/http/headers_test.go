package main

import "testing"

func TestWhichHeadersCarryCredentials(t *testing.T) {
	for _, name := range []string{"Authorization", "Cookie", "X-Api-Key", "Api-Key", "X-Auth-Token", "Private-Token",
		"Job-Token", "Deploy-Token", "X-Vault-Token", "X-Amz-Security-Token",
		"X-Functions-Key", "X-Master-Key", "Apikey", "Dd-Api-Key", "Circle-Token", "X-Github-Token", "X-Shopify-Access-Token",
		"Cf-Access-Client-Secret", "X-Session-Token", "X-Csrf-Token", "X-Xsrf-Token"} {
		if !carriesCredentials(name, "x") {
			t.Errorf("%s is sent anywhere", name)
		}
	}
	for name, value := range map[string]string{"Accept": "*/*", "Content-Type": "text/plain", "Idempotency-Key": "1",
		"Mcp-Session-Id": "1", "X-Request-Id": "basic", "If-None-Match": `"x"`,
		"Origin": "x", "Referer": "x", "Accept-Language": "tokenish", "X-Monkey-Business": "x", "Author": "me",
		"Range": "bytes=0-1", "Sec-Websocket-Key": "x"} {
		if carriesCredentials(name, value) {
			t.Errorf("%s: %s is refused", name, value)
		}
	}
	if !carriesCredentials("X-Custom", " Bearer x") || !carriesCredentials("X-Custom", "basic eDp5") {
		t.Error("a value for Authorization is sent under another name")
	}
}
