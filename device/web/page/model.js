// What there is to know of the room, from the events of its devices. Nothing here knows of the page; every list is bounded.
//
//   devices   by name: its last status, room and doing
//   bubbles   what was said, by time: a person's line, an answer, that nobody answered
//   rounds    by the message that opened them: who wanted to speak, and why
//   silences  press to silence, milliseconds, as devices measure it; firsts: from the end of a question to the first sound
//   ours      press to silence in this page, as it measures that itself; it is shown in place of silences while the page sounds

import { address, name, plain } from './text.js';

const BUBBLES = 60;
const ROUNDS = 80;
const FIGURES = 100;
const DEVICES = 16;
const COMPANIONS = 48;

const SHOWN = 700; // milliseconds for which a vote is shown

export class Room {
  constructor() {
    this.devices = new Map();
    this.companions = new Map(); // by id: {id, name, place, here, muted, involvement, skewed}
    this.places = [];            // names of devices, as first seen
    this.pages = new Map();      // by place: address of its own page; '': none is known, or it is this one
    this.bubbles = [];
    this.rounds = new Map();
    this.silences = [];
    this.ours = [];
    this.sounds = false;         // sound goes to this page
    this.firsts = [];
    this.pressed = -Infinity;    // by the page's clock, milliseconds
    this.voted = -Infinity;      // when a round was decided last, likewise
    this.voters = [];            // in it
    this.chosen = null;          // id of the companion that has the word and is not heard yet
    this.anew = false;           // the pictures that come are of a device that was away
    this.skew = 0;               // the device's clock before the page's, milliseconds
  }

  // take takes an event in: one that happens now, or one that a picture tells of. now is the page's clock in milliseconds.
  take(event, now, live = true) {
    const at = Date.parse(event.at) || Date.now();
    if (event.kind === 'picture' && this.anew) this.clear();
    if (live) this.skew = at - Date.now();
    const d = this.device(event.device);
    if (!d) return;
    switch (event.kind) {
      case 'picture': return this.picture(d, event.data ?? {}, now);
      case 'status': return this.status(d, event.data ?? {});
      case 'room': return this.room(d, event.data);
      case 'doing': return this.doing(d, event.data ?? {}, at);
      case 'press': return this.press(d, now);
      case 'entry': return this.entry(event.data ?? {}, at, live ? now : -Infinity);
      case 'turn': return this.turn(d, event.data ?? {}, at);
    }
  }

  // again: the device has been away, and the next pictures tell who is here. What was said stays.
  again() {
    this.anew = true;
  }

  clear() {
    this.anew = false;
    this.devices.clear();
    this.companions.clear();
    this.pages.clear();
    this.places = [];
    this.chosen = null;
    this.voted = -Infinity;
  }

  device(called) {
    let d = this.devices.get(called);
    if (!d && this.devices.size < DEVICES) {
      d = { name: called, id: '', alive: true, status: {}, room: null, doing: {} };
      this.devices.set(called, d);
      this.place(name(called));
    }
    return d;
  }

  place(called) {
    if (called && !this.places.includes(called) && this.places.length < DEVICES) this.places.push(called);
  }

  picture(d, p, now) {
    d.alive = p.alive !== false;
    d.room = p.room ?? null;
    this.status(d, p.status ?? {});
    this.room(d, d.room);
    for (const e of p.recent ?? []) this.take(e, now, false);
    this.doing(d, p.doing ?? {}, Date.now() + this.skew);
    if (d.doing.state === 'IDLE') this.over(name(d.name));
  }

  // over ends what a device had begun to answer before it began anew, or before the page fell behind.
  over(place) {
    for (const b of this.bubbles) {
      if (b.kind !== 'answer' || b.device !== place || !['open', 'growing'].includes(b.state)) continue;
      this.change(b, { state: b.heard || b.rest ? 'cut' : 'failed' });
    }
  }

  status(d, s) {
    d.status = s;
    if (s.device) d.id = s.device;
    if (!d.room) this.met();
  }

  room(d, r) {
    d.room = r;
    if (r?.device) d.id = r.device;
    this.met();
  }

