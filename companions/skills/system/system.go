// Package system is the skill of the device itself: the time, the volume, silence.
package system

import (
	"encoding/json"
	"fmt"

	"conch/companions/skills"
)

// Skill has the tools get_time, set_volume, mute and stop.
type Skill struct {
	Mute func() error // closes the microphone; nil: there is no such tool
}

// New is the skill.
func New(h skills.Host) skills.Skill { return Skill{Mute: h.Mute} }

// Tools lists them.
func (s Skill) Tools() []skills.Tool {
	tools := []skills.Tool{
		{
			Name: "get_time", Kind: skills.Reads, Own: true,
			Description: "The local date and time of the device. Use it for every question about the time, the day or the date.",
			Handler:     getTime,
		},
		{
			Name: "set_volume", Kind: skills.ChangesDevice, Own: true,
			Description: "Sets the loudness of the device in percent; 0 is silent. It is remembered.",
			Schema: json.RawMessage(`{"type":"object","properties":{"percent":{"type":"integer",` +
				`"description":"loudness in percent, 0 to 100"}},"required":["percent"],"additionalProperties":false}`),
			Handler: setVolume,
		},
		{
			Name: "stop", Kind: skills.ChangesDevice, Own: true,
			Description: "Stops whatever plays: music, a book, a call. Use it when the person asks for silence.",
			Handler:     stop,
		},
	}
	if s.Mute != nil {
		tools = append(tools, skills.Tool{
			Name: "mute", Kind: skills.Erases, Own: true,
			Description: "Switches the microphone off, when the person asks for that. It can be switched on again by hand only: " +
				"by holding the button for five seconds. Say so.",
			Handler: s.mute,
		})
	}
	return tools
}

func (s Skill) mute(skills.Context, json.RawMessage) (skills.Result, error) {
	if err := s.Mute(); err != nil {
		return skills.Result{}, err
	}
	return skills.Result{Output: "The microphone is off. Holding the button for five seconds switches it on again."}, nil
}

func getTime(ctx skills.Context, _ json.RawMessage) (skills.Result, error) {
	now := ctx.Now()
	return skills.Result{Output: "It is " + now.Format("3:04 PM") + " on " + now.Format("Monday, January 2, 2006") + "."}, nil
}

func setVolume(_ skills.Context, args json.RawMessage) (skills.Result, error) {
	var a struct {
		Percent int `json:"percent"`
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return skills.Result{}, fmt.Errorf("the volume must be a whole number from 0 to 100: %w", err)
	}
	a.Percent = min(100, max(0, a.Percent))
	return skills.Result{
		Output: fmt.Sprintf("The volume is %d percent.", a.Percent),
		Effect: skills.SetVolume{Percent: a.Percent},
	}, nil
}

func stop(skills.Context, json.RawMessage) (skills.Result, error) {
	return skills.Result{Output: "Stopped.", Effect: skills.CancelMedia{}}, nil
}
