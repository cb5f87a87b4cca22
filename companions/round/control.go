package round

import "strings"

// Words that turn the room's or a companion's manners (ROOM.md 6). They must be all that is said, names and courtesy apart:
// "be quiet" inside a story changes nothing.
var (
	leaveWords = lex("leave it to us|leave this to us|leave that to us|leave us alone|let us talk|let us talk alone|stay out of it|stay out of this|only speak when asked|speak only when asked|" +
		"only talk when asked|only answer when asked|all of you be quiet|everybody be quiet|everyone be quiet|uberlasst es uns|lasst uns das machen|laissez nous faire|dejadnoslo|dejennoslo")
	joinWords = lex("join in again|join in|join us|join us again|join in with us|you can join in|you can join in again|you may join in again|you can join us again|" +
		"you can all talk again|everybody can talk again|everyone can talk again|you can talk again|macht wieder mit|redet wieder mit|participez de nouveau")
	quietWords = lex("be quiet|be silent|stay quiet|stay silent|keep quiet|hush|shut up|mute|mute yourself|stop talking|don t talk|do not talk|quiet|sei still|sei ruhig|tais toi|callate|静 か に し て|安 静")
	talkWords  = lex("you can talk again|you can speak again|you may talk again|you may speak again|talk again|speak again|unmute|unmute yourself|join in again|join in|" +
		"you can talk|you can speak|you can talk now|you can speak now|du darfst wieder reden|du kannst wieder reden|tu peux parler|puedes hablar|話 し て い い よ")
	lessWords = lex("only speak when asked|speak only when asked|only talk when asked|only answer when asked|wait until you are asked|stay out of it|stay out of this|leave it to us")
	moreWords = lex("talk more|speak more|say more|join in more|be more talkative|join in more often|speak up more")
	someWords = lex("talk less|speak less|say less|be less talkative|join in less")
	muteWords = lex("mute|unmute")
	courtesy  = lex("please|now|ok|okay|for now|for a while|a bit|a little|will you|would you|can you|could you|and|so|thanks|thank you|all|everyone|everybody|bitte|s il te plait|por favor|just")
)

// SpokenControl is the control that somebody asks for in words: "leave it to us", "join in again", "Ada, be quiet", "Ada,
// you can talk again". False: the text asks for none, and is a message like any other.
func SpokenControl(text string, cards []Card) (Control, bool) {
	var named []Named
	for _, c := range cards {
		named = append(named, Named{Participant(c.ID), append([]string{c.Name, string(c.ID)}, c.Aliases...)})
	}
	index := newNames(named)
	r := index.read(text)
	line := phrase(words(text))
	if strings.Count(line, " ") > 16 {
		return Control{}, false
	}
	for _, c := range cards { // names are no part of the wish
		for _, n := range append([]string{c.Name, string(c.ID)}, c.Aliases...) {
			if p := phrase(words(n)); p != " " {
				line = strings.ReplaceAll(line, p, " ")
			}
		}
	}
	yes, no := true, false
	if len(r.called) == 0 {
		switch {
		case len(r.mentioned) == 1 && onlyOf(line, muteWords, courtesy): // "unmute Ada"
			id, _ := r.mentioned[0].Companion()
			if strings.Contains(line, " unmute ") {
				return Control{Companion: id, Mute: &no}, true
			}
			return Control{Companion: id, Mute: &yes}, true
		case len(r.mentioned) > 0:
			return Control{}, false
		case onlyOf(line, leaveWords, courtesy):
			return involve("", InvolvementOff), true
		case onlyOf(line, joinWords, courtesy):
			return involve("", InvolvementMedium), true
		}
		return Control{}, false
	}
	if len(r.called) > 1 {
		return Control{}, false
	}
	id, ok := r.called[0].Companion()
	if !ok {
		return Control{}, false
	}
	switch {
	case onlyOf(line, quietWords, courtesy):
		return Control{Companion: id, Mute: &yes}, true
	case onlyOf(line, lessWords, courtesy):
		return involve(id, InvolvementOff), true
	case onlyOf(line, someWords, courtesy):
		return involve(id, InvolvementLow), true
	case onlyOf(line, moreWords, courtesy):
		return involve(id, InvolvementHigh), true
	case onlyOf(line, talkWords, courtesy):
		c := involve(id, InvolvementMedium)
		c.Mute = &no
		return c, true
	}
	return Control{}, false
}

func involve(id CompanionID, i Involvement) Control { return Control{Companion: id, Involvement: &i} }
