//go:build !unix

package sdk

import "os"

func exit(code int) { os.Exit(code) }
