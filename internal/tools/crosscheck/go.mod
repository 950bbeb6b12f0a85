// A module of its own: nothing else needs the analyses of Go's own tools.
module github.com/toolhost/toolhost/internal/tools/crosscheck

go 1.26.5

require golang.org/x/tools v0.52.0

require (
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
)
