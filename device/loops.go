package device

import (
	"time"

	"conch/device/service"
)

// What the service manager is told of the device, and the loops that its watchdog asks (package service).

// Patience: two looks, and at least this. A button looks round every 250 ms. The keepers of the card may be busy with a sound
// system that does not answer: three seconds to open, one to close, and five between two attempts (package audio).
const (
	loopPatience = time.Second
	cardPatience = 12 * time.Second
)

// Loops implements service.Host.
func (d status) Loops(every time.Duration) []service.Loop {
	looks := func(patience time.Duration) int { return max(2, int((patience+every-1)/every)) }
	most, card := looks(loopPatience), looks(cardPatience)
	loops := []service.Loop{{Name: "coordinator", Call: d.coordinator.Call, Patience: most}, {Name: "playback", Call: d.sound.CallPlayback, Patience: card},
		{Name: "capture", Call: d.sound.CallCapture, Patience: card}}
	for _, b := range d.buttons {
		loops = append(loops, service.Loop{Name: "button " + b.String(), Call: b.Call, Patience: most})
	}
	for id, v := range d.room.Voices.All() {
		loops = append(loops, service.Loop{Name: "voice " + string(id), Call: v.Call, Patience: most})
	}
	if d.room.Room != nil {
		loops = append(loops, service.Loop{Name: "room", Call: d.room.Room.Call, Patience: most})
	}
	if d.bus != nil {
		loops = append(loops, service.Loop{Name: "mqtt", Call: d.bus.Call, Patience: most})
	}
	return loops
}
