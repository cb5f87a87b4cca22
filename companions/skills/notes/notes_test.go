package notes_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"conch/companions/skills"
	"conch/companions/skills/notes"
	"conch/device/condition"
	"conch/device/store"
)

// kept is the skill, and what it keeps.
type kept struct {
	skills.Skill
	store skills.Store
}

func opened(t *testing.T, path string) (*store.DB, kept) {
	db := store.New(path, condition.NewBook(slog.New(slog.DiscardHandler)), time.Now)
	t.Cleanup(func() { _ = db.Close() })
	s := db.Skill(store.NotesOf)
	return db, kept{notes.New(skills.Host{Store: s}), s}
}

func says(t *testing.T, s kept, companion, tool, args, want string) {
	t.Helper()
	for _, each := range s.Tools() {
		if each.Name != tool {
			continue
		}
		r, err := each.Handler(skills.Context{Context: t.Context(), Companion: companion, Now: time.Now}, json.RawMessage(args))
		out := r.Output
		if err != nil {
			out = err.Error()
		}
		if !strings.Contains(out, want) {
			t.Errorf("%s %s: %q; want %q", tool, args, out, want)
		}
		return
	}
	t.Fatal("there is no tool", tool)
}

func TestACompanionRemembersForItself(t *testing.T) {
	path := filepath.Join(t.TempDir(), store.File)
	db, s := opened(t, path)
	says(t, s, "ada", "recall", `{}`, "You have told me nothing to remember.")
	says(t, s, "ada", "forget", `{}`, "There is nothing that I remember.")
	says(t, s, "ada", "remember", `{"text":"The bin goes  out on Monday."}`, "I will remember: The bin goes out on Monday.")
	says(t, s, "ada", "remember", `{"text":"the bin goes out on monday."}`, "I remember that already.")
	says(t, s, "ada", "remember", `{"text":"My blood type is A"}`, "I will remember")
	says(t, s, "ben", "recall", `{"about":"the bin"}`, "You have told me nothing to remember.")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	_, s = opened(t, path)
	says(t, s, "ada", "recall", `{"about":"the bins"}`, "You told me: The bin goes out on Monday.")
	says(t, s, "ada", "recall", `{"about":"the cat"}`, "nothing about the cat")
	says(t, s, "ada", "recall", `{}`, "You told me: The bin goes out on Monday. My blood type is A.")
	says(t, s, "ben", "forget", `{"about":"the bin"}`, "There is nothing that I remember.")
	says(t, s, "ada", "forget", `{}`, "Which of these")
	says(t, s, "ada", "forget", `{"about":"the bin"}`, "I have forgotten: The bin goes out on Monday.")
	says(t, s, "ada", "recall", `{}`, "You told me: My blood type is A.")
	says(t, s, "ada", "remember", `{"text":"Milk is out"}`, "I will remember")
	says(t, s, "ada", "forget", `{"all":true}`, "I have forgotten 2 things.")
	if all, err := s.store.Companions(); err != nil || len(all) > 0 {
		t.Errorf("%q, %v", all, err)
	}
}

func TestErasing(t *testing.T) {
	_, s := opened(t, filepath.Join(t.TempDir(), store.File))
	for i := range 3 {
		says(t, s, "ada", "remember", fmt.Sprintf(`{"text":"number %d"}`, i), "remember")
		says(t, s, "ben", "remember", fmt.Sprintf(`{"text":"number %d"}`, i), "remember")
	}
	if err := s.store.Put("ada", map[string][]byte{"note x": []byte("not to be read")}); err != nil {
		t.Fatal(err)
	}
	if err := notes.Erase(s.store, "ada", notes.Note{ID: 2}); err != nil {
		t.Fatal(err)
	}
	if all, err := notes.Of(s.store, "ada"); err != nil || len(all) != 2 || all[0].Text != "number 0" || all[1].ID != 3 {
		t.Errorf("%+v, %v", all, err)
	}
	if err := notes.Erase(s.store, "ada"); err != nil {
		t.Fatal(err)
	}
	if all, err := s.store.Companions(); err != nil || len(all) != 1 || all[0] != "ben" {
		t.Errorf("%q, %v; want that nothing of Ada's is left", all, err)
	}
}

func TestBoundsAreToldInWords(t *testing.T) {
	db, s := opened(t, filepath.Join(t.TempDir(), store.File))
	says(t, s, "ada", "remember", `{"text":"  "}`, "what should I remember?")
	says(t, s, "ada", "remember", `{"text":["x"]}`, "must be a text")
	says(t, s, "ada", "remember", `{"text":"`+strings.Repeat("x", 1001)+`"}`, "too long")
	for i := range 200 {
		says(t, s, "ada", "remember", fmt.Sprintf(`{"text":"number %d"}`, i), "I will remember")
	}
	says(t, s, "ada", "remember", `{"text":"one more"}`, "200 things already")
	says(t, s, "ada", "recall", `{}`, "number 199. And 190 older ones.")
	says(t, s, "ben", "remember", `{"text":"one more"}`, "I will remember")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	says(t, s, "ada", "forget", `{"about":"199"}`, "conch ends")
}
