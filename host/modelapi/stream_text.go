package modelapi

import "unicode/utf8"

// readText takes a piece of the text.
func (a *Assembler) readText(chunk []byte) error {
	for _, b := range a.text.add(chunk) {
		a.closeBlock(b)
	}
	a.showBlock()
	return nil
}

func (a *Assembler) endText() {
	for _, b := range a.text.end() {
		a.closeBlock(b)
	}
	a.showBlock()
	b := a.text.block
	if b == nil {
		return
	}
	if name, _ := b.call(); name != "" { // which may stand behind what has been shown
		if b.draft.name.sum == "" {
			b.draft.add("", name, "")
		}
		b.draft.fail("TruncatedCall", "of %.100q is not complete, %s: the stream ended", name, unclosed)
	}
}

// closeBlock makes a call of a block. What was shown of it meanwhile is for people's eyes only.
func (a *Assembler) closeBlock(b *textBlock) {
	d := a.draftOf(b)
	if !d.isOpen() {
		return
	}
	name, arguments := b.call()
	d.name, d.pieces = toolName{}, pieces{}
	d.add("", name, string(arguments))
	d.texts = b.listed
	d.finish(a.known)
}

// showBlock brings the draft of the open block, if there is one, to where the text is.
func (a *Assembler) showBlock() {
	b := a.text.block
	if b == nil {
		return
	}
	d := a.draftOf(b)
	if !d.isOpen() {
		return
	}
	name, arguments := b.soFar()
	if d.name.sum == "" && name != "" {
		d.add("", name, "")
	}
	d.follow(arguments)
}

// draftOf is the draft of a block, which is errored if that has become too large.
func (a *Assembler) draftOf(b *textBlock) *draft {
	if b.draft == nil {
		b.draft = a.begin()
	}
	if b.over {
		b.draft.tooLarge()
	}
	return b.draft
}

// follow takes what is new in a text of arguments, up to the end of their object. Nothing in it is said twice.
func (d *draft) follow(text []byte) {
	sum := &d.pieces.sum
	for _, c := range wholeCharacters(text[min(len(sum.text), len(text)):]) {
		if sum.isClosed() || sum.over {
			break
		}
		sum.add(string([]byte{c}))
		d.changed = true
	}
	d.bound()
}

// wholeCharacters leaves out a character at the end that has only begun.
func wholeCharacters(text []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return text[:len(text)-n]
			}
			break
		}
	}
	return text
}
