package cascade

import (
	"strings"
	"testing"

	"conch/companions/voice/cascade/aloud"
)

// spokenOf is a text as its pieces, however it is written.
func spokenOf(t *testing.T, text string, step int) []string {
	t.Helper()
	var p aloud.Plain
	var c cutter
	var out []piece
	rest := text
	for rest != "" {
		n := min(step, len(rest))
		out = append(out, c.write(p.Write(rest[:n]))...)
		rest = rest[n:]
	}
	out = append(out, c.write(p.Flush(c.n == 0 && c.text == ""))...)
	out = append(out, c.flush()...)
	var all []string
	for _, x := range out {
		all = append(all, x.text)
	}
	return all
}

func TestTextIsCutWhereASpeakerBreathes(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"the first sentence at once", "Yes. It is a quarter past three in the afternoon.", "Yes. | It is a quarter past three in the afternoon."},
		{"the first clause, if it says something", "In that case, we should go home now.", "In that case, | we should go home now."},
		{"no clause of one word", "Well, we should go home.", "Well, we should go home."},
		{"numbers stay whole", "Pi is 3.14159 and a million is 1,000,000. That is all there is.", "Pi is 3.14159 and a million is 1,000,000. | That is all there is."},
		{"times", "It is 14:30 now. We leave at 15:00 o'clock.", "It is 14:30 now. | We leave at 15:00 o'clock."},
		{"titles", "Ask Dr. Miller or Mrs. Jones. They know about it.", "Ask Dr. Miller or Mrs. Jones. | They know about it."},
		{"initials", "It is by J. S. Bach. He wrote a lot of it.", "It is by J. S. Bach. | He wrote a lot of it."},
		{"a word that is a letter", "So do I. And what about you, my dear?", "So do I. | And what about you, my dear?"},
		{"for example", "Take a fruit, e.g. an apple. It is good for you.", "Take a fruit, | for example an apple. It is good for you."},
		{"zum Beispiel", "Nimm Obst, z. B. einen Apfel. Das ist gesund für dich.", "Nimm Obst, zum Beispiel einen Apfel. | Das ist gesund für dich."},
		{"a German date", "Am 24. Dezember ist Heiligabend. Dann feiern wir alle.", "Am 24. Dezember ist Heiligabend. | Dann feiern wir alle."},
		{"the United States", "The U.S. Army came. It was there a long time.", "The U.S. Army came. | It was there a long time."},
		{"a domain", "See example.com for more. It is all there.", "See example.com for more. | It is all there."},
		{"an ellipsis", "Hmm... let me see. There it is, after all.", "Hmm... let me see. | There it is, after all."},
		{"quotes close with it", "He said \"Stop!\" Then he went away quickly.", "He said \"Stop!\" | Then he went away quickly."},
		{"Chinese", "今天天气很好。我们去公园吧，好不好？", "今天天气很好。 | 我们去公园吧，好不好？"},
		{"Japanese", "はい、そうです。今日は月曜日です。", "はい、そうです。 | 今日は月曜日です。"},
		{"Hindi", "नमस्ते। आज मौसम बहुत अच्छा है।", "नमस्ते। | आज मौसम बहुत अच्छा है।"},
		{"Arabic", "كيف حالك؟ أنا بخير والحمد لله اليوم.", "كيف حالك؟ | أنا بخير والحمد لله اليوم."},
		{"Urdu", "شکریہ۔ میں آپ سے بعد میں بات کروں گا۔", "شکریہ۔ | میں آپ سے بعد میں بات کروں گا۔"},
		{"Armenian", "Բարև։ Այսօր լավ օր է մեզ համար։", "Բարև։ | Այսօր լավ օր է մեզ համար։"},
		{"Amharic", "ሰላም። ዛሬ ጥሩ ቀን ነው ለሁላችንም።", "ሰላም። | ዛሬ ጥሩ ቀን ነው ለሁላችንም።"},
		{"Greek", "Γεια σας. Σήμερα είναι Δευτέρα και βρέχει.", "Γεια σας. | Σήμερα είναι Δευτέρα και βρέχει."},
		{"Russian", "Привет. Сегодня понедельник и идёт дождь.", "Привет. | Сегодня понедельник и идёт дождь."},
		{"a list", "Buy:\n- milk\n- eggs and butter\n- a loaf of bread\n", "Buy. | milk. eggs and butter. | a loaf of bread."},
		{"a numbered list", "1. Boil the water.\n2. Put the egg in.\n", "1, Boil the water. | 2, Put the egg in."},
		{"bold, italics, strike", "This is **very** *good* and ~~not~~ __never__ _bad_.", "This is very good and not never bad."},
		{"snake case and products", "Set max_size to 3 * 4 or 5*6.", "Set max size to 3 × 4 or 5×6."},
		{"a heading and a quotation", "## The plan\n> Be quick about it.\n", "The plan. | Be quick about it."},
		{"a link", "Read [the page](https://example.com/a.b?c=d) about it.", "Read the page about it."},
		{"an image", "![A cat.](cat.png) is here with us.", "A cat. is here with us."},
		{"an address", "It is at https://www.example.org/very/long?path=1. Go there at once.", "It is at example.org. | Go there at once."},
		{"a footnote", "It is so [1] and so [2, 3].", "It is so and so ."},
		{"emoji", "Hello 👋🏽 there! 😀 How are you 👩‍👩‍👧 today?", "Hello there! | How are you today?"},
		{"inline code", "Run `make test` now.", "Run make test now."},
		{"a block of code", "Do this.\n```sh\nrm -rf / ; echo no. yes.\n```\nThen you are done with it.", "Do this. | Then you are done with it."},
		{"nothing but code", "```\nprint one.\n```\n", "print one."},
		{"a table", "| Day | Rain |\n|-----|------|\n| Monday | *much* |\n", "Day, Rain. | Monday, much."},
		{"a rule", "One thing.\n---\nThen another thing.\n", "One thing. | Then another thing."},
		{"less than", "If 3 < 4 then good.", "If 3 < 4 then good."},
		{"tags", "Line one.<br>Line two is <b>bold</b> here.", "Line one. | Line two is bold here."},
		{"escapes", `Five \* six \(x\) is it.`, "Five * six (x) is it."},
		{"degrees and euros", "It is 21 °C and costs € 5.", "It is 21 °C and costs € 5."},
		{"no stop at the end", "and that was all", "and that was all."},
		{"nothing", " \n\n ** 😀 ", ""},
		{"dashes", "It was late — very late — when he came back home to us again.", "It was late — | very late — when he came back home to us again."},
	} {
		for _, step := range []int{1, 2, 3, 7, 1000} {
			if got := strings.Join(spokenOf(t, row.text, step), " | "); got != row.want {
				t.Errorf("%s, in pieces of %d bytes:\n got %s\nwant %s", row.name, step, got, row.want)
				break
			}
		}
	}
}

