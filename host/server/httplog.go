package server

import (
	"log"
	"log/slog"
)

// logOf has net/http log what clients do wrong for debugging only.
func logOf(l *slog.Logger) *log.Logger { return slog.NewLogLogger(l.Handler(), slog.LevelDebug) }
