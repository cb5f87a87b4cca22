// The page of conch: events in, the room on the screen, a person's hands back out.
//
//   /events ──> Room (model.js) ──> Drawing (draw.js), once a frame
//   hands   ──> POST /api/DEVICE/…; with sound: Sound (sound.js) over /talk
//
// What the server has to say of this page is in its <meta>s: a token for requests, what it may do, if it may talk, the device's language.

import { $, Drawing, put } from './draw.js';
import { Invitation } from './invite.js';
import { Room } from './model.js';
import { Sound } from './sound.js';
import { language, name, plain, say, speak } from './text.js';

const meta = (key) => document.querySelector(`meta[name="conch-${key}"]`)?.content ?? '';
const look = meta('rights') !== 'all';
const talk = meta('talk');
let token = meta('token');

// Texts.

const lang = language(navigator.languages ?? [navigator.language], meta('lang'));
speak(lang);
document.documentElement.lang = lang;
for (const el of document.querySelectorAll('[data-say]')) put(el, say(el.dataset.say));
for (const attribute of ['aria-label', 'placeholder']) {
  for (const el of document.querySelectorAll(`[data-say-${attribute}]`)) el.setAttribute(attribute, say(el.getAttribute(`data-say-${attribute}`)));
}
document.body.classList.toggle('look', look);

// What is known, and how it is drawn: at most once a frame, whatever comes.

const room = new Room();
let link = 'connecting';       // live, gone
const drawing = new Drawing(room, { look, clock: lang, here, turn: (companion, involvement) => post('room/control', { companion, involvement }),
  end: (device, id, how) => post(`alert/${how}`, { id }, { device }) });
let asked = false;             // a frame has been asked for
let timer = 0;

function dirty() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(frame);
}

function frame() {
  asked = false;
  const now = performance.now();
  drawing.draw(now, link);
  hands();
  clearTimeout(timer);
  const later = Math.min(drawing.later(now), drawing.ticks ? 500 : Infinity);
  if (later < Infinity) timer = setTimeout(dirty, later);
}

// here is the device that this page is for: whose seat it has, else the one that is chosen.
function here() {
  return [sound.seat, chosen].find((d) => room.devices.has(d)) || [...room.devices.values()].find((d) => d.alive)?.name || '';
}
let chosen = '';

// Events.

const kinds = ['picture', 'status', 'room', 'doing', 'press', 'entry', 'turn'];
const AGAIN = 700;       // milliseconds until a device that does not answer is asked again
const PATIENCE = 3000;   // that its answer may take
const SILENCE = 12000;   // after which it has gone: it says every five seconds that it is alive
let gone = 0;            // when it went

function watch() {
  const events = new EventSource('/events');
  let over = 0;
  const within = (ms) => {
    clearTimeout(over);
    over = setTimeout(lost, ms);
  };
  const lost = () => {
    clearTimeout(over);
    events.close();
    if (link !== 'gone') gone = performance.now();
    link = 'gone';
    held = '';
    sound.release();
    dirty();
    setTimeout(watch, AGAIN);
  };
  within(PATIENCE);
  for (const kind of kinds) {
    events.addEventListener(kind, ({ data }) => {
      within(SILENCE);
      let e;
      try {
        e = JSON.parse(data);
      } catch {
        return; // not ours to mend; the next picture has it
      }
      room.take({ ...e, kind }, performance.now());
      if (kind === 'status' || kind === 'picture') sound.mute(!!room.devices.get(here())?.status.muted);
      if (room.rounds.size || kind === 'turn' && e.data?.words || [...room.devices.values()].some((d) => d.status.conditions?.length)) needClips();
      dirty();
    });
  }
  events.addEventListener('alive', () => within(SILENCE));
  events.addEventListener('behind', dirty); // new pictures follow, and tell all there is
  events.onopen = async () => {
    within(SILENCE);
    const back = link === 'gone';
    link = 'live';
    if (back) {
      room.again();
      trouble = '';
    }
    dirty();
    if (!back) return;
    if (sound.state === 'on' && sound.since < gone) sound.lost(); // its socket is of the life before
    if (sound.state === 'lost') await sound.again();
    else await renew();
  };
  events.onerror = lost;
}

// renew reads the token of a device that has begun anew.
async function renew() {
  try {
    const page = await (await fetch('/', { cache: 'no-store', signal: AbortSignal.timeout(PATIENCE) })).text();
    token = page.match(/name="conch-token" content="([^"]*)"/)?.[1] ?? token;
  } catch {
    // it is gone again; onopen comes back here
  }
}

