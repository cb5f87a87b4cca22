package membership

import (
	"testing"
)

func TestTwoDevicesAreARoom(t *testing.T) {
	host, m := room(t, "kitchen")
	host.change(Confirmed, m[0].id.ID())
	until(t, "the member knows that it is confirmed", func() bool {
		self, ok := m[0].Room().Member(m[0].id.ID())
		return ok && !self.Pending
	})
}
