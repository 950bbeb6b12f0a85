package workspace

import "testing"

func TestEtag(t *testing.T) {
	for data, want := range map[string]string{"": "e3b0c44298fc", "abc": "ba7816bf8f01", "abc\n": "edeaaff3f177",
		"\xEF\xBB\xBFabc": "1c28dc3f1f80"} {
		if got := Etag([]byte(data)); got != want {
			t.Errorf("the etag of %q is %s, want %s", data, got, want)
		}
	}
}
