package words

import "testing"

func TestOwnName(t *testing.T) {
	for text, want := range map[string]string{
		"I am Max": "Max", "I'm Max.": "Max", "Hi, I'm Lena!": "Lena", "my name is max": "Max", "Ada, my name is Jean-Luc, what is the time?": "Jean-Luc",
		"Good evening. I am Zoë and I like dogs": "Zoë", "hello I am Max": "Max",
		"Ich heiße Max": "Max", "ich heisse max": "Max", "Hallo, ich bin die Lena": "Lena", "Mein Name ist Özlem.": "Özlem",
		"Je m'appelle Zoé": "Zoé", "Bonjour, je suis Max": "Max", "Me llamo Lucía": "Lucía", "Hola, soy Max": "Max",
		"Mi chiamo Giulia": "Giulia", "Ik heet Sanne": "Sanne", "Mam na imię Zosia": "Zosia", "Meu nome é João": "João", "Меня зовут Иван": "Иван",

		"I am hungry": "", "I'm so tired, Ada": "", "I am here": "", "I am Max's mother": "", "I am not Max": "", "I am in the kitchen": "", "Am I Max?": "",
		"Who am I?": "", "I am back!": "", "I am Max?": "", "i am hungry": "", "i am max": "", "His name is Max": "", "My name is not Max": "", "My name is on the list": "",
		"She said I am Max": "", "She said \"I am Max\"": "", "My name is": "", "You are Max": "", "I am Max Planck's biggest admirer": "", "This is Max": "", "I am 12": "",
		"I'm sorry": "", "I'm fine": "", "I am Sure": "", "I'm the cook": "", "ich bin müde": "", "Ich bin hier": "", "Je suis fatigué": "", "Soy de Madrid": "", "": "",
		"I am Aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": "", "I am Max\u202e": "",
	} {
		if got := Known().OwnName(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestConsents(t *testing.T) {
	n := Known().Names([]Named{{Who: "ada", Names: []string{"Ada"}}})
	for text, want := range map[string]bool{
		"Yes": true, "yes please": true, "Yes, please, Ada.": true, "sure": true, "Ja, gerne": true, "Oui, s'il te plaît": true, "Sí, claro": true, "Sì": true, "tak": true,
		"да": true, "sim": true,
		"no": false, "no thanks": false, "Yes?": false, "yes, what time is it": false, "Not yet": false, "yes but not now": false, "thanks": false, "great": false,
		"nein": false, "": false, "Ada": false, "yesterday": false, "jacke": false,
	} {
		if got := n.Consents(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// Who gives a name of their own is answered as one who greets, by one; not who gives a companion's.
func TestIntroductionsAreAnswered(t *testing.T) {
	parties := []Party{{Named: Named{"ada", []string{"Ada"}}, Companion: true}, {Named: Named{"ben", []string{"Ben"}}, Companion: true}}
	for text, want := range map[string]string{"I am Max": RuleGreeting, "my name is lena": RuleGreeting, "my name is ben": "", "I am hungry": ""} {
		if w := Known().Follow(parties, nil, Said{From: "human:k", Text: text}, "").Whom(); w.Rule != want {
			t.Errorf("%q: rule %q, want %q", text, w.Rule, want)
		}
	}
}
