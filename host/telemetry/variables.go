package telemetry

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/internal/textutil"
)

// The SDK takes a value that it does not know for none, with a line in a log of its own, or says nothing of where it
// stands. So what this program would use is checked before.

// checkVariables returns an error for the first variable of those in use that cannot be used.
func checkVariables(s config.Telemetry) error {
	if name := "OTEL_RESOURCE_ATTRIBUTES"; !hasPairs(name) {
		return fmt.Errorf("%s is %q; use pairs such as team=core,deployment.environment.name=test", name,
			strings.TrimSpace(os.Getenv(name)))
	}
	for _, c := range []struct {
		signal    string
		exporters []string
		check     func() error
	}{
		{"TRACES", []string{"otlp", "console", "none"}, checkTraces},
		{"METRICS", []string{"otlp", "prometheus", "console", "none"}, checkMetrics},
	} {
		if !byVariables(c.signal) && s.Endpoint == "" {
			continue
		}
		name := "OTEL_" + c.signal + "_EXPORTER"
		if err := oneOf(name, c.exporters...); err != nil {
			return err
		}
		exporter := os.Getenv(name)
		if exporter == "none" {
			continue
		}
		if exporter == "" || exporter == "otlp" {
			if err := checkExport(c.signal); err != nil {
				return err
			}
		}
		if err := c.check(); err != nil {
			return err
		}
	}
	return nil
}

// checkExport checks how a signal is exported over OTLP.
func checkExport(signal string) error {
	for _, of := range []string{"OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_" + signal + "_"} {
		var err error
		if byVariables(signal) { // else the block says both
			err = cmp.Or(oneOf(of+"PROTOCOL", "http/protobuf", "grpc"), endpoint(of+"ENDPOINT"))
		}
		if name := of + "HEADERS"; err == nil && !hasPairs(name) { // whose values are secrets
			err = fmt.Errorf("%s cannot be read; use pairs such as Authorization=Bearer%%20TOKEN,Other=x", name)
		}
		if err = cmp.Or(err, numbers(of+"TIMEOUT")); err != nil {
			return err
		}
	}
	return nil
}

func checkTraces() error {
	const sampler = "OTEL_TRACES_SAMPLER"
	err := cmp.Or(numbers("OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT", "OTEL_BSP_MAX_QUEUE_SIZE",
		"OTEL_BSP_MAX_EXPORT_BATCH_SIZE"), oneOf(sampler, "always_on", "always_off", "traceidratio",
		"parentbased_always_on", "parentbased_always_off", parentBasedRatio))
	if err == nil && strings.HasSuffix(folded(sampler), "traceidratio") {
		_, err = ratioArgument()
	}
	return err
}

// ratioArgument is the argument of the samplers by ratio, 1 where it is not set.
func ratioArgument() (float64, error) {
	const argument = "OTEL_TRACES_SAMPLER_ARG"
	text := strings.TrimSpace(os.Getenv(argument))
	if text == "" {
		return 1, nil
	}
	ratio, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(ratio) || ratio < 0 || ratio > 1 {
		return 0, fmt.Errorf("%s is %q; use a number from 0 to 1", argument, text)
	}
	return ratio, nil
}

func checkMetrics() error {
	if err := numbers("OTEL_METRIC_EXPORT_INTERVAL", "OTEL_METRIC_EXPORT_TIMEOUT"); err != nil {
		return err
	}
	for name, known := range map[string][]string{
		"OTEL_METRICS_EXEMPLAR_FILTER":                      {"trace_based", "always_on", "always_off"},
		"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": {"cumulative", "delta", "lowmemory"},
		"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION": {"explicit_bucket_histogram",
			"base2_exponential_bucket_histogram"},
	} {
		if err := oneOf(name, known...); err != nil {
			return err
		}
	}
	for producer := range strings.SplitSeq(os.Getenv("OTEL_METRICS_PRODUCERS"), ",") {
		if !slices.Contains([]string{"", "prometheus", "none"}, producer) {
			return fmt.Errorf("OTEL_METRICS_PRODUCERS has %q; use prometheus or none", producer)
		}
	}
	return nil
}

func folded(name string) string { return strings.ToLower(strings.TrimSpace(os.Getenv(name))) }

// oneOf checks a variable that names one of a few. The SDK reads exporters and protocols as they are written, and the
// rest in any case.
func oneOf(name string, known ...string) error {
	value := os.Getenv(name)
	if !strings.HasSuffix(name, "_EXPORTER") && !strings.HasSuffix(name, "_PROTOCOL") {
		value = folded(name)
	}
	if value == "" || slices.Contains(known, value) {
		return nil
	}
	return fmt.Errorf("%s is %q; use %s", name, os.Getenv(name), textutil.List(known, "or"))
}

// endpoint checks a variable that has the URL of a collector.
func endpoint(name string) error {
	text := strings.TrimSpace(os.Getenv(name))
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err == nil && (u.Scheme == "unix" || (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "") {
		return nil
	}
	return fmt.Errorf("%s is %q; use a URL such as http://localhost:4318", name, text)
}

// numbers checks variables that are counts, or times in milliseconds.
func numbers(names ...string) error {
	for _, name := range names {
		text := strings.TrimSpace(os.Getenv(name))
		if n, err := strconv.Atoi(text); text != "" && (err != nil || n < 0 || n > 1<<31-1) {
			return fmt.Errorf("%s is %q; use a whole number such as 5000, without a unit", name, text)
		}
	}
	return nil
}

// hasPairs reports whether a variable is empty or of the form KEY=VALUE,KEY=VALUE, with percent-encoded values.
func hasPairs(name string) bool {
	text := strings.TrimSpace(os.Getenv(name))
	if text == "" {
		return true
	}
	for pair := range strings.SplitSeq(text, ",") {
		key, value, found := strings.Cut(pair, "=")
		if _, err := url.PathUnescape(value); !found || strings.TrimSpace(key) == "" || err != nil {
			return false
		}
	}
	return true
}
