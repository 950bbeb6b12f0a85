package charsetdetect

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding/htmlindex"
)

// texts are comments as programs have them, in the encodings that their authors may have saved them in.
var texts = []struct {
	text      string
	encodings string // the first is reported for all that give the same text
}{
	{"Größe des Puffers ändern; für später", "windows-1252"},
	{"vérifie les paramètres reçus où c'est nécessaire", "windows-1252"},
	{"configuración de la contraseña, después del año", "windows-1252"},
	{"configuração não encontrada, está à espera", "windows-1252"},
	{"è già così; perché non può più", "windows-1252"},
	{"ställ in värdet på nästa rad, även här", "windows-1252"},
	{"størrelse på løsningen, også når æ brukes", "windows-1252"},
	{"þetta er ekki rétt, það verður að bíða", "windows-1252"},
	{"sprawdź, czy wartość została już zmieniona; żółć", "windows-1250 iso-8859-2"},
	{"příliš žluťoučký kůň úpěl ďábelské ódy", "windows-1250 iso-8859-2"},
	{"nájdi ďalšiu položku, ktorá ešte nie je uložená; vôľa, ľahký, kôň", "windows-1250 iso-8859-2"},
	{"a következő értéket őrzi meg; működő szűrő", "windows-1250 iso-8859-2"},
	{"provjeri je li već učitano, zatim sačuvaj; greška i tođer žarište", "windows-1250 iso-8859-2"},
	{"değerleri yükle, sonra işlemi bitir; çok açık", "windows-1254"},
	{"pārbauda, vai vērtība jau ir mainīta; šķēršļi un ņemt", "windows-1257"},
	{"patikrina, ar reikšmė jau pakeista; žinių sąrašas, įrašyti ąžuolų", "windows-1257"},
	{"проверить, не изменилось ли значение", "windows-1251 koi8-r koi8-u iso-8859-5 ibm866 x-mac-cyrillic"},
	{"перевірити, чи не змінилося значення; її об'єкт", "windows-1251 koi8-u iso-8859-5"},
	{"проверява дали стойността е променена", "windows-1251 koi8-r iso-8859-5"},
	{"НАСТРОЙКИ ПРОГРАММЫ И ПАРАМЕТРЫ", "windows-1251 ibm866"},
	{"Άλλη τιμή: ελέγξτε πρώτα τις ρυθμίσεις", "iso-8859-7 windows-1253"},
	{"ελέγξτε αν η τιμή έχει αλλάξει ήδη", "iso-8859-7 windows-1253"},
	{"בדוק אם הערך כבר השתנה לפני השמירה", "windows-1255"},
	{"تحقق من أن القيمة قد تغيرت قبل الحفظ", "windows-1256 iso-8859-6"},
	{"ตรวจสอบว่าค่าถูกเปลี่ยนแล้วหรือไม่", "windows-874"},
	{"LÓGICA DE CONEXIÓN Y SESIÓN ESPAÑOLA", "windows-1252"},
	{"שלום עולם בדיקה", "windows-1255"},
	{"値が変更されたかどうかを確認する", "shift_jis euc-jp"},
	{"日曜日 月曜日 火曜日", "shift_jis"},
	{"检查该值是否已经改变", "gb18030 gbk"},
	{"檢查該值是否已經改變，再儲存設定", "big5"},
	{"값이 이미 바뀌었는지 확인한다", "euc-kr"},
}

func TestDetect(t *testing.T) {
	code := strings.Repeat("if (count > limit) { return error; } /* see the other file */\n", 50)
	for _, c := range texts {
		for name := range strings.FieldsSeq(c.encodings) {
			enc, err := htmlindex.Get(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, whole := range []string{c.text, code + "x = 1; // " + c.text + "\n" + code, `<p class="a">` + c.text + "</p>"} {
				written, err := enc.NewEncoder().String(whole)
				if err != nil {
					t.Fatalf("%s, %s: %v", c.text, name, err)
				}
				got := Detect([]byte(written))
				if read := decode([]byte(written), got); read != whole {
					t.Errorf("%s in %s: %q, which reads %.60q", c.text, name, got, strings.TrimSpace(read))
				}
			}
		}
	}
}

// What is too little, or no language, is not guessed.
func TestNothingToDetect(t *testing.T) {
	for _, text := range []string{"", "plain", "caf\xE9", "gr\xFCn", "12 \xB0C", "\x80\x81\x82\x83\x84\x85\x86\x87",
		"20\xB0C 30\xB0C 5\xB5m 6\xB5m 7\xB5s", "\xC9\xCD\xCD\xCD\xCD\xBB\n\xBA ab \xBA\n\xC8\xCD\xCD\xCD\xCD\xBC",
		"\xFF\xFE\xFD\xFC\xFB\xFA\xF9\xF8", strings.Repeat("\xA9 \xAE ", 20)} {
		if name := Detect([]byte(text)); name != "" {
			t.Errorf("%q: %s", text, name)
		}
	}
}

func FuzzDetect(f *testing.F) {
	f.Add([]byte("gr\xFC\xDFe"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if name := Detect(text); name != "" && decode(text, name) == "" {
			t.Errorf("%q: %s", text, name)
		}
	})
}
