package chattest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// parameters of chat completions that this server knows; another one is answered with 400, as the service does.
var parameters = []string{
	"model", "messages", "max_tokens", "max_completion_tokens", "temperature", "top_p", "n", "stream", "stop", "seed",
	"response_format", "reasoning_effort", "user", "metadata", "store", "service_tier", "verbosity", "presence_penalty",
	"frequency_penalty", "logprobs", "top_logprobs", "logit_bias", "tools", "tool_choice", "parallel_tool_calls",
	"stream_options", "prediction", "safety_identifier",
}

var schemaName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// parse reads a request and says what the API would not take of it.
func parse(q *http.Request, body []byte) (r Request, wrong string) {
	var o map[string]any
	if q.Method != http.MethodPost {
		return r, "the method is " + q.Method
	}
	if kind := q.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") {
		return r, "Content-Type is " + kind
	}
	if err := json.Unmarshal(body, &o); err != nil {
		return r, "the body is not JSON: " + err.Error()
	}
	for _, k := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(parameters, k) {
			return r, "Unrecognized request argument supplied: " + k
		}
	}
	r = Request{Header: q.Header.Clone(), Body: body}
	var ok bool
	if r.Model, ok = o["model"].(string); !ok || r.Model == "" {
		return r, "you must provide a model parameter"
	}
	if o["stream"] == true {
		return r, "this server does not stream"
	}
	old, isOld := o["max_tokens"].(float64)
	most, isNew := o["max_completion_tokens"].(float64)
	if isOld && isNew {
		return r, "max_tokens and max_completion_tokens cannot both be set"
	}
	reasoning := strings.HasPrefix(r.Model, "gpt-5") || strings.HasPrefix(r.Model, "o3") || strings.HasPrefix(r.Model, "o4")
	if temperature, is := o["temperature"].(float64); is && (temperature < 0 || temperature > 2 || reasoning && temperature != 1) {
		return r, fmt.Sprintf("temperature is %v", temperature)
	}
	if isOld && reasoning {
		return r, "max_tokens is not supported with this model; use max_completion_tokens"
	}
	if r.MaxToken = int(old + most); (isOld || isNew) && r.MaxToken < 1 {
		return r, "fewer than one token"
	}
	if wrong = r.messages(o["messages"]); wrong != "" {
		return r, wrong
	}
	if f := o["response_format"]; f != nil {
		wrong = r.format(f)
	}
	return r, wrong
}

func (r *Request) messages(v any) string {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return "messages: a list with at least one message"
	}
	for i, v := range list {
		o, ok := v.(map[string]any)
		text, words := o["content"].(string)
		if !ok || !words || text == "" {
			return fmt.Sprintf("messages[%d].content: a text", i)
		}
		switch o["role"] {
		case "system", "developer":
			r.System += text
		case "user":
			r.User += text
		case "assistant":
		default:
			return fmt.Sprintf("messages[%d].role: %v", i, o["role"])
		}
	}
	return ""
}

func (r *Request) format(v any) string {
	o, ok := v.(map[string]any)
	if !ok {
		return "response_format: an object"
	}
	r.Format, _ = o["type"].(string)
	switch r.Format {
	case "text":
		r.Format = ""
	case "json_object":
		// The service wants the word in a message, or the model may write blanks for ever.
		if !strings.Contains(strings.ToLower(r.System+r.User), "json") {
			return "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'"
		}
	case "json_schema":
		s, ok := o["json_schema"].(map[string]any)
		if name, _ := s["name"].(string); !ok || !schemaName.MatchString(name) {
			return "response_format.json_schema.name"
		}
		if s["strict"] == true {
			return strict("response_format.json_schema.schema", s["schema"])
		}
	default:
		return "response_format.type: " + r.Format
	}
	return ""
}

// strict checks what strict structured output asks of a schema: every property required, none besides.
func strict(path string, v any) string {
	o, ok := v.(map[string]any)
	if !ok {
		return path + ": an object"
	}
	if o["type"] != "object" {
		return ""
	}
	if o["additionalProperties"] != false {
		return path + ": 'additionalProperties' is required to be supplied and to be false"
	}
	required, _ := o["required"].([]any)
	properties, _ := o["properties"].(map[string]any)
	for name, p := range properties {
		if !slices.Contains(required, any(name)) {
			return path + ": 'required' must include every key in properties; missing " + name
		}
		if wrong := strict(path+"."+name, p); wrong != "" {
			return wrong
		}
	}
	if len(required) != len(properties) {
		return path + ": 'required' names what is not in properties"
	}
	return ""
}
