package rehearsal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	openai "github.com/openai/openai-go/v3/realtime"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"conch/companions/voice/realtime/schema"
)

// sdk is the official Go client on plain HTTP.
type sdk struct {
	t    *testing.T
	conn *openai.RealtimeConnection
	raw  [][]byte
}

func dialSDK(t *testing.T, url string) *sdk {
	t.Helper()
	httpClient := &http.Client{Transport: &http.Transport{}}
	service := openai.NewRealtimeService(
		option.WithBaseURL(strings.TrimSuffix(strings.Replace(url, "ws://", "http://", 1), "realtime")),
		option.WithAPIKey("any"), option.WithHTTPClient(httpClient), option.WithQuery("model", "gpt-realtime-2.1"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := service.Connect(ctx, openai.RealtimeConnectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Abort()
		httpClient.CloseIdleConnections()
	})
	return &sdk{t: t, conn: conn}
}

func (c *sdk) send(e openai.RealtimeClientEventUnionParam) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	if err := c.conn.Send(ctx, e); err != nil {
		c.t.Fatal(err)
	}
}

func (c *sdk) sendRaw(e string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	if err := c.conn.SendRaw(ctx, json.RawMessage(e)); err != nil {
		c.t.Fatal(err)
	}
}

// until receives with the SDK's own decoder up to an event of the kind.
func (c *sdk) until(kind string) openai.RealtimeServerEventUnion {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	for {
		b, err := c.conn.RecvRaw(ctx)
		if err != nil {
			c.t.Fatalf("waiting for %s: %v", kind, err)
		}
		c.raw = append(c.raw, b)
		var e openai.RealtimeServerEventUnion
		if err := json.Unmarshal(b, &e); err != nil {
			c.t.Fatalf("%.200s: %v", b, err)
		}
		if e.Type == kind {
			return e
		}
	}
}

// as is until with the event's own type.
func as[T any](c *sdk, kind string) T {
	c.t.Helper()
	e, ok := c.until(kind).AsAny().(T)
	if !ok {
		c.t.Fatalf("%s is no %T", kind, e)
	}
	return e
}

func (c *sdk) say(text string) {
	c.send(openai.RealtimeClientEventUnionParam{OfConversationItemCreate: &openai.ConversationItemCreateEventParam{
		Item: openai.ConversationItemParamOfRealtimeUserMessageItem([]openai.RealtimeConversationItemUserMessageContentParam{
			{Type: "input_text", Text: param.NewOpt(text)},
		}),
	}})
}

func (c *sdk) respond() {
	c.send(openai.RealtimeClientEventUnionParam{OfResponseCreate: &openai.ResponseCreateEventParam{}})
}

