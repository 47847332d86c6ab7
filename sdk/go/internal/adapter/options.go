package main

import (
	"encoding/json"
	"fmt"
	"time"

	"steadfast.example/steadfast"
	"steadfast.example/steadfast/api"
)

// options are those of the library, by their names in the API.
var options = map[string]func(text json.RawMessage) (steadfast.EnqueueOption, error){
	"after": func(text json.RawMessage) (steadfast.EnqueueOption, error) {
		ids, err := read[[]string](text)
		return steadfast.After(ids...), err
	},
	"batch":                 one(steadfast.Batch),
	"concurrencyKey":        one(steadfast.ConcurrencyKey),
	"confirm":               one(steadfast.Confirm),
	"debounce":              duration(steadfast.Debounce),
	"debounceMax":           duration(steadfast.DebounceMax),
	"delay":                 duration(steadfast.Delay),
	"destination":           one(steadfast.Destination),
	"idempotencyKey":        one(steadfast.IdempotencyKey),
	"jobName":               one(steadfast.JobName),
	"lease":                 duration(steadfast.Lease),
	"maxAttempts":           one(steadfast.MaxAttempts),
	"maxRetries":            one(steadfast.MaxRetries),
	"maxRetryCount":         one(steadfast.MaxRetryCount),
	"onExpiry":              one(steadfast.OnExpiry),
	"onFailure":             one(steadfast.OnFailure),
	"priority":              one(steadfast.Priority),
	"queue":                 one(steadfast.Queue),
	"retry":                 one(func(policy api.RetryPolicyFields) steadfast.EnqueueOption { return steadfast.Retry(policy) }),
	"retryDelay":            duration(steadfast.RetryDelay),
	"runAt":                 one(steadfast.RunAt),
	"startBefore":           duration(steadfast.StartWithin),
	"tags":                  one(steadfast.Tags),
	"tenant":                one(steadfast.Tenant),
	"timeout":               duration(steadfast.Timeout),
	"traceparent":           one(steadfast.Traceparent),
	"type":                  one(steadfast.Type),
	"unique":                one(steadfast.Unique),
	"useExponentialBackoff": one(steadfast.UseExponentialBackoff),
	"webhook":               one(steadfast.Webhook),
}

func optionOf(name string, value json.RawMessage) (steadfast.EnqueueOption, error) {
	option, ok := options[name]
	if !ok {
		return nil, fmt.Errorf("the library has no option %s", name)
	}
	return option(value)
}

func one[V any](option func(V) steadfast.EnqueueOption) func(json.RawMessage) (steadfast.EnqueueOption, error) {
	return func(text json.RawMessage) (steadfast.EnqueueOption, error) {
		value, err := read[V](text)
		return option(value), err
	}
}

func duration(option func(time.Duration) steadfast.EnqueueOption) func(json.RawMessage) (steadfast.EnqueueOption, error) {
	return one(func(value api.Duration) steadfast.EnqueueOption { return option(time.Duration(value)) })
}

func read[V any](text json.RawMessage) (V, error) {
	var value V
	err := json.Unmarshal(text, &value)
	return value, err
}
