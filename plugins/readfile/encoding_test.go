package main

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// samples are texts of some lines, as people write them, with the encodings that their languages had before UTF-8.
var samples = []struct{ encoding, text string }{
	{"euc-kr", "이 파일은 예전 편집기에서 저장한 설정 파일입니다.\n서버를 다시 시작하기 전에 모든 값을 확인해 주세요.\n오류가 발생하면 관리자에게 연락하고 로그를 보내 주시기 바랍니다.\n"},
	{"shift_jis", "このファイルは古いエディタで保存された設定です。\nサーバーを再起動する前に、すべての値を確認してください。\nエラーが発生した場合は、管理者に連絡してログを送ってください。\n"},
	{"iso-2022-jp", "設定。\nplain\nすべての値を確認してください。\n"},
	{"euc-jp", "このファイルは古いエディタで保存された設定です。\nサーバーを再起動する前に、すべての値を確認してください。\nエラーが発生した場合は、管理者に連絡してログを送ってください。\n"},
	{"gb18030", "这个文件是用旧的编辑器保存的配置文件。\n在重新启动服务器之前，请检查所有的值是不是正确。\n如果发生错误，请和管理员联系，并且把日志发给他们。\n"},
	{"big5", "這個檔案是用舊的編輯器儲存的設定檔。\n在重新啟動伺服器之前，請檢查所有的值是不是正確。\n如果發生錯誤，請和管理員聯絡，並且把日誌發給他們。\n"},
	{"windows-1252", "Die Größe der Tür wurde geändert und muss überprüft werden.\nBitte prüfen Sie, ob die Straße für " +
		"große Fahrzeuge geöffnet ist.\nFür weitere Fragen stehen wir Ihnen gerne zur Verfügung.\n"},
	{"windows-1252", "Le fichier a été créé par un éditeur très ancien.\nVérifiez que les réglages sont à jour avant de " +
		"redémarrer.\nEn cas d’erreur, le problème doit être signalé à l’équipe.\n"},
	{"koi8-r", "Этот файл был сохранён в старом редакторе.\nПеред перезапуском сервера проверьте все значения.\nЕсли " +
		"произошла ошибка, сообщите об этом администратору и пришлите журнал.\n"},
	{"windows-1251", "Этот файл был сохранён в старом редакторе.\nПеред перезапуском сервера проверьте все " +
		"значения.\nЕсли произошла ошибка, сообщите об этом администратору и пришлите журнал.\n"},
	{"iso-8859-2", "Ten plik został zapisany w starym edytorze i należy go sprawdzić.\nJeśli wystąpi błąd, proszę " +
		"powiadomić administratora i przesłać dziennik.\nWszystkie wartości muszą być poprawne, zanim serwer zostanie " +
		"uruchomiony.\n"},
	{"iso-8859-7", "Αυτό το αρχείο αποθηκεύτηκε σε έναν παλιό επεξεργαστή.\nΕλέγξτε όλες τις τιμές πριν από την " +
		"επανεκκίνηση του διακομιστή.\nΑν παρουσιαστεί σφάλμα, ενημερώστε τον διαχειριστή.\n"},
}

func encoded(t testing.TB, name, text string) string {
	t.Helper()
	c, err := encodingNamed(name)
	check(t, err)
	out, err := c.enc.NewEncoder().String(text)
	check(t, err)
	return out
}

// sees reads a file and compares its text, the encoding that is reported, and parts of the notes.
func (f *fixture) sees(t *testing.T, arguments, text, encoding string, notes ...string) {
	t.Helper()
	r := f.run(t, "read", "%s", arguments)
	if r.Content[0].Text != text || structured[readOutput](t, r).Encoding != encoding {
		t.Errorf("read %q, decoded from %q", r.Content[0].Text, structured[readOutput](t, r).Encoding)
	}
	contains(t, r.Content[1].Text, notes...)
}

