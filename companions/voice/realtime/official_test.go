package realtime

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	openai "github.com/openai/openai-go/v3/realtime"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"conch/companions/voice/realtime/schema"
	"conch/coordinator/turn"
)

// Two judges that are not ours: the schema generated from the official types, strictly, and the official Go SDK.

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

func valid(t testing.TB, s *jsonschema.Schema, event []byte) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(event))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

// dropNulls removes what the service sends as null and the types describe as absent.
func dropNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if e == nil {
				delete(v, k)
			} else {
				v[k] = dropNulls(e)
			}
		}
	case []any:
		for i := range v {
			v[i] = dropNulls(v[i])
		}
	}
	return v
}

func TestEverythingSentIsOfficial(t *testing.T) {
	s := compile(t, schema.Client)
	var all [][]byte
	inDialect(t, "ga", func(w *world) {
		evening(w)
		w.c.Do(turn.DeleteItem{Turn: "t-2", Item: "item_a2"})
		w.c.Do(turn.AddText{Turn: "t-4", Role: "system", Text: "The kettle boils."})
		w.c.Do(turn.AddText{Turn: "t-4", Role: "user", Text: "Hello."})
		w.c.Do(turn.CreateResponse{Turn: "t-4", Prompt: "Tell it."})
		w.c.Tools(nil)
		w.c.Names([]string{"Ada", "Ben"})
		w.took()
		w.peer(0).hangUp()      // the next session brings the history, an assistant's words among it
		time.Sleep(time.Second) // somebody else's server settles
		w.took()
		all = append(w.peer(0).raw, w.peer(1).raw...)
	})
	types := map[string]int{}
	for _, b := range all {
		var ev struct{ Type string }
		_ = json.Unmarshal(b, &ev)
		types[ev.Type]++
		if err := valid(t, s, b); err != nil {
			t.Errorf("%s\n%.400s: %v", ev.Type, b, err)
		}
	}
	// Every event of a push-to-talk client was there to be judged: a check that saw nothing has not passed.
	for _, want := range []string{
		"session.update", "input_audio_buffer.append", "input_audio_buffer.commit", "input_audio_buffer.clear", "conversation.item.create",
		"conversation.item.truncate", "conversation.item.delete", "response.create", "response.cancel",
	} {
		if types[want] == 0 {
			t.Errorf("no %s was sent in this session", want)
		}
	}
	if types["session.update"] < 4 {
		t.Errorf("%d session.update; want one per session and one for the tools", types["session.update"])
	}
}

func TestTheSchemaRefuses(t *testing.T) {
	s := compile(t, schema.Client)
	for _, bad := range []string{
		`{"type":"input_audio_buffer.append"}`,
		`{"type":"input_audio_buffer.append","audio":"AAAA","turn":"t-1"}`,
		`{"type":"session.update","session":{"type":"realtime","modalities":["audio"]}}`,
		`{"type":"session.update","session":{"output_modalities":["audio"]}}`,
		`{"type":"session.update","session":{"type":"realtime","audio":{"input":{"format":{"type":"audio/pcm","rate":16000}}}}}`,
		`{"type":"session.update","session":{"type":"realtime","temperature":0.8}}`,
		`{"type":"conversation.item.truncate","item_id":"i","content_index":0}`,
		`{"type":"conversation.item.create","item":{"type":"message","role":"assistant","content":[{"type":"text","text":"x"}]}}`,
		`{"type":"conversation.item.create","item":{"type":"function_call_output","call_id":"c"}}`,
		`{"type":"response.create","response":{"modalities":["text"]}}`,
		`{"type":"output_audio_buffer.flush"}`,
	} {
		if valid(t, s, []byte(bad)) == nil {
			t.Errorf("the schema takes %s", bad)
		}
	}
}

