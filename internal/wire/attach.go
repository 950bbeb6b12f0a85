package wire

// EnvAttach makes a plugin that was started by hand, such as under a debugger, wait for hosts that join it: "1", or the
// path of the file for its Attachment.
const EnvAttach = "TOOLHOST_ATTACH"

// AttachVersion is the version of an Attachment.
const AttachVersion = 1

// MaxAttachment is the limit, in bytes, of a file with an Attachment.
const MaxAttachment = 4 << 10

// An Attachment is how a host joins a plugin that it has not started. The plugin writes it as JSON to a file that only
// its user can read.
type Attachment struct {
	Version  int    `json:"version"`
	Plugin   string `json:"plugin"`            // the name that the plugin gives itself
	Protocol uint   `json:"protocol"`          // of the handshake
	PID      int    `json:"pid"`               // of the process that listens
	Socket   string `json:"socket"`            // its absolute path, in a folder that only the user can access, or a port
	Network  string `json:"network,omitempty"` // "tcp" where Socket is a port of the machine itself, such as 127.0.0.1:4000
	Token    string `json:"token"`             // that the host sends with each request
}
