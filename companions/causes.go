package companions

import (
	"fmt"
	"slices"

	"conch/companions/skills"
	"conch/coordinator/turn"
)

// permits are the kinds of tools that words may call, by whose words they are. What stands in no row is refused.
var permits = map[turn.Cause][]skills.Kind{
	turn.CauseUtterance: skills.Kinds,
	turn.CauseLine:      skills.Kinds,
	turn.CauseRoom:      {skills.Reads, skills.ChangesDevice},
	turn.CauseResult:    {skills.Reads},
	turn.CauseCompanion: {skills.Reads},
}

// allows decides a call. After words of others a skill's own tools go on with what they told: the title that play has listed can be played.
func allows(c turn.CallTool, t boxed) bool {
	same := c.Cause == turn.CauseResult && c.Quoted == t.skill && t.Kind == skills.ChangesDevice
	return same || slices.Contains(permits[c.Cause], t.Kind)
}

// refusal is what the model is told, and how a person gets what they want all the same.
func refusal(c turn.CallTool) string {
	name := cut(c.Name, 100)
	switch {
	case c.Cause.Silent():
		return fmt.Sprintf("%q was not run: here are words to be said, and nothing to do. Say the words, and call nothing.", name)
	case c.Cause == turn.CauseRoom:
		return fmt.Sprintf("%q was not run: only a person at this device may cause that. Say so.", name)
	case c.Cause == turn.CauseResult:
		return fmt.Sprintf("%q was not run: a tool has told words of others in this turn. Tell the person what you would do, and ask; "+
			"when they say yes, call it.", name)
	}
	return fmt.Sprintf("%q was not run: nobody has asked you for it. A person at this device may.", name)
}

// verdict says in a sentence why a call was run or refused.
func verdict(c turn.CallTool, t boxed, may bool) *string {
	what := "was run"
	if !may {
		what = "was refused"
	}
	say := fmt.Sprintf("The last call, %s in turn %s (%v), %s: its cause is %v.", t.Name, c.Turn, t.Kind, what, c.Cause)
	return &say
}

// Why says whose words caused the last call, and whether it was run; empty: there was none.
func (b *Toolbox) Why() string {
	if say := b.latest.Load(); say != nil {
		return *say
	}
	return ""
}
