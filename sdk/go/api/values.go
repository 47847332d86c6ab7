package api

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Ptr returns a pointer to a value, for optional fields.
func Ptr[V any](value V) *V { return &value }

// Duration is a duration of the API: text such as 1h30m, or a number of milliseconds.
type Duration time.Duration

// String writes a duration as the server reads it.
func (d Duration) String() string {
	duration := time.Duration(d)
	if duration%time.Second == 0 {
		return strconv.FormatInt(int64(duration/time.Second), 10) + "s"
	}
	if duration%time.Millisecond == 0 {
		return strconv.FormatInt(duration.Milliseconds(), 10) + "ms"
	}
	return strconv.FormatInt(duration.Microseconds(), 10) + "us"
}

// MarshalJSON writes whole milliseconds as a number, and anything finer as text.
func (d Duration) MarshalJSON() ([]byte, error) {
	if d < 0 {
		return nil, fmt.Errorf("a duration must not be negative: %v", time.Duration(d))
	}
	if time.Duration(d)%time.Millisecond == 0 {
		return strconv.AppendInt(nil, time.Duration(d).Milliseconds(), 10), nil
	}
	return json.Marshal(d.String())
}

// UnmarshalJSON reads both forms.
func (d *Duration) UnmarshalJSON(text []byte) error {
	if milliseconds, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		*d = Duration(time.Duration(milliseconds) * time.Millisecond)
		return nil
	}
	var written string
	if err := json.Unmarshal(text, &written); err != nil {
		return err
	}
	parsed, err := ParseDuration(written)
	*d = Duration(parsed)
	return err
}

// ParseDuration reads a duration such as 7d or 1h30m.
func ParseDuration(text string) (time.Duration, error) {
	days := time.Duration(0)
	rest := text
	if number, after, ok := strings.Cut(text, "d"); ok {
		count, err := strconv.Atoi(number)
		if err != nil {
			return 0, fmt.Errorf("%q is not a duration such as 30s or 7d", text)
		}
		days, rest = time.Duration(count)*24*time.Hour, after
	}
	if rest == "" && text != "" {
		return days, nil
	}
	duration, err := time.ParseDuration(rest)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration such as 30s or 7d", text)
	}
	return days + duration, nil
}

// RetryPolicyInput is a retry policy: a [Preset], or [RetryPolicyFields] with any of its fields set.
type RetryPolicyInput interface{ retryPolicyInput() }

func (Preset) retryPolicyInput()            {}
func (RetryPolicyFields) retryPolicyInput() {}
