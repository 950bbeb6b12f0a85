package config

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// insideFunction is inside(PATH, FOLDER), by the letters of both: relative ones start in the work folder, and links are
// not followed. A path that is null is inside of nothing.
func insideFunction(workdir string) function.Function {
	params := []function.Parameter{{Name: "path", Type: cty.String, AllowNull: true, AllowUnknown: true}, {Name: "folder", Type: cty.String}}
	return function.New(&function.Spec{
		Params: params,
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if args[0].IsNull() {
				return cty.False, nil
			}
			if !args[0].IsKnown() && prefixOf(args[0]) == "" {
				return cty.UnknownVal(cty.Bool), nil
			}
			folder, err := placeOf(args[1].AsString(), workdir)
			if err != nil {
				return cty.UnknownVal(cty.Bool), function.NewArgError(1, err)
			}
			if !args[0].IsKnown() {
				return insideUnknown(prefixOf(args[0]), folder, workdir), nil
			}
			path, err := placeOf(args[0].AsString(), workdir)
			if err != nil {
				return cty.UnknownVal(cty.Bool), function.NewArgError(0, err)
			}
			return cty.BoolVal(within(path, folder)), nil
		},
	})
}

// insideUnknown is for a path of which only the beginning is known: a folder with a slash at its end.
func insideUnknown(prefix, folder, workdir string) cty.Value {
	known, err := placeOf(prefix, workdir)
	switch {
	case err != nil || !strings.HasSuffix(prefix, "/"):
		return cty.UnknownVal(cty.Bool)
	case within(known, folder):
		return cty.True
	case within(folder, known):
		return cty.UnknownVal(cty.Bool)
	}
	return cty.False
}

func placeOf(path, workdir string) (string, error) {
	switch {
	case path == "":
		return "", errors.New("it is empty")
	case strings.ContainsRune(path, 0):
		return "", errors.New("it has a NUL character")
	case filepath.IsAbs(path):
		return filepath.Clean(path), nil
	case workdir == "":
		return "", errors.New("it is relative, and the call has no work folder")
	}
	return filepath.Join(workdir, path), nil
}

func within(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
