package mcpserver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host"
)

// stateTime is how long a client may take to answer the questions of a tool.
const stateTime = time.Hour

// A state is the requestState that a client sends back with its answers. The client can read it, and cannot change it.
type state struct {
	Identity   string    `json:"i,omitempty"`
	Tool       string    `json:"t"`           // its full name
	Definition string    `json:"d"`           // the hash of it
	Arguments  string    `json:"a"`           // the hash of their exact bytes
	Preview    string    `json:"p,omitempty"` // the hash of what a person was shown
	Decision   string    `json:"e,omitempty"` // the hash of the decision that asks
	AnyPreview bool      `json:"v,omitempty"` // that person knows that the preview changes
	Approved   bool      `json:"y,omitempty"` // a person has approved the call
	Asks       bool      `json:"q,omitempty"` // the questions are whether to approve it
	Upstream   string    `json:"u,omitempty"` // the state of the tool's own questions
	Nonce      string    `json:"n"`
	Expires    time.Time `json:"x"`
}

// A seal makes states that only a server with the same key accepts, for one identity.
type seal struct {
	identity string
	key      []byte

	mu   sync.Mutex
	used map[string]time.Time // nonces of approvals that a call has run by, until they expire
}

func newSeal(key []byte, identity string) *seal {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte("toolhost mcp\x00" + identity))
	return &seal{identity: identity, key: mac.Sum(nil), used: map[string]time.Time{}}
}

func (s *seal) mac(kind, text string) []byte {
	mac := hmac.New(sha256.New, s.key)
	_, _ = mac.Write([]byte(kind + "\x00" + text))
	return mac.Sum(nil)
}

func (s *seal) close(st state) string {
	st.Identity = s.identity
	raw, _ := json.Marshal(st) // a struct of plain fields
	text := base64.RawURLEncoding.EncodeToString(raw)
	return text + "." + base64.RawURLEncoding.EncodeToString(s.mac("state", text))
}

// open returns the state in what a client sent, if it is one for this call.
func (s *seal) open(sent, tool, definition string, arguments []byte) (*state, error) {
	text, mac, _ := strings.Cut(sent, ".")
	given, err := base64.RawURLEncoding.DecodeString(mac)
	if err != nil || !hmac.Equal(given, s.mac("state", text)) {
		return nil, badParams("requestState is not what this server gave: make the call again without it")
	}
	var st state
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &st)
	}
	switch {
	case err != nil || st.Identity != s.identity:
		return nil, badParams("requestState is not what this server gave: make the call again without it")
	case time.Now().After(st.Expires):
		return nil, badParams("requestState has expired: make the call again without it")
	case st.Tool != tool || st.Arguments != hashOf(arguments):
		return nil, badParams("requestState belongs to a call of another tool or with other arguments: make the call " +
			"again without it")
	case st.Definition != definition:
		return nil, badParams("the definition of %s has changed since the question: make the call again without "+
			"requestState", tool)
	}
	return &st, nil
}

// use reports whether an approval is used for the first time.
func (s *seal) use(st *state) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for nonce, expires := range s.used {
		if now.After(expires) {
			delete(s.used, nonce)
		}
	}
	if _, before := s.used[st.Nonce]; before {
		return false
	}
	s.used[st.Nonce] = st.Expires
	return true
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// definitionHash identifies the definition of a tool.
func definitionHash(t *host.Tool) string {
	_, hash := host.Definition(t.Tool)
	return hash
}
