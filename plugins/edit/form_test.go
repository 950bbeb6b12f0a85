package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/text/encoding/htmlindex"

	"github.com/toolhost/toolhost/sdk/sdktest"
)

// configured is start with a configuration.
func configured(t *testing.T, config string, files ...string) *fixture {
	t.Helper()
	f := start(t, files...)
	f.MustConfigure(t, config)
	return f
}

func utf16le(text string) string {
	var b bytes.Buffer
	for _, u := range utf16.Encode([]rune(text)) {
		b.Write([]byte{byte(u), byte(u >> 8)})
	}
	return "\xFF\xFE" + b.String()
}

func utf16be(text string) string {
	var b bytes.Buffer
	for _, u := range utf16.Encode([]rune(text)) {
		b.Write([]byte{byte(u >> 8), byte(u)})
	}
	return "\xFE\xFF" + b.String()
}

func in(t *testing.T, name, text string) string {
	t.Helper()
	codec, err := htmlindex.Get(name)
	check(t, err)
	out, err := codec.NewEncoder().String(text)
	check(t, err)
	return out
}

func TestEncodingsAreKept(t *testing.T) {
	korean := "// 설정 값\nlet 크기 = 1;\n// 뷁 끝\n" // with a letter that only the larger Korean set has
	tests := []struct{ name, encoding, before, old, new, want string }{
		{"utf-16, little endian", "", utf16le("größe 😀\r\n1\r\n"), "1", "크기 😀",
			utf16le("größe 😀\r\n크기 😀\r\n")},
		{"utf-16, big endian", "", utf16be("größe\n1\n"), "größe", "크기", utf16be("크기\n1\n")},
		{"utf-8 with a mark", "windows-1252", "\xEF\xBB\xBFgröße\n", "ö", "oe", "\xEF\xBB\xBFgroeße\n"},
		{"cp949", "cp949", in(t, "euc-kr", korean), "크기 = 1", "높이 = 2", in(t, "euc-kr",
			strings.Replace(korean, "크기 = 1", "높이 = 2", 1))},
		{"shift_jis", "shift_jis", in(t, "shift_jis", "設定 = ソース\n"), "ソース", "表示", in(t, "shift_jis",
			"設定 = 表示\n")},
		{"gb18030", "gb18030", in(t, "gb18030", "大小 = 1 🀄\n"), "大小", "高度", in(t, "gb18030",
			"高度 = 1 🀄\n")},
		{"big5", "Big5", in(t, "big5", "許功蓋 = 1\n"), "1", "大", in(t, "big5", "許功蓋 = 大\n")},
		{"windows-1252", "windows-1252", "gr\xFC\xDFe\n\x80\n", "grüße", "€", "\x80\n\x80\n"},
		{"ISO-2022-JP, whose bytes are ASCII", "", in(t, "iso-2022-jp", "設定 = B\n"), "B", "値",
			in(t, "iso-2022-jp", "設定 = 値\n")},
		{"colours in ISO-2022-JP", "", "\x1b[31m" + in(t, "iso-2022-jp", "設定\n9\n"), "9", "7",
			"\x1b[31m" + in(t, "iso-2022-jp", "設定\n7\n")},
		{"utf-8 while another is configured", "cp949", "크기\n", "크기", "높이", "높이\n"},
		{"stray bytes", "", "größe 크기 \xFF\n1\n", "1", "높이", "größe 크기 \xFF\n높이\n"},
		{"unknown, ASCII only", "", "gr\xFC\xDFe\n1\n", "1", "2", "gr\xFC\xDFe\n2\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := start(t, "file", test.before)
			if test.encoding != "" {
				f.MustConfigure(t, `{"encoding":"`+test.encoding+`"}`)
			}
			result := f.run(t, "replace", args{"path": "file", "old_string": test.old, "new_string": test.new})
			f.holds(t, "file", test.want)
			contains(t, result.Content[0].Text, test.new) // the diff shows text, not bytes
			f.run(t, "undo", args{})
			f.holds(t, "file", test.before)
		})
	}
}

