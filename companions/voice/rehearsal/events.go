package rehearsal

import (
	"bytes"
	"encoding/json"
	"maps"
)

// The shapes of what a client may send: GA reference, client events. Texts are bounded by us.
const (
	maxName = 512
	maxText = 256 << 10
)

var (
	pcmFormat = variant(map[string]rule{
		"audio/pcm": object(map[string]field{"type": must(oneOf("audio/pcm")), "rate": may(number(Rate, Rate, true))}),
	})
	voiceRule = either(voiceName, object(map[string]field{"id": must(str(maxName))}))

	functionTool = object(map[string]field{
		"type": must(oneOf("function")), "name": must(toolName), "description": may(str(maxText)), "parameters": may(anyObject),
	})
	toolChoice = either(oneOf("none", "auto", "required"), object(map[string]field{
		"type": must(oneOf("function")), "name": must(toolName),
	}))
	maxTokens  = either(oneOf("inf"), number(1, 4096, true))
	modalities = list(1, oneOf("text", "audio")) // never both
	reasoning  = object(map[string]field{"effort": may(oneOf("minimal", "low", "medium", "high", "xhigh"))})

	sessionRule = object(map[string]field{
		"type":              must(oneOf("realtime")),
		"model":             may(str(maxName)),
		"instructions":      may(str(maxText)),
		"output_modalities": may(modalities),
		"audio": may(object(map[string]field{
			"input": may(object(map[string]field{
				"format": may(pcmFormat),
				"noise_reduction": clears(object(map[string]field{
					"type": may(oneOf("near_field", "far_field")), "strength": may(anything),
				})),
				"transcription": clears(object(map[string]field{
					"model": may(str(maxName)), "language": may(str(maxName)), "languages": may(list(64, str(maxName))),
					"prompt": may(str(maxText)), "keywords": may(list(1024, str(maxName))),
					"delay": may(oneOf("minimal", "low", "medium", "high", "xhigh")),
				})),
				"turn_detection": clears(turnDetection),
			})),
			"output": may(object(map[string]field{
				"format": may(pcmFormat), "voice": may(voiceRule), "speed": may(number(0.25, 1.5, false)),
			})),
		})),
		"tools":               may(list(128, functionTool)),
		"tool_choice":         may(toolChoice),
		"parallel_tool_calls": may(boolean),
		"reasoning":           may(reasoning),
		"max_output_tokens":   may(maxTokens),
		"include":             may(list(8, oneOf("item.input_audio_transcription.logprobs"))),
		"prompt":              clears(object(map[string]field{"id": must(str(maxName)), "version": may(str(maxName)), "variables": may(anyObject)})),
		"tracing":             clears(either(oneOf("auto"), anyObject)),
		"truncation":          may(either(oneOf("auto", "disabled"), anyObject)),
	})

	// Assistant sound cannot be put into history, its words can.
	messageItem = func(path string, v any) *violation {
		o := v.(m) // variant saw to it
		part := map[string]rule{"input_text": textPart("input_text")}
		switch role, _ := o["role"].(string); role {
		case "assistant":
			part = map[string]rule{"output_text": textPart("output_text")}
		case "user":
			part["input_audio"] = object(map[string]field{
				"type": must(anything), "audio": must(str(maxAppend)), "transcript": may(str(maxText)),
			})
		}
		return object(withItem(map[string]field{
			"role": must(oneOf("user", "assistant", "system")), "content": must(list(64, variant(part))),
		}))(path, v)
	}
	itemKinds = map[string]rule{
		"message": messageItem,
		"function_call": object(withItem(map[string]field{
			"call_id": may(str(maxName)), "name": must(toolName), "arguments": must(str(maxText)),
		})),
		"function_call_output": object(withItem(map[string]field{
			"call_id": must(str(maxName)), "output": must(str(maxText)),
		})),
	}
	itemRule    = variant(itemKinds)
	inputKinds  = withReference()
	responseCfg = object(map[string]field{
		"conversation":      may(oneOf("auto", "none")),
		"input":             may(list(maxItems, variant(inputKinds))),
		"instructions":      may(str(maxText)),
		"output_modalities": may(modalities),
		"audio": may(object(map[string]field{
			"output": may(object(map[string]field{"format": may(pcmFormat), "voice": may(voiceRule)})),
		})),
		"tools":               may(list(128, functionTool)),
		"tool_choice":         may(toolChoice),
		"parallel_tool_calls": may(boolean),
		"reasoning":           may(reasoning),
		"max_output_tokens":   may(maxTokens),
		"metadata":            may(metadata),
		"prompt":              may(anyObject),
	})

	clientEvents = variant(map[string]rule{
		"session.update":             event(map[string]field{"session": must(sessionRule)}),
		"input_audio_buffer.append":  event(map[string]field{"audio": must(str(maxAppend))}),
		"input_audio_buffer.commit":  event(nil),
		"input_audio_buffer.clear":   event(nil),
		"conversation.item.create":   event(map[string]field{"item": must(itemRule), "previous_item_id": may(str(maxName))}),
		"conversation.item.retrieve": event(map[string]field{"item_id": must(str(maxName))}),
		"conversation.item.delete":   event(map[string]field{"item_id": must(str(maxName))}),
		"conversation.item.truncate": event(map[string]field{
			"item_id": must(str(maxName)), "content_index": must(number(0, 0, true)), "audio_end_ms": must(number(0, 1e9, true)),
		}),
		"response.create":           event(map[string]field{"response": may(responseCfg)}),
		"response.cancel":           event(map[string]field{"response_id": may(str(maxName))}),
		"output_audio_buffer.clear": event(nil),
	})
)

