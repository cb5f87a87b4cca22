// Package words reads what people and companions say: whom a text calls, what it is for, how it sounds, how like it is to another, what
// it is about; and of a conversation who is talking with whom. It knows nothing of rooms, votes or devices: who speaks is a string.
//
//	lang          every phrase that decides something, a file a language (WORDS.md)
//	lexicon       ... what each of them tells; a file read
//	languages     ... all of them, the languages that a text may be of, phrases found in it
//	embedded      ... those that come with the program
//	text          a text as words, folded; what it is about
//	quotation     what in a text is not the speaker's own
//	names         names found in a text
//	heard         ... and what recognisers make of them
//	address       ... and whom they call, leave out, or only mention
//	people        names that are called and that nobody here has
//	intent        question, request, ...; how it sounds; what it asks of a companion's manners
//	conversation  what was said before, and what of it a line goes on with
//	whom          for whom a person's line is, as far as that needs no score
//	closing       how far it is from its end, and whether it repeats itself
//	tie           how near two are in it
//
// The rules are those of ROOM.md 4, 5 and 10. Everything is a function of its arguments, in time linear in the text.
package words
