package cascade

import (
	"fmt"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// Roles of the history that the chat protocol has besides those of people: a call's text is its name and its arguments, a line each.
const (
	roleCall   = "call"
	roleOutput = "output"
)

func callOf(id turn.CallID) turn.ItemID   { return turn.ItemID("call " + id) }
func outputOf(id turn.CallID) turn.ItemID { return turn.ItemID("output " + id) }

// messages is the conversation as the chat server reads it. What it begins with stays the same from question to question, so that a server
// that keeps what it has read need not read it again; what is for this answer alone stands at the end.
func (r *conversation) messages(order *asked) []openai.ChatCompletionMessage {
	prompt := order.Prompt
	if order.Resume {
		prompt = kit.Resume(&r.history, order.CreateResponse)
	}
	return chatOf(r.cfg.Instructions, r.history.Entries, prompt, r.c.mind.traits().System)
}

// chatOf writes a history as messages. Servers differ in what order of roles they take (their templates refuse others): the strictest
// is a system's message first, then user and assistant in turns. Calls stand with their outputs behind them, whenever those came.
func chatOf(instructions string, entries []kit.Entry, prompt string, system bool) (out []openai.ChatCompletionMessage) {
	add := func(m openai.ChatCompletionMessage) {
		if n := len(out); n > 0 && m.ToolCallID == "" && m.ToolCalls == nil && out[n-1].Role == m.Role && out[n-1].ToolCalls == nil &&
			m.Role != openai.ChatMessageRoleTool {
			out[n-1].Content += "\n" + m.Content
			return
		}
		out = append(out, m)
	}
	note := func(text string) {
		if system {
			add(openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: text})
			return
		}
		add(openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: fmt.Sprintf("(For you alone: %s)", text)})
	}
	if instructions != "" {
		out = append(out, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: instructions})
	}
	outputs := map[turn.ItemID]string{}
	for _, e := range entries {
		if e.Role == roleOutput {
			outputs[e.Item] = e.Text
		}
	}
	for i := 0; i < len(entries); i++ {
		switch e := entries[i]; {
		case e.Text == "" || e.Role == roleOutput:
		case e.Role == roleCall: // all that follow each other are of one answer
			m := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant}
			var results []openai.ChatCompletionMessage
			for ; i < len(entries) && (entries[i].Role == roleCall || entries[i].Role == roleOutput); i++ {
				if entries[i].Role == roleOutput {
					if i+1 < len(entries) && entries[i+1].Role == roleCall {
						i++
						break // the next answer's
					}
					continue
				}
				id := strings.TrimPrefix(string(entries[i].Item), "call ")
				name, args, _ := strings.Cut(entries[i].Text, "\n")
				m.ToolCalls = append(m.ToolCalls, openai.ToolCall{ID: id, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: name,
					Arguments: args}})
				output := outputs[outputOf(turn.CallID(id))]
				if output == "" {
					output = "(not known yet)"
				}
				results = append(results, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, Content: output, ToolCallID: id})
			}
			i--
			if n := len(out); n > 0 && out[n-1].Role == openai.ChatMessageRoleAssistant && out[n-1].ToolCalls == nil {
				out[n-1].ToolCalls = m.ToolCalls // what it said before it called
			} else {
				add(m)
			}
			out = append(out, results...)
		case e.Role == "system":
			note(e.Text)
		default:
			add(openai.ChatCompletionMessage{Role: e.Role, Content: e.Text})
		}
	}
	if prompt != "" {
		note(prompt)
	}
	if n := len(out); n == 0 || out[n-1].Role == openai.ChatMessageRoleAssistant {
		add(openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: "…"}) // many answer nothing where nobody asked
	}
	return out
}

func hasSystem(messages []openai.ChatCompletionMessage) bool {
	return slices.ContainsFunc(messages, func(m openai.ChatCompletionMessage) bool { return m.Role == openai.ChatMessageRoleSystem })
}

// unsystemed are the messages for a model that has no role of a system: the user's next message begins with what it says.
func unsystemed(messages []openai.ChatCompletionMessage) (out []openai.ChatCompletionMessage) {
	head := ""
	for _, m := range messages {
		switch m.Role {
		case openai.ChatMessageRoleSystem:
			head += m.Content + "\n\n"
			continue
		case openai.ChatMessageRoleUser:
			m.Content, head = head+m.Content, ""
		}
		out = append(out, m)
	}
	head = strings.TrimSpace(head)
	if last := len(out) - 1; head != "" && last >= 0 && out[last].Role == openai.ChatMessageRoleUser {
		out[last].Content += "\n\n" + head
	} else if head != "" {
		out = append(out, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: head})
	}
	return out
}
