package steadfast

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"steadfast.example/steadfast/api"
)

const (
	backoffMin = 100 * time.Millisecond
	backoffMax = 5 * time.Second
)

// backoff is the delay between tries while the server is away: twice as long each time, with jitter
// so that the workers of a restarted server do not all come at once.
type backoff struct{ last time.Duration }

func (b *backoff) reset() { b.last = 0 }

// sleep waits before the next try, or until the context ends.
func (b *backoff) sleep(ctx context.Context, err error) {
	b.last = min(max(2*b.last, backoffMin), backoffMax)
	delay := b.last/2 + rand.N(b.last/2)
	var refused *api.Error
	if errors.As(err, &refused) {
		delay = max(delay, min(refused.RetryAfter, backoffMax))
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