// Sentences for what went wrong in a turn, for why somebody speaks, and for conditions, in the person's language: asked for when the first is needed.
let clips = null;

async function needClips() {
  if (clips) return;
  clips = {};
  try {
    const r = await fetch(`/clips.json?lang=${lang}`);
    if (r.ok) drawing.clips = await r.json();
  } catch {
    clips = null;
  }
  for (const b of room.bubbles) if (b.words || b.message) room.change(b, {});
  dirty();
}

// Requests. A device that refuses says why, in a sentence.

let trouble = '';

async function post(action, body, { device = here(), signal, again = true } = {}) {
  const path = action === 'link' ? '/api/link' : `/api/${encodeURIComponent(device)}/${action}`;
  try {
    const r = await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Conch-Token': token }, body: JSON.stringify(body ?? {}), signal });
    if (r.status === 403 && again) {
      await renew();
      return post(action, body, { device, signal, again: false });
    }
    if (!r.ok) {
      trouble = plain(await r.text(), 300).trim() || say('failed');
      dirty();
      return null;
    }
    trouble = '';
    return r.status === 204 ? {} : await r.json();
  } catch (e) {
    if (e?.name !== 'AbortError') trouble = say('gone');
    dirty();
    return null;
  }
}

// Sound.

const sound = new Sound(() => token, {
  changed() {
    if (sound.state === 'lost') held = ''; // it has let go
    room.sounds = joined();
    dirty();
  },
  measured(ms, output) {
    room.heardHere(ms, output);
    dirty();
  },
  renew,
  loud(peak) {
    $('talk').style.setProperty('--loud', peak.toFixed(2));
  },
});

// The button. It is held by a finger, the space bar, or, for whoever cannot hold, by one press for down and one for up; whatever takes
// the page out of sight, or the finger off it, lets it go.

const joined = () => sound.state === 'on';
const mayJoin = () => !look && talk === 'yes' && (sound.state === 'off' || sound.state === 'refused');
const types = () => joined() && (sound.microphone === 'refused' || sound.microphone === 'missing'); // there is nothing to talk by
let held = '';                 // by what: pointer, key, click; '' is up

function down(by, when) {
  if (held || look || link !== 'live') return;
  if (mayJoin()) return;
  if (types()) return $('text').focus();
  held = by;
  room.hush(performance.now());
  if (joined()) sound.press(when);
  else post('press');
  dirty();
}

function up() {
  if (!held) return;
  held = '';
  if (joined()) sound.release();
  else post('release');
  dirty();
}

async function join() {
  await sound.join(chosen);
  sound.mute(!!room.devices.get(here())?.status.muted);
  dirty();
}

const button = $('talk');
button.addEventListener('pointerdown', (e) => {
  if (e.button !== 0 || mayJoin() || types()) return;
  down('pointer', e.timeStamp);
  button.setPointerCapture(e.pointerId);
});
for (const end of ['pointerup', 'pointercancel', 'lostpointercapture']) button.addEventListener(end, () => held === 'pointer' && up());
button.addEventListener('contextmenu', (e) => e.preventDefault()); // a finger that rests
button.addEventListener('click', (e) => {
  if (mayJoin()) join();
  else if (types()) $('text').focus();
  else if (e.detail === 0 && e.pointerType !== 'touch' && e.pointerType !== 'mouse') (held === 'click' ? up() : down('click', e.timeStamp)); // a screen reader's
});

const typing = (el) => el.matches?.('input:not([type=range]), textarea, [contenteditable]');
const ownKeys = (el) => el !== button && el.matches?.('button, select, summary, a') && el.matches(':focus-visible'); // gone to by keys

document.addEventListener('keydown', (e) => {
  if (e.key === 'Escape' && !$('link').open) {
    hush(e.timeStamp);
    e.preventDefault();
    return;
  }
  const key = e.code === 'Space' || (e.key === 'Enter' && e.target === button);
  if (!key || e.ctrlKey || e.altKey || e.metaKey || typing(e.target) || ownKeys(e.target) || $('link').open) return;
  e.preventDefault();
  if (e.repeat) return;
  if (mayJoin()) return void (e.target === button && join());
  down('key', e.timeStamp);
});
document.addEventListener('keyup', (e) => {
  if (e.code !== 'Space' && e.key !== 'Enter') return;
  if (held === 'key') {
    e.preventDefault();
    up();
  } else if (e.target === button) e.preventDefault(); // no click of it
});
addEventListener('blur', up);
addEventListener('pagehide', up);
document.addEventListener('visibilitychange', () => (document.hidden ? up() : dirty()));

