package words

import "strings"

// Phrases by which intents and tones are told (ROOM.md 5). Folded as words folds, "|" between them. English first; of other
// languages what is said most.
var (
	closingWords = lex(`bye|goodbye|bye bye|good bye|good night|goodnight|see you|see ya|cya|talk to you later|talk later|farewell|
		i have to go|i gotta go|i must go|tschuss|auf wiedersehen|bis bald|gute nacht|au revoir|bonne nuit|a bientot|adios|hasta luego|
		buenas noches|さ よ う な ら|お や す み|再 见|再 見|晚 安`)
	approvalWords = lex(`thanks|thank you|thx|ty|cheers|ok|okay|k|great|cool|nice|perfect|got it|i see|all right|alright|understood|
		makes sense|good|fine|right|yes|yeah|yep|sure|exactly|agreed|wonderful|excellent|awesome|very good|no problem|np|you re welcome|
		never mind|nevermind|well done|good job|danke|vielen dank|super|genau|alles klar|merci|d accord|gracias|vale|claro|あ り が と う|
		は い|谢 谢|謝 謝|好 的`)
	approvalMore = lex(`very much|so much|a lot|then|for that|for the help|for your help|everyone|everybody|all|both|guys|you|it|that|sounds|
		is|s|really|a|thanks|thank|to|help|again|anyway|anyways|now|bien|beaucoup|schon|mucho|muchas|ご ざ い ま す|そ う|う ん|oh|ah|
		well|and|just|で す`)
	confusedWords = lex(`i don t understand|i dont understand|i don t get it|i dont get it|i don t get that|i didn t understand|
		i did not understand|i do not understand|i m confused|im confused|i am confused|confused|confusing|i m lost|i am lost|you lost me|
		makes no sense|doesn t make sense|does not make sense|that s unclear|not clear|unclear|huh|pardon|ich verstehe nicht|verstehe ich nicht|
		das verstehe ich nicht|je ne comprends pas|je comprends pas|no entiendo|no lo entiendo|わ か ら な い|分 か ら な い|
		わ か り ま せ ん|分 か り ま せ ん|不 明 白|我 不 懂`)
	clarifyWords = lex(`what do you mean|what does that mean|what did you mean|can you clarify|could you clarify|clarify|please clarify|
		say that again|say it again|once more|come again|explain that|explain it|explain again|explain this|in other words|in simpler words|
		more simply|can you repeat|could you repeat|repeat that|what was that|which one|how so|elaborate|can you expand|tell me more|more detail|
		more details|for example|such as|was meinst du|wie meinst du|qu est ce que tu veux dire|que quieres decir|ど う い う 意 味|
		什 么 意 思`)
	frustratedWords = lex(`it still doesn t work|it doesn t work|doesn t work|does not work|still not working|not working|this is annoying|
		annoying|annoyed|frustrated|frustrating|useless|stupid|damn|ugh|argh|i give up|fed up|sick of|hate this|hate it|i hate|come on|
		for the third time|nothing works|wrong again|terrible|awful|nervt|mist|ca ne marche pas|no funciona|最 悪`)
	excitedWords = lex(`wow|amazing|awesome|fantastic|incredible|i can t wait|can t wait|so excited|excited|brilliant|yay|hooray|woohoo|
		wahnsinn|genial|increible|す ご い|太 好 了`)
	positiveWords = lex(`thanks|thank you|great|nice|cool|love it|i love|lovely|perfect|wonderful|excellent|good idea|well done|happy|glad|
		danke|merci|gracias|あ り が と う|谢 谢`)
	questionWords = lex(`what|whats|what s|who|whos|who s|whom|whose|where|wheres|where s|when|why|how|hows|how s|which|is|are|am|was|were|do|
		does|did|can|could|will|would|should|shall|may|might|have|has|had|isn t|aren t|don t|doesn t|didn t|can t|couldn t|won t|wouldn t|
		any idea|anyone know|does anyone|has anyone|any|wer|wie|wo|wann|warum|welche|welcher|welches|kann|kannst|konnt|ist|gibt|hast|quand|
		comment|pourquoi|ou|qui|quel|quelle|est ce que|que|quien|como|cuando|donde|cual|puedes`)
	requestWords = lex(`please|can you|could you|would you|will you|can someone|could someone|can somebody|could somebody|can anyone|
		could anyone|can anybody|i need|i d like|i would like|i want|let s|help me|bitte|kannst du|konntest du|s il te plait|peux tu|por favor|
		puedes|く だ さ い|请|請`)
	imperatives = lex(`tell|give|show|explain|say|help|sing|play|stop|start|set|turn|wait|look|listen|continue|read|remind|describe|repeat|
		answer|summarize|summarise|check|find|make|take|let|add|open|close|switch|put|call|write|recommend|suggest|compare|define|name|list|teach|
		count|cancel|pause|resume|go|come|try|think|guess|translate|calculate|convert|keep|carry|be|start|begin|talk|speak|erzahl|sag|zeig|erklar|
		erklare|spiel|stell|mach|dis|raconte|explique|montre|joue|dime|explica|cuenta|muestra|pon`)
	auxiliaries = lex(`is|are|am|was|were|do|does|did|can|could|will|would|should|shall|may|might|have|has|had|isn|aren|don|doesn|didn|won|
		wouldn`)
	bareWords   = lex(`what|why|how|who|when|where|really|sorry|was|wie|warum|quoi|que`)
	auxSubjects = lex(`i|you|we|they|he|she|it|there|this|that|the|a|an|my|your|his|her|our|their|anyone|anybody|someone|somebody|these|
		those|t|any|either|one`)
)

