package membership

import (
	"log/slog"
	"sync"

	"conch/mqtt"
)

// Log events.
const (
	eventChange  = "members.change"
	eventTrouble = "members.trouble" // something that was said or is due could not be done
)

// hooks is who hears of a membership: the room, its owner, and the log.
type hooks struct {
	mu       sync.Mutex // the rest; nothing is called with it
	send     func(mqtt.Note)
	onChange func(Change)
	reach    func() []string
	log      *slog.Logger
}

// SendWith sets how notes are sent (mqtt.Client.SendNote).
func (h *hooks) SendWith(f func(mqtt.Note)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.send = f
}

// OnChange sets who is told. It is called from whichever goroutine made the change, after it is on disk, and must not wait.
func (h *hooks) OnChange(f func(Change)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.onChange = f
}

// ReachableAt sets where others reach this device, host:port, should it keep the room: newcomers are told.
func (h *hooks) ReachableAt(f func() []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reach = f
}

// LogWith sets the log.
func (h *hooks) LogWith(l *slog.Logger) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = l
}

// tell reports changes and sends notes, without the lock.
func (h *hooks) tell(changes []Change, notes ...mqtt.Note) {
	h.mu.Lock()
	send, on, log := h.send, h.onChange, h.log
	h.mu.Unlock()
	for _, n := range notes {
		send(n)
	}
	for _, c := range changes {
		log.Info(eventChange, "what", c.What, "device", string(c.Device), "name", c.Name, "by", string(c.By))
		on(c)
	}
}

// say sends notes.
func (h *hooks) say(notes ...mqtt.Note) { h.tell(nil, notes...) }

// reachable is where others reach this device.
func (h *hooks) reachable() []string {
	h.mu.Lock()
	reach := h.reach
	h.mu.Unlock()
	return reach()
}

func (h *hooks) trouble(what string, err error) {
	h.mu.Lock()
	log := h.log
	h.mu.Unlock()
	log.Warn(eventTrouble, "what", what, "err", err)
}
