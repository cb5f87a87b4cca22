package round

import (
	"cmp"
	"slices"
	"strings"

	"conch/companions/words"
)

func (s *company) controlled(c Control) {
	if why := s.control(c, s.m.cfg.Self, "at this device"); why != "" {
		s.ignore("", "Controlled", why)
		return
	}
	s.send(c)
}

func (s *company) controlHeard(from DeviceID, c Control) {
	if why := s.control(c, from, "at "+s.m.nameOf(from)); why != "" {
		s.ignore(from, "Control", why)
	}
}

var involvements = []Involvement{"", InvolvementOff, InvolvementLow, InvolvementMedium, InvolvementHigh}

// control turns the manners of a companion, or of the room. Every device notes it for companions elsewhere, too, so that the
// next round is the same everywhere even before the other device's cards have come.
func (s *company) control(c Control, by DeviceID, why string) string {
	m := &s.m
	if c.Involvement == nil && c.Mute == nil {
		return "it turns nothing"
	}
	if c.Involvement != nil && !slices.Contains(involvements, *c.Involvement) {
		return "no such involvement"
	}
	if !s.mayTurn(by, "Control") {
		return ""
	}
	switch {
	case c.Companion == "":
		c.turn(&m.setting.Involvement, &m.setting.Muted)
		m.setting.N, m.setting.By = min(m.setting.N+1, maxEpoch), by
	case hasCard(m.cards, c.Companion):
		m.cards = turned(m.cards, c)
		m.digest = digestOf(m.cards)
		s.beat(true, false)
	default:
		i := slices.IndexFunc(m.members, func(x member) bool { return hasCard(x.Cards, c.Companion) })
		if i < 0 {
			return "no such companion"
		}
		// What its device makes of it counts: its next beat is asked for the cards.
		s.m.editMember(m.members[i].Device, func(x *member) { x.Cards, x.told, x.digest = turned(x.Cards, c), turned(x.told, c), "" })
	}
	s.record(Place{}, Entry{Kind: EntryControl, Companion: c.Companion, By: by, Why: how(c) + ", " + why})
	s.do(MembersChanged{"manners were turned " + why})
	return ""
}

// how is what a control asks for, in words.
func how(c Control) string {
	var parts []string
	if c.Involvement != nil {
		parts = append(parts, "involvement "+cmp.Or(string(*c.Involvement), "as before"))
	}
	if c.Mute != nil {
		parts = append(parts, map[bool]string{true: "muted", false: "not muted"}[*c.Mute])
	}
	return strings.Join(parts, " and ")
}

func (c Control) turn(i *Involvement, muted *bool) {
	if c.Involvement != nil {
		*i = *c.Involvement
	}
	if c.Mute != nil {
		*muted = *c.Mute
	}
}

func turned(cards []Card, c Control) []Card {
	cards = slices.Clone(cards)
	for i := range cards {
		if cards[i].ID == c.Companion {
			c.turn(&cards[i].Involvement, &cards[i].Muted)
		}
	}
	return cards
}

// spokenControl is the control that somebody asks for in words (ROOM.md 6). False: the text asks for none, and is a message like any other.
func spokenControl(text string, cards []Card) (c Control, ok bool) {
	who, wish := words.Known().WishOf(text, each(cards, Card.named))
	c.Companion = CompanionID(who)
	if i, ok := wishedInvolvement[wish]; ok {
		c.Involvement = &i
	}
	if mute, ok := wishedMute[wish]; ok {
		c.Mute = &mute
	}
	return c, wish != words.NoWish
}

var (
	wishedMute        = map[words.Wish]bool{words.BeQuiet: true, words.Unmute: false, words.TalkAgain: false}
	wishedInvolvement = map[words.Wish]Involvement{
		words.TalkAgain: InvolvementMedium, words.JoinIn: InvolvementMedium, words.OnlyIfAsked: InvolvementOff,
		words.TalkLess: InvolvementLow, words.TalkMore: InvolvementHigh,
	}
)
