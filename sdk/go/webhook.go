package steadfast

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"steadfast.example/steadfast/api"
)

const (
	webhookBytesMax = 1 << 20
	// How old or how far ahead a delivery may be, as Standard Webhooks recommends.
	webhookTolerance = 5 * time.Minute
	webhookPrefix    = "whsec_"
)

// Event is the content of a webhook delivery. ID is the same for every retry, so that a receiver can drop what
// it has seen.
type Event struct {
	ID        string          `json:"id"`
	Type      api.EventType   `json:"type"`
	Timestamp time.Time       `json:"timestamp"`
	Data      json.RawMessage `json:"data"`
}

// Job is the job that an event is about, without its payload.
func (e Event) Job() (*api.Job, error) {
	if !strings.HasPrefix(string(e.Type), "job.") {
		return nil, fmt.Errorf("an event of type %s is not about a job", e.Type)
	}
	job := new(api.Job)
	return job, json.Unmarshal(e.Data, job)
}

// NewWebhookHandler returns a handler that checks the signature of deliveries and passes on the
// events. If receive returns an error, the answer is 500 and the server delivers again. Secrets are
// those of the endpoint, whsec_…; there are several during a rotation.
func NewWebhookHandler(receive func(ctx context.Context, event Event) error, secrets ...string) (http.Handler, error) {
	h := &webhookHandler{receive: receive, now: time.Now}
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, webhookPrefix))
		if err != nil || !strings.HasPrefix(secret, webhookPrefix) || len(key) == 0 {
			return nil, errors.New("a webhook secret must be whsec_ followed by base64")
		}
		h.keys = append(h.keys, key)
	}
	if len(h.keys) == 0 {
		return nil, errors.New("a webhook handler needs a secret")
	}
	return h, nil
}

type webhookHandler struct {
	receive func(ctx context.Context, event Event) error
	keys    [][]byte
	now     func() time.Time
}

func (h *webhookHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "a webhook is a POST", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, webhookBytesMax))
	if err != nil {
		http.Error(w, "the body could not be read", http.StatusBadRequest)
		return
	}
	if err := h.verify(r.Header, body); err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	var event Event
	if err := json.Unmarshal(body, &event); err != nil {
		http.Error(w, "the body is not an event", http.StatusBadRequest)
		return
	}
	if err := h.receive(r.Context(), event); err != nil {
		slog.WarnContext(r.Context(), "webhook not received", "event", event.ID, "type", event.Type, "error", err)
		http.Error(w, "the event could not be handled", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// verify checks that one of the keys has signed exactly this, a short time ago.
func (h *webhookHandler) verify(header http.Header, body []byte) error {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || id == "" {
		return errors.New("the delivery is not signed")
	}
	if age := h.now().Sub(time.Unix(seconds, 0)); age.Abs() > webhookTolerance {
		return errors.New("the delivery is too old, or a clock is wrong")
	}
	for _, key := range h.keys {
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.", id, timestamp)
		mac.Write(body)
		expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		for _, signature := range strings.Fields(header.Get("webhook-signature")) {
			if hmac.Equal([]byte(signature), []byte(expected)) {
				return nil
			}
		}
	}
	return errors.New("no signature matches")
}
