package steadfast

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// The published example of Standard Webhooks.
const (
	exampleSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	exampleID        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	exampleTimestamp = "1614265330"
	exampleBody      = `{"test": 2432232314}`
	exampleSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

func TestDeliveriesAreCheckedBeforeTheyAreReceived(t *testing.T) {
	at := time.Unix(1614265330, 0)
	for name, c := range map[string]struct {
		secret, body, signature string
		now                     time.Time
		receive                 error
		status                  int
	}{
		"signed":           {exampleSecret, exampleBody, exampleSignature, at, nil, 204},
		"one of two":       {exampleSecret, exampleBody, "v1,AAAA " + exampleSignature, at, nil, 204},
		"other body":       {exampleSecret, exampleBody + " ", exampleSignature, at, nil, 401},
		"other secret":     {"whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", exampleBody, exampleSignature, at, nil, 401},
		"no signature":     {exampleSecret, exampleBody, "", at, nil, 401},
		"too old":          {exampleSecret, exampleBody, exampleSignature, at.Add(6 * time.Minute), nil, 401},
		"from the future":  {exampleSecret, exampleBody, exampleSignature, at.Add(-6 * time.Minute), nil, 401},
		"receiver's error": {exampleSecret, exampleBody, exampleSignature, at, errors.New("no"), 500},
		"large":            {exampleSecret, strings.Repeat(" ", webhookBytesMax+1), exampleSignature, at, nil, 400},
	} {
		t.Run(name, func(t *testing.T) {
			received := 0
			made, err := NewWebhookHandler(func(context.Context, Event) error { received++; return c.receive }, c.secret)
			if err != nil {
				t.Fatal(err)
			}
			made.(*webhookHandler).now = func() time.Time { return c.now }
			request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(c.body))
			request.Header.Set("webhook-id", exampleID)
			request.Header.Set("webhook-timestamp", exampleTimestamp)
			request.Header.Set("webhook-signature", c.signature)
			recorder := httptest.NewRecorder()
			made.ServeHTTP(recorder, request)
			if recorder.Code != c.status || (received == 1) != (c.status == 204 || c.status == 500) {
				t.Errorf("status %d, received %d times", recorder.Code, received)
			}
		})
	}
}

func TestAWebhookHandlerNeedsASecret(t *testing.T) {
	for _, secrets := range [][]string{nil, {""}, {"whsec_"}, {"whsec_*"}, {"C2FVsBQIhrscChlQIMV+b5sSYspob7oD"}} {
		if _, err := NewWebhookHandler(nil, secrets...); err == nil {
			t.Errorf("%q was accepted", secrets)
		}
	}
}
