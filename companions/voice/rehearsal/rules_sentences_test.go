package rehearsal

import (
	"strings"
	"testing"
	"time"
)

// bundled are the tools of the skills that ship, all of them offered at once, as on a device at home.
var bundled = strings.Fields("get_time set_volume stop mute list_missed who_is_here play go_on pause skip chapter speed sleep_timer now_playing " +
	"set_timer list_timers cancel_timer snooze_timer add_reminder list_reminders cancel_reminder acknowledge_reminder snooze_reminder remember recall forget " +
	"play_radio stop_radio list_stations call_device answer hang_up who_can_be_called set_home read_home")

// sentences are what people say at home, and what is done then: a tool with its arguments, a sentence behind a quote, or nothing behind a
// dash. It is the evening of Monday, November 23, 2026.
const sentences1 = `
Set a timer for ten minutes for the pasta.        | set_timer {"name":"the pasta","seconds":600}
set a timer for the pasta, ten minutes            | set_timer {"name":"the pasta","seconds":600}
set a timer for an hour and a half                | set_timer {"seconds":5400}
set a timer for half an hour                      | set_timer {"seconds":1800}
timer, two and a half minutes                     | set_timer {"seconds":150}
timer for ninety seconds please                   | set_timer {"seconds":90}
can you set a timer for a quarter of an hour?     | set_timer {"seconds":900}
three quarters of an hour timer please            | set_timer {"seconds":2700}
start a 20 minute timer                           | set_timer {"seconds":1200}
Set a 90-second timer.                            | set_timer {"seconds":90}
I need a timer for forty five minutes             | set_timer {"seconds":2700}
give me a timer of twelve minutes for the rice    | set_timer {"name":"the rice","seconds":720}
set an egg timer for six minutes                  | set_timer {"name":"egg","seconds":360}
set a timer called laundry for one hour           | set_timer {"name":"laundry","seconds":3600}
put a timer on for 5 minutes                      | set_timer {"seconds":300}
six minute egg timer please                       | set_timer {"name":"egg","seconds":360}
set an alarm for two hours and ten minutes        | set_timer {"seconds":7800}
set another timer for thirty seconds              | set_timer {"seconds":30}
set a timer for 1.5 hours                         | set_timer {"seconds":5400}
set a timer for one minute thirty                 | set_timer {"seconds":90}
set a timer for a couple of minutes               | set_timer {"seconds":120}
set a timer for a hundred and twenty seconds      | set_timer {"seconds":120}
set a timer for two days                          | set_timer {"seconds":172800}
set a timer for a million hours                   | set_timer {"seconds":3600000000}
set a timer for minus five minutes                | set_timer {"seconds":-300}
set a timer for -5 minutes                        | set_timer {"seconds":-300}
set a timer for zero minutes                      | set_timer {"seconds":0}
wake me up in twenty minutes                      | set_timer {"seconds":1200}
set the timer to 15 minutes                       | set_timer {"seconds":900}
can I have a timer for eight minutes please       | set_timer {"seconds":480}
new timer: 25 minutes, bread                      | set_timer {"name":"bread","seconds":1500}
set a timer                                       | "How long should the timer be?
set a timer for the eggs please                   | "How long should the timer be?
start the timer for some minutes                  | "How long should the timer be?
how much time is left on the pasta timer?         | list_timers {"name":"the pasta"}
how long does the rice still need                 | list_timers {"name":"the rice"}
how long have I got?                              | list_timers {"name":""}
which timers are running                          | list_timers {}
is there a timer?                                 | list_timers {}
how much longer for the pasta?                    | list_timers {"name":"the pasta"}
is the timer still running                        | list_timers {}
clear all timers                                  | cancel_timer {"all":true}
shut off the alarm                                | cancel_timer {"name":""}
cancel the timer for the elephant                 | cancel_timer {"name":"the elephant"}
please delete all my timers                       | cancel_timer {"all":true}
stop the timer                                    | cancel_timer {"name":""}
stop the egg timer                                | cancel_timer {"name":"the egg"}
turn off the alarm                                | cancel_timer {"name":""}
snooze                                            | snooze_timer {}
snooze it please                                  | snooze_timer {}
snooze the pasta                                  | snooze_timer {"name":"the pasta"}
snooze the pasta for ten minutes                  | snooze_timer {"name":"the pasta","seconds":600}
snooze for half an hour                           | snooze_timer {"seconds":1800}
snooze the reminder                               | snooze_reminder {}
snooze my reminder for ten minutes                | snooze_reminder {"seconds":600}
remind me again in ten minutes                    | snooze_reminder {"seconds":600}
snooze ten                                        | snooze_timer {"seconds":600}
five more minutes for the eggs                    | snooze_timer {"name":"the eggs","seconds":300}
ten minutes more please                           | snooze_timer {"seconds":600}
give the rice another two minutes                 | snooze_timer {"name":"the rice","seconds":120}
add three minutes to the pasta timer              | snooze_timer {"name":"the pasta","seconds":180}
should a five minute timer                        | set_timer {"seconds":300}
she added five minute timer for the t             | set_timer {"name":"the t","seconds":300}

remind me at midnight to sleep                    | add_reminder {"at":"2026-11-24T00:00","text":"sleep"}
remind me at half past midnight to sleep          | add_reminder {"at":"2026-11-24T00:30","text":"sleep"}
remind me at five past midnight to check          | add_reminder {"at":"2026-11-24T00:05","text":"check"}
remind me at a quarter to midnight to check       | add_reminder {"at":"2026-11-23T23:45","text":"check"}
remind me tonight at twelve to sleep              | add_reminder {"at":"2026-11-24T00:00","text":"sleep"}
remind me at twelve at night to sleep             | add_reminder {"at":"2026-11-24T00:00","text":"sleep"}
remind me tonight at half past twelve to sleep    | add_reminder {"at":"2026-11-24T00:30","text":"sleep"}
remind me tonight at ten to twelve to sleep       | add_reminder {"at":"2026-11-23T23:50","text":"sleep"}
remind me tonight at one to come in               | add_reminder {"at":"2026-11-24T01:00","text":"come in"}
remind me at midnight tonight to sleep            | add_reminder {"at":"2026-11-24T00:00","text":"sleep"}
remind me tomorrow at midnight to sleep           | add_reminder {"at":"2026-11-25T00:00","text":"sleep"}
remind me tomorrow at noon to eat                 | add_reminder {"at":"2026-11-24T12:00","text":"eat"}
remind me at half past noon to eat                | add_reminder {"at":"2026-11-24T12:30","text":"eat"}
remind me at five to noon to eat                  | add_reminder {"at":"2026-11-24T11:55","text":"eat"}
remind me on Friday at midnight to dance          | add_reminder {"at":"2026-11-28T00:00","text":"dance"}
remind me on December 24 at midnight to sing      | add_reminder {"at":"2026-12-25T00:00","text":"sing"}
remind me every night at midnight to sleep        | add_reminder {"at":"2026-11-24T00:00","rule":"FREQ=DAILY","text":"sleep"}
remind me every Sunday at midnight to sleep       | add_reminder {"at":"2026-11-30T00:00","rule":"FREQ=WEEKLY;BYDAY=MO","text":"sleep"}
remind me tonight at nine to sleep                | add_reminder {"at":"2026-11-23T21:00","text":"sleep"}
remind me at 12 am to sleep                       | add_reminder {"at":"2026-11-24T00:00","text":"sleep"}
Remind me tomorrow at eight to take my pills.     | add_reminder {"at":"2026-11-24T08:00","text":"take your pills"}
remind me at half past nine to call my sister     | add_reminder {"at":"2026-11-23T21:30","text":"call your sister"}
remind me at quarter to ten to put the cat out    | add_reminder {"at":"2026-11-23T21:45","text":"put the cat out"}
remind me in an hour and a half to see the oven   | add_reminder {"at":"2026-11-23T21:30","text":"see the oven"}
remind me in 90 minutes about the laundry         | add_reminder {"at":"2026-11-23T21:30","text":"the laundry"}
remind me in two days at noon to water the roses  | add_reminder {"at":"2026-11-25T12:00","text":"water the roses"}
remind me to look at the roast at nine            | add_reminder {"at":"2026-11-23T21:00","text":"look at the roast"}
remind me that Anna comes on Saturday at three    | add_reminder {"at":"2026-11-28T15:00","text":"anna comes"}
remind me about the bins on Sunday at 7 pm        | add_reminder {"at":"2026-11-29T19:00","text":"the bins"}
remind me on December 24 at six in the evening to light the candles | add_reminder {"at":"2026-12-24T18:00","text":"light the candles"}
remind me on the 3rd of January at 10am to call the dentist | add_reminder {"at":"2027-01-03T10:00","text":"call the dentist"}
remind me on march twenty first at noon to buy flowers | add_reminder {"at":"2027-03-21T12:00","text":"buy flowers"}
remind me every weekday at seven to wake the children | add_reminder {"at":"2026-11-24T07:00","rule":"FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR","text":"wake the children"}
remind me every Tuesday and Friday at five pm to go to the gym | add_reminder {"at":"2026-11-24T17:00","rule":"FREQ=WEEKLY;BYDAY=TU,FR","text":"go to the gym"}
remind me to take my drops every morning at eight | add_reminder {"at":"2026-11-24T08:00","rule":"FREQ=DAILY","text":"take your drops"}
remind me yesterday at eight to take my pills     | add_reminder {"at":"2026-11-22T08:00","text":"take your pills"}
remind me this morning at eight to take my pills  | add_reminder {"at":"2026-11-23T08:00","text":"take your pills"}
remind me on February 31 at nine to pay the rent  | "There is no February 31.
remind me on the 31st of april at nine to pay the rent | "There is no April 31.
remind me to take my pills                        | "At what time should I remind you?
remind me tomorrow to buy bread                   | "At what time should I remind you?
remind me at twenty five o'clock to sleep         | "At what time should I remind you?
remind me in an hour to stop the washing machine  | add_reminder {"at":"2026-11-23T21:00","text":"stop the washing machine"}
in ninety seconds remind me to call Max           | add_reminder {"at":"2026-11-23T20:01:30","text":"call max"}
in ten minutes remind me to call Max              | add_reminder {"at":"2026-11-23T20:10","text":"call max"}
remind me at ten to nine to leave                 | add_reminder {"at":"2026-11-23T20:50","text":"leave"}
remind me to be there at ten to nine              | add_reminder {"at":"2026-11-23T20:50","text":"be there"}
remind me to call the second plumber tomorrow at nine | add_reminder {"at":"2026-11-24T09:00","text":"call the second plumber"}
remind me on the first at nine to pay the rent    | add_reminder {"at":"2026-12-01T09:00","text":"pay the rent"}
remind me on 29 February at ten to celebrate      | add_reminder {"at":"2028-02-29T10:00","text":"celebrate"}
remind me once a week on Thursday at ten to vacuum | add_reminder {"at":"2026-11-26T10:00","rule":"FREQ=WEEKLY;BYDAY=TH","text":"vacuum"}
remind me on 12/24 at noon to cook                | "On which day should I remind you?
remind me on the 45th at nine to pay the rent     | "On which day should I remind you?
remind me at eight                                | "Of what should I remind you?
what reminders do I have?                         | list_reminders {}
do I have any reminders                           | list_reminders {}
read me my reminders                              | list_reminders {}
cancel the reminder about the dentist             | cancel_reminder {"text":"dentist"}
delete my pills reminder                          | cancel_reminder {"text":"pills"}
stop reminding me about the gym                   | cancel_reminder {"text":"gym"}
I took my pills                                   | acknowledge_reminder {}
I have taken them                                 | acknowledge_reminder {}
I've done it                                      | acknowledge_reminder {}
it's done                                         | acknowledge_reminder {}
done                                              | acknowledge_reminder {}

Remember that the key is under the mat.           | remember {"text":"The key is under the mat."}
please remember my locker number is 4711          | remember {"text":"My locker number is 4711"}
can you remember that Max is allergic to nuts     | remember {"text":"Max is allergic to nuts"}
remember that I have to call the bank             | remember {"text":"I have to call the bank"}
remember                                          | "What should I remember?
what did I tell you about the key?                | recall {"about":"the key"}
what did I miss?                                  | list_missed {}
have I missed anything                            | list_missed {}
did we miss something                             | list_missed {}
what do you remember                              | recall {"about":""}
what have I told you about Max                    | recall {"about":"max"}
do you remember what I said about the locker      | recall {"about":"the locker"}
what did I say about the bin                      | recall {"about":"the bin"}
forget the key                                    | forget {"about":"key"}
forget what I told you about the locker           | forget {"about":"locker"}
please forget everything                          | forget {"all":true}
forget all about the key                          | forget {"about":"key","all":true}
forget it                                         | -
don't forget the milk                             | -
`

