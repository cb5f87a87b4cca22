package broker

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"conch/mqtt"
)

// sleeper is a connection of a process that stands still: what has met its deadline is seen so much later.
type sleeper struct {
	net.Conn
	late []time.Duration
}

func (s *sleeper) stand(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) && len(s.late) > 0 {
		time.Sleep(s.late[0])
		s.late = s.late[1:]
	}
}

func (s *sleeper) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	s.stand(err)
	return n, err
}

func (s *sleeper) Write(b []byte) (int, error) {
	n, err := s.Conn.Write(b)
	s.stand(err)
	return n, err
}

func TestStandingStillIsNobodysSilence(t *testing.T) {
	const patience = 3 * time.Second
	for _, row := range []struct {
		name   string
		late   []time.Duration
		speaks time.Duration // when the other side says something; 0: never
		set    func(net.Conn) error
		want   time.Duration // when the read ends
	}{
		{"in time", nil, time.Second, nil, time.Second},
		{"silent", nil, 0, nil, patience},
		{"a little late, as everything is", []time.Duration{mqtt.Lateness / 2}, 0, nil, patience + mqtt.Lateness/2},
		{"stood still", []time.Duration{4 * time.Second}, 2 * patience, nil, 2*patience + time.Second},
		{"stood still twice", []time.Duration{time.Second, time.Second}, 9 * time.Second, nil, 9 * time.Second},
		{"stood still, and silent all the same", []time.Duration{time.Second}, 0, nil, 2*patience + time.Second},
		{"always late, and silent", []time.Duration{1e9, 1e9, 1e9, 1e9, 1e9, 1e9}, 0, nil, 4*patience + 4*time.Second},
		{"a deadline of one's own", []time.Duration{time.Second}, 0, func(c net.Conn) error { return c.SetReadDeadline(time.Now().Add(patience)) }, patience + time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				defer ours.Close()
				defer theirs.Close()
				c := &forgiving{Conn: &sleeper{Conn: ours, late: row.late}}
				began := time.Now()
				err := c.SetDeadline(began.Add(patience))
				if row.set != nil {
					err = row.set(c)
				}
				if err != nil {
					t.Fatal(err)
				}
				if row.speaks > 0 {
					go func() {
						time.Sleep(row.speaks)
						_, _ = theirs.Write([]byte("x"))
					}()
				}
				n, err := c.Read(make([]byte, 1))
				if (n == 1) != (row.speaks > 0) || (err == nil) != (row.speaks > 0) {
					t.Errorf("read %d, %v", n, err)
				}
				if got := time.Since(began); got != row.want {
					t.Errorf("after %v; want %v", got, row.want)
				}
			})
		})
	}
}

// Half of what is written is through when this process stops, and the rest goes afterwards.
func TestStandingStillLosesNothingThatIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer ours.Close()
		defer theirs.Close()
		c := &forgiving{Conn: &sleeper{Conn: ours, late: []time.Duration{4 * time.Second}}}
		if err := c.SetDeadline(time.Now().Add(3 * time.Second)); err != nil {
			t.Fatal(err)
		}
		got := make(chan string, 1)
		go func() {
			b := make([]byte, 6)
			n, _ := theirs.Read(b[:3])
			time.Sleep(8 * time.Second)
			m, _ := theirs.Read(b[n:])
			got <- string(b[:n+m])
		}()
		if n, err := c.Write([]byte("abcdef")); n != 6 || err != nil {
			t.Fatalf("wrote %d, %v", n, err)
		}
		if s := <-got; s != "abcdef" {
			t.Errorf("the other side has %q", s)
		}
	})
}
