package sdk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/wire"
)

// run calls the tool's handler and converts whatever it returns to a result.
func (p *Plugin) run(ctx context.Context, r *Request) *Result {
	e := p.tool(r.Tool)
	if e == nil {
		return failed(&Error{Code: CodeToolNotFound, Name: "ToolNotFound", Suggestion: "List the tools again.",
			Message: fmt.Sprintf("plugin %q has no tool %q; nothing was run", p.name, r.Tool)})
	}
	result, failure := guard(r, "the tool "+r.Tool, func() (*Result, error) {
		result, err := e.handle(ctx, r)
		return result, stopped(ctx, err)
	})
	failure = withMessage(failure, r.Tool)
	switch {
	case result == nil && failure == nil:
		message, suggestion := wire.NoResult(r.Tool)
		return failed(&Error{Name: "NoResult", Outcome: OutcomeUnknown, Message: message, Suggestion: suggestion})
	case result == nil:
		return failed(failure)
	case failure != nil:
		result = new(*result) // the handler may keep a reference to the one it returned
		result.Error = failure
	}
	if result.Error != nil && result.Error.Message == "" {
		result = new(*result)
		result.Error = withMessage(result.Error, r.Tool)
	}
	if e.OutputSchema != nil && result.Error == nil && result.Structured == nil && result.InputRequired == nil &&
		r.Events != nil {
		r.Logger().Warn("the tool " + r.Tool + " has an output schema, but its result has nothing in Structured; return " +
			"sdk.JSON(value), or declare no OutputSchema")
	}
	return result
}

// stopped says of a handler that returns only that its context has ended that it is not known what it has done.
func stopped(ctx context.Context, err error) error {
	if _, own := errors.AsType[*Error](err); own || ctx.Err() == nil ||
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	e := plainError(err)
	e.Outcome = OutcomeUnknown
	return e
}

// withMessage adds a message to a failure without one.
func withMessage(failure *Error, tool string) *Error {
	if failure == nil || failure.Message != "" {
		return failure
	}
	failure = new(*failure)
	failure.Message = fmt.Sprintf("the tool %s failed with %s and no message", tool,
		cmp.Or(failure.Name, "an error without a name"))
	failure.Suggestion = cmp.Or(failure.Suggestion, "This is a bug in the plugin: its error needs a text.")
	return failure
}

// guard converts the error of f, or its panic, whose stack it logs.
func guard[T any](r *Request, who string, f func() (T, error)) (out T, failure *Error) {
	defer func() {
		if cause := recover(); cause != nil {
			log := r.Logger()
			if r.Events == nil {
				log = slog.Default()
			}
			log.Error(who+" panicked", "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
			failure = &Error{Name: "Panic", Message: fmt.Sprintf("%s panicked: %v%s", who, cause, panicPlace()),
				Suggestion: "This is a bug in the plugin; other arguments may avoid it."}
		}
	}()
	out, err := f()
	return out, asError(err)
}

// panicPlace returns where the panic is that a deferred function recovers, such as " (main.go:12)": the innermost line
// that is neither of the standard library nor of the sdk, as the author wrote it.
func panicPlace() string {
	stack := make([]uintptr, 64)
	frames := runtime.CallersFrames(stack[:runtime.Callers(3, stack)])
	for {
		f, more := frames.Next()
		first, _, inFolder := strings.Cut(f.Function, "/")
		onHost := inFolder && strings.Contains(first, ".")
		if (onHost || strings.HasPrefix(f.Function, "main.")) && !isSDK(f.Function) {
			return fmt.Sprintf(" (%s:%d)", filepath.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}

// isSDK reports whether a function is of this package, or of one below it.
func isSDK(function string) bool {
	below, is := strings.CutPrefix(function, reflect.TypeFor[Plugin]().PkgPath())
	return is && (below[0] == '.' || below[0] == '/')
}

// A jsonDecoder is a decoder that is used again: its buffers are half of what it costs to decode a small call.
type jsonDecoder struct {
	*json.Decoder
	in bytes.Reader
}

var decoders = sync.Pool{New: func() any {
	d := &jsonDecoder{}
	d.Decoder = json.NewDecoder(&d.in)
	d.DisallowUnknownFields()
	return d
}}

const maxDecoderInput = 4 << 10 // bytes of what is decoded with one that is kept, with its buffer

// decode decodes a JSON object into a Go value, and refuses unknown keys.
func decode[T any](raw json.RawMessage, complaint string) (T, error) {
	var out T
	err := decodeInto(raw, &out, complaint)
	return out, err
}

// decodeInto is decode without the type parameter, so that it is compiled once and not for each type.
func decodeInto(raw json.RawMessage, out any, complaint string) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	d := decoders.Get().(*jsonDecoder)
	d.in.Reset(raw)
	before := d.InputOffset()
	err := d.Decode(out)
	rest := d.InputOffset() - before
	asWritten := err == nil
	err = decodeRewritten(raw, out, err)
	if err == nil && len(bytes.TrimSpace(raw[rest:])) > 0 {
		err = errors.New("there is more behind the JSON object")
	}
	if err != nil {
		e := &Error{Code: CodeInvalidArgs, Name: "InvalidArguments", Message: complaint + ": " + err.Error()}
		if m, ok := errors.AsType[*decodeError](err); ok {
			e.Suggestion = m.suggestion()
		}
		return e
	}
	if asWritten && int(rest) == len(raw) && len(raw) <= maxDecoderInput {
		d.in.Reset(nil)
		decoders.Put(d) // it has read all
	}
	return nil
}

// maxRewritten bounds what is decoded again because of numbers that are written with a fraction or an exponent, in
// bytes.
const maxRewritten = 16 << 20

// maxDigits is how many digits an integer has at most.
const maxDigits = 20

// decodeRewritten decodes again what failed with err because a whole number has a form that Go does not read as one:
// 1.0 and 1e2 are integers of JSON Schema. Only these numbers are rewritten, and only where the Go type is an integer.
func decodeRewritten(raw []byte, out any, err error) error {
	for budget := maxRewritten; err != nil && budget > 0; budget -= len(raw) {
		wrong, ok := err.(*json.UnmarshalTypeError) //nolint:errorlint // a wrapped one has an offset in another text
		if !ok {
			break
		}
		number, isNumber := strings.CutPrefix(wrong.Value, "number ")
		end := int(wrong.Offset)
		digits, whole := wholeNumber(number)
		if !isNumber || !whole || digits == number || !isInteger(wrong.Type) || end > len(raw) ||
			!bytes.HasSuffix(raw[:end], []byte(number)) {
			break
		}
		raw = bytes.Join([][]byte{raw[:end-len(number)], raw[end:]}, []byte(digits))
		reflect.ValueOf(out).Elem().SetZero()
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		err = d.Decode(out)
	}
	return explained(raw, out, err)
}

// wholeNumber writes a number without fraction and exponent. It is not ok when the number is not whole, or has more
// digits than any integer type holds.
func wholeNumber(number string) (digits string, ok bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	by, err := strconv.Atoi(cmp.Or(exponent, "0"))
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	head, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(head+fraction, "0")
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return "0", true
	}
	by += len(digits) - len(short) - len(fraction)
	if err != nil || by < 0 || by > maxDigits || len(short)+by > maxDigits {
		return "", false
	}
	return sign + short + strings.Repeat("0", by), true
}

func isInteger(t reflect.Type) bool { return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uintptr }