// A file in a legacy encoding is edited as it is read, in the encoding that it declares or a likely one.
func TestEncodingsThatAreGuessed(t *testing.T) {
	for _, test := range []struct{ encoding, before, old, new, after string }{
		{"windows-1251", "# проверить значение\nx = 1\n# вернуть результат\n", "# вернуть результат", "# вернуть итог",
			"# проверить значение\nx = 1\n# вернуть итог\n"},
		{"windows-1250", "# sprawdź, czy wartość została już zmieniona\nx = 1\n", "x = 1", "x = 2 # później",
			"# sprawdź, czy wartość została już zmieniona\nx = 2 # później\n"},
		{"koi8-r", "# coding: koi8-r\n# да\n", "# да", "# нет", "# coding: koi8-r\n# нет\n"},
		{"shift_jis", "// 値が変更されたかどうかを確認する\nx();\n", "を確認する", "", "// 値が変更されたかどうか\nx();\n"},
	} {
		t.Run(test.encoding, func(t *testing.T) {
			f := start(t, "file", in(t, test.encoding, test.before))
			r := f.run(t, "replace", args{"path": "file", "old_string": test.old, "new_string": test.new})
			contains(t, r.Content[0].Text, "file is not UTF-8: it was edited as "+test.encoding+", by a guess.")
			f.holds(t, "file", in(t, test.encoding, test.after))
			f.run(t, "undo", args{})
			f.holds(t, "file", in(t, test.encoding, test.before))
			r = f.run(t, "write", args{"path": "file", "content": test.after, "overwrite": true})
			contains(t, r.Content[0].Text, "Kept its encoding, which by a guess is "+test.encoding)
			f.holds(t, "file", in(t, test.encoding, test.after))
			f.fails(t, "NotInEncoding", "write", args{"path": "file", "content": "😀\n", "overwrite": true})
		})
	}
}

func TestEncodingsThatAreNotKept(t *testing.T) {
	tests := []struct{ name, encoding, before, new, want, message string }{
		{"half a surrogate", "", utf16le("1") + "\x00\xD8a\x00", "2", "EncodingNotKept", "UTF-16LE"},
		{"an odd number of bytes", "", utf16le("1") + "a", "2", "EncodingNotKept", "UTF-16LE"},
		{"NUL characters", "", utf16le("1\x00"), "2", "BinaryFile", "NUL"},
		{"not in the code page", "cp949", "1\n\xFF\xFF\n", "2", "EncodingNotKept", "euc-kr"},
		{"other escapes of ISO-2022-JP", "", "\x1b$@@_Dj\x1b(J\n1\n", "2", "EncodingNotKept", "ISO-2022-JP"},
		{"a character it lacks", "cp949", "1\n\xB0\xA1\n", "a😀b", "NotInEncoding",
			`is euc-kr, which has no '😀' (U+1F600)`},
		{"one of windows-1252", "windows-1252", "1\xFC\n", "크", "NotInEncoding", `has no '크'`},
		{"unknown", "", "1\xFC\n", "ü", "EncodingUnknown", "how to write 'ü'"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := start(t, "file", test.before)
			if test.encoding != "" {
				f.MustConfigure(t, `{"encoding":"`+test.encoding+`"}`)
			}
			e := f.fails(t, test.want, "replace", args{"path": "file", "old_string": "1", "new_string": test.new})
			contains(t, e.Message, test.message, `"file"`, "nothing was changed")
			f.holds(t, "file", test.before)
		})
	}
}

func TestWriteKeepsTheCodePage(t *testing.T) {
	f := configured(t, `{"encoding":"cp949"}`, "file", "\xB0\xA1\n", "junk", "\xFF\xFF\xFF\n")
	contains(t, f.run(t, "write", args{"path": "file", "content": "나\n", "overwrite": true}).Content[0].Text,
		"Kept its encoding, euc-kr.")
	f.holds(t, "file", "\xB3\xAA\n")
	f.fails(t, "NotInEncoding", "write", args{"path": "file", "content": "😀\n", "overwrite": true})
	f.run(t, "write", args{"path": "junk", "content": "나\n", "overwrite": true})
	f.holds(t, "junk", "나\n")
}