func TestEncodingsAreGuessed(t *testing.T) {
	for _, s := range samples {
		t.Run(s.encoding, func(t *testing.T) {
			f := start(t, "file", encoded(t, s.encoding, s.text))
			f.sees(t, `{"path":"file"}`, s.text, s.encoding,
				"[decoded from "+s.encoding+`, by a guess; if letters look wrong, name the encoding, such as encoding="euc-kr"]`)
		})
	}
}

// What a terminal was sent is shown as it is, also if there is Japanese in it.
func TestEscapesOfTerminals(t *testing.T) {
	log := "\x1b[31mred\x1b[0m " + encoded(t, "iso-2022-jp", "設定\n")
	if text, name := decodeAll(t, []byte(log)); text != log || name != utf8Coding.name {
		t.Errorf("%q, by %s", text, name)
	}
}

// A few comments far behind in a text of ASCII are enough.
func TestGuessFromCommentsFarBehind(t *testing.T) {
	code := strings.Repeat("if (count > limit) { return the_error; } // see the other file\n", 1000)
	for _, s := range samples {
		f := start(t, "file", code+encoded(t, s.encoding, s.text))
		f.sees(t, `{"path":"file","tail":3}`, s.text, s.encoding)
	}
}

// What a file says of itself counts before a guess, unless its bytes say otherwise.
func TestEncodingsThatFilesDeclare(t *testing.T) {
	for _, test := range []struct{ head, encoding, declared string }{
		{"<?xml version=\"1.0\" encoding=\"%s\"?>\n", "koi8-r", "KOI8-R"}, {"<?xml encoding = '%s'?>\n", "koi8-u", "koi8-u"},
		{"<html><meta charset=%s>\n", "windows-1251", "windows-1251"},
		{"<meta http-equiv=\"Content-Type\" content=\"text/html; charset=%s\">\n", "iso-8859-5", "iso-8859-5"},
		{"#!/usr/bin/python\n# -*- coding: %s -*-\n", "windows-1251", "cp1251"}, {"# vim: fileencoding=%s\n", "ibm866", "cp866"},
		{"@charset \"%s\";\n", "windows-1251", "windows-1251"},
		{"msgid \"\"\nmsgstr \"\"\n\"Content-Type: text/plain; charset=%s\\n\"\n", "koi8-r", "KOI8-R"},
	} {
		head := fmt.Sprintf(test.head, test.declared)
		start(t, "file", head+encoded(t, test.encoding, "Да")).sees(t, `{"path":"file"}`, head+"Да", test.encoding,
			"as the file itself says")
	}
	for head, want := range map[string]string{"# coding: euc-kr\n": "windows-1252", "# coding: utf-8\n": "windows-1252",
		"# coding: klingon\n": "windows-1252", strings.Repeat("#\n", 600) + "# coding: koi8-r\n": "windows-1252"} {
		start(t, "file", head+"caf\xE9!").sees(t, `{"path":"file"}`, head+"café!", want, "no encoding is likely")
	}
	start(t, "file", "# coding: koi8-r\né").sees(t, `{"path":"file"}`, "# coding: koi8-r\né", "", "etag")
}

func TestNoEncodingIsLikely(t *testing.T) {
	f := start(t, "file", "BMW gr\xFCn\n\xDF") // BM is how bitmaps begin
	f.sees(t, `{"path":"file"}`, "BMW grün\nß", "windows-1252",
		"[not UTF-8, and no encoding is likely; decoded from windows-1252;")
	f.put(t, "file", "caf\xE9") // which UTF-8 would begin a character with
	f.sees(t, `{"path":"file"}`, "café", "windows-1252", "no encoding is likely")
	f.put(t, "file", "日本語\xE6") // which is damaged UTF-8
	f.sees(t, `{"path":"file"}`, "日本語\uFFFD", "", "invalid bytes shown as U+FFFD: line 1")
}

