package round

import "strings"

// Phrases by which intents and tones are told (ROOM.md 5). Folded as words folds, "|" between them. English first; of other
// languages what is said most.
var (
	closingWords = lex("bye|goodbye|bye bye|good bye|good night|goodnight|see you|see ya|cya|talk to you later|talk later|farewell|i have to go|i gotta go|i must go|" +
		"tschuss|auf wiedersehen|bis bald|gute nacht|au revoir|bonne nuit|a bientot|adios|hasta luego|buenas noches|さ よ う な ら|お や す み|再 见|再 見|晚 安")
	approvalWords = lex("thanks|thank you|thx|ty|cheers|ok|okay|k|great|cool|nice|perfect|got it|i see|all right|alright|understood|makes sense|good|fine|right|" +
		"yes|yeah|yep|sure|exactly|agreed|wonderful|excellent|awesome|very good|no problem|np|you re welcome|never mind|nevermind|well done|good job|" +
		"danke|vielen dank|super|genau|alles klar|merci|d accord|gracias|vale|claro|あ り が と う|は い|谢 谢|謝 謝|好 的")
	approvalMore = lex("very much|so much|a lot|then|for that|for the help|for your help|everyone|everybody|all|both|guys|you|it|that|sounds|is|s|really|a|" +
		"thanks|thank|to|help|again|anyway|anyways|now|bien|beaucoup|schon|mucho|muchas|ご ざ い ま す|そ う|う ん|oh|ah|well|and|just|で す")
	confusedWords = lex("i don t understand|i dont understand|i don t get it|i dont get it|i don t get that|i didn t understand|i did not understand|i do not understand|" +
		"i m confused|im confused|i am confused|confused|confusing|i m lost|i am lost|you lost me|makes no sense|doesn t make sense|does not make sense|that s unclear|not clear|unclear|" +
		"huh|pardon|ich verstehe nicht|verstehe ich nicht|das verstehe ich nicht|je ne comprends pas|je comprends pas|no entiendo|no lo entiendo|わ か ら な い|分 か ら な い|わ か り ま せ ん|分 か り ま せ ん|不 明 白|我 不 懂")
	clarifyWords = lex("what do you mean|what does that mean|what did you mean|can you clarify|could you clarify|clarify|please clarify|say that again|say it again|once more|come again|" +
		"explain that|explain it|explain again|explain this|in other words|in simpler words|more simply|can you repeat|could you repeat|repeat that|what was that|which one|how so|" +
		"elaborate|can you expand|tell me more|more detail|more details|for example|such as|was meinst du|wie meinst du|qu est ce que tu veux dire|que quieres decir|ど う い う 意 味|什 么 意 思")
	frustratedWords = lex("it still doesn t work|it doesn t work|doesn t work|does not work|still not working|not working|this is annoying|annoying|annoyed|frustrated|frustrating|useless|stupid|" +
		"damn|ugh|argh|i give up|fed up|sick of|hate this|hate it|i hate|come on|for the third time|nothing works|wrong again|terrible|awful|nervt|mist|ca ne marche pas|no funciona|最 悪")
	excitedWords  = lex("wow|amazing|awesome|fantastic|incredible|i can t wait|can t wait|so excited|excited|brilliant|yay|hooray|woohoo|wahnsinn|genial|increible|す ご い|太 好 了")
	positiveWords = lex("thanks|thank you|great|nice|cool|love it|i love|lovely|perfect|wonderful|excellent|good idea|well done|happy|glad|danke|merci|gracias|あ り が と う|谢 谢")
	questionWords = lex("what|whats|what s|who|whos|who s|whom|whose|where|wheres|where s|when|why|how|hows|how s|which|is|are|am|was|were|do|does|did|can|could|will|would|should|shall|may|might|have|has|had|" +
		"isn t|aren t|don t|doesn t|didn t|can t|couldn t|won t|wouldn t|any idea|anyone know|does anyone|has anyone|any|" +
		"wer|wie|wo|wann|warum|welche|welcher|welches|kann|kannst|konnt|ist|gibt|hast|quand|comment|pourquoi|ou|qui|quel|quelle|est ce que|que|quien|como|cuando|donde|cual|puedes")
	requestWords = lex("please|can you|could you|would you|will you|can someone|could someone|can somebody|could somebody|can anyone|could anyone|can anybody|i need|i d like|i would like|i want|let s|help me|" +
		"bitte|kannst du|konntest du|s il te plait|peux tu|por favor|puedes|く だ さ い|请|請")
	imperatives = lex("tell|give|show|explain|say|help|sing|play|stop|start|set|turn|wait|look|listen|continue|read|remind|describe|repeat|answer|summarize|summarise|check|find|make|take|let|" +
		"add|open|close|switch|put|call|write|recommend|suggest|compare|define|name|list|teach|count|cancel|pause|resume|go|come|try|think|guess|translate|calculate|convert|keep|carry|be|start|begin|talk|speak|" +
		"erzahl|sag|zeig|erklar|erklare|spiel|stell|mach|dis|raconte|explique|montre|joue|dime|explica|cuenta|muestra|pon")
	auxiliaries = lex("is|are|am|was|were|do|does|did|can|could|will|would|should|shall|may|might|have|has|had|isn|aren|don|doesn|didn|won|wouldn")
	bareWords   = lex("what|why|how|who|when|where|really|sorry|was|wie|warum|quoi|que")
	auxSubjects = lex("i|you|we|they|he|she|it|there|this|that|the|a|an|my|your|his|her|our|their|anyone|anybody|someone|somebody|these|those|t|any|either|one")
)

