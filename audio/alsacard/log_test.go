package alsacard

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func record(kind SpanKind, at time.Time, frames int, samples ...int16) []byte {
	b := binary.LittleEndian.AppendUint32(nil, magic)
	b = binary.LittleEndian.AppendUint32(b, uint32(kind))
	b = binary.LittleEndian.AppendUint64(b, uint64(Monotonic(at)))
	b = binary.LittleEndian.AppendUint32(b, uint32(frames))
	b = binary.LittleEndian.AppendUint32(b, 48000)
	return append(b, pcm(samples)...)
}

func logOf(t testing.TB, b []byte) *Log {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return &Log{path: path}
}

func TestLogFindsTheLastSound(t *testing.T) {
	t0 := time.Now()
	ms := func(n float64) time.Time { return t0.Add(time.Duration(n * float64(time.Millisecond))) }
	var b []byte
	b = append(b, record(Started, t0, 0)...)
	b = append(b, record(Played, t0, 4, 0, 100, 100, 0)...)
	b = append(b, record(Silent, ms(1), 48)...)
	b = append(b, record(Replayed, ms(2), 2, 0, -100)...)
	b = append(b, record(Played, ms(3), 2, 5, -5)...)
	l := logOf(t, append(b, record(Played, ms(4), 2, 100, 100)[:26]...)) // still being written
	frame := time.Second / 48000
	for _, row := range []struct {
		name     string
		from, to time.Time
		loud     int
		want     time.Time
	}{
		{"a repeated sound counts", t0, time.Time{}, 50, ms(2).Add(frame)},
		{"quiet sounds with a low threshold", t0, time.Time{}, 0, ms(3).Add(frame)},
		{"only before the end asked for", t0, ms(2), 50, t0.Add(2 * frame)},
		{"nothing after the last", ms(3.5), time.Time{}, 0, time.Time{}},
		{"nothing that loud", t0, time.Time{}, 1000, time.Time{}},
	} {
		got, ok := l.LastAudible(row.from, row.to, row.loud)
		if d := got.Sub(row.want); ok == row.want.IsZero() || d > time.Microsecond || d < -time.Microsecond {
			t.Errorf("%s: %v, %v; want %v", row.name, got, ok, row.want)
		}
	}
	if got, ok := l.FirstAudible(ms(1), 50); !ok || got.Sub(ms(2).Add(frame)).Abs() > time.Microsecond {
		t.Errorf("first sound from 1 ms at %v after the beginning; want 2 ms and a frame", got.Sub(t0))
	}
	if got := l.End().Sub(ms(3).Add(2 * frame)); got.Abs() > time.Microsecond {
		t.Errorf("the end is off by %v", got)
	}
	if n := len(l.Samples()); n != 6 {
		t.Errorf("%d samples as written; want 6", n)
	}
}

func TestTimeAndMonotonicAreInverse(t *testing.T) {
	now := time.Now()
	if d := Time(Monotonic(now)).Sub(now); d != 0 {
		t.Errorf("there and back: %v", d)
	}
}

func FuzzLog(f *testing.F) {
	f.Add(record(Played, time.Now(), 2, 1, 2))
	f.Add(record(Unplugged, time.Now(), 0)[:20])
	f.Fuzz(func(t *testing.T, b []byte) {
		l := logOf(t, b)
		err := l.Update()
		if again := l.Update(); (err == nil) != (again == nil) {
			t.Errorf("Update said %v, then %v", err, again)
		}
		if l.offset > int64(len(b)) {
			t.Errorf("read %d of %d bytes", l.offset, len(b))
		}
	})
}
