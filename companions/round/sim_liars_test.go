package round

import (
	"time"
)

// liars picks who lies in a room of the simulation, and whether there is a list of members.
func (s *sim) liars(faulty bool) {
	if s.r.IntN(2) == 0 {
		var list []Listed
		for _, i := range s.r.Perm(len(s.devs)) {
			list = append(list, Listed{s.devs[i].id, s.devs[i].name})
		}
		for _, d := range s.devs {
			d.list = list
		}
	}
	if faulty && len(s.devs) > 2 && s.r.IntN(2) == 0 {
		s.devs[s.r.IntN(len(s.devs))].liar = true
	}
}

// lie lets each liar say something that is not so.
func (s *sim) lie() {
	for _, d := range s.devs {
		if !d.liar || s.truth || !d.alive || d.frozen > s.now || s.r.IntN(3) == 0 {
			continue
		}
		s.fault("lying member")
		for range 1 + s.r.IntN(4) {
			for i, p := range s.lies(d) {
				d.soon(time.Duration(i)*20*time.Millisecond, func() {
					s.remembers(d, p)
					s.send(d, p)
				})
			}
		}
	}
}

// lies are packets that a member can make and that are not so.
func (s *sim) lies(d *dev) []Packet {
	r := s.r
	other := s.devs[r.IntN(len(s.devs))]
	at := other.m.epoch
	number := []uint64{1, 2, at.N - min(at.N, 3), at.N, at.N + 1, at.N + 2, at.N + 63, at.N + 64, at.N + 65, at.N + 1000, at.N + 1<<32, 1 << 52, 1<<52 + 1, 1<<53 - 1, 1 << 53, 1<<64 - 1}[r.IntN(16)]
	any := Epoch{number, []DeviceID{d.id, other.id, "nobody"}[r.IntN(3)]}
	beat := Beat{Name: other.name, Digest: d.m.digest, Version: r.IntN(3), Epoch: at, Turns: d.m.turns, Room: d.m.setting}
	who := CompanionID(simNames[r.IntN(10)])
	place := other.m.rd.place
	if place.Message == "" || r.IntN(3) == 0 {
		place = Place{any, 1 + r.IntN(3), place.Message}
	}
	switch r.IntN(15) {
	case 0, 1: // any epoch, of anybody
		beat.Epoch = any
		return []Packet{beat}
	case 2: // a jump
		return []Packet{Press{Epoch: Epoch{number, d.id}}}
	case 3:
		return []Packet{Press{Epoch: Epoch{number, d.id}}, PressOver{Epoch{number, d.id}}}
	case 4: // hammers
		var all []Packet
		for i := range uint64(40) {
			all = append(all, Press{Epoch: Epoch{at.N + 1 + i, d.id}})
		}
		return all
	case 5: // claims, for anybody, anywhere
		votes := []Vote{voteFor(who, place.Message, 10)}
		votes[0].Selected = true
		return []Packet{Claim{Place: place, Companion: who, Votes: votes}, Speaking{Place: place, Companion: who, LeftMS: 100000}}
	case 6:
		return []Packet{Speaking{Place: place, Companion: who}, Release{Place: place, Companion: who, OK: r.IntN(2) == 0}, Withdraw{place, who, "so"}, Ended{place}}
	case 7:
		beat.Room = Setting{N: number, By: other.id}
		return []Packet{beat}
	case 8:
		beat.Turns = number
		return []Packet{beat}
	case 9: // votes of always 10, for anybody
		var votes []Vote
		for _, c := range []CompanionID{who, CompanionID(simNames[r.IntN(10)])} {
			v := voteFor(c, place.Message, 10)
			v.Selected = r.IntN(2) == 0
			votes = append(votes, v)
		}
		return []Packet{Votes{place, votes}}
	case 10: // a person's words, under any number
		s.ids++
		return []Packet{Message{ID: s.newID(), From: Human(d.id), Text: s.words(d), Epoch: Epoch{number, d.id}, Number: 1 + r.IntN(3)}}
	case 12, 13: // companions that others have
		for range 1 + r.IntN(3) {
			card := simCard(r.IntN(10))
			if r.IntN(2) == 0 {
				card.ID, card.Aliases = card.ID+"-x", []string{simNames[r.IntN(10)]}
			}
			if !hasCard(beat.Cards, card.ID) {
				beat.Cards = append(beat.Cards, card)
			}
		}
		beat.Digest = digestOf(beat.Cards)
		return []Packet{beat}
	case 11: // a history for everybody
		msg := Message{ID: s.newID(), From: Participant(who), Text: "so it was", Epoch: any, Number: 1 + r.IntN(9)}
		return []Packet{History{To: other.id, Messages: []Message{msg}}}
	}
	return []Packet{Message{ID: s.newID(), From: Participant(who), Text: s.words(d), Epoch: any, Number: 1 + r.IntN(9)}}
}
