package mixer

import (
	"os"
	"strconv"
	"testing"
	"unsafe"
)

// The sizes are those of the kernel's structures, which are part of each request's number (as strace prints them: 0xc0505510 and
// so on of 64 bits, 0xc0485510 of 32).
func TestRequests(t *testing.T) {
	want := map[int][4]uintptr{64: {0xc0505510, 0xc1105511, 0xc4c85512, 0xc4c85513}, 32: {0xc0485510, 0xc1105511, 0xc2c85512, 0xc2c85513}}[strconv.IntSize]
	if got := [4]uintptr{listRequest, infoRequest, readRequest, writeRequest}; got != want {
		t.Errorf("requests %#x; want %#x", got, want)
	}
}

// A kernel of two controls: what is read is what there is, and what is set is what is written.
func TestControlsAreReadAndSet(t *testing.T) {
	volume, route := [2]int{10, 12}, uint32(1)
	card := &Card{call: func(_ *os.File, request uintptr, arg unsafe.Pointer) error {
		switch request {
		case listRequest:
			l := (*elemList)(arg)
			ids := unsafe.Slice((*elemID)(l.ids), l.space)
			ids[0].number, ids[1].number, l.used = 1, 2, 2
		case infoRequest:
			i := (*elemInfo)(arg)
			i.access = accessRead | accessWrite
			if i.id.number == 1 {
				copy(i.id.name[:], "Speaker Playback Volume")
				i.kind, i.count, i.high = integer, 2, 127
			} else {
				copy(i.id.name[:], "DAC Mux")
				i.kind, i.count = enumerated, 1
				*(*uint32)(unsafe.Pointer(&i.low)) = 4
			}
		case readRequest, writeRequest:
			v := (*elemValue)(arg)
			items := (*[128]uint32)(unsafe.Pointer(&v.values))
			switch {
			case v.id.number == 1 && request == readRequest:
				v.values[0], v.values[1] = volume[0], volume[1]
			case v.id.number == 1:
				volume = [2]int{v.values[0], v.values[1]}
			case request == readRequest:
				items[0] = route
			default:
				route = items[0]
			}
		}
		return nil
	}}
	all, err := card.Controls()
	if err != nil || len(all) != 2 || all[0].Name != "Speaker Playback Volume" || all[0].Values[1] != 12 || all[1].Max != 3 || all[1].Values[0] != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	if err := card.Set(all[0], 109); err != nil || volume != [2]int{109, 109} {
		t.Errorf("set: %v, %v", volume, err)
	}
	if err := card.Set(all[1], 3); err != nil || route != 3 {
		t.Errorf("set: %d, %v", route, err)
	}
	if card.Set(all[0], 128) == nil {
		t.Error("128 of 127 is taken")
	}
}
