package words

import "testing"

// TestExpertiseIsMatchedByStems: each language by its own endings, what the card says is a synonym, and no word that merely looks alike.
func TestExpertiseIsMatchedByStems(t *testing.T) {
	for _, row := range []struct{ language, role, field, line, other string }{ // other is a line about something else
		{"", "", "recipes", "Which recipe was that?", "Which receipt was that?"},
		{"", "", "baking", "How long do I bake it?", "How long do I back it?"},
		{"", "the cook of the house", "potatoes", "Is the potato done?", "Is the pot done?"},
		{"de", "", "Rezept", "Hast du noch andere Rezepte?", "Hast du noch andere Rezeptoren?"},
		{"", "die Köchin und das Herz der Küche", "Apfel", "Wie lange backen Äpfel?", "Wie lange backen Aale?"},
		{"fr", "", "recette", "Tu connais des recettes ?", "Tu connais des raisons ?"},
		{"es", "", "receta", "¿Tienes recetas con arroz?", "¿Tienes recados con arroz?"},
		{"it", "", "ricetta", "Hai delle ricette?", "Hai delle riviste?"},
		{"nl", "", "recept", "Heb je nog recepten?", "Heb je nog redenen?"},
		{"pt", "", "receita", "Tens receitas com arroz?", "Tens receios com arroz?"},
		{"ru", "", "рецепт", "У тебя есть рецепты?", "У тебя есть ракеты?"},
		{"ar", "", "وصفة", "هل عندك الوصفات؟", "هل عندك كتاب؟"},
		{"ja", "", "料理", "料理は好きですか", "音楽は好きですか"},
		{"sv", "", "recept", "Har du ett recept?", "Har du receptet?"}, // without a stemmer: word by word
	} {
		k := Knowledge{Language: row.language, Role: row.role, Fields: []string{"nothing", row.field}}
		for text, want := range map[string]string{row.line: row.field, row.other: ""} {
			c := Known().Follow([]Party{{Named: Named{Who: "ada", Names: []string{"Ada"}}, Companion: true, Knowledge: k}}, nil, Said{From: "eva", Text: text}, "")
			if got := c.Field("ada"); got != want {
				t.Errorf("%s: %q is about %q; want %q", row.language, text, got, want)
			}
			if n := c.Now.count(k); (n > 0) != (want != "") || want != "" && n != 1 {
				t.Errorf("%s: %q counts %d", row.language, text, n)
			}
		}
	}
	k := Knowledge{Fields: []string{"egg", "eggs", "rice"}, Synonyms: map[string][]string{"eggs": {"omelette"}, "rice": {"risotto"}}, Skills: []string{"set_timers"}}
	c := Known().Follow([]Party{{Named: Named{Who: "ada", Names: []string{"Ada"}}, Companion: true, Knowledge: k}}, nil,
		Said{From: "eva", Text: "Are there eggs in the omelettes, or risotto? Set a timer."}, "")
	if got, n, topics := c.Field("ada"), c.Now.count(k), c.Now.Topics(k); got != "egg" || n != 2 || topics != 3 {
		t.Errorf("about %q, %d fields, %d topics; want egg, 2 and 3", got, n, topics)
	}
	if got := c.Now.Skill(Knowledge{Skills: []string{"sing", "set_a_timers"}}); got != "set_a_timers" {
		t.Errorf("the skill %q", got)
	}
	if c.Now.Skill(Knowledge{Language: "ja", Skills: []string{"set_a_timers"}}) != "" {
		t.Error("a skill of another language is asked for by English endings")
	}
}
