package steadfast

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestSlotsAreClaimedInGroups(t *testing.T) {
	s := &slots{total: 8, running: 8, freed: make(chan struct{}, 1), isBlocked: func() bool { return false }}
	got := make(chan int, 1)
	go func() { got <- s.wait(context.Background()) }()
	s.giveBack()
	s.giveBack()
	if count := <-got; count < 1 || count > 2 {
		t.Errorf("%d slots", count)
	}
	// one slot alone is not left unused
	s.running = 7
	if count := s.wait(context.Background()); count != 1 {
		t.Errorf("%d slots", count)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.running = 8
	cancel()
	if count := s.wait(ctx); count != 0 {
		t.Errorf("%d slots after the end", count)
	}
}

func TestNothingIsClaimedWhileTooManyOutcomesWait(t *testing.T) {
	blocked := true
	s := &slots{total: 8, freed: make(chan struct{}, 1)}
	asked := make(chan struct{}, 100)
	s.isBlocked = func() bool { asked <- struct{}{}; return blocked }
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan int, 1)
	go func() { got <- s.wait(ctx) }()
	<-asked
	<-asked
	cancel()
	if count := <-got; count != 0 {
		t.Errorf("%d slots", count)
	}
}

func TestAServerThatRefusesTheWorkerEndsIt(t *testing.T) {
	client := fakeServer(t, func([]byte) (int, any) {
		return 401, map[string]any{"code": "unauthorized", "detail": "an API key is needed"}
	})
	handlers := NewHandlers()
	Handle(handlers, func(context.Context, *Job[pair]) error { return nil })
	worker, err := NewWorker(client, handlers, WithGrace(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "an API key is needed") {
		t.Errorf("%v", err)
	}
	if err := worker.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "once") {
		t.Errorf("%v", err)
	}
}

func TestAWorkerNeedsHandlersAndSlots(t *testing.T) {
	client := fakeServer(t, nil)
	handlers := NewHandlers()
	if _, err := NewWorker(client, handlers); err == nil {
		t.Error("a worker without handlers was accepted")
	}
	Handle(handlers, func(context.Context, *Job[pair]) error { return nil })
	if _, err := NewWorker(client, handlers, WithConcurrency(0)); err == nil {
		t.Error("a worker without slots was accepted")
	}
}

func TestTheAddressOfTheServerIsChecked(t *testing.T) {
	for _, url := range []string{"127.0.0.1:7373", "localhost", "::"} {
		if _, err := NewClient(WithURL(url)); err == nil {
			t.Errorf("%q was accepted", url)
		}
	}
}