  // met finds out anew who is here: whoever a living device sees, unless its own device is one of ours and dead.
  met() {
    for (const c of this.companions.values()) c.here = false;
    this.pages.clear();
    for (const d of this.devices.values()) {
      if (!d.alive) continue;
      if (!d.room) this.alone(d);
      for (const m of d.room?.members ?? []) {
        const own = this.devices.get(m.name);
        this.place(name(m.name));
        this.page(name(m.name), this.devices.has(m.name) ? '' : address(m.page));
        if (own && !own.alive) continue;
        for (const card of m.cards ?? []) this.seen(card, name(m.name));
      }
    }
    // Who was alone and is in a room now is another one there.
    for (const [id, c] of this.companions) if (!c.here && (!c.turns || this.companions.size > COMPANIONS)) this.companions.delete(id);
  }

  // page: two of one name that differ are nobody's.
  page(called, at) {
    if (!this.places.includes(called)) return;
    const other = this.pages.get(called);
    this.pages.set(called, other === undefined || other === at ? at : '');
  }

  seen(card, place) {
    if (this.companions.size > COMPANIONS && !this.companions.has(card.id)) return;
    this.companions.set(card.id, {
      id: card.id, name: name(card.name || card.id), role: plain(card.role, 120), place, here: true,
      muted: !!card.muted, involvement: card.involvement || 'medium', turns: true,
    });
  }

  // alone is a device without a room: its one companion is known by its turns.
  alone(d) {
    const own = d.status.companion;
    const called = own?.name ?? d.doing.who ?? d.who;
    const id = own?.id ?? (called ? called.toLowerCase() : d.name);
    this.companions.set(id, { id, name: name(called ?? d.name), role: '', place: name(d.name), here: true, muted: false, involvement: 'medium', turns: false });
  }

  // idOf is the companion of that name; a name that nobody has is its own id.
  idOf(called) {
    for (const c of this.companions.values()) if (c.name === name(called)) return c.id;
    return String(called ?? '').toLowerCase();
  }

  nameOf(id) {
    return this.companions.get(id)?.name ?? name(id);
  }

  // placeOf is the name of the device with that id.
  placeOf(id) {
    for (const d of this.devices.values()) {
      if (d.id === id) return name(d.name);
      const m = d.room?.members?.find((x) => x.device === id);
      if (m) return name(m.name);
    }
    return '';
  }

  press(d, now) {
    this.hush(now);
    d.doing = { ...d.doing, level: 0 };
  }

  // hush is a press: whatever moves is still from now on.
  hush(now) {
    this.pressed = now;
    this.voted = -Infinity;
    this.chosen = null;
  }

  // floor is the id of the companion that is heard now, anywhere.
  floor() {
    for (const d of this.devices.values()) if (d.alive && d.doing.who && d.doing.level > 0) return this.idOf(d.doing.who);
    for (const d of this.devices.values()) if (d.alive && d.doing.floor) return d.doing.floor;
    return '';
  }

  // level of what a companion says, 0 to 100; -1: it is heard, and its device does not tell us how loud.
  level(id) {
    for (const d of this.devices.values()) if (d.alive && d.doing.who && this.idOf(d.doing.who) === id) return d.doing.level ?? 0;
    return this.floor() === id ? -1 : 0;
  }

  // votes says whether a companion is asked just now if it wants to speak. A round takes some milliseconds, and nobody would see it.
  votes(c, now) {
    if (!c.here || c.muted) return false;
    if (now - this.voted < SHOWN) return this.voters.includes(c.id);
    return c.turns && !this.chosen && !this.floor() && !!this.in('COMMITTING');
  }

  // ringing are the alerts of all devices that no person has ended.
  ringing() {
    const all = [];
    for (const d of this.devices.values()) {
      if (d.alive) for (const a of d.status.now?.ringing ?? []) all.push({ ...a, device: d.name, key: `${d.name} ${a.id} ${a.text}` });
    }
    return all;
  }

  // in says whether a device is in that state.
  in(state) {
    return [...this.devices.values()].find((d) => d.alive && d.doing.state === state);
  }

  doing(d, now, at) {
    const before = d.doing;
    d.doing = now;
    if (!d.room && now.who && now.who !== before.who) this.met();
    if (!now.turn) return;
    if (!d.room && now.asked) this.asked(`t:${now.turn}`, { at, device: name(d.name), text: plain(now.asked) });
    if (!now.who || !(now.heard || now.rest)) return;
    const b = this.answerOf(d, now.turn, now.who, at, true);
    if (b.state === 'done' || b.state === 'cut') return;
    if (now.heard) this.chosen = null;
    this.change(b, { state: 'growing', device: name(d.name), heard: plain(now.heard), rest: plain(now.rest) });
  }