// strangeTo lists what the SDK did not know in a decoded event.
func strangeTo(v reflect.Value, path string) (strange []string) {
	switch v.Kind() {
	case reflect.Struct:
		if j := v.FieldByName("JSON"); j.IsValid() && j.Kind() == reflect.Struct {
			if extra := j.FieldByName("ExtraFields"); extra.IsValid() {
				for _, k := range extra.MapKeys() {
					strange = append(strange, path+"."+k.String())
				}
			}
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "JSON" && !strings.HasPrefix(f.Name, "Of") {
				strange = append(strange, strangeTo(v.Field(i), path+"."+f.Name)...)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			strange = append(strange, strangeTo(v.Index(i), fmt.Sprintf("%s[%d]", path, i))...)
		}
	}
	return strange
}

func TestServerSessionIsOfficial(t *testing.T) {
	s := compile(t, schema.Server)
	n := 0
	for _, r := range session(t, "ga") {
		for _, b := range r.Send {
			n++
			var v any
			if err := json.Unmarshal(b, &v); err != nil {
				t.Fatal(err)
			}
			clean, _ := json.Marshal(dropNulls(v))
			if err := valid(t, s, clean); err != nil {
				t.Errorf("%.300s: %v", b, err)
			}
		}
	}
	if n < 50 {
		t.Errorf("%d events; want the whole session", n)
	}
	if valid(t, s, []byte(`{"type":"response.audio.delta","event_id":"e","response_id":"r","item_id":"i","output_index":0,"content_index":0,"delta":"AAAA"}`)) == nil {
		t.Error("the schema takes a name of the beta")
	}
}

func TestDecodesLikeTheOfficialSDK(t *testing.T) {
	var odd openai.RealtimeServerEventUnion
	if err := json.Unmarshal([]byte(`{"type":"input_audio_buffer.cleared","event_id":"e","surprise":1}`), &odd); err != nil || len(strangeTo(reflect.ValueOf(odd.AsAny()), "")) != 1 {
		t.Fatalf("an unknown field is not seen (%v): this test could not fail", err)
	}
	compared := 0
	for _, r := range session(t, "ga") {
		for _, b := range r.Send {
			var theirs openai.RealtimeServerEventUnion
			if err := json.Unmarshal(b, &theirs); err != nil {
				t.Fatalf("%.200s: %v", b, err)
			}
			variant := reflect.ValueOf(theirs.AsAny())
			if s := strangeTo(variant, ""); len(s) > 0 {
				t.Errorf("%s: the SDK does not know %v", theirs.Type, s)
			}
			var ours inbound
			audio, err := decode(b, &ours)
			if err != nil {
				t.Fatalf("%.200s: %v", b, err)
			}
			if audio != nil {
				ours.Delta = string(audio)
			}
			same := func(field string, ours, theirs reflect.Value) {
				if theirs.IsValid() && theirs.Kind() == ours.Kind() {
					compared++
					if fmt.Sprint(ours) != fmt.Sprint(theirs) {
						t.Errorf("%s: %s = %v; the SDK says %v", variant.Type(), field, ours, theirs)
					}
				}
			}
			if name(theirs.Type) != ours.Type {
				t.Errorf("type %s; the SDK says %s", ours.Type, theirs.Type)
			}
			o := reflect.ValueOf(ours)
			for _, f := range []string{"EventID", "ResponseID", "ItemID", "Delta", "Transcript", "Text", "CallID", "Name", "Arguments"} {
				same(f, o.FieldByName(f), variant.FieldByName(f))
			}
			if w := ours.Response; w != nil {
				resp := variant.FieldByName("Response")
				for _, f := range []string{"ID"} {
					same("Response."+f, reflect.ValueOf(*w).FieldByName(f), resp.FieldByName(f))
				}
				if done, ok := theirs.AsAny().(openai.ResponseDoneEvent); ok {
					u, x := w.Usage, done.Response.Usage
					got := [...]int64{u.InputTokens.Tokens(), u.OutputTokens.Tokens(), u.InputDetails.Text.Tokens(), u.InputDetails.Audio.Tokens(),
						u.InputDetails.CachedDetails.Text.Tokens(), u.OutputDetails.Text.Tokens(), u.OutputDetails.Audio.Tokens()}
					want := [...]int64{x.InputTokens, x.OutputTokens, x.InputTokenDetails.TextTokens, x.InputTokenDetails.AudioTokens, x.InputTokenDetails.CachedTokensDetails.TextTokens, x.OutputTokenDetails.TextTokens, x.OutputTokenDetails.AudioTokens}
					if got != want || w.Status != string(done.Response.Status) || w.Metadata["turn"] != done.Response.Metadata["turn"] || len(w.Output) != len(done.Response.Output) {
						t.Errorf("response.done = %+v, usage %v; the SDK says %v", w, got, want)
					}
				}
			}
			if it := ours.Item; it != nil {
				item := variant.FieldByName("Item")
				for _, f := range []string{"ID", "CallID", "Name", "Arguments"} {
					same("Item."+f, reflect.ValueOf(*it).FieldByName(f), item.FieldByName(f))
				}
			}
		}
	}
	if compared < 100 {
		t.Errorf("%d fields compared; want the whole session", compared)
	}
}
