// Package room is the skill of who speaks: who else is here, why somebody spoke, and how much companions join in. A companion that is
// alone tells why it spoke.
package room

import (
	"encoding/json"
	"fmt"

	"conch/companions/skills"
)

// Skill has the tools who_is_here, why_did_you_speak and set_involvement.
type Skill struct{ skills.Room }

// New is the skill; nil where nothing is known of who spoke.
func New(h skills.Host) skills.Skill {
	if h.Room == nil {
		return nil
	}
	return Skill{*h.Room}
}

// Brief is for a model with little room.
func (Skill) Brief() string {
	return "Companions in the room: who is there, why one spoke, how much they join in."
}

// Tools lists them.
func (s Skill) Tools() []skills.Tool {
	why := skills.Tool{
		Name: "why_did_you_speak", Kind: skills.Reads,
		Description: "Tells, from the record of the room, why you or another companion spoke last and why the others stayed silent. " +
			"Use it whenever somebody asks why anybody spoke, answered or kept silent; do not guess.",
		Handler: func(ctx skills.Context, _ json.RawMessage) (skills.Result, error) {
			return skills.Result{Output: s.Why(ctx.Companion)}, nil
		},
	}
	if s.Members == nil {
		return []skills.Tool{why}
	}
	return []skills.Tool{
		{
			Name: "who_is_here", Kind: skills.Reads,
			Description: "Tells which companions and devices are in the room now.",
			Handler: func(skills.Context, json.RawMessage) (skills.Result, error) {
				return skills.Result{Output: s.Members()}, nil
			},
		},
		why,
		{
			Name: "set_involvement", Kind: skills.ChangesDevice, Own: true,
			Description: "Sets how much companions join in without being asked: off, low, medium or high; for one companion by its id, or for the whole room.",
			Schema: json.RawMessage(`{"type":"object","properties":{"involvement":{"type":"string","enum":["off","low","medium","high"]},` +
				`"companion":{"type":"string","description":"id of the companion; empty for the whole room"}},"required":["involvement"],"additionalProperties":false}`),
			Handler: s.setInvolvement,
		},
	}
}

func (s Skill) setInvolvement(_ skills.Context, args json.RawMessage) (skills.Result, error) {
	var a struct{ Involvement, Companion string }
	if err := json.Unmarshal(args, &a); err != nil {
		return skills.Result{}, fmt.Errorf("the involvement must be off, low, medium or high: %w", err)
	}
	if err := s.Manners(a.Companion, a.Involvement); err != nil {
		return skills.Result{}, err
	}
	who := a.Companion
	if who == "" {
		who = "everybody here"
	}
	return skills.Result{Output: fmt.Sprintf("Involvement of %s is %s now.", who, a.Involvement)}, nil
}
