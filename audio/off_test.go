package audio_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"conch/audio"
)

// offStream runs for ever and may not want to close.
type offStream struct {
	scripted
	err error
}

func (s *offStream) Close() error { _ = s.scripted.Close(); return s.err }

// offKeeper runs a keeper of such streams in the bubble of a test.
func offKeeper(t *testing.T, lacks, unshut error) (k *audio.Keeper, d *diary, stop func()) {
	t.Helper()
	d = &diary{began: time.Now()}
	ctx, cancel := context.WithCancel(t.Context())
	k = audio.NewKeeper(audio.KeeperConfig{
		Name: "microphone",
		Open: func(audio.StreamConfig) (audio.Stream, error) {
			if lacks != nil {
				return nil, lacks
			}
			d.note("open")
			s := &offStream{scripted{granted: audio.Granted{Rate: 48000, Period: 480, Periods: 3}, stop: make(chan struct{}), closed: func() { d.note("close") }}, unshut}
			go s.run(ctx, 0, forever)
			return s, nil
		},
		Up:   func(audio.Granted) { d.note("up") },
		Down: func(err error) { d.note("down: %v", err) },
		Off:  func(err error) { d.note("off: %v", err) },
	})
	ended := make(chan struct{})
	go func() { k.Run(ctx); close(ended) }()
	return k, d, func() { cancel(); <-ended }
}

func TestKeeperIsOffByWish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, d, stop := offKeeper(t, nil, nil)
		time.Sleep(time.Second)
		k.SetOff(true)
		synctest.Wait() // no time passes: it does not wait for its next look
		k.SetOff(true)  // no news
		called := 0
		for range 3 { // and it still answers whoever wants to know whether it lives
			if !k.Call(func() { called++ }) {
				t.Error("a call was refused")
			}
			time.Sleep(10 * time.Second)
		}
		k.SetOff(false)
		time.Sleep(time.Second)
		stop()
		want := []string{"0s open", "50ms up", "1s close", "1s off: <nil>", "31s open", "31.05s up", "32s close"}
		if !slices.Equal(d.lines, want) || called != 3 {
			t.Errorf("%q, called %d times; want %q, 3", d.lines, called, want)
		}
	})
}

func TestKeeperIsOffWithoutADevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, d, stop := offKeeper(t, errBusy, nil)
		time.Sleep(time.Minute)
		k.SetOff(true)
		synctest.Wait()
		stop()
		want := []string{"0s down: device busy", "1m0s off: <nil>"}
		if !slices.Equal(d.lines, want) {
			t.Errorf("%q; want %q", d.lines, want)
		}
	})
}

func TestKeeperTellsOfADeviceThatDoesNotClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := errors.New("it hangs")
		k, d, stop := offKeeper(t, nil, hangs)
		time.Sleep(time.Second)
		k.SetOff(true)
		synctest.Wait()
		stop()
		if want := fmt.Sprintf("1s off: %v", hangs); d.lines[len(d.lines)-1] != want {
			t.Errorf("%q; want %q at the end", d.lines, want)
		}
	})
}

// Who presses while it is muted is told at once; the half second is for a card that may still deliver.
func TestAMutedMicrophoneIsLostAtOnce(t *testing.T) {
	told := []string{}
	now := time.Second
	m := audio.NewMic(audio.MicConfig{
		Now:   func() time.Duration { return now },
		Lost:  func(id string) { told = append(told, "lost "+id) },
		Ended: func(id string, c audio.Captured) { told = append(told, fmt.Sprintf("ended %s %d", id, c.Samples)) },
		Mute:  func(bool) error { return nil },
	})
	if err := m.SetMuted(true); err != nil {
		t.Fatal(err)
	}
	m.Open("a", now)
	m.Poll()
	m.End("a", now, 0)
	m.Poll()
	m.Open("b", now)
	m.Poll()
	if want := []string{"lost a", "ended a 0", "lost b"}; !slices.Equal(told, want) {
		t.Errorf("told %q; want %q", told, want)
	}
}
