package membership

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	"conch/mqtt"
)

// How long a device waits for the host, and between two times that it asks.
const (
	hostPatience = 10 * time.Second
	askAgain     = 2 * time.Second
)

// maxWaiting is how many questions to the host may be open.
const maxWaiting = 16

// answer is what the host said to a request.
type answer struct {
	welcome []byte
	err     error
}

// requests is what was asked of the host and not answered yet.
type requests struct {
	*book
	mu      sync.Mutex
	waiting map[string]chan answer // guarded by mu
}

func (r *requests) open(id string) (<-chan answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) >= maxWaiting {
		return nil, errors.New("membership: too much is asked of the host already; try again in a moment")
	}
	if r.waiting == nil {
		r.waiting = map[string]chan answer{}
	}
	ch := make(chan answer, 1)
	r.waiting[id] = ch
	return ch, nil
}

func (r *requests) close(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, id)
}

// answered wakes whoever asked, if anybody still waits.
func (r *requests) answered(id string, a answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case r.waiting[id] <- a:
	default:
	}
}

// ask asks the host until it answers.
func (r *requests) ask(ctx context.Context, ask func(request string) mqtt.Note) (answer, error) {
	return r.askAs(ctx, newRequest(), ask)
}

// askAs is ask under a name that was drawn before.
func (r *requests) askAs(ctx context.Context, id string, ask func(request string) mqtt.Note) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, hostPatience)
	defer cancel()
	ch, err := r.open(id)
	if err != nil {
		return answer{}, err
	}
	defer r.close(id)
	again := time.NewTicker(askAgain)
	defer again.Stop()
	for {
		r.say(ask(id))
		select {
		case a := <-ch:
			return a, a.err
		case <-again.C:
		case <-ctx.Done():
			return answer{}, r.Room().noHost()
		}
	}
}

// noHost names the device that does not answer.
func (r *Room) noHost() error {
	if r == nil {
		return ErrNotPaired
	}
	host, _ := r.Member(r.Host)
	return fmt.Errorf("%s: %w", host.Name, ErrNoHost)
}

func newRequest() string {
	var b [12]byte
	_, _ = rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}