  entry(e, at, now) {
    const message = e.place?.messageId || e.message?.id;
    switch (e.kind) {
      case 'press':
        this.chosen = null;
        return;
      case 'round':
        return this.round(e, message, at, now);
      case 'claim':
      case 'instead':
        if (!e.companion || !message || this.find(`m:${message}`)?.state === 'superseded') return; // another device tells it late
        if (now > 0) this.chosen = e.companion;
        this.answer(message, e.companion, at, this.placeOf(e.by));
        return;
      case 'failed': {
        const b = this.find(`a:${message}:${e.companion}`);
        if (this.chosen === e.companion) this.chosen = null;
        if (b && b.state === 'open') this.change(b, { state: 'failed', reason: plain(e.why, 300) });
        return;
      }
      case 'spoke': {
        const b = this.find(`a:${message}:${e.companion}`);
        if (this.chosen === e.companion) this.chosen = null;
        if (!b || b.state === 'done' || b.state === 'cut') return;
        // What of it was heard only its own device knows; here it is known that it was cut.
        if (b.turn === '') this.change(b, { state: e.why === 'done' ? 'done' : 'cut', ms: e.heard_ms ?? 0, heard: b.heard + b.rest, rest: '' });
        return;
      }
      case 'silent':
      case 'superseded': {
        this.chosen = null;
        const r = this.rounds.get(message);
        if (r && !r.decision?.winner && e.kind === 'silent') this.nobody(message, at);
        const ask = this.find(`m:${message}`);
        if (ask && e.kind === 'superseded') this.change(ask, { state: 'superseded' });
        // What was to be said to it, and nobody heard, is not said any more.
        if (e.kind === 'superseded') {
          this.bubbles = this.bubbles.filter((b) => b.kind !== 'answer' || b.message !== message || b.heard !== '' || !['open', 'growing'].includes(b.state));
        }
      }
    }
  }

  round(e, message, at, now) {
    if (!message) return;
    const m = e.message;
    const fresh = !this.rounds.has(message);
    if (fresh) {
      this.rounds.set(message, { id: message, decision: e.decision, number: e.place?.number, at });
      if (this.rounds.size > ROUNDS) this.rounds.delete(this.rounds.keys().next().value);
    }
    if (m?.from?.startsWith('human:') && !m.metadata?.silence) {
      this.asked(`m:${message}`, { at, turn: m.turn, device: this.placeOf(m.from.slice(6)), text: plain(m.text) });
    } else if (m && m.text) {
      this.companionSaid(m);
    }
    if (e.decision && fresh) {
      if (now > 0) {
        this.voted = now;
        this.voters = e.decision.roster ?? [];
        this.chosen = e.decision.winner || null;
      }
      for (const b of this.bubbles) if (b.message === message) this.change(b, {});
    }
  }

  // companionSaid: what a companion says opens a round of its own, and is told there before it is over, by its text.
  companionSaid(m) {
    const b = this.bubbles.findLast((x) => x.kind === 'answer' && x.who === m.from && x.heard === '' && x.rest === '' && x.state === 'open');
    if (b) this.change(b, { rest: plain(m.text), state: 'growing' });
  }

  nobody(message, at) {
    this.put({ id: `n:${message}`, kind: 'nobody', at, message, state: 'done' });
  }

  asked(id, { at, turn, device, text }) {
    const b = (turn && this.bubbles.find((x) => x.kind === 'ask' && x.turn === turn)) || this.find(id);
    if (!b) return void this.put({ id, kind: 'ask', at, turn: turn ?? id.slice(2), device, text, state: 'done' });
    if (text && text !== b.text) this.change(b, { text });
  }

  // answer is that of a companion to a message.
  answer(message, who, at, device) {
    const id = `a:${message}:${who}`;
    const b = this.find(id) ?? this.bubbles.findLast((x) => x.kind === 'answer' && x.who === who && !x.message && x.state !== 'done' && x.state !== 'cut' && x.at > at - 5000);
    if (!b) return this.put({ id, kind: 'answer', at, message, who, device, turn: '', heard: '', rest: '', state: 'open' });
    if (!b.message) this.change(b, { id, message });
    return b;
  }