// The other knobs.

function hush(when) {
  if (look) return;
  sound.drop(when);
  room.hush(performance.now());
  dirty();
  post('hush').then((h) => {
    const loud = [...(h?.unconfirmed ?? []), ...(h?.unreached ?? [])];
    if (!loud.length) return;
    trouble = `${say('mayGoOn')} ${plain(loud.join(', '), 300)}`;
    dirty();
  });
}

let turning = 0;               // the volume is being turned until then
let turned = 0;

$('hush').addEventListener('click', (e) => hush(e.timeStamp));
$('mute').addEventListener('click', async () => {
  const muted = !room.devices.get(here())?.status.muted;
  if (muted) sound.deaf(); // at once; the device says when it is a fact
  $('mute').setAttribute('aria-busy', 'true');
  await post('mute', { muted });
  $('mute').removeAttribute('aria-busy');
});
$('volume').addEventListener('input', () => {
  turning = performance.now() + 1500;
  put($('volume-text'), `${$('volume').value} %`);
  clearTimeout(turned);
  turned = setTimeout(() => post('volume', { percent: Number($('volume').value) }), 120);
});
$('device').addEventListener('change', () => {
  chosen = $('device').value;
  if (joined() && chosen !== sound.seat) { // another seat
    sound.leave();
    sound.seat = '';
    join();
  }
  dirty();
});

let question = null;           // the last one that was typed: a newer one takes its place
$('line').addEventListener('submit', (e) => {
  e.preventDefault();
  const text = $('text').value.trim();
  if (!text) return;
  $('text').value = '';
  question?.abort();
  question = new AbortController();
  sound.drop(); // a question is a press, but no finger's: its figure would be the typist's
  post('ask', { text }, { signal: question.signal });
});

const invitation = new Invitation(post, () => trouble);
$('share').addEventListener('click', () => invitation.show());

// hands draws the knobs.
function hands() {
  const d = room.devices.get(here());
  const s = d?.status ?? {};
  const live = link === 'live';
  document.body.classList.toggle('away', link === 'gone');
  document.body.classList.toggle('held', held !== '');

  const select = $('device');
  const names = [...room.devices.keys()];
  if (select.dataset.names !== names.join('\n')) {
    select.dataset.names = names.join('\n');
    select.replaceChildren(...names.map((n) => new Option(name(n), n)));
  }
  select.hidden = names.length < 2;
  if (document.activeElement !== select) select.value = here();

  const volume = $('volume');
  if (performance.now() > turning && s.volume !== undefined) {
    volume.value = s.volume;
    put($('volume-text'), `${s.volume} %`);
  }
  const mute = $('mute');
  mute.setAttribute('aria-pressed', String(!!s.muted));
  put(mute.lastElementChild, say(s.muted ? 'muted' : 'mute'));

  for (const el of [volume, mute, $('hush'), $('text'), $('line').lastElementChild]) el.disabled = look || !live;
  button.disabled = look || !live || sound.state === 'joining';
  button.setAttribute('aria-pressed', String(held !== ''));
  const joins = mayJoin();
  button.classList.toggle('joins', joins);
  put($('talk-text'), say(look ? 'onlyLook' : sound.state === 'joining' ? 'joining' : joins ? 'join' : types() ? 'typeInstead' : held ? 'letGo' : 'hold'));
  put($('talk-key'), look || joins || types() || !live ? '' : say('holdKey'));
  button.removeAttribute('aria-busy');
  if (sound.state === 'joining') button.setAttribute('aria-busy', 'true');
  $('share').hidden = look || !live;

  let note = trouble;
  if (!note && sound.state === 'refused') note = sound.why ? say(sound.why) : plain(sound.refusedBy, 300);
  if (!note && sound.state === 'lost') note = say('soundLost');
  if (!note && joined() && s.muted) note = say('mutedNote');
  if (!note && joined() && sound.microphone === 'refused') note = say('micRefused');
  if (!note && joined() && sound.microphone === 'missing') note = say('micMissing');
  if (!note && !look && talk === 'insecure') note = say('insecure');
  if (!note && !look && talk === 'no') note = say('noTalk');
  put($('note'), note);
}

watch();
dirty();
