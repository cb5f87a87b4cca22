package round

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

	"conch/companions/round/because"
	"conch/companions/words"
)

// Constants of selection. They are no settings: every device of a room must name the same winner (I4), whatever its own
// settings are. What a device sets (Manners) goes into the votes of its companions and not into the counting.
const (
	speakFrom     = 5  // importance from which a companion that was not asked may speak (ROOM.md 3.4)
	extraFrom     = 8  // importance from which a runner-up adds to an answer (ROOM.md 6, cascade)
	extraWithin   = 1  // ... if it is at most this far behind the winner
	extraMost     = 2  // additions after an answer (ROOM.md 6)
	namedMost     = 6  // answers of companions that were called by name in one message: no more than a chain has
	importanceMax = 10 // seed: aikyo, StateBody.importance
)

// CheckVote says why a vote cannot count: fields missing, out of range or unknown (ROOM.md 1). Nil: it can.
func CheckVote(v Vote) error {
	switch {
	case v.From == "":
		return fmt.Errorf("vote: from is missing")
	case v.MessageID == "":
		return fmt.Errorf("vote of %s: messageId is missing", v.From)
	case v.State != StateSpeak && v.State != StateListen:
		return fmt.Errorf("vote of %s: state = %q: must be speak or listen", v.From, v.State)
	case math.IsNaN(v.Importance) || v.Importance < 0 || v.Importance > importanceMax:
		return fmt.Errorf("vote of %s: importance = %v: must be 0 to %d", v.From, v.Importance, importanceMax)
	case !slices.Contains(closings, v.Closing):
		return fmt.Errorf("vote of %s: closing = %q: must be none, pre-closing, closing or terminal", v.From, v.Closing)
	case !slices.Contains([]Layer{"", LayerOwed, LayerWorth, LayerForbidden}, v.Layer):
		return fmt.Errorf("vote of %s: layer = %q: must be owed, worth or forbidden", v.From, v.Layer)
	case !(v.Certain >= 0 && v.Certain <= 1):
		return fmt.Errorf("vote of %s: certain = %v: must be 0 to 1", v.From, v.Certain)
	}
	for _, t := range v.Terms {
		if t.Name == "" || math.IsNaN(t.Value) || math.IsInf(t.Value, 0) {
			return fmt.Errorf("vote of %s: terms: %q = %v: must have a name and a finite value", v.From, t.Name, t.Value)
		}
	}
	return nil
}

// closings in the order of their stages.
var closings = []Closing{ClosingNone, PreClosing, ClosingNow, Terminal}

