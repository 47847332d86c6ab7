package steadfasttest

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"steadfast.example/steadfast"
	"steadfast.example/steadfast/api"
)

// policy is a retry policy with everything that the request leaves out. The server decides in
// production. Jitter is left out, so that a test can say when an attempt comes.
type policy struct {
	Preset      api.Preset
	MaxRetries  *int
	MaxAttempts *int
	Backoff     api.Backoff
	BaseDelay   *api.Duration
	MaxDelay    *api.Duration
	MaxElapsed  *api.Duration
	Factor      *float64
	Delays      []api.Duration
	Rules       []rule
}

type rule struct {
	Match json.RawMessage
	Then  json.RawMessage
}

type ruleMatch struct {
	Class   json.RawMessage
	Status  json.RawMessage
	Message *string
}

const defaultFactor = 2

var presets = map[api.Preset]string{
	api.PresetHTTP:         `{"maxRetries": 3, "baseDelay": "1s", "maxDelay": "5m"}`,
	api.PresetQueue:        `{"maxRetries": 3, "baseDelay": "500ms", "maxDelay": "30s"}`,
	api.PresetPatient:      `{"maxRetries": 3, "baseDelay": "1m", "maxDelay": "1h"}`,
	api.PresetWebhook:      `{"maxRetries": 3, "backoff": "delays", "delays": ["30s", "60s", "120s"]}`,
	api.PresetConservative: `{"maxRetries": 5, "baseDelay": "1s", "maxDelay": "60s"}`,
	api.PresetAggressive:   `{"maxRetries": 2, "baseDelay": "100ms", "maxDelay": "5s"}`,
	api.PresetOnce:         `{"maxRetries": 0}`,
}

// newPolicy completes the policy of a request; a request without one gets the fallback.
func newPolicy(request api.CreateJobRequest, fallback policy) (policy, error) {
	result := fallback
	if request.Retry != nil {
		text, err := json.Marshal(request.Retry)
		if err != nil {
			return result, err
		}
		if text[0] == '"' {
			text = []byte(`{"preset": ` + string(text) + `}`)
		}
		given := policy{}
		if err := json.Unmarshal(text, &given); err != nil {
			return result, err
		}
		if given.Preset == "" {
			given.Preset = api.PresetQueue
		}
		result = policy{}
		if err := json.Unmarshal([]byte(presets[given.Preset]), &result); err != nil {
			return result, fmt.Errorf("there is no preset %q", given.Preset)
		}
		if err := json.Unmarshal(text, &result); err != nil {
			return result, err
		}
	}
	for _, attempts := range []*int{result.MaxAttempts, request.MaxAttempts} {
		if attempts != nil {
			result.MaxRetries = api.Ptr(*attempts - 1)
		}
	}
	for _, retries := range []*int{request.MaxRetryCount, request.MaxRetries} {
		if retries != nil {
			result.MaxRetries = retries
		}
	}
	return result, nil
}

// decide is the delay before the next attempt, or the reason why there is none.
func (p policy) decide(failure *steadfast.Failure, retries int, elapsed time.Duration) (time.Duration, api.EndReason) {
	then := p.matching(failure)
	switch {
	case string(then) == `"fail"`:
		return 0, api.EndReasonRule
	case then == nil && failure.IsPermanent():
		return 0, api.EndReasonNonRetryable
	case retries >= *p.MaxRetries:
		return 0, api.EndReasonExhausted
	case p.MaxElapsed != nil && elapsed > time.Duration(*p.MaxElapsed):
		return 0, api.EndReasonExpired
	}
	delay := p.delay(retries + 1)
	var given struct{ Retry *api.Duration }
	if json.Unmarshal(then, &given) == nil && given.Retry != nil {
		delay = time.Duration(*given.Retry)
	}
	return max(delay, failure.RetryAfter), ""
}

// matching is what the first rule for a failure says; nil if there is none.
func (p policy) matching(failure *steadfast.Failure) json.RawMessage {
	for _, one := range p.Rules {
		if string(one.Match) == `"any"` {
			return one.Then
		}
		var match ruleMatch
		if json.Unmarshal(one.Match, &match) == nil && match.fits(failure) {
			return one.Then
		}
	}
	return nil
}

func (m ruleMatch) fits(failure *steadfast.Failure) bool {
	return fitsOne(m.Class, func(class string) bool { return className(class) == className(failure.Class) }) &&
		fitsOne(m.Status, func(pattern string) bool { return fitsStatus(pattern, failure.HTTPStatus) }) &&
		(m.Message == nil || fitsMessage(*m.Message, failure.Message))
}

// fitsOne tells whether one of the values fits, which may be one or a list, of texts or numbers; no
// value fits all.
func fitsOne(values json.RawMessage, fits func(string) bool) bool {
	var list []any
	if values == nil {
		return true
	}
	if json.Unmarshal(values, &list) != nil {
		var one any
		if json.Unmarshal(values, &one) != nil {
			return false
		}
		list = []any{one}
	}
	for _, value := range list {
		if fits(fmt.Sprint(value)) {
			return true
		}
	}
	return len(list) == 0
}

func className(class string) string {
	switch class {
	case "ValidationError":
		return "validation"
	case "NotFoundError":
		return "not_found"
	case "UnauthorizedError":
		return "unauthorized"
	case "ForbiddenError":
		return "forbidden"
	case "SyntaxError":
		return "syntax"
	}
	return class
}

func fitsStatus(pattern string, status int) bool {
	if digit, ok := strings.CutSuffix(strings.ToLower(pattern), "xx"); ok {
		return strconv.Itoa(status/100) == digit
	}
	first, last, ok := strings.Cut(pattern, "-")
	if !ok {
		last = first
	}
	low, _ := strconv.Atoi(first)
	high, _ := strconv.Atoi(last)
	return status >= max(low, http.StatusContinue) && status <= high
}

func fitsMessage(pattern, message string) bool {
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("(?s)^" + strings.Join(parts, ".*") + "$").MatchString(message)
}

// delay before a retry, from 1.
func (p policy) delay(retry int) time.Duration {
	if p.Backoff == api.BackoffDelays {
		if len(p.Delays) == 0 {
			return 0
		}
		return p.capped(float64(p.Delays[min(retry, len(p.Delays))-1]))
	}
	base, times := 0.0, 1.0
	if p.BaseDelay != nil {
		base = float64(*p.BaseDelay)
	}
	switch p.Backoff {
	case api.BackoffLinear:
		times = float64(retry)
	case api.BackoffFibonacci:
		times = fibonacci(retry)
	case api.BackoffFixed:
	default:
		factor := float64(defaultFactor)
		if p.Factor != nil {
			factor = *p.Factor
		}
		times = math.Pow(factor, float64(retry-1))
	}
	return p.capped(base * times)
}

func (p policy) capped(nanoseconds float64) time.Duration {
	longest := float64(math.MaxInt64 / 2)
	if p.MaxDelay != nil {
		longest = float64(*p.MaxDelay)
	}
	return time.Duration(min(nanoseconds, longest))
}

func fibonacci(index int) float64 {
	current, next := 1.0, 1.0
	for range index - 1 {
		current, next = next, current+next
	}
	return current
}
