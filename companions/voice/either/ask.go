package either

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"conch/companions/voice"
	"conch/companions/voice/kit"
	"conch/companions/voice/realtime"
	"conch/coordinator/turn"
)

// Speaks is what a server was found to speak; "": nobody knows.
type Speaks string

// What there is to speak, as voice.kind has it.
const (
	Realtime Speaks = "realtime"
	Chat     Speaks = "cascade"
)

const (
	askLimit = 5 * time.Second // for each of the two questions
	askMost  = 1 << 20         // bytes of an answer
)

// neither is a server that speaks none of them.
type neither struct{ host string }

func (n neither) Error() string             { return fmt.Sprintf("%s speaks neither Realtime nor chat", n.host) }
func (n neither) Words() (turn.Words, bool) { return turn.WordsElsewhere, false }

// webSocket is the address with the scheme of a WebSocket, and the path of Realtime.
func webSocket(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.Scheme = strings.Replace(u.Scheme, "http", "ws", 1)
	if p := strings.TrimRight(u.Path, "/"); p != "" && !strings.HasSuffix(p, "/realtime") {
		u.Path = p + "/realtime"
	}
	return realtime.DialectFor(u.String()).Address(u.String())
}

// Ask finds out what a server speaks. It changes nothing there, and costs nothing.
func Ask(ctx context.Context, client *http.Client, address, key string) (Speaks, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	up, err := upgrades(ctx, client, webSocket(address), key)
	var no *kit.RefusalError
	if err != nil && !errors.As(err, &no) {
		return "", fmt.Errorf("ask %s for Realtime: %w", u.Host, err)
	}
	if up && voice.Far(u.Hostname()) {
		return Realtime, nil
	}
	chats, owner, also := chats(ctx, client, address, key, !up)
	switch {
	case up && owner != scribe:
		return Realtime, nil
	case chats:
		return Chat, nil
	case also != nil:
		return "", fmt.Errorf("ask %s for chat: %w", u.Host, also)
	case no != nil && (no.Status == http.StatusUnauthorized || no.Status == http.StatusForbidden):
		return "", fmt.Errorf("ask %s for Realtime: %w", u.Host, no)
	}
	return "", neither{u.Host}
}

// upgrades says whether a WebSocket is to be had. It is closed before anything is said.
func upgrades(ctx context.Context, client *http.Client, address, key string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.Replace(address, "ws", "http", 1), nil)
	if err != nil {
		return false, err
	}
	for name, value := range map[string]string{
		"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "Y29uY2ggYXNrcyB5b3UuLg==",
	} {
		q.Header.Set(name, value)
	}
	return asked(client, q, key, func(resp *http.Response, _ []byte) bool { return resp.StatusCode == http.StatusSwitchingProtocols })
}

// scribe owns the models of a server whose WebSocket writes down, and answers nothing: vLLM.
const scribe = "vllm"

// chats says whether there is a list of models, and who owns the first of them; or, if probe, a chat that complains of a question without
// words. An error is one that hides it: of the network, or of the key.
func chats(ctx context.Context, client *http.Client, address, key string, probe bool) (ok bool, owner string, err error) {
	u, _ := url.Parse(address) // it was read before
	if strings.Trim(u.Path, "/") == "" {
		u.Path = "/v1"
	}
	base := strings.TrimRight(u.String(), "/")
	ctx, cancel := context.WithTimeout(ctx, 2*askLimit)
	defer cancel()
	list, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/models", nil)
	if err != nil {
		return false, "", err
	}
	ok, err = asked(client, list, key, func(resp *http.Response, body []byte) bool {
		var said struct {
			Data []struct {
				Owner any `json:"owned_by"`
			} `json:"data"`
		}
		if resp.StatusCode != http.StatusOK || json.Unmarshal(body, &said) != nil || said.Data == nil {
			return false
		}
		if len(said.Data) > 0 {
			owner, _ = said.Data[0].Owner.(string)
		}
		return true
	})
	if ok || !probe {
		return ok, owner, nil
	}
	ask, also := http.NewRequestWithContext(ctx, http.MethodPost, base+"/chat/completions", strings.NewReader("{}"))
	if also != nil {
		return false, "", also
	}
	ask.Header.Set("Content-Type", "application/json")
	ok, also = asked(client, ask, key, func(resp *http.Response, body []byte) bool {
		return (resp.StatusCode == http.StatusBadRequest || resp.StatusCode == http.StatusUnprocessableEntity) && json.Valid(body)
	})
	var no *kit.RefusalError
	for _, e := range []error{err, also} {
		if errors.As(e, &no) && (no.Status == http.StatusUnauthorized || no.Status == http.StatusForbidden || no.Status >= 500) && !no.Page {
			return ok, "", e // there is something, which does not let us see what
		}
	}
	if also != nil && !errors.As(also, &no) {
		return ok, "", also
	}
	return ok, "", nil
}

// asked sends a request and judges what comes; an error is a refusal, or that nothing came.
func asked(client *http.Client, q *http.Request, key string, good func(*http.Response, []byte) bool) (bool, error) {
	if key != "" {
		q.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := client.Do(q)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	var body []byte
	if resp.StatusCode != http.StatusSwitchingProtocols {
		body, _ = io.ReadAll(io.LimitReader(resp.Body, askMost)) // what came of it
	}
	if good(resp, body) {
		return true, nil
	}
	no := kit.ReadRefusal(resp, body)
	no.Text = kit.Redact(no.Text, key)
	return false, no
}
