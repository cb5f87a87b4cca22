package round

import (
	"cmp"
	"slices"
	"strings"
)

// roll is who belongs to the room, longest first; empty: nobody says.
type roll []Listed

// rank is how many of the room have been members for longer than d; whoever is not listed comes behind all who are.
func (l roll) rank(d DeviceID) int {
	i := slices.IndexFunc(l, func(x Listed) bool { return x.Device == d })
	if i < 0 {
		return len(l)
	}
	return i
}

// senior tells that a has been a member for longer than b; where no list says that, by id.
func (l roll) senior(a, b DeviceID) bool {
	return cmp.Or(cmp.Compare(l.rank(a), l.rank(b)), cmp.Compare(a, b)) < 0
}

// called is what people call a device that says it is called name: what the list says, and a name of the list is nobody else's.
func (l roll) called(d DeviceID, name string) string {
	if i := l.rank(d); i < len(l) {
		return l[i].Name
	}
	if slices.ContainsFunc(l, func(x Listed) bool { return strings.EqualFold(x.Name, name) }) {
		return string(d)
	}
	return name
}