// A text without any mark is cut between words, in time; a word without end is cut, too.
func TestLongTextIsCutAnywhere(t *testing.T) {
	got := spokenOf(t, strings.Repeat("word ", 300), 5)
	if len(got) < 5 || len(got[0]) > 61 {
		t.Errorf("%d pieces, the first of %d letters", len(got), len(got[0]))
	}
	for _, x := range spokenOf(t, strings.Repeat("x", 5000), 50) {
		if len(x) > 525 {
			t.Errorf("a piece of %d letters", len(x))
		}
	}
	for _, x := range spokenOf(t, "เมื่อวานนี้ฉันไปตลาด ซื้อผลไม้หลายอย่าง แล้วก็กลับบ้าน ทำอาหารเย็นกับครอบครัว อร่อยมากจริงๆ", 3) {
		if n := len([]rune(x)); n > 140 {
			t.Errorf("a Thai piece of %d letters", n)
		}
	}
}

// However a text comes, its pieces are the same, nothing is held for ever, and no mark of markdown is spoken.
func FuzzCut(f *testing.F) {
	for _, s := range []string{"a **b** [c](d) `e`", "```\nx\n", "| a |\n", "<think>", "1. a\n- b", "http://x.y", "3.14. Yes", "。", "\xff\xfe", "![", "~~~", "- - -"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, step int) {
		if len(text) > 1000 || step < 1 {
			t.Skip("longer than what is looked at here, or no step")
		}
		var p aloud.Plain
		var c cutter
		n := 0
		for rest := text; rest != ""; {
			k := min(step, len(rest))
			for _, x := range c.write(p.Write(rest[:k])) {
				n += len(x.text)
			}
			rest = rest[k:]
		}
		for _, x := range append(c.write(p.Flush(true)), c.flush()...) {
			n += len(x.text)
		}
		if n > 6*len(text)+2000 {
			t.Errorf("%d bytes of %d", n, len(text))
		}
		if strings.TrimSpace(c.text) != "" {
			t.Errorf("left: %q", c.text)
		}
	})
}