func TestEncodingAskedFor(t *testing.T) {
	f := start(t, "korean", encoded(t, "euc-kr", "한글"), "le", "h\x00i\x00", "marked", "\xFE\xFF\x00h\x00i", "utf8",
		"\xEF\xBB\xBFé", "cut", encoded(t, "euc-kr", "한글")[:3])
	tests := []struct{ path, encoding, text, want, note string }{
		{"korean", "euc-kr", "한글", "euc-kr", "[decoded from euc-kr, as asked]"},
		{"korean", "CP949", "한글", "euc-kr", "[decoded from euc-kr, as asked]"},
		{"korean", "latin1", "ÇÑ±Û", "windows-1252", "[decoded from windows-1252, as asked]"},
		{"korean", "utf-8", "\uFFFDѱ\uFFFD", "", "[not UTF-8, invalid bytes shown as U+FFFD: line 1]"},
		{"cut", "euc-kr", "한\uFFFD", "euc-kr", "[bytes that are not euc-kr are shown as U+FFFD: line 1]"},
		{"le", "utf-16", "hi", "utf-16le", "as asked"},
		{"marked", "utf-16", "hi", "utf-16be", "[decoded from utf-16be]"},
		{"marked", "utf-16le", "hi", "utf-16be", "[decoded from utf-16be]"},
		{"utf8", "utf8", "é", "", "byte order mark"},
		{"utf8", "windows-1252", "ï»¿Ã©", "windows-1252", "as asked"},
	}
	for _, test := range tests {
		t.Run(test.path+" as "+test.encoding, func(t *testing.T) {
			f.sees(t, `{"path":"`+test.path+`","encoding":"`+test.encoding+`"}`, test.text, test.want, test.note)
		})
	}
	for names, want := range map[string]string{"latin-1 latin_1 LATIN1 iso_8859_1 ISO8859-1 cp1252 win1252 windows_1252 " +
		"Windows-1252": "windows-1252", "utf-8-sig UTF_8 utf8": "utf-8", "utf-16-le UTF_16_LE utf16le": "utf-16le",
		"utf-32-be utf_32_be UTF32BE": "utf-32be", "utf-32 utf32": "utf-32le", "mac-roman mac_roman macintosh": "macintosh",
		"iso8859-2 iso8859_2 latin2": "iso-8859-2", "win-1251 cp1251": "windows-1251", "koi8_r KOI8-R koi8r": "koi8-r",
		"shift-jis sjis shiftjis cp932": "shift_jis", "euc_kr euckr ks_c_5601-1987 cp949": "euc-kr", "GB2312 gbk cp936": "gbk",
		"cp850 CP-850 ibm850 IBM_850": "cp850", "ibm866 cp866": "ibm866", "tis-620 cp874": "windows-874", "ascii": "windows-1252",
	} {
		for name := range strings.FieldsSeq(names) {
			if c, err := encodingNamed(name); err != nil || c.name != want {
				t.Errorf("%s is %q (%v), want %s", name, c.name, err, want)
			}
		}
	}
	for _, name := range []string{"", "-", "cp", "win", "cp0", "utf", "klingon", "hz-gb-2312", "iso-2022-kr", "replacement"} {
		if c, err := encodingNamed(name); err == nil {
			t.Errorf("%s is %s", name, c.name)
		}
	}
	e := f.fails(t, "InvalidArguments", "read", `{"path":"le","encoding":"klingon"}`)
	contains(t, e.Message, `"klingon" is not a supported encoding`)
	contains(t, e.Suggestion, "utf-16le", "euc-kr")
}

func wideBytes(text string, order binary.AppendByteOrder) string {
	var out []byte
	for _, u := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, u)
	}
	return string(out)
}

