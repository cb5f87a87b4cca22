package mqtt

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
)

// Raw is one session at a broker, outside any room's talk: devices that are in no room yet meet there to pair. It does not come
// back when it is lost. Its goroutines are the library's.
type Raw struct {
	paho   paho.Client
	where  string
	cancel context.CancelFunc
	lost   chan struct{}
	end    func()
}

// OpenRaw connects to cfg's broker, of a cluster to the first node that is there, with a client id of its own, and subscribes to
// filter with QoS 1. on is called from the library's goroutine, one at a time, in order: it must not wait.
func OpenRaw(ctx context.Context, cfg Config, clientID, filter string, on func(topic string, payload []byte)) (*Raw, error) {
	all, err := cfg.targets()
	if err != nil {
		return nil, err
	}
	var failed []error
	for _, t := range all {
		r, err := openRaw(ctx, cfg, t, clientID, filter, on)
		if err == nil {
			return r, nil
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

func openRaw(ctx context.Context, cfg Config, t target, clientID, filter string, on func(topic string, payload []byte)) (*Raw, error) {
	password, err := cfg.password()
	if err != nil {
		return nil, err
	}
	if cfg.ConnectTimeout <= 0 {
		cfg.ConnectTimeout = 3 * time.Second
	}
	live, cancel := context.WithCancel(context.Background())
	r := &Raw{where: t.String(), cancel: cancel, lost: make(chan struct{})}
	r.end = sync.OnceFunc(func() { close(r.lost) })
	o := cfg.options(t, clientID, password, 5*time.Second)
	o.SetDefaultPublishHandler(func(_ paho.Client, m paho.Message) { on(m.Topic(), m.Payload()) })
	o.SetConnectionLostHandler(func(paho.Client, error) { r.end() })
	o.SetCustomOpenConnectionFn(func(*url.URL, paho.ClientOptions) (net.Conn, error) {
		conn, _, err := cfg.dial(live, t)
		if err != nil {
			return nil, err
		}
		return newPatient(conn, nil), nil
	})
	r.paho = paho.NewClient(o)
	stop := context.AfterFunc(ctx, cancel) // also while it connects
	defer stop()
	if err := connected(r.paho.Connect(), cfg.ConnectTimeout+cfg.dialTimeout()); err != nil {
		r.Close()
		return nil, explain(r.where, errors.Join(err, ctx.Err()))
	}
	sub := r.paho.Subscribe(filter, 1, nil)
	if !sub.WaitTimeout(cfg.ConnectTimeout) || sub.Error() != nil {
		r.Close()
		return nil, explain(r.where, errors.Join(fmt.Errorf("%w: no answer to the subscription", ErrNoBroker), sub.Error()))
	}
	if s, ok := sub.(*paho.SubscribeToken); ok && s.Result()[filter] == subackFailed {
		r.Close()
		return nil, explain(r.where, fmt.Errorf("%w: it may not read %s", ErrNotAuthorized, filter))
	}
	return r, nil
}

// Publish hands a message to the broker with QoS 1, and waits a bounded time for the broker to have it.
func (r *Raw) Publish(topic string, payload []byte) error {
	if !r.paho.IsConnectionOpen() {
		return fmt.Errorf("mqtt: %s: %w", r.where, net.ErrClosed)
	}
	t := r.paho.Publish(topic, 1, false, payload)
	if !t.WaitTimeout(writeTimeout) {
		return fmt.Errorf("mqtt: %s: %w: no answer to what was published", r.where, ErrNoBroker)
	}
	return t.Error()
}

// Lost is closed when the session is over.
func (r *Raw) Lost() <-chan struct{} { return r.lost }

// Close ends the session.
func (r *Raw) Close() {
	r.paho.Disconnect(quiesce)
	r.cancel()
	r.end()
}
