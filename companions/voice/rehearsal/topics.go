package rehearsal

import "strings"

// topic is a field that a companion may know. What each knows of it is one answer for one question, so that a room of
// rules can be told apart by what is said, too.
type topic struct {
	name  string
	marks string // words of an expertise or a role that give the topic to a companion
	about string // words of a question that belong to the topic without a fact for them
	facts []fact
	start []string            // what to say of the topic in general
	adds  map[string][]string // to an answer on another topic, by its name; "" to anything
	views []string            // of anything (%s)
	next  []string            // when the subject is to be changed
}

// fact answers a question that has one word of each group.
type fact struct {
	when  []string
	text  string
	cause string // when somebody asks why
}

func (f fact) fits(words []string) bool { return all(f.when...)(words) }

var topics = []*topic{
	{
		name:  "kitchen",
		marks: "cook|cooks|cooking|kitchen|recipe|recipes|food|baker|baking",
		about: "cook|cooking|eat|eating|drink|tea|coffee|food|kitchen|recipe|hungry|dinner|supper|lunch|breakfast|" +
			"meal|oven|stove|pan|pot|bake|fry|boil|boiled|boiling|taste|salt|cheese|butter|measure|grams",
		facts: []fact{
			{[]string{"egg|eggs"}, "A soft egg takes six minutes in boiling water, a hard one ten. Cold water afterwards stops it.",
				"The white sets a few degrees before the yolk does, so that a minute decides between soft and hard."},
			{[]string{"rice"}, "One cup of rice, two cups of water, the lid on, fifteen minutes on low heat, and ten minutes of rest.",
				"The grain drinks about twice its volume, and the rest lets the steam reach the middle."},
			{[]string{"pasta|noodles|spaghetti"}, "Ten grams of salt for a litre of water, and one minute less than the packet says.",
				"It goes on cooking in its own heat while you carry it to the table."},
			{[]string{"potato|potatoes"}, "Potatoes take twenty minutes in salted water. They are done when a knife slides out by itself.",
				"The starch has to swell all the way to the middle, and that is how long the heat takes to get there."},
			{[]string{"porridge|oats|oatmeal", "make|cook|how|long|much|recipe|cup"},
				"One cup of oats, two cups of milk, five minutes of stirring, and a pinch of salt.",
				"Stirring takes the starch out of the oats, and the starch is what makes it creamy."},
			{[]string{"tea|drink|milk", "bed|sleep|night|evening|tonight"},
				"Camomile, or warm milk with a little honey. No black tea after four, it keeps you awake.",
				"There is as much in black tea to keep you awake as in half a cup of coffee."},
			{[]string{"tea", "long|make|how|minutes|green|black"}, "Black tea takes four minutes. Green tea takes two, in water that no longer boils.",
				"After that, what comes out of the leaves is mostly bitter."},
			{[]string{"coffee", "how|much|make|long|grams"}, "Sixty grams of coffee for a litre of water, just off the boil.",
				"Boiling water pulls out the bitter part first."},
			{[]string{"bread"}, "Two hundred and twenty degrees for forty minutes. It is done when it sounds hollow underneath.",
				"A hollow sound means that the water in the crumb has gone."},
			{[]string{"onion|onions"}, "Low heat, a little butter, and twenty minutes of patience. I have burned enough of them to know.",
				"Sugar browns slowly at low heat, and at high heat it burns before it browns."},
			{[]string{"soup"}, "Onion, carrot, whatever is left, water to cover it, and half an hour. Salt it at the end.",
				"The water boils away and the salt stays, so early salt is too much salt."},
			{[]string{"pizza"}, "As hot as the oven goes, on a tray that is already hot, ten minutes.", "The dough has to rise before the cheese burns."},
			{[]string{"cup|cups|tablespoon|teaspoon|spoon|ounce|ounces|millilitres|milliliters"},
				"A cup is two hundred and forty millilitres, a tablespoon fifteen, and a teaspoon five.",
				"Somebody once agreed on it, and spoons have been that size ever since."},
			{[]string{"dinner|supper|lunch|eat|hungry|cook|meal", "what|should|shall|could|can|idea|ideas|something|tonight|im"},
				"Pasta with garlic and oil: it takes twelve minutes, and everything for it is in the house.",
				"The garlic is done when the pasta is, so that there is only one thing to watch."},
			{[]string{"boil|boiled|boiling|boy"}, "If it is an egg: six minutes soft, ten hard. Potatoes take twenty.",
				"Water boils at a hundred degrees and gets no hotter, so only time is left to turn."},
		},
		start: []string{"I would begin with an onion in a little butter. Nearly everything good begins so.",
			"Taste it before you salt it, and salt it before you serve it."},
		adds: map[string][]string{
			"night": {"Warm milk with honey helps too. It is the warmth that does it.", "Nothing heavy to eat two hours before, that keeps the stomach awake.",
				"I would put a pot of camomile tea beside it, five minutes with the lid on."},
			"door": {"Take something to eat along. Bread and cheese forgive every delay.", "Look at the stove once more before you go. I always do.",
				"If you tell me when you will be back, there can be soup."},
			"": {"From the kitchen I can only say: eat something first. Most questions are smaller after that.", "I would talk about it over a pot of tea.",
				"Half of it is timing, as with eggs."},
		},
		views: []string{"%s? I am all for it, as long as there is something warm to eat with it.",
			"%s is fine by me in small portions. Too much spoils the appetite.",
			"%s needs a pinch of salt, like most things, and then I like it."},
		next: []string{"Let us talk about something else. Has anybody thought of tomorrow's breakfast?", "Enough of that, the kettle is nearly boiling."},
	},
	{
		name:  "night",
		marks: "sleep|books|book|reader|stories|bedtime|music|bedroom",
		about: "sleep|asleep|bed|bedtime|night|dream|dreams|tired|nap|book|books|read|reading|novel|poem|music|song|" +
			"songs|lullaby|relax|pillow|awake|insomnia",
		facts: []fact{
			{[]string{"dream|dreams"}, "Write it down before you get up. A dream is gone as soon as the feet touch the floor.",
				"It was never stored, only looked at."},
			{[]string{"nap|tired|sleepy"}, "Lie down for twenty minutes, not longer. After forty you get up heavier than before.",
				"After half an hour the deep sleep begins, and nobody likes to be pulled out of that."},
			{[]string{"sleep|asleep|awake|insomnia|bed"},
				"Keep the room cool and dark, put the screens away an hour before, and listen to something you know by heart.",
				"The body cools down to fall asleep, and a tune you know asks nothing of you."},
			{[]string{"book|books|read|reading|novel"}, "A short mystery. You always want one page more, and it is over before it is late.",
				"A long book asks for a whole winter, a short one only for tonight."},
			{[]string{"music|song|songs|lullaby|listen"}, "Something slow, sixty beats a minute, about as fast as a calm heart.",
				"The breath follows the beat, and the heart follows the breath."},
			{[]string{"poem|poems|poetry"}, "The kettle hums, the lamp is low, the day has nowhere else to go.",
				"It rhymes, and that is half of the truth in a poem."},
		},
		start: []string{"I would wait until it is dark, and then look at it again.", "There is a book about that. There always is."},
		adds: map[string][]string{
			"kitchen": {"And while you wait, there is time for two pages of a book.", "I would play a slow song to it. Nothing burns when nobody hurries.",
				"One idea: have it in bed, with a story. The crumbs are part of it."},
			"door": {"If it should rain, that is the best sound to fall asleep to.",
				"Whatever you plan, leave one hour of it empty. That is the one you will remember.",
				"Take a book along. Buses are only late for those who have none."},
			"": {"I would sleep on it. In the morning it is solved or forgotten.", "Here is an idea: turn off the light and ask again.",
				"That reminds me of a story without an ending."},
		},
		views: []string{"%s? I like it best late in the evening, when nobody hurries.", "I would rather read about %s than have it, to be honest.",
			"%s makes a good chapter, but not a whole book."},
		next: []string{"Shall we leave it there? I was thinking of a story.", "Something else: which song do you remember from long ago?"},
	},
	{
		name:  "door",
		marks: "weather|door|plans|plan|news|travel|trip|visitors|hall",
		about: "weather|rain|raining|umbrella|cold|warm|snow|sunny|wind|outside|coat|leave|leaving|door|keys|bus|" +
			"train|trip|travel|plan|plans|calendar|appointment|tomorrow|weekend|visit|visitor|visitors|news|walk|shop|late",
		facts: []fact{
			{[]string{"weather|rain|raining|umbrella|sunny|snow|wind|cold|warm"},
				"I have no window here, so I cannot know. Put a hand out of the door: if it gets wet, take the umbrella.",
				"In a rehearsal I have neither a window nor a network, and I do not guess about rain."},
			{[]string{"news|happened|world"}, "I have no network in a rehearsal, so I have no news. They say that is good news.",
				"News come by network, and I only live on this machine."},
			{[]string{"bus|train|late|leave|leaving|travel|trip"},
				"I have no timetable here. Leave ten minutes before you think you must, and everything is on time.",
				"What is late is nearly always the last five minutes at home."},
			{[]string{"calendar|appointment|plan|plans|tomorrow|weekend|today"},
				"I cannot see your calendar. Tell me three things for the day, and do the unpleasant one first.",
				"After the unpleasant one the rest of the day is free."},
			{[]string{"keys|coat|door|wallet|forget|forgotten"}, "Keys, phone, coat, and a look at the stove. Then go.",
				"Four things are as many as anybody can count at a door."},
			{[]string{"visit|visitor|visitors|guest|guests"}, "I will say so when I hear the door. Until then, tidy the hall and nothing else.",
				"The hall is all that visitors see before they are glad to be here."},
			{[]string{"walk|outside|shop"}, "Once round the block takes a quarter of an hour, and one always comes back with an answer.",
				"Feet think better than chairs."},
		},
		start: []string{"I would make a plan first: what, when, and who brings the keys.", "One thing after the other, and the coat last."},
		adds: map[string][]string{
			"kitchen": {"Look whether all of it is in the house, before the pan is hot.",
				"If something is missing, the shop is once round the corner. I mind the door.",
				"Set the table first, then it only has to be carried."},
			"night": {"Put out clothes and keys for tomorrow before. Then the head is empty.", "A door that is locked and checked lets you sleep better.",
				"And plan backwards from when you have to get up."},
			"": {"I would go once round the block and then decide.", "Make a plan of it: three steps, and the first one today.",
				"Somebody should write that on a note and stick it to the door."},
		},
		views: []string{"%s? Only if it does not make us late.", "%s is good for one day and bad as a habit, I would say.",
			"I would put %s on the list for the weekend."},
		next: []string{"Something else: who takes the keys tomorrow?", "Let us go on to the plan for tomorrow."},
	},
}

// topicsOf are the topics that an expertise or a role names.
func topicsOf(text string) (out []*topic) {
	words := normal(text)
	for _, t := range topics {
		if all(t.marks)(words) {
			out = append(out, t)
		}
	}
	return out
}

// subject is what a question is about: a fact, or at least a topic. The topics in mine win over others, so that nobody hands
// over what it knows something of.
func subject(words []string, mine []*topic) (*topic, *fact) {
	for _, list := range [][]*topic{mine, topics} {
		for _, t := range list {
			for i := range t.facts {
				if t.facts[i].fits(words) {
					return t, &t.facts[i]
				}
			}
		}
		for _, t := range list {
			if all(t.about)(words) {
				return t, nil
			}
		}
	}
	return nil, nil
}

// causeOf finds why something was said.
func causeOf(text string) string {
	for _, t := range topics {
		for _, f := range t.facts {
			if strings.Contains(text, strings.TrimRight(f.text, ".")) {
				return f.cause
			}
		}
	}
	return ""
}