func TestWideTexts(t *testing.T) {
	text := "line one\r\nsecond: 한글, ок, 🙂\n"
	var utf32le, utf32be []byte
	for _, r := range text {
		utf32le = binary.LittleEndian.AppendUint32(utf32le, uint32(r))
		utf32be = binary.BigEndian.AppendUint32(utf32be, uint32(r))
	}
	le, be := wideBytes(text, binary.LittleEndian), wideBytes(text, binary.BigEndian)
	tests := []struct{ name, content, encoding, note string }{
		{"utf-16le with a mark", "\xFF\xFE" + le, "utf-16le", "[decoded from utf-16le]"},
		{"utf-16be with a mark", "\xFE\xFF" + be, "utf-16be", "[decoded from utf-16be]"},
		{"utf-16le without", le, "utf-16le", "[decoded from utf-16le, by a guess;"},
		{"utf-16be without", be, "utf-16be", "[decoded from utf-16be, by a guess;"},
		{"utf-32le with a mark", "\xFF\xFE\x00\x00" + string(utf32le), "utf-32le", "[decoded from utf-32le]"},
		{"utf-32be with a mark", "\x00\x00\xFE\xFF" + string(utf32be), "utf-32be", "[decoded from utf-32be]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := start(t, "file", test.content)
			f.sees(t, `{"path":"file"}`, text, test.encoding, test.note, "1 of these 2 lines end with CRLF")
		})
	}
}

// Letters of many alphabets are two bytes below 0x80 each.
func TestWideAlphabetsWithoutAMark(t *testing.T) {
	for _, text := range []string{"Привет, мир! Это проверка.\n", "Αυτό είναι ένα κείμενο.\n", "هذا نص باللغة العربية.\n",
		"זהו טקסט בעברית, לא יותר.\n", "นี่คือข้อความภาษาไทย\nบรรทัดที่สอง\n", "यह एक परीक्षण है, बस।\n", "Zażółć gęślą jaźń.\n"} {
		for name, order := range map[string]binary.AppendByteOrder{"utf-16le": binary.LittleEndian,
			"utf-16be": binary.BigEndian} {
			start(t, "file", wideBytes(text, order)).sees(t, `{"path":"file"}`, text, name, "by a guess")
		}
	}
}

// Bytes with zeros are text only if all of them make sense as such.
func TestNotUTF16(t *testing.T) {
	for name, content := range map[string]string{
		"numbers of 16 bits": "\x01\x00\x02\x00\x03\x00\x04\x00",
		"numbers of 32 bits": "a\x00\x00\x00b\x00\x00\x00",
		"an odd zero":        "text with one zero\x00 in it, and no more of them anywhere",
		"half pairs":         "a\x00b\x00\x00\xD8c\x00",
		"one character":      "a\x00",
		"a list":             "key\x00value\x00other\x00thing\x00",
		"a line of a list":   "ab\x00cd\n",
		"a list of pairs":    strings.Repeat("xa\x00\x00", 20),
		"a few pairs":        "\x10\x04\x11\x04a\x00",
		"hardly any ASCII":   wideBytes(strings.Repeat("한", 20)+"a", binary.LittleEndian),
	} {
		if name := utf16Without([]byte(content)); name != "" {
			t.Errorf("%s: taken for %s", content, name)
		}
		f := start(t, "file", content)
		if e := f.RunIn(t, f.dir, "read", `{"path":"file"}`).Error; e == nil || e.Name != "BinaryFile" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// Whatever the bytes, what is read is UTF-8, and guessing twice gives the same.
func FuzzDecode(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(encoded(f, s.encoding, s.text)))
	}
	f.Add([]byte("\xFF\xFE\x00\x00"))
	f.Add([]byte(wideBytes("two\nlines", binary.BigEndian)))
	f.Fuzz(func(t *testing.T, content []byte) {
		text, name := decodeAll(t, content)
		again, same := decodeAll(t, content)
		if text != again || name != same {
			t.Fatalf("decoded from %s, then from %s", name, same)
		}
		if utf8.Valid(content) && name == utf8Coding.name && !strings.HasSuffix(string(content), text) {
			t.Fatalf("UTF-8 was changed to %q", text)
		}
		if name != utf8Coding.name && !utf8.ValidString(text) {
			t.Fatalf("decoded from %s as %q", name, text)
		}
	})
}

func decodeAll(t *testing.T, content []byte) (text, name string) {
	d, err := decode(strings.NewReader(string(content)), int64(len(content)), textEncoding{})
	check(t, err)
	var out strings.Builder
	_, err = d.in.WriteTo(&out)
	check(t, err)
	return out.String(), d.name
}
