//go:build !unix

package main

import "context"

// signals waits for ctx: on this system no signal asks for anything but the end.
func (*program) signals(ctx context.Context) { <-ctx.Done() }