// openings are words before the first that counts.
var openings = lex(`so|well|and|but|oh|ok|okay|hey|hi|hello|um|uh|hmm|now|then|please|also|yes|no|yeah|right|sorry|actually|alright`)

// views are how several are asked at once (ROOM.md 6, cascade).
var views = lex(`what do you all think|you all|all of you|each of you|both of you|you both|you two|you three|everyone s opinion|
		everybody s opinion|what does everyone think|what does everybody think|everyone s view|everybody s view|your opinions|your views|
		several views|different views|different opinions|any other opinions|other opinions|what do you guys think|you guys think|everyone|
		everybody|y all|ihr alle|was meint ihr|was denkt ihr|vous tous|qu en pensez vous|todos vosotros|todos ustedes|que opinais|み ん な|
		皆 さ ん|你 们 怎 么 看|大 家`)

// plainWords are names that are words as well: they need punctuation to be a vocative.
var plainWords = set(`will may mark art bill rob pat sue grace hope joy faith dawn frank jack nick rich max page rose ruby
	iris sky star echo nova sage usual so and the you all one me can do go it is are`)

// opening words that may stand before a vocative at the beginning; greetings need no comma before the name.
var (
	openers = set(`so well and but oh ah ok okay um uh hmm now then also yes yeah yep no nope right sorry great fine please actually
		alright anyway aha good excellent wow cool nice sure exactly true agreed und also ja nein gut et oui non alors bon y si bueno pues
		listen look say tell`)
	greetings = set(`hey hi hello hiya yo thanks thx thank cheers bye goodbye dear morning evening afternoon night welcome congrats congratulations
		hallo moin servus danke tschuss salut bonjour bonsoir coucou merci hola oye gracias adios ciao ey ola`)
	secondWords = set(`you there again morning evening afternoon night me much all so very day`) // "thank you", "hi there", "good morning"
)

// ... in a script that writes no spaces.
const spacelessOpeners = "ねえ|ねぇ|ね|おい|あの|やあ|はい|では|じゃあ|こんにちは|おはよう|" +
	"ありがとう|嘿|喂|你好|嗨|嗯|好|好的|请问|谢谢|那"

var (
	honorifics = []string{"さん", "くん", "ちゃん", "さま", "様", "君", "先生", "老师"}
	// afterSpaceless set a name apart in a script that writes no spaces; spacelessCues turn to somebody there without a comma.
	afterSpaceless = strings.Fields("さん くん ちゃん さま 様 君 は が の に と も 你 您 请 請 呢 老师 和 说 說")
	spacelessCues  = strings.Fields("はどう は？ は? 呢 你 您 请 請 に聞 にお願い")
	// joiners stand between names that are named together, partings before one that a sentence ends with.
	joiners  = []string{"", "and", "und", "et", "y", "e", "or", "then", "plus", "と", "和", "跟", "・"}
	partings = strings.Fields(", ， 、 — – - ... …")
	yours    = set("you your yours please du dein tu vous te usted")
)

// Words around a name that tell whom a sentence is for.
var (
	aboutWords = lex(`who was|who is a|who is my|who has|whom|whose|and my|said|says|asked`)
	negations  = lex(`not|except|without|nicht|ausser|sauf|excepto|everyone but|everybody but|anyone but|anybody but|all but|not you|
		instead of|rather than|but not|than`)
	giveTurn = lex(`over to|back to|let s ask|lets ask|let us ask|let s hear|let s hear from|lets hear from|like to hear from|
		want to hear from|hand over to|handing over to|hand it to|hand it over to|pass it to|passing to|pass to|pass it on to|question for|
		this is for|this one is for|your turn|what about you|how about you|and you|you too|next is|take it away|go ahead|go on|i call on|
		i m asking|calling on|paging|du bist dran|was ist mit dir|a toi|et toi|te toca|y tu|y usted`)
	// before a name at the end of a sentence, without a comma
	endCues = lex(`you|me|think|right|thanks|thank you|please|yes|no|ok|okay|again|too|now|there|here|today|then|sorry|bye|goodbye|night|
		morning|evening|afternoon|welcome|well|turn|isn t it|doesn t it|don t you|hello|hi|hey|say|correct|true|du|dir|dich|toi|vous|tu|ti|usted|
		danke|merci|gracias|cheers|np|exactly|lol|yeah|yep|sure`)
	// after a name at the beginning of a sentence, without a comma
	startCues = lex(`what|whats|what s|how|hows|how s|why|when|where|please|can you|could you|would you|will you|do you|did you|are you|
		were you|have you|don t you|should you|should i|should we|can i|can we|could we|may i|do we|do i|is it|is there|are there|was there|
		does it|does the|you|your|you re|youre|tell|give|show|explain|say|help|sing|play|stop|start|set|turn|wait|listen|continue|remind|describe|
		repeat|answer|summarize|summarise|check|find|let s|add|open|close|recommend|suggest|translate|calculate|over to|go ahead|go on|i need|i m|
		i don t|i think|i have|any|kannst du|was|wie|wo|warum|bitte|peux tu|tu peux|puedes|que`)
)

