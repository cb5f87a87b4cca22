package talk

import (
	"slices"

	"conch/companions/round"
)

// mostOthers bounds a Roster: a room has no more devices. At the bound a newcomer is not noted.
const mostOthers = 64

// Other is another device of the room, as a demand for silence meets it.
type Other struct {
	Device  round.DeviceID
	Name    string
	Present bool // it was heard of lately
	Silent  bool // it has confirmed that it is silent
}

// Roster is the other devices that may be sounding: those that are present, those that were and said no goodbye, those that are listed.
type Roster struct {
	self   round.DeviceID
	listed []round.Listed
	others []Other // sorted by nothing: as they came
}

// NewRoster is that of a device that has met none.
func NewRoster(self round.DeviceID) Roster { return Roster{self: self} }

// Meet takes down who is present.
func (r Roster) Meet(members []round.Member) Roster {
	r.others = slices.Clone(r.others)
	for i := range r.others {
		r.others[i].Present = false
	}
	for _, m := range members {
		if m.Device == r.self {
			continue
		}
		i := r.at(m.Device)
		if i < 0 && len(r.others) >= mostOthers {
			continue
		}
		if i < 0 {
			i, r.others = len(r.others), append(r.others, Other{Device: m.Device})
		}
		r.others[i].Name, r.others[i].Present = m.Name, true
	}
	return r
}

// List takes down who belongs to the room; nobody: no list says that.
func (r Roster) List(list []round.Listed) Roster {
	r.listed = slices.Clone(list)
	r.others = slices.DeleteFunc(slices.Clone(r.others), func(o Other) bool {
		return len(list) > 0 && !slices.ContainsFunc(list, func(l round.Listed) bool { return l.Device == o.Device })
	})
	for _, l := range list {
		switch i := r.at(l.Device); {
		case i >= 0:
			r.others[i].Name = l.Name
		case l.Device != r.self && len(r.others) < mostOthers:
			r.others = append(r.others, Other{Device: l.Device, Name: l.Name})
		}
	}
	return r
}

// Leave takes out a device that said goodbye: it has ended, and is silent.
func (r Roster) Leave(d round.DeviceID) Roster {
	r.others = slices.DeleteFunc(slices.Clone(r.others), func(o Other) bool { return o.Device == d })
	return r
}

func (r Roster) at(d round.DeviceID) int {
	return slices.IndexFunc(r.others, func(o Other) bool { return o.Device == d })
}

// Silence is a demand for silence under way. Only a device's own word confirms it, and only the broker's word says that it was sent.
type Silence struct {
	epoch  round.Epoch
	taken  bool
	others []Other
}

// Demand begins one: epoch is that of its press.
func (r Roster) Demand(epoch round.Epoch) Silence {
	return Silence{epoch: epoch, others: slices.Clone(r.others)}
}

// Heard takes what another device says of itself.
func (s Silence) Heard(from round.DeviceID, silenced round.Epoch) Silence {
	s.others = slices.Clone(s.others)
	for i, o := range s.others {
		if o.Device == from && s.Begun() && silenced == s.epoch {
			s.others[i].Silent = true
		}
	}
	return s
}

// Begun tells that its press has an epoch.
func (s Silence) Begun() bool { return s.epoch != (round.Epoch{}) }

// Taken: the broker has acknowledged the press of that epoch.
func (s Silence) Taken(e round.Epoch) Silence {
	s.taken = s.taken || e == s.epoch
	return s
}

// Complete tells that all have confirmed.
func (s Silence) Complete() bool {
	return !slices.ContainsFunc(s.others, func(o Other) bool { return !o.Silent })
}

// Result is the names of the devices: silent, present without a confirmation, not reached, and not present. Each list is sorted.
func (s Silence) Result() (silent, unconfirmed, unreached, away []string) {
	silent, unconfirmed, unreached, away = []string{}, []string{}, []string{}, []string{}
	for _, o := range s.others {
		name := o.Name
		if name == "" {
			name = string(o.Device)
		}
		switch {
		case o.Silent:
			silent = append(silent, name)
		case o.Present && s.taken:
			unconfirmed = append(unconfirmed, name)
		case s.taken:
			away = append(away, name)
		default:
			unreached = append(unreached, name)
		}
	}
	slices.Sort(silent)
	slices.Sort(unconfirmed)
	slices.Sort(unreached)
	slices.Sort(away)
	return silent, unconfirmed, unreached, away
}