// converse goes through everything that a push-to-talk client and its server have to say to each other.
func converse(t *testing.T) [][]byte {
	o := quick()
	o.Pace = 20
	s, url := serve(t, o)
	c := dialSDK(t, url)
	c.until("session.created")
	c.sendRaw(`{"type":"session.update","session":{"type":"realtime","instructions":"You are Ada.","audio":{"input":{"turn_detection":null,
		"noise_reduction":{"type":"near_field"},"transcription":{"model":"gpt-transcribe","language":"en"}},"output":{"voice":"cedar"}},
		"tools":[{"type":"function","name":"set_volume","description":"Loudness.","parameters":{"type":"object"}}],"max_output_tokens":4000}}`)
	c.until("session.updated")

	tone, _ := Tones{}.Say(t.Context(), "alloy", "what time is it")
	c.send(openai.RealtimeClientEventUnionParam{OfInputAudioBufferClear: &openai.InputAudioBufferClearEventParam{}})
	c.until("input_audio_buffer.cleared")
	c.send(openai.RealtimeClientEventParamOfInputAudioBufferAppend(soundBase64(tone)))
	c.send(openai.RealtimeClientEventUnionParam{OfInputAudioBufferCommit: &openai.InputAudioBufferCommitEventParam{}})
	heard := as[openai.InputAudioBufferCommittedEvent](c, "input_audio_buffer.committed").ItemID
	c.until("conversation.item.input_audio_transcription.completed")
	c.send(openai.RealtimeClientEventParamOfConversationItemRetrieve(heard))
	c.until("conversation.item.retrieved")
	c.send(openai.RealtimeClientEventUnionParam{OfResponseCreate: &openai.ResponseCreateEventParam{
		Response: openai.RealtimeResponseCreateParams{Metadata: map[string]string{"turn": "t-1"}},
	}})
	if r := as[openai.ResponseDoneEvent](c, "response.done").Response; r.Status != "completed" || r.Metadata["turn"] != "t-1" || r.Usage.OutputTokens == 0 {
		t.Errorf("response.done = %s", r.RawJSON())
	}

	// A tool, its output, the answer after it.
	c.say("louder please, volume to eighty")
	c.respond()
	args := as[openai.ResponseFunctionCallArgumentsDoneEvent](c, "response.function_call_arguments.done")
	if args.Name != "set_volume" || args.Arguments != `{"percent":80}` {
		t.Errorf("call %s(%s)", args.Name, args.Arguments)
	}
	done := as[openai.ResponseDoneEvent](c, "response.done").Response
	if call, _ := done.Output[0].AsAny().(openai.RealtimeConversationItemFunctionCall); call.CallID != args.CallID || call.Arguments != args.Arguments {
		t.Errorf("response.done has call %s", call.RawJSON())
	}
	c.send(openai.RealtimeClientEventUnionParam{OfConversationItemCreate: &openai.ConversationItemCreateEventParam{
		Item: openai.ConversationItemParamOfFunctionCallOutput(args.CallID, "The volume is 80 percent."),
	}})
	c.until("conversation.item.done")
	c.respond()
	if said := as[openai.ResponseAudioTranscriptDoneEvent](c, "response.output_audio_transcript.done").Transcript; said != "The volume is 80 percent." {
		t.Errorf("narrated %q", said)
	}
	c.until("response.done")

	// A press in the middle of a story.
	c.say("tell me a story")
	c.respond()
	delta := as[openai.ResponseAudioDeltaEvent](c, "response.output_audio.delta")
	c.send(openai.RealtimeClientEventUnionParam{OfResponseCancel: &openai.ResponseCancelEventParam{ResponseID: param.NewOpt(delta.ResponseID)}})
	if r := as[openai.ResponseDoneEvent](c, "response.done").Response; r.Status != "cancelled" || !strings.Contains(r.RawJSON(), `"reason":"client_cancelled"`) || r.ID != delta.ResponseID {
		t.Errorf("response.done = %s", r.RawJSON())
	}
	c.send(openai.RealtimeClientEventParamOfConversationItemTruncate(150, 0, delta.ItemID))
	c.until("conversation.item.truncated")
	c.send(openai.RealtimeClientEventParamOfConversationItemDelete(delta.ItemID))
	c.until("conversation.item.deleted")

	// Out of band in text; refused; failed; incomplete; a recognizer that fails.
	c.sendRaw(`{"type":"response.create","response":{"conversation":"none","output_modalities":["text"],"metadata":{"bid":"1"},
		"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"what is your name"}]}]}}`)
	if text := as[openai.ResponseTextDoneEvent](c, "response.output_text.done").Text; !strings.Contains(text, "Ada") {
		t.Errorf("out of band: %q", text)
	}
	c.until("response.done")
	c.send(openai.RealtimeClientEventUnionParam{OfInputAudioBufferCommit: &openai.InputAudioBufferCommitEventParam{EventID: param.NewOpt("mine")}})
	if e := as[openai.RealtimeErrorEvent](c, "error").Error; e.Code != "input_audio_buffer_commit_empty" || e.EventID != "mine" {
		t.Errorf("error = %s", e.RawJSON())
	}
	s.SetFaults(Faults{FailResponse: true})
	c.respond()
	if r := as[openai.ResponseDoneEvent](c, "response.done").Response; r.Status != "failed" || !strings.Contains(r.RawJSON(), `"code":"server_error"`) {
		t.Errorf("response.done = %s", r.RawJSON())
	}
	s.SetFaults(Faults{Incomplete: true})
	c.say("tell me a story")
	c.respond()
	if r := as[openai.ResponseDoneEvent](c, "response.done").Response; r.Status != "incomplete" || !strings.Contains(r.RawJSON(), `"reason":"content_filter"`) {
		t.Errorf("response.done = %s", r.RawJSON())
	}
	return c.raw
}