func event(fields map[string]field) rule {
	all := map[string]field{"type": must(str(maxName)), "event_id": may(str(maxName))}
	maps.Copy(all, fields)
	return object(all)
}

func withItem(fields map[string]field) map[string]field {
	fields["type"] = must(str(maxName))
	fields["id"] = may(str(maxName))
	fields["object"] = may(oneOf("realtime.item"))
	fields["status"] = may(oneOf("completed", "incomplete", "in_progress"))
	return fields
}

func withReference() map[string]rule {
	all := maps.Clone(itemKinds)
	all["item_reference"] = object(map[string]field{"type": must(anything), "id": must(str(maxName))})
	return all
}

func textPart(kind string) rule {
	return object(map[string]field{"type": must(oneOf(kind)), "text": must(str(maxText))})
}

func toolName(path string, v any) *violation {
	s, ok := v.(string)
	if !ok {
		return wrongType(path, "a string", v)
	}
	if s == "" || len(s) > 64 {
		return wrong("invalid_value", path, "Invalid '%s': a name has 1 to 64 characters.", path)
	}
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-') {
			return wrong("invalid_value", path, "Invalid '%s': letters, digits, _ and - only.", path)
		}
	}
	return nil
}

// decode reads one frame into a checked object. The id is the client's own for the event, if it could be read at all.
func decode(frame []byte) (ev m, id string, bad *violation) {
	d := json.NewDecoder(bytes.NewReader(frame))
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, "", wrong("invalid_json", "", "The event is not JSON: %s.", clip(err.Error(), 200))
	}
	if d.More() {
		return nil, "", wrong("invalid_json", "", "One event in one message: there is more behind the first.")
	}
	if o, ok := v.(m); ok {
		id, _ = o["event_id"].(string)
		id = clip(id, maxName)
	}
	if bad := clientEvents("", v); bad != nil {
		return nil, id, bad
	}
	return v.(m), id, nil
}

// get walks into a checked object; nil when something on the way is absent.
func get[T any](o m, path ...string) (v T) {
	for _, k := range path[:len(path)-1] {
		if o, _ = o[k].(m); o == nil {
			return v
		}
	}
	v, _ = o[path[len(path)-1]].(T)
	return v
}

// merge lays an update over a session: absent is unchanged, null and empty clear, lists are replaced.
func merge(into, from m) {
	for k, v := range from {
		if a, ok := into[k].(m); ok && k != "tool_choice" && k != "turn_detection" {
			if b, ok := v.(m); ok {
				merge(a, b)
				continue
			}
		}
		into[k] = v
	}
}

// copyOf is a deep copy of JSON values.
func copyOf(v any) any {
	switch v := v.(type) {
	case m:
		c := make(m, len(v))
		for k, x := range v {
			c[k] = copyOf(x)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, x := range v {
			c[i] = copyOf(x)
		}
		return c
	}
	return v
}