const sentences2 = `
play Moby Dick                                    | play {"title":"moby dick"}
could you play Moby Dick please?                  | play {"title":"moby dick"}
I want to hear Moby Dick                          | play {"title":"moby dick"}
play the call of the wild                         | play {"title":"the call of the wild"}
play the 39th step                                | play {"title":"the 39th step"}
pause the book                                    | pause {}
continue                                          | go_on {}
go on with the book                               | go_on {}
next chapter please                               | chapter {"by":1}
go back one chapter                               | chapter {"by":-1}
skip this chapter                                 | chapter {"by":1}
chapter five                                      | chapter {"number":5}
go back thirty seconds                            | skip {"seconds":-30}
skip ahead two and a half minutes                 | skip {"seconds":150}
rewind half a minute                              | skip {"seconds":-30}
back a minute and a half                          | skip {"seconds":-90}
go forward a quarter of an hour                   | skip {"seconds":900}
where am I in the book                            | now_playing {}
what is playing                                   | now_playing {}
which song is this                                | now_playing {}
rewind                                            | skip {"seconds":-30}
what am I listening to                            | now_playing {}
stop in half an hour                              | sleep_timer {"minutes":30}
turn it off in an hour and a half                 | sleep_timer {"minutes":90}
sleep timer, quarter of an hour                   | sleep_timer {"minutes":15}
stop in a million hours                           | sleep_timer {"minutes":720}
read a bit faster                                 | speed {"by":25}
read at 1.5 times the speed                       | speed {"percent":150}
normal speed please                               | speed {"percent":100}

play the radio                                    | play_radio {"station":""}
put the radio on                                  | play_radio {"station":""}
I'd like to listen to the radio                   | play_radio {"station":""}
radio please                                      | play_radio {"station":""}
play some jazz radio                              | play_radio {"station":"jazz"}
play BBC radio four                               | play_radio {"station":"bbc four"}
turn the radio off                                | stop_radio {}
switch the radio off in ten minutes               | sleep_timer {"minutes":10}
which radio stations are there?                   | list_stations {}

switch the kitchen lamp on                        | set_home {"thing":"kitchen lamp","value":"on"}
turn off the kitchen lamp please                  | set_home {"thing":"kitchen lamp","value":"off"}
can you turn the lamp off                         | set_home {"thing":"kitchen lamp","value":"off"}
set the heating to 21                             | set_home {"thing":"heating","value":"21"}
turn the heating down to eighteen                 | set_home {"thing":"heating","value":"18"}
is the kitchen lamp on?                           | read_home {"thing":"kitchen lamp"}
what is the temperature outside                   | read_home {"thing":"outside"}
how warm is it outside?                           | read_home {"thing":"outside"}
what is the heating set to                        | read_home {"thing":"heating"}

I'd like to call the kitchen                      | call_device {"name":"kitchen"}
reject the call                                   | hang_up {}
call the kitchen please                           | call_device {"name":"kitchen"}
can you call the living room                      | call_device {"name":"living room"}
Ada, ring the bedroom                             | call_device {"name":"bedroom"}
answer the phone                                  | answer {}
pick up the call                                  | answer {}
hang up please                                    | hang_up {}
end the call                                      | hang_up {}
who can I call?                                   | who_can_be_called {}

turn it up                                        | set_volume {"percent":90}
turn the volume down                              | set_volume {"percent":20}
a little louder please                            | set_volume {"percent":90}
make it quieter                                   | set_volume {"percent":20}
maximum volume                                    | set_volume {"percent":100}
volume forty percent                              | set_volume {"percent":40}
set the volume to one hundred and fifty           | set_volume {"percent":100}
mute the microphone                               | mute {}
stop                                              | stop {}
please be quiet                                   | stop {}
stop the music                                    | stop {}
what time is it?                                  | get_time {}
tell me the time                                  | get_time {}
what time is it in Tokyo                          | get_time {"place":"tokyo"}
what time is it in New York right now, please?    | get_time {"place":"new york"}
what time is it in here                           | get_time {}

I have no time                                    | -
time flies                                        | -
the radio is broken                               | -
why is the radio so loud                          | -
we are going to the station on Monday             | -
remember when we were young                       | -
I remember the summer by the sea                  | -
what is a timer                                   | -
who invented the timer                            | -
the alarm clock woke me after ten minutes         | -
how long is a football game                       | -
it took five more minutes than I thought          | -
that was more than a minute ago                   | -
I need to sleep for eight hours                   | -
I forgot my keys                                  | -
I forget everything                               | -
I took the bus this morning                       | -
well done                                         | -
what is a reminder                                | -
that reminds me of my mother                      | -
don't stop                                        | -
I can't stop laughing                             | -
where is the next bus stop                        | -
when did the war end                              | -
children play in the garden                       | -
I like to play chess                              | -
do you play an instrument                         | -
I go on holiday tomorrow                          | -
what goes on here                                 | -
the next chapter of my life begins now            | -
my phone is broken                                | -
call me Ishmael                                   | -
they call it jazz                                 | -
what do you call a baby cat                       | -
who called yesterday                              | -
nobody can answer it                              | -
I put my shoes on                                 | -
the kitchen lamp is on                            | -
put on a coat                                     | -
which way is up                                   | -
what is the volume of a cube                      | -
the music was louder in Paris                     | -
my speed was fifty                                | -
radio waves are light                             | -
music is louder than words                        | -
quiet people are wise                             | -
call it a day                                     | -
wake up                                           | -
are you done                                      | -
I have done my homework                           | -
what do you think of the kitchen                  | -
I'll be back in ten minutes                       | -
half an hour is too long                          | -
do you like the radio                             | -
the reminder was useful                           | -
I had to cancel my reminder                       | -
can you tell me what a station is                 | -
which one is on the left                          | -
do not forget me                                  | -
where was I born                                  | -
it is about time                                  | -
`

