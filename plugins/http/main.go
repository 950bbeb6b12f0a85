// Command toolhost-plugin-http is a plugin with the tools get and post, which fetch a URL and send to one, and with the
// tools that its configuration declares, each of which is a URL that arguments are posted to. It reaches public
// addresses only, unless the operator allows others.
package main

import "github.com/toolhost/toolhost/sdk"

func main() { sdk.Serve(newWeb().plugin()) }