func TestConfigurationFailures(t *testing.T) {
	for config, want := range map[string]string{
		`{"encoding":"utf-16"}`:          "none for files that are not UTF-8",
		`{"encoding":"utf-8"}`:           "none for files",
		`{"encoding":"iso-2022-jp"}`:     "none for files",
		`{"encoding":"klingon"}`:         `"klingon"`,
		`{"allow_secrets":["config/["]}`: "is not a pattern of paths",
	} {
		err := sdktest.Start(t, newPlugin()).Configure(t.Context(), []byte(config), t.TempDir())
		if err == nil {
			t.Fatalf("%s was taken", config)
		}
		contains(t, err.Error(), want)
	}
}

func TestStrictness(t *testing.T) {
	content := "func a() {\n\treturn computeTotal(items, discount)\n}\n"
	for config, want := range map[string]bool{`{}`: true, `{"strictness":"full"}`: true, `{"strictness":"safe"}`: true,
		`{"strictness":"exact"}`: false} {
		f := configured(t, config, "a.go", content)
		a := args{"path": "a.go", "old_string": "func a() {\n    return computeTotal(items, discount)\n}",
			"new_string": "func a() {\n    return 0\n}"}
		if !want {
			f.fails(t, "MatchNotFound", "replace", a)
			f.fails(t, "MatchNotFound", "multi", args{"edits": []args{a}})
			continue
		}
		f.run(t, "replace", a)
		f.holds(t, "a.go", "func a() {\n\treturn 0\n}\n")
	}
}

func TestSecrets(t *testing.T) {
	f := configured(t, `{"allow_secrets":["config/test.pem","testdata/**"]}`, ".env", "A=1\n", "config/test.pem", "x\n",
		"config/real.pem", "x\n", "testdata/a/b.key", "x\n", "plain", "x\n")
	for link, target := range map[string]string{"innocent": ".env", "allowed": "config/test.pem", "b.key": "plain",
		"folder": "config"} {
		check(t, os.Symlink(target, f.path(link)))
	}
	for _, path := range []string{".env", "./.env", f.path(".env"), "innocent", "config/real.pem", "folder/real.pem",
		"b.key", ".env.local", "new/id_rsa", ".ENV"} {
		e := f.fails(t, "SecretFile", "replace", args{"path": path, "old_string": "nothing", "new_string": "y"})
		contains(t, e.Message, "holds secrets")
		contains(t, e.Suggestion, "allow_secrets = [")
		f.fails(t, "SecretFile", "write", args{"path": path, "content": "x", "overwrite": true, "create_dirs": true})
		if r := f.RunIn(t, f.dir, "diff", string(args{"path": path}.json())); r.Error == nil || r.Error.Name != "SecretFile" {
			t.Errorf("diff of %s: %+v", path, r)
		}
	}
	for _, path := range []string{"config/test.pem", "allowed", "folder/test.pem", "testdata/a/b.key"} {
		f.run(t, "replace", args{"path": path, "old_string": "x", "new_string": "y"})
		f.run(t, "undo", args{})
	}
	f.holds(t, ".env", "A=1\n")
}

// Where the workspace lies is the user's choice, and makes no secret of what is in it.
func TestSecretsBelowASecretFolder(t *testing.T) {
	f := start(t, ".ssh/work/plain", "x\n", ".ssh/work/id_rsa", "x\n")
	f.dir = f.path(".ssh/work")
	f.run(t, "replace", args{"path": "plain", "old_string": "x", "new_string": "y"})
	f.fails(t, "SecretFile", "replace", args{"path": "id_rsa", "old_string": "x", "new_string": "y"})
}