  // answerOf is the bubble of a turn of a device: the one that has it, else the youngest of its companion that has none and was not later.
  answerOf(d, turn, called, at, make) {
    const who = this.idOf(called);
    const own = this.bubbles.find((x) => x.kind === 'answer' && x.turn === turn && x.who === who);
    if (own) return own;
    const free = this.bubbles.findLast((x) => x.kind === 'answer' && x.turn === '' && x.who === who && x.at <= at + 100 && x.state !== 'failed');
    if (free) {
      free.turn = turn;
      return free;
    }
    return make ? this.put({ id: `t:${turn}:${who}`, kind: 'answer', at, message: '', who, device: name(d.name), turn, heard: '', rest: '', state: 'open' }) : null;
  }

  turn(d, t, at) {
    d.who = t.who;
    if (!d.room) this.met();
    if (t.press_to_silence_ms >= 0 && !t.elsewhere) this.figure(this.silences, { ms: t.press_to_silence_ms, turn: t.turn, own: false });
    if (t.commit_to_first_audio_ms > 0) this.figure(this.firsts, { ms: t.commit_to_first_audio_ms, turn: t.turn, own: false });
    if (t.asked && !d.room) this.asked(`t:${t.turn}`, { at: at - (t.duration_ms ?? 0), turn: t.turn, device: name(d.name), text: plain(t.asked) });
    const said = t.said || t.words || t.audible;
    const b = said ? this.answerOf(d, t.turn, t.who, at, true) : this.bubbles.find((x) => x.kind === 'answer' && x.turn === t.turn);
    if (!b) return;
    const cut = t.reason === 'interrupted' && !t.whole;
    const whole = plain(t.said);
    let heard = cut ? plain(t.heard) : whole;
    if (!whole.startsWith(heard)) heard = '';
    this.change(b, {
      state: !t.said && !t.audible ? 'failed' : cut ? 'cut' : 'done', words: t.words ?? '', then: t.then ?? '', tools: t.tools ?? 0,
      heard, rest: whole.slice(heard.length), ms: t.heard_ms ?? 0, first: t.commit_to_first_audio_ms ?? 0, device: name(d.name),
    });
    if (this.chosen === b.who) this.chosen = null;
  }

  figure(list, f) {
    if (f.turn && list.some((x) => x.turn === f.turn)) return;
    list.push(f);
    if (list.length > FIGURES) list.shift();
  }

  // heardHere is a press in this page: until its own sound was silent, milliseconds, and what the sound card adds.
  heardHere(ms, output) {
    this.figure(this.ours, { ms, output, own: true });
  }

  find(id) {
    return this.bubbles.findLast((b) => b.id === id);
  }

  put(b) {
    const old = this.find(b.id);
    if (old) return old;
    b.version = 1;
    let i = this.bubbles.length;
    while (i > 0 && this.bubbles[i - 1].at > b.at) i--;
    this.bubbles.splice(i, 0, b);
    if (this.bubbles.length > BUBBLES) this.bubbles.shift();
    return b;
  }

  change(b, fields) {
    Object.assign(b, fields);
    b.version++;
  }
}

// quantile of figures by the nearest rank; undefined of none.
export function quantile(figures, q) {
  const all = figures.map((f) => f.ms).sort((a, b) => a - b);
  return all[Math.max(0, Math.ceil(q * all.length) - 1)];
}

// colour is a companion's: [red, green, blue], the same as that of its light (gpio/light, CompanionColour).
export function colour(id) {
  let h = 0x811c9dc5; // FNV-1a
  for (const byte of new TextEncoder().encode(id)) h = Math.imul(h ^ byte, 0x01000193);
  const spread = Math.imul(h, 2654435769) >>> 8;
  const angle = 90 + (spread / (1 << 24)) * (325 - 90); // from green over blue to pink
  const channel = (shift) => {
    const k = (shift + angle / 60) % 6;
    return Math.round(255 * (1 - Math.max(0, Math.min(k, 4 - k, 1))));
  };
  return [channel(5), channel(3), channel(1)];
}