// saidAtHome goes through the sentences, and tells of how many there are what is done, and what is to be.
func saidAtHome(wrong func(said, got, want string)) (n int) {
	takes := map[string]any{
		"set_home":  m{"properties": m{"thing": m{"enum": []any{"kitchen lamp", "heating"}}}},
		"read_home": m{"properties": m{"thing": m{"enum": []any{"kitchen lamp", "heating", "outside"}}}},
	}
	for line := range strings.Lines(sentences1 + sentences2) {
		said, want, ok := strings.Cut(strings.TrimSpace(line), "|")
		if !ok {
			continue
		}
		n++
		said, want = strings.TrimSpace(said), strings.TrimSpace(want)
		r := Rules{}.Think(Thought{
			Words: said, Tools: bundled, Takes: takes, Instructions: "You are Ada, a companion.", Rand: newRand(1),
			Now: time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC),
		})
		got := "-"
		for _, c := range r.Calls {
			got = c.Name + " " + c.Args
		}
		if strings.HasPrefix(want, `"`) && got == "-" {
			got = `"` + r.Text
		}
		if got != want {
			wrong(said, got, want)
		}
	}
	return n
}

func TestWhatPeopleSayAtHome(t *testing.T) {
	if n := saidAtHome(func(said, got, want string) { t.Errorf("%q: %s; want %s", said, got, want) }); n < 120 {
		t.Errorf("only %d sentences", n)
	}
}

// A rule of a skill without which all of the sentences come out as they should is one too many.
func TestEachRuleIsNeeded(t *testing.T) {
	for name, table := range map[string][]aRule{
		"intercom": intercom, "radio": radio, "library": library, "timerRules": timerRules, "reminderRules": reminderRules, "noteRules": noteRules,
		"house": house, "tellings": tellings,
	} {
		for i, rule := range table {
			table[i].match = func([]string) bool { return false }
			needed := false
			saidAtHome(func(string, string, string) { needed = true })
			if table[i] = rule; !needed {
				t.Errorf("%s: no sentence needs rule %d", name, i+1)
			}
		}
	}
}