// Decide selects who speaks after m (ROOM.md 3.4): of those the speaker has called on the one with the highest importance,
// else of those who want to speak, and with an importance of at least five, the one with the highest, else nobody. It is
// the same on every device: it depends on its arguments only and not on the order of the votes. A vote from outside the
// roster, on another message, or with a bad field does not count (I5).
//
// barred are those of the roster whom a person's words keep from speaking: their votes count as they were cast, and select nobody.
func Decide(m Message, roster []CompanionID, votes []Vote, barred ...Silent) Decision {
	d := Decision{Roster: slices.Compact(slices.Sorted(slices.Values(roster)))}
	silent := make(map[CompanionID]Silent, len(d.Roster)) // but for who it is, and mostly the layer
	counted := make(map[CompanionID]Vote, len(d.Roster))
	layer := map[CompanionID]Layer{} // that is not its vote's
	for _, v := range votes {
		if _, present := slices.BinarySearch(d.Roster, v.From); !present {
			continue
		}
		if err := CheckVote(v); err != nil {
			if why := refusal(v.From, err); silent[v.From].Reason == "" || why.Reason < silent[v.From].Reason {
				silent[v.From] = why
			}
			continue
		}
		if v.MessageID != m.ID {
			continue
		}
		// One vote each. Who counts keeps the first; should two come this far, the choice must not depend on their order.
		if have, twice := counted[v.From]; !twice || compareVotes(m.ID, v, have) > 0 {
			counted[v.From] = v
		}
	}
	done := 0
	var able []Vote
	for _, id := range d.Roster {
		v, voted := counted[id]
		if !voted {
			d.Absent = append(d.Absent, id)
			if silent[id].Reason == "" {
				silent[id] = silenced(id, "", because.Of("late"), because.IDs)
			}
			continue
		}
		d.Votes = append(d.Votes, v)
		bar := slices.IndexFunc(barred, func(b Silent) bool { return b.Companion == id })
		switch {
		case bar >= 0 && v.able():
			silent[id], layer[id] = barred[bar], barred[bar].Layer
			d.Barred = append(d.Barred, barred[bar])
		case v.Closing == Terminal:
			done++
			silent[id] = silenced(id, "", because.Of("over"), because.IDs)
		case !v.able():
			if silent[id] = (Silent{Reason: v.Reason, Because: v.Because}); v.Reason == "" {
				silent[id] = silenced(id, "", because.Of("listens"), because.IDs)
			}
		case !v.Selected && v.Importance < speakFrom:
			silent[id] = silenced(id, "", because.Of("little"), because.IDs)
		default:
			able = append(able, v)
		}
	}
	slices.SortFunc(able, func(a, b Vote) int { return compareVotes(m.ID, a, b) })
	if len(able) > 0 {
		d.Order = each(able, func(v Vote) CompanionID { return v.From })
		d.Winner, d.Layer = able[0].From, able[0].Layer
		if d.Reason, d.Because = able[0].Reason, able[0].Because; d.Reason == "" {
			d.say(because.Of("most"))
		}
		d.Extras = extras(m, able)
		for _, v := range able[1:] {
			if !slices.Contains(d.Extras, v.From) {
				silent[v.From] = silenced(v.From, "", behind(able[0], v), because.IDs)
			}
		}
	} else {
		d.Ended = done > 0 && done == len(d.Roster)
		d.nobody(m, done)
	}
	for _, id := range d.Roster {
		if id != d.Winner && !slices.Contains(d.Extras, id) {
			x := silent[id]
			x.Companion, x.Layer = id, cmp.Or(layer[id], counted[id].Layer)
			d.Silent = append(d.Silent, x)
		}
	}
	return d
}

// extras are who speaks after the winner (ROOM.md 6, cascade), in order. able is sorted.
func extras(m Message, able []Vote) []CompanionID {
	var ids []CompanionID
	if able[0].Selected { // several were called by name: all of them, and nobody else
		for _, v := range able[1:min(len(able), namedMost)] {
			if v.Selected {
				ids = append(ids, v.From)
			}
		}
		return ids
	}
	if !m.From.Human() || m.Metadata.Silence { // additions are made to what a person asked; into silence steps only one
		return nil
	}
	all := words.Known().SeveralViews(m.Text)
	for _, v := range able[1:] {
		if len(ids) < extraMost && (all || v.Importance >= extraFrom && able[0].Importance-v.Importance <= extraWithin) {
			ids = append(ids, v.From)
		}
	}
	return ids
}

// behind is why b, who could, does not speak where a does.
func behind(a, b Vote) because.Reason {
	who := string(a.From)
	switch {
	case a.Selected && !b.Selected:
		return because.Of("was_called_on", "who", who)
	case a.Importance != b.Importance:
		return because.Of("more", "who", who)
	case a.Spoke != b.Spoke:
		return because.Of("longer", "who", who)
	}
	return because.Of("draw", "who", who)
}

// refusal is why a vote does not count; what is wrong with it is for the log.
func refusal(c CompanionID, err error) Silent {
	b := because.Of("refused")
	return Silent{Companion: c, Reason: b.English(because.IDs) + ": " + err.Error(), Because: b}
}

func (d *Decision) say(why because.Reason) { d.Because, d.Reason = why, why.English(because.IDs) }