func TestOfficialGoClientConverses(t *testing.T) {
	raw := converse(t)
	var odd openai.RealtimeServerEventUnion
	if err := json.Unmarshal([]byte(`{"type":"response.done","event_id":"e","response":{"surprise":1}}`), &odd); err != nil || len(strange(reflect.ValueOf(odd.AsAny()), "")) != 1 {
		t.Fatalf("the SDK sees %v in an odd event (%v): this test could not fail", strange(reflect.ValueOf(odd.AsAny()), ""), err)
	}
	s := compile(t, schema.Server)
	kinds := map[string]int{}
	for _, b := range raw {
		var e openai.RealtimeServerEventUnion
		if err := json.Unmarshal(b, &e); err != nil {
			t.Fatalf("%.200s: %v", b, err)
		}
		kinds[e.Type]++
		if e.AsAny() == nil {
			t.Errorf("the SDK knows no %s", e.Type)
			continue
		}
		for _, bad := range strange(reflect.ValueOf(e.AsAny()), e.Type) {
			t.Errorf("%s in %.300s", bad, b)
		}
		if err := valid(s, b); err != nil {
			t.Errorf("%.300s: %v", b, err)
		}
	}
	for _, want := range []string{
		"session.created", "session.updated", "error", "rate_limits.updated",
		"input_audio_buffer.committed", "input_audio_buffer.cleared",
		"conversation.item.added", "conversation.item.done", "conversation.item.retrieved", "conversation.item.deleted", "conversation.item.truncated",
		"conversation.item.input_audio_transcription.completed",
		"response.created", "response.done", "response.output_item.added", "response.output_item.done",
		"response.content_part.added", "response.content_part.done", "response.output_audio.delta", "response.output_audio.done",
		"response.output_audio_transcript.delta", "response.output_audio_transcript.done", "response.output_text.delta", "response.output_text.done",
		"response.function_call_arguments.delta", "response.function_call_arguments.done",
	} {
		if kinds[want] == 0 {
			t.Errorf("no %s was there to be judged", want)
		}
	}
}

func compile(t testing.TB, doc []byte) *jsonschema.Schema {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///events.json", v); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:///events.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// valid judges an event by the schema; the service's nulls stand for what the types describe as absent.
func valid(s *jsonschema.Schema, event []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(event))
	if err != nil {
		return err
	}
	return s.Validate(withoutNulls(v))
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case m:
		for k, x := range v {
			if x == nil {
				delete(v, k)
			} else {
				v[k] = withoutNulls(x)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}

// strange lists what the SDK did not know and what it missed in a decoded event.
func strange(v reflect.Value, path string) (bad []string) {
	if as := v.MethodByName("AsAny"); v.Kind() == reflect.Struct && as.IsValid() && !strings.Contains(v.Type().Name(), "ServerEvent") {
		if x := as.Call(nil)[0]; !x.IsNil() {
			return strange(x.Elem(), path)
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Struct:
		j := v.FieldByName("JSON")
		if !j.IsValid() {
			return nil
		}
		if extra := j.FieldByName("ExtraFields"); extra.IsValid() {
			for _, k := range extra.MapKeys() {
				bad = append(bad, path+"."+k.String()+" is unknown")
			}
		}
		// A union without AsAny decodes into every variant: the one that fits best is meant.
		var best []string
		variants := 0
		for i := range v.NumField() {
			if f := v.Type().Field(i); strings.HasPrefix(f.Name, "Of") {
				if b := strange(v.Field(i), path); variants == 0 || len(b) < len(best) {
					best = b
				}
				variants++
			}
		}
		own := v.Type().NumField() - 1 - variants // fields of a variant that the SDK has drawn into the union
		switch {
		case variants > 0 && own == 0:
			return append(bad, best...)
		case variants > 0:
			return bad
		}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() || f.Name == "JSON" {
				continue
			}
			meta := j.FieldByName(f.Name)
			if !meta.IsValid() {
				continue
			}
			there := meta.MethodByName("Valid").Call(nil)[0].Bool()
			if !there && (f.Tag.Get("api") == "required" || f.Tag.Get("default") != "") {
				bad = append(bad, path+"."+f.Name+" is missing")
			}
			if there {
				bad = append(bad, strange(v.Field(i), path+"."+f.Name)...)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			bad = append(bad, strange(v.Index(i), fmt.Sprintf("%s[%d]", path, i))...)
		}
	}
	return bad
}

// TestSessionExpires in the words of the service: an error, then the end.
func TestSessionExpires(t *testing.T) {
	o := quick()
	o.Life = 50 * time.Millisecond
	_, url := serve(t, o)
	c := dial(t, url)
	if e := c.until("error"); get[string](e, "error", "code") != "session_expired" {
		t.Errorf("error = %v; want session_expired", e)
	}
	if e, err := c.next(); err == nil {
		t.Errorf("%v after the end", e)
	}
}
