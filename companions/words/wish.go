package words

import "strings"

// Wish is what somebody asks of the manners of a companion, or of the whole room.
type Wish int

// Wishes (ROOM.md 6, controls).
const (
	NoWish      Wish = iota
	BeQuiet          // until it is unmuted
	Unmute           // no more than that
	TalkAgain        // and as before
	TalkLess         // than others
	TalkMore         // than others
	OnlyIfAsked      // speaks only when asked
	JoinIn           // speaks unasked again
)

// WishOf is the wish that a text consists of, names and courtesy apart, and of whom it is one; empty: of everybody. "Leave it to us",
// "join in again", "Ada, be quiet", "Ada, you can talk again"; "be quiet" inside a story is none.
func (x *Languages) WishOf(text string, named []Named) (who string, w Wish) {
	ws := words(text)
	v, r := x.vocab(ws), x.Names(named).Read(text)
	line := phrase(ws)
	if strings.Count(line, " ") > 16 {
		return "", NoWish
	}
	for _, n := range named { // names are no part of the wish
		for _, name := range n.Names {
			if p := phrase(words(name)); p != " " {
				line = strings.ReplaceAll(line, p, " ")
			}
		}
	}
	kinds := wishesOfOne
	switch {
	case len(r.Called) == 1:
		who = r.Called[0]
	case len(r.Called) == 0 && len(r.Mentioned) == 1: // "unmute Ada"
		who, kinds = r.Mentioned[0], wishesAboutOne
	case len(r.Called) == 0 && len(r.Mentioned) == 0:
		kinds = wishesOfAll
	default:
		return "", NoWish
	}
	for _, k := range kinds {
		if v.onlyOf(line, k.words, cueCourtesy) {
			return who, k.wish
		}
	}
	return "", NoWish
}

// Words that turn the room's or a companion's manners (ROOM.md 6); the first that fits counts.
type wishWords struct {
	wish  Wish
	words cue
}

var (
	wishesOfOne = []wishWords{
		{BeQuiet, cueBeQuiet}, {OnlyIfAsked, cueOnlyIfAsked}, {TalkLess, cueTalkLess}, {TalkMore, cueTalkMore}, {TalkAgain, cueTalkAgain},
	}
	wishesAboutOne = []wishWords{{BeQuiet, cueMute}, {Unmute, cueUnmute}}
	wishesOfAll    = []wishWords{{OnlyIfAsked, cueLeaveIt}, {JoinIn, cueJoinUs}}
)