// nobody is why nobody speaks: what all agree in, else that nobody has enough to say. Each one's own reason is in Silent.
func (d *Decision) nobody(m Message, done int) {
	switch {
	case len(d.Roster) == 0 && m.Private():
		d.say(because.Of("private"))
		return
	case len(d.Roster) == 0:
		d.say(because.Of("nobody_here"))
		return
	case d.Ended:
		d.say(because.Of("over"))
		return
	case len(d.Votes) == 0:
		d.say(because.Of("no_votes"))
		return
	}
	var why []Silent
	add := func(reason string, b because.Reason) {
		if !slices.ContainsFunc(why, func(x Silent) bool { return x.Reason == reason }) {
			why = append(why, Silent{Reason: reason, Because: b})
		}
	}
	for _, b := range d.Barred {
		add(b.Reason, b.Because)
	}
	for _, v := range d.Votes {
		if v.Closing != Terminal && v.State == StateListen && v.Reason != "" {
			add(v.Reason, v.Because)
		}
	}
	if len(why) == 1 && done == 0 {
		d.Reason, d.Because = why[0].Reason, why[0].Because
		return
	}
	d.say(because.Of("not_enough"))
}

// compareVotes orders votes on one message, the better one first: able to speak at all, called on, importance, least
// recently spoken, and then a draw that is fair over messages and the same on every device (ROOM.md 3.4).
func compareVotes(id MessageID, a, b Vote) int {
	return cmp.Or(
		-cmp.Compare(rank(a), rank(b)),
		-cmp.Compare(a.Importance, b.Importance),
		cmp.Compare(a.Spoke, b.Spoke),
		cmp.Compare(draw(id, a.From), draw(id, b.From)),
		cmp.Compare(a.From, b.From),
		cmp.Compare(slices.Index(closings, a.Closing), slices.Index(closings, b.Closing)),
		// Only votes of one companion come this far: every other field, so that two equal ones are the same vote.
		cmp.Compare(a.State, b.State), cmp.Compare(a.Layer, b.Layer), cmp.Compare(a.Certain, b.Certain), cmp.Compare(a.Reason, b.Reason),
		cmp.Compare(a.Because, b.Because),
		-strings.Compare(strconv.FormatBool(a.Selected), strconv.FormatBool(b.Selected)),
		slices.CompareFunc(a.Terms, b.Terms, func(s, t Term) int {
			return cmp.Or(cmp.Compare(s.Name, t.Name), cmp.Compare(s.Value, t.Value), cmp.Compare(s.Why, t.Why))
		}),
	)
}

// able tells that a vote wants to speak, and may.
func (v Vote) able() bool {
	return v.State == StateSpeak && v.Closing != Terminal && v.Layer != LayerForbidden
}

func rank(v Vote) int {
	switch {
	case !v.able():
		return 0
	case v.Selected:
		return 3
	case v.Importance >= speakFrom:
		return 2
	}
	return 1
}

// Better says whether claim a beats claim b (ROOM.md 3.5), by the order of Decide. It is a strict total order of claims by
// different companions: a newer place, then who has seen more winners fail on this message, then the claimants' own votes
// as their claims show them; a claim that does not show its own vote is beaten by any that does.
func Better(a, b Claim) bool {
	if a.Place.Epoch != b.Place.Epoch {
		return b.Place.Epoch.Before(a.Place.Epoch)
	}
	va, vb := a.own(), b.own()
	return cmp.Or(
		-cmp.Compare(a.Place.Number, b.Place.Number),
		cmp.Compare(a.Place.Message, b.Place.Message), // never: one number is one message
		-cmp.Compare(len(a.Instead), len(b.Instead)),
		compareVotes(a.Place.Message, va, vb),
		cmp.Compare(a.Companion, b.Companion),
	) < 0
}

// own is the claimant's vote.
func (c Claim) own() Vote {
	for _, v := range c.Votes {
		if v.From == c.Companion && CheckVote(v) == nil && v.MessageID == c.Place.Message {
			return v
		}
	}
	return Vote{From: c.Companion, Spoke: math.MaxUint64}
}

// draw is the lot of a companion on a message; the lowest wins. It is FNV-1a over message id, a zero byte and companion id,
// mixed once more by the finaliser of MurmurHash3 because FNV alone lets ids that differ in the last letter keep their order.
func draw(m MessageID, c CompanionID) uint64 {
	f := fnv.New64a()
	_, _ = f.Write([]byte(string(m) + "\x00" + string(c))) // it never fails
	h := f.Sum64()
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
