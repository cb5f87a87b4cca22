package round

import (
	"testing"
	"time"
)

// Who is called by a name of a person at home is no companion: those keep out, whatever the words look like.
func TestPeopleAtHomeAreCalled(t *testing.T) {
	for text, without := range map[string]string{
		"lena what does the bread need?":                "ada", // as a recogniser writes
		"Opa Karl, which planets are up tonight?":       "bob",
		"what about you, lena, which song do you like?": "cleo",
		"Could you tell us of the stars, Jean-Luc":      "bob",
	} {
		c := meet(t)
		if c.says(eva, text); c.d.Winner == "" {
			t.Errorf("%q: a rule keeps companions out already: %s", text, c.d.Reason)
		} else if string(c.d.Winner) != without {
			t.Errorf("%q: %s, want %s", text, c.d.Winner, without)
		}
		c = meet(t)
		c.v.People = []string{"Lena", "Opa Karl", "Jean-Luc"}
		c.says(eva, text).want("")
	}
}

func TestPeopleAtHome(t *testing.T) {
	c := meet(t)
	c.v.People = []string{"Lena", "Ada", "BOB"}
	c.says(eva, "Ada, how long does bread take?").want("ada") // a companion's name stays its own
	c.says("ada", "An hour.").says(eva, "Bob, which star is that?").want("bob")
	c.says("bob", "Sirius.").says(eva, "and how far is it? I want to tell Lena").want("bob") // who is mentioned is not called
	c.says("bob", "Nine light years.").says(eva, "Lena and Ada, what shall we bake?").want("ada")
	c.v.Away = []Card{{ID: "lena", Name: "Lena"}}
	if p := c.v.people(); len(p) != 0 {
		t.Errorf("%v means a person, and a companion has that name that was here", p)
	}
}

func TestPeopleKnown(t *testing.T) {
	m := New(Config{Self: "k1", Name: "kitchen", Cards: []Card{cook(), astronomer()}})
	names := make([]string, 100)
	for i := range names {
		names[i] = string(rune('a'+i%26)) + "x"
	}
	names[0] = "Lena"
	m, _ = Step(m, PeopleKnown{At: time.Second, Names: names})
	if len(m.people) != maxPeople {
		t.Fatalf("%d names are kept", len(m.people))
	}
	names[0] = "Ada"
	m, _ = Step(m, Said{At: 2 * time.Second, ID: "m1", Turn: "t1", Text: "lena what does the bread need?"})
	if !m.rd.decided || m.rd.decision.Winner != "" {
		t.Errorf("decided %v: %s speaks", m.rd.decided, m.rd.decision.Winner)
	}
}
