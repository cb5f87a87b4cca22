// Package intercom is the skill of calling another device of the room, for people who want to speak with whoever is there.
package intercom

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"conch/companions/skills"
)

// Skill has the tools call_device, answer, hang_up and who_can_be_called.
type Skill struct{ skills.Intercom }

// New is the skill; nil where no other device can be called.
func New(h skills.Host) skills.Skill {
	if h.Intercom == nil {
		return nil
	}
	return Skill{*h.Intercom}
}

// Brief is for a model with little room.
func (Skill) Brief() string {
	return "Calls to other devices of the household."
}

// Tools lists them.
func (s Skill) Tools() []skills.Tool {
	return []skills.Tool{
		{
			Name: "call_device", Kind: skills.SpeaksElsewhere, Own: true,
			Description: "Calls another device of the household, so that people can speak with one another through the two; it rings there. " +
				"Use it for \"call the kitchen\". It begins when you have finished speaking, so say in two words whom you call, and no more.",
			Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":100,` +
				`"description":"name of the device, as who_can_be_called has it"}},"required":["name"],"additionalProperties":false}`),
			Handler: s.call,
		},
		{
			Name: "answer", Kind: skills.SpeaksElsewhere, Own: true,
			Description: "Answers the call that rings here, as a press of the button does.",
			Handler: func(skills.Context, json.RawMessage) (skills.Result, error) {
				claim, err := s.Answer()
				if err != nil {
					return skills.Result{}, err
				}
				return skills.Result{Output: "It begins now.", Effect: claim}, nil
			},
		},
		{
			Name: "hang_up", Kind: skills.ChangesDevice, Own: true,
			Description: "Ends a call, or refuses the one that rings here.",
			Handler: func(skills.Context, json.RawMessage) (skills.Result, error) {
				if !s.HangUp() {
					return skills.Result{Output: "There is no call any more."}, nil // who asks for it by typing has ended it by that
				}
				return skills.Result{Output: "The call is over."}, nil
			},
		},
		{
			Name: "who_can_be_called", Kind: skills.Reads, Own: true,
			Description: "Lists the devices that can be called now.",
			Handler: func(skills.Context, json.RawMessage) (skills.Result, error) {
				if names := s.Names(); len(names) > 0 {
					return skills.Result{Output: strings.Join(names, ", ") + "."}, nil
				}
				return skills.Result{Output: "No other device is there."}, nil
			},
		},
	}
}

func (s Skill) call(_ skills.Context, args json.RawMessage) (skills.Result, error) {
	var a struct{ Name string }
	if err := json.Unmarshal(args, &a); err != nil {
		return skills.Result{}, fmt.Errorf("the name of the device is missing: %w", err)
	}
	if strings.TrimSpace(a.Name) == "" {
		return skills.Result{}, errors.New("say which device is to be called")
	}
	claim, err := s.Call(a.Name)
	if err != nil {
		return skills.Result{}, err
	}
	return skills.Result{Output: "It rings there when you have finished.", Effect: claim}, nil
}
