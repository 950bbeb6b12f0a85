package main

import (
	"fmt"

	"github.com/toolhost/toolhost/sdk"
)

// config is what the operator may set.
type config struct {
	AllowPrivate    []string   `json:"allow_private,omitempty" jsonschema:"Addresses and hosts that may be used though they are not public: an address, a block such as 10.0.0.0/8, or a host; address and host with a port or for all ports. *.example.org is every host below example.org."`
	Hosts           []string   `json:"hosts,omitempty" jsonschema:"Hosts that get may read from without asking, such as go.dev or *.golang.org; * is every host."`
	DenyHosts       []string   `json:"deny_hosts,omitempty" jsonschema:"Hosts that nothing is sent to, also not after a redirect."`
	CredentialHosts []string   `json:"credential_hosts,omitempty" jsonschema:"Hosts that calls may send headers with credentials to: Authorization and Cookie, names with words such as Token or Secret or that end with Key, and values that begin with Bearer or Basic."`
	Tool            toolBlocks `json:"tool,omitempty" jsonschema:"A block for each tool of the operator's own, labelled with its name: url, description, schema, headers, timeout_seconds, read_only."`
}

// settings are a checked config.
type settings struct {
	client      *client
	allow       []allowance
	hosts, deny patterns
	credentials patterns
}

func (c *config) settings(s seam) (*settings, error) {
	out := &settings{}
	var err error
	if out.allow, err = each("allow_private", c.AllowPrivate, parseAllowance); err != nil {
		return nil, err
	}
	for _, list := range []struct {
		key   string
		texts []string
		into  *patterns
	}{{"hosts", c.Hosts, &out.hosts}, {"deny_hosts", c.DenyHosts, &out.deny}, {"credential_hosts", c.CredentialHosts, &out.credentials}} {
		if *list.into, err = each(list.key, list.texts, parsePattern); err != nil {
			return nil, err
		}
	}
	out.client = newClient(guard{allow: out.allow, deny: out.deny}, s)
	return out, nil
}

func each[T any](key string, texts []string, parse func(string) (T, error)) ([]T, error) {
	out := make([]T, 0, len(texts))
	for _, text := range texts {
		one, err := parse(text)
		if err != nil {
			return nil, invalidConfig("%s: %q: %v", key, text, err)
		}
		out = append(out, one)
	}
	return out, nil
}

func invalidConfig(format string, a ...any) error {
	return &sdk.Error{Name: "InvalidConfig", Message: fmt.Sprintf(format, a...)}
}