var (
	// opinionWords ask somebody who spoke for more (ROOM.md 4.3).
	opinionWords = lex(`what do you think|what would you say|what do you say|what s your opinion|what is your opinion|do you agree|
		don t you think|are you sure|right|isn t it|was meinst du|was denkst du|qu en penses tu|tu en penses quoi|que piensas|que opinas|
		ど う 思 う|ど う 思 い ま す か|你 觉 得 呢|你 怎 么 看`)
	// goesOn begin or fill what continues a topic.
	goesOn = lex(`and|but|why|how so|what about|how about|what if|or|then|also|und|aber|warum|wieso|et|mais|pourquoi|y|pero|por que|
		そ れ|那`)
	reference = lex(`that|those|them|they|he|she|him|his|hers|their|there|it|its|these|this|one|ones|instead|else|das|davon|dazu|ca|eso|
		ello`)
	// noReference are uses of "it" and "there" that refer to nothing.
	noReference = lex(`time is it|day is it|date is it|is it raining|is it going to rain|is it cold|is it warm|is it hot|is it snowing|
		is there|are there|this morning|this evening|this week|that is all|wie spat ist es`)
)

// Words that turn the room's or a companion's manners (ROOM.md 6); the first that fits counts.
type wishWords struct {
	wish  Wish
	words lexicon
}

var (
	wishesOfOne = []wishWords{
		{BeQuiet, lex(`be quiet|be silent|stay quiet|stay silent|keep quiet|hush|shut up|mute|mute yourself|stop talking|don t talk|
		do not talk|quiet|sei still|sei ruhig|tais toi|callate|静 か に し て|安 静`)},
		{OnlyIfAsked, lex(`only speak when asked|speak only when asked|only talk when asked|only answer when asked|wait until you are asked|
		stay out of it|stay out of this|leave it to us`)},
		{TalkLess, lex(`talk less|speak less|say less|be less talkative|join in less`)},
		{TalkMore, lex(`talk more|speak more|say more|join in more|be more talkative|join in more often|speak up more`)},
		{TalkAgain, lex(`you can talk again|you can speak again|you may talk again|you may speak again|talk again|speak again|unmute|
		unmute yourself|join in again|join in|you can talk|you can speak|you can talk now|you can speak now|du darfst wieder reden|
		du kannst wieder reden|tu peux parler|puedes hablar|話 し て い い よ`)},
	}
	wishesAboutOne = []wishWords{{BeQuiet, lex("mute")}, {Unmute, lex("unmute")}}
	wishesOfAll    = []wishWords{
		{OnlyIfAsked, lex(`leave it to us|leave this to us|leave that to us|leave us alone|let us talk|let us talk alone|stay out of it|
		stay out of this|only speak when asked|speak only when asked|only talk when asked|only answer when asked|all of you be quiet|
		everybody be quiet|everyone be quiet|uberlasst es uns|lasst uns das machen|laissez nous faire|dejadnoslo|dejennoslo`)},
		{JoinIn, lex(`join in again|join in|join us|join us again|join in with us|you can join in|you can join in again|
		you may join in again|you can join us again|you can all talk again|everybody can talk again|everyone can talk again|you can talk again|
		macht wieder mit|redet wieder mit|participez de nouveau`)},
	}
	courtesy = lex(`please|now|ok|okay|for now|for a while|a bit|a little|will you|would you|can you|could you|and|so|thanks|thank you|
		all|everyone|everybody|bitte|s il te plait|por favor|just`)
)

// common are words that say nothing about a topic.
var common = set(`a an the this that these those it its i im ive id ill me my mine you your youre yours he she they them his her
	we us our is are was were be been am do does did done have has had having can could will would should shall may might must
	not no yes yeah ok okay so and or but if then than as at by for from in into of off on onto out over to up down with without
	about after again all also any anybody anyone because before both each else even ever every few get gets getting go goes
	going got how just know let lets like make many more most much need never new now one only other own please really right
	said same say says see some somebody someone something still such sure tell thanks thank thing things think there their
	too try trying two use using very want way well what whats when where which while who whom why work works yet hi hello hey
	lol oh um hmm dont doesnt didnt isnt cant wont s t d m re ve ll don doesn didn isn wasn aren couldn wouldn
	der die das ein eine und oder ist sind ich du wir sie es nicht mit von zu den dem le la les un une et est je tu il elle nous
	vous de des el los las y es yo que en por para`)