// IntentOf tells what a text is for, by rules (ROOM.md 5).
func IntentOf(text string) Intent { return intentOf(text, words(text)) }

func intentOf(text string, ws []word) Intent {
	line := phrase(ws)
	if len(ws) == 0 {
		if strings.ContainsAny(text, "?？") {
			return Clarification // "?" alone
		}
		return Statement
	}
	asks := strings.ContainsAny(clip(text), "?？") || strings.HasSuffix(line, " か ") || strings.HasSuffix(line, " 吗 ")
	if _, ok := says(line, confusedWords); ok && len(ws) < 16 {
		return Clarification
	}
	if _, ok := says(line, clarifyWords); ok && len(ws) < 16 {
		return Clarification
	}
	if len(ws) == 1 && asks && says1(line, bareWords) {
		return Clarification
	}
	if !asks {
		if _, ok := says(line, closingWords); ok && len(ws) < 12 {
			return Farewell
		}
		if onlyOf(line, approvalWords, approvalMore) {
			return Approval
		}
	}
	if _, ok := says(line, requestWords); ok && len(ws) < 40 {
		return Request
	}
	if asks || questionLike(ws, line) {
		return Question
	}
	if begins(skipOpening(line), imperatives) {
		return Request
	}
	return Statement
}

// questionLike tells a question from a recogniser that writes no question mark.
func questionLike(ws []word, line string) bool {
	line = skipOpening(line)
	f := strings.Fields(line)
	if len(f) < 2 || len(ws) > 40 {
		return false
	}
	if begins(line, auxiliaries) {
		return begins(" "+f[1]+" ", auxSubjects)
	}
	return begins(line, questionWords) && !strings.HasPrefix(line, " any ")
}

// openings are words before the first that counts.
var openings = lex("so|well|and|but|oh|ok|okay|hey|hi|hello|um|uh|hmm|now|then|please|also|yes|no|yeah|right|sorry|actually|alright")

func skipOpening(line string) string {
	for range 3 {
		p := openings.at(line)
		if p == "" || len(p) >= len(line) {
			break
		}
		line = line[len(p)-1:]
	}
	return line
}

// onlyOf says whether the line consists of the phrases, at least one of the first kind, and a few of the second.
func onlyOf(line string, phrases, more lexicon) bool {
	if strings.Count(line, " ") > 10 {
		return false
	}
	found := false
	for line != " " {
		p := phrases.at(line)
		if p != "" {
			found = true
		} else if p = more.at(line); p == "" {
			return false
		}
		line = line[len(p)-1:]
	}
	return found
}

// ToneOf tells how a text sounds, by rules (ROOM.md 5).
func ToneOf(text string) Tone { return toneOf(text, words(text)) }

func toneOf(text string, ws []word) Tone {
	line := phrase(ws)
	switch {
	case says1(line, confusedWords) || strings.Contains(text, "??"):
		return Confused
	case says1(line, frustratedWords) || strings.Contains(text, "!!!") && !says1(line, excitedWords) && !says1(line, positiveWords):
		return Frustrated
	case says1(line, excitedWords) || strings.Contains(text, "!!"):
		return Excited
	case says1(line, positiveWords):
		return Positive
	}
	return Neutral
}

// views are how several are asked at once (ROOM.md 6, cascade).
var views = lex("what do you all think|you all|all of you|each of you|both of you|you both|you two|you three|everyone s opinion|everybody s opinion|what does everyone think|what does everybody think|" +
	"everyone s view|everybody s view|your opinions|your views|several views|different views|different opinions|any other opinions|other opinions|what do you guys think|you guys think|everyone|everybody|y all|" +
	"ihr alle|was meint ihr|was denkt ihr|vous tous|qu en pensez vous|todos vosotros|todos ustedes|que opinais|み ん な|皆 さ ん|你 们 怎 么 看|大 家")

// severalViews says whether a text asks several for what they think.
func severalViews(text string) bool {
	ws := words(text)
	line := phrase(ws)
	p, ok := says(line, views)
	if !ok {
		return false
	}
	switch intentOf(text, ws) {
	case Question, Request, Clarification:
		return true
	case Statement: // "tell me, everyone"
		return p != "everyone" && p != "everybody"
	}
	return false
}
