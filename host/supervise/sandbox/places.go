package sandbox

// A Place is a file or a folder that toolhost reads, runs or writes.
type Place struct {
	Path string // or ""
	Kind Kind
}

// A Kind says what becomes of a place.
type Kind int

// The kinds.
const (
	Found    Kind = iota // it may be there
	Reserved             // a file that may be there, and is not the plugin's to make
	Hollow               // a folder that may be there, and is not the plugin's to make
	Made                 // a folder that toolhost makes
	Private              // where plugins have sockets and temporary files, and so must write
	Unseen               // a file that toolhost writes, and plugins must not even see; it is made
)
