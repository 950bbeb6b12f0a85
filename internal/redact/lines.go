package redact

import "bytes"

// maxBlock is how many lines a private key may have: an end that never comes must not hide everything after it.
const maxBlock = 400

// Blocks follows private keys through a text that comes line by line. Its zero value is at the text's beginning.
type Blocks struct {
	left int // lines that may still belong to the key that has begun
}

// Inside says whether the line goes on with a private key that began in a line before, up to the line that ends it.
// Such a line is secret as a whole. The line in which a key begins is not one of them: Text redacts it.
func (b *Blocks) Inside(line []byte) bool {
	if b.left > 0 {
		b.left--
		if ends(line) {
			b.left = 0
		}
		return true
	}
	if begins := keyBegins(line); begins >= 0 && !ends(line[begins:]) {
		b.left = maxBlock
	}
	return false
}

// Quiet says that no line of the text begins or goes on with a private key. It costs less than asking for each line.
func (b *Blocks) Quiet(text []byte) bool {
	return b.left == 0 && !bytes.Contains(text, []byte("PRIVATE KEY")) && !bytes.Contains(text, []byte("Private-Lines:"))
}

// keyBegins is where the first line of a key that goes on has its marker, or -1.
func keyBegins(line []byte) int {
	if i := bytes.Index(line, []byte("Private-Lines:")); i >= 0 {
		return i
	}
	if i := bytes.Index(line, []byte("BEGIN ")); i >= 0 && bytes.Contains(line[i:], []byte("PRIVATE KEY")) {
		return i
	}
	return -1
}

func ends(line []byte) bool {
	i := bytes.Index(line, []byte("END "))
	return i >= 0 && bytes.Contains(line[i:], []byte("PRIVATE KEY")) || bytes.Contains(line, []byte("Private-MAC"))
}
