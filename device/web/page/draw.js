// Draws the room. Whatever comes from people, models and devices is put in as text; positions, levels and colours by way of the
// style object, since the page's policy allows no style in HTML.

import { colour, quantile } from './model.js';
import { known, name, plain, say } from './text.js';

const STILL = 450;      // milliseconds for which a press stills the page
const LINE = 10;        // milliseconds from press to silence that everybody should stay below
const PROMISE = 30;     // and that nobody may be above
const SPOKEN = 6;       // lines kept for a screen reader

export const $ = (id) => document.getElementById(id);

// make is an element with classes, text and children.
export function make(tag, classes = '', ...inside) {
  const el = document.createElement(tag);
  if (classes) el.className = classes;
  el.append(...inside.filter((x) => x !== null && x !== undefined && x !== ''));
  return el;
}

// put sets a text, and touches nothing where it is that already.
export function put(el, text) {
  if (el.textContent !== text) el.textContent = text;
}

function set(el, property, value) {
  if (el.style.getPropertyValue(property) !== value) el.style.setProperty(property, value);
}

function toggle(el, cls, on) {
  if (el.classList.contains(cls) !== !!on) el.classList.toggle(cls, !!on);
}

// paint gives an element a companion's colour, and what can be read upon it.
function paint(el, id) {
  const [r, g, b] = colour(id);
  const linear = (x) => ((x /= 255) <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  const light = 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  set(el, '--c', `rgb(${r}, ${g}, ${b})`);
  set(el, '--on', light > 0.18 ? '#0b1116' : '#ffffff');
}

const initial = (called) => (Array.from(called)[0] ?? '?').toUpperCase();
const whole = (ms) => (ms < 10 ? ms.toFixed(1) : String(Math.round(ms)));

export class Drawing {
  constructor(room, { turn, end, here, clock, look }) {
    this.room = room;
    this.turn = turn;     // (companion, involvement): somebody wants it so
    this.end = end;       // (device, id, how): what rings is to 'stop' or to ring 'later'
    this.here = here;     // () => name of the device that this page is for
    this.look = look;
    this.time = new Intl.DateTimeFormat(clock, { hour: 'numeric', minute: '2-digit' });
    this.day = new Intl.DateTimeFormat(clock, { weekday: 'short', hour: 'numeric', minute: '2-digit' });
    this.date = new Intl.DateTimeFormat(clock, { dateStyle: 'short', timeStyle: 'short' });
    this.places = new Map();
    this.discs = new Map();
    this.bubbles = new Map();  // of the bubble object
    this.banners = new Map();
    this.rings = new Map();
    this.cards = new Map();
    this.below = true;         // the newest bubble is in sight
    $('scroll').addEventListener('scroll', () => {
      const s = $('scroll');
      this.below = s.scrollHeight - s.scrollTop - s.clientHeight < 40;
    }, { passive: true });
  }

  draw(now, link) {
    this.still = now - this.room.pressed < STILL;
    document.body.classList.toggle('still', this.still);
    this.head(link);
    this.ringing(link);
    this.alerts();
    this.company(now);
    this.running();
    this.said();
    this.figures();
  }

  // later says in how many milliseconds something looks different by itself; Infinity: never.
  later(now) {
    const ends = [this.room.pressed + STILL, this.room.voted + 700].filter((t) => t > now).map((t) => t - now + 1);
    return Math.min(Infinity, ...ends);
  }

  head(link) {
    const r = this.room;
    const any = [...r.devices.values()].find((d) => d.room);
    put($('title'), name(any?.room.paired?.name || any?.room.room || [...r.devices.keys()][0]) || 'conch');
    const floor = r.floor();
    let text = say('waiting');
    if (link !== 'live') text = say(link === 'gone' ? 'gone' : 'connecting');
    else if (r.in('LISTENING')) text = say('listening', { place: name(r.in('LISTENING').name) });
    else if (this.still) text = say('hushed');
    else if (floor) text = say('speaking', { name: r.nameOf(floor) });
    else if (r.chosen) text = say('chosen', { name: r.nameOf(r.chosen) });
    else if (r.in('COMMITTING')) text = say('deciding');
    else if (r.ringing().length) text = say('rings', { name: r.ringing().map((a) => plain(a.text, 80)).join(', ') });
    put($('now'), text);
  }

  // ringing are alerts, each with what ends it.
  ringing(link) {
    const list = this.room.ringing().slice(0, 4);
    for (const [key, el] of this.rings) {
      if (!list.some((a) => a.key === key)) {
        el.remove();
        this.rings.delete(key);
      }
    }
    for (const a of list) {
      let el = this.rings.get(a.key);
      if (!el) {
        el = make('div', 'banner ring', make('b', '', say('rings', { name: plain(a.text, 120) })), make('small', '', this.room.devices.size > 1 ? name(a.device) : ''));
        el.children[0].dir = 'auto';
        for (const how of a.later ? ['stop', 'later'] : ['stop']) {
          const button = make('button', how, say(how));
          button.addEventListener('click', async () => {
            button.setAttribute('aria-busy', 'true');
            await this.end(a.device, a.id, how);
            button.removeAttribute('aria-busy');
          });
          el.append(button);
        }
        this.rings.set(a.key, el);
        $('rings').append(el);
      }
      for (const button of el.querySelectorAll('button')) button.disabled = this.look || link !== 'live';
    }
  }

  // wrong is a condition in the person's language; empty: it is as well told in the device's own words, which are English.
  wrong(code) {
    if (document.documentElement.lang === 'en') return '';
    for (let k = plain(code, 100); k; k = k.slice(0, Math.max(0, k.lastIndexOf('.')))) {
      if (Object.hasOwn(this.clips ?? {}, `wrong.${k}`)) return this.clips[`wrong.${k}`];
    }
    return '';
  }

  // alerts are conditions, each with what to do about it.
  alerts() {
    const list = [];
    for (const d of this.room.devices.values()) {
      if (!d.alive) continue;
      for (const c of d.status.conditions ?? []) list.push({ key: `${c.code} ${c.text} ${c.do} ${this.wrong(c.code)}`, device: name(d.name), ...c });
    }
    const seen = new Map(); // the same at several devices is one banner
    for (const c of list) seen.set(c.key, seen.has(c.key) ? { ...c, device: `${seen.get(c.key).device}, ${c.device}` } : c);
    const shown = [...seen.values()].slice(0, 4);
    for (const [key, el] of this.banners) {
      if (!shown.some((c) => c.key === key)) {
        el.remove();
        this.banners.delete(key);
      }
    }
    for (const c of shown) {
      let el = this.banners.get(c.key);
      if (!el) {
        el = make('p', 'banner', make('b'), ' ', make('span'), ' ', make('small'));
        el.children[0].dir = el.children[1].dir = 'auto';
        const own = this.wrong(c.code);
        put(el.children[0], own || plain(c.text, 300));
        put(el.children[1], own ? `${plain(c.text, 300)}; ${plain(c.do, 300)}` : plain(c.do, 300));
        el.children[0].lang = own ? document.documentElement.lang : 'en';
        el.children[1].lang = 'en';
        this.banners.set(c.key, el);
        $('alerts').append(el);
      }
      put(el.children[2], this.room.devices.size > 1 ? c.device : '');
    }
  }

  company(now) {
    const r = this.room;
    const floor = r.floor();
    const ul = $('places');
    for (const place of r.places) {
      let el = this.places.get(place);
      if (!el) {
        el = make('li', 'place', make('h3'), make('p', 'does'), make('ul', 'discs'));
      el.append(make('a', 'page'));
      el.lastChild.rel = 'noopener noreferrer';
        el.children[0].dir = 'auto';
        put(el.children[0], place);
        this.places.set(place, el);
        ul.append(el);
      }
      const d = r.devices.get(place) ?? [...r.devices.values()].find((x) => name(x.name) === place);
      const mine = [...r.companions.values()].filter((c) => c.place === place);
      const dead = d ? !d.alive : mine.length > 0 && mine.every((c) => !c.here);
      toggle(el, 'gone', dead);
      toggle(el, 'listens', !dead && d?.doing.state === 'LISTENING');
      toggle(el, 'muted', !!d?.status.muted);
      toggle(el, 'own', place === name(this.here()));
      put(el.children[1], dead ? say('isGone') : d?.doing.state === 'LISTENING' ? say('listens') : d?.status.muted ? say('micOff') : '');
      const page = dead ? '' : r.pages.get(place) ?? '';
      const a = el.lastChild;
      if (a.hidden = !page) a.removeAttribute('href');
      else if (a.getAttribute('href') !== page) a.href = page;
      put(a, page && new URL(page).host);
      a.title = page && say('itsPage', { place });
      for (const c of mine) this.disc(el.children[2], c, { now, floor, dead });
    }
    for (const [place, el] of this.places) {
      if (!r.places.includes(place)) {
        el.remove();
        this.places.delete(place);
      }
    }
    for (const [id, el] of this.discs) {
      if (!r.companions.has(id)) {
        el.remove();
        this.discs.delete(id);
      }
    }
  }

  disc(list, c, { now, floor, dead }) {
    let el = this.discs.get(c.id);
    if (!el) {
      el = make('li', 'disc', make('span', 'face'), make('span', 'name'), make('span', 'unseen'), make('select'));
      el.children[0].ariaHidden = 'true';
      el.children[1].dir = 'auto';
      paint(el, c.id);
      const select = el.children[3];
      for (const i of ['off', 'low', 'medium', 'high']) select.append(new Option(say(`involvement.${i}`), i));
      select.addEventListener('change', () => this.turn(c.id, select.value));
      this.discs.set(c.id, el);
    }
    if (el.parentNode !== list) list.append(el);
    const [face, called, state, select] = el.children;
    const here = c.here && !dead;
    const speaks = here && !this.still && floor === c.id;
    const level = speaks ? this.room.level(c.id) : 0;
    const votes = here && !this.still && !speaks && this.room.votes(c, now);
    const chosen = here && !this.still && !speaks && !votes && this.room.chosen === c.id;
    put(face, initial(c.name));
    put(called, c.name);
    called.title = c.role;
    toggle(el, 'gone', !here);
    toggle(el, 'speaks', speaks);
    toggle(el, 'votes', votes);
    toggle(el, 'chosen', chosen);
    set(el, '--level', Math.sqrt(Math.min(100, level < 0 ? 20 : level) / 100).toFixed(2)); // peaks of speech are far below the most there is
    put(state, !here ? say('isGone') : speaks ? say('isSpeaking') : votes ? say('isVoting') : chosen ? say('isChosen') : '');
    select.hidden = !c.turns;
    select.disabled = this.look || !here;
    select.setAttribute('aria-label', say('involvement', { name: c.name }));
    if (document.activeElement !== select) select.value = c.involvement;
  }

  // due says a time to come as people do, by the clock of the device.
  due(text, now) {
    const at = Date.parse(text) - this.room.skew;
    const days = (t) => Math.floor((t - new Date(t).getTimezoneOffset() * 60000) / 86400000);
    const ahead = days(at) - days(now - this.room.skew);
    return (ahead === 0 ? this.time : ahead > 0 && ahead < 7 ? this.day : this.date).format(at);
  }

  // running are timers, what is played, what nobody heard to its end and reminders that are to come, as cards.
  running() {
    const rows = [];
    const now = Date.now() + this.room.skew;
    for (const d of this.room.devices.values()) {
      if (!d.alive) continue;
      for (const t of (d.status.now?.timers ?? []).slice(0, 6)) {
        const left = Math.max(0, (Date.parse(t.ends) - now) / 1000);
        rows.push({ key: `t ${d.name} ${t.name} ${t.ends}`, title: t.name || say('timer'), left, length: t.length_s, part: t.length_s > 0 ? 1 - left / t.length_s : 0, device: d.name });
      }
      const p = d.status.now?.playing;
      for (const m of (d.status.missed ?? []).slice(0, 3)) rows.push({ key: `m ${d.name} ${m.at} ${m.text}`, title: m.text, when: m.at, left: 0, length: 0, part: 0, device: d.name });
      for (const t of (d.status.now?.reminders ?? []).slice(0, 3)) rows.push({ key: `r ${d.name} ${t.due} ${t.text}`, title: t.text, due: t.due, left: 0, length: 0, part: 0, device: d.name });
      if (p) rows.push({ key: `p ${d.name} ${p.title}`, title: p.title, left: Math.max(0, p.length_s - p.position_s), length: p.length_s, part: p.length_s > 0 ? p.position_s / p.length_s : 0, device: d.name, plays: true });
    }
    for (const [key, el] of this.cards) {
      if (!rows.some((r) => r.key === key)) {
        el.remove();
        this.cards.delete(key);
      }
    }
    for (const r of rows.slice(0, 8)) {
      let el = this.cards.get(r.key);
      if (!el) {
        el = make('li', `card${r.plays ? ' plays' : r.due ? ' due' : ''}`, make('span', 'glyph'), make('b'), make('span', 'left'), make('progress'));
        el.children[0].ariaHidden = 'true';
        el.children[1].dir = 'auto';
        put(el.children[1], plain(r.title, 80));
        el.children[1].title = name(r.device);
        el.children[3].max = 1;
        el.children[3].setAttribute('aria-label', plain(r.title, 80));
        this.cards.set(r.key, el);
        $('cards').append(el);
      }
      put(el.children[2], r.due ? this.due(r.due, now) : r.when ? say('missed', { time: new Date(r.when).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' }) }) : r.length > 0 ? clockText(r.left) : '');
      el.children[3].hidden = !(r.length > 0);
      el.children[3].value = Math.min(1, Math.max(0, r.part));
    }
    this.ticks = rows.some((r) => !r.when && !r.due);
  }

  said() {
    const list = this.room.bubbles;
    const ol = $('bubbles');
    const keep = new Set(list);
    for (const [b, el] of this.bubbles) {
      if (!keep.has(b)) {
        el.remove();
        this.bubbles.delete(b);
      }
    }
    let fresh = false;
    list.forEach((b, i) => {
      let el = this.bubbles.get(b);
      if (!el) {
        el = this.bubble(b);
        this.bubbles.set(b, el);
        fresh = true;
      }
      if (ol.children[i] !== el) ol.insertBefore(el, ol.children[i] ?? null);
      if (el.drawn !== b.version) {
        el.drawn = b.version;
        this.fill(el, b);
        fresh = true;
      }
    });
    $('empty').hidden = list.length > 0;
    if (fresh && this.below) $('scroll').scrollTop = $('scroll').scrollHeight;
  }

  bubble(b) {
    const el = make('li', `bubble ${b.kind}`);
    const text = make('p', 'text', make('span', 'heard'), make(b.kind === 'answer' ? 'span' : 'span', 'rest'));
    text.dir = 'auto';
    const head = make('p', 'who', make('b'), ' ', make('span', 'meta'));
    head.children[0].dir = 'auto';
    el.append(head, text);
    if (b.kind === 'answer') {
      paint(el, b.who);
      const face = make('span', 'face', initial(this.room.nameOf(b.who)));
      face.ariaHidden = 'true';
      el.prepend(face);
    }
    if (b.kind !== 'ask') {
      const why = make('details', 'why', make('summary'));
      why.addEventListener('toggle', () => {
        while (why.children.length > 1) why.lastChild.remove();
        if (why.open) {
          why.append(this.why(b));
          why.scrollIntoView({ block: 'nearest' });
        }
      });
      el.append(why);
    }
    return el;
  }

  fill(el, b) {
    const who = el.querySelector('.who b');
    const meta = el.querySelector('.meta');
    const heard = el.querySelector('.heard');
    let rest = el.querySelector('.rest');
    const parts = [];
    if (b.kind === 'ask') {
      put(who, b.device && b.device !== name(this.here()) ? say('person', { place: b.device }) : say('you'));
      put(heard, b.text === '(said aloud, and not written down)' || b.text === '' ? say('notWritten') : b.text);
      toggle(el, 'aside', b.text === '' || b.text.startsWith('(said aloud'));
      if (b.state === 'superseded') parts.push(say('superseded'));
    } else if (b.kind === 'nobody') {
      put(who, say('nobody'));
      const r = this.room.rounds.get(b.message);
      put(heard, '');
      if (r?.decision) this.reason(heard, r.decision);
    } else {
      put(who, this.room.nameOf(b.who));
      const cut = b.state === 'cut';
      if ((rest.tagName === 'DEL') !== cut) { // what is struck is told as such
        const other = make(cut ? 'del' : 'span', 'rest');
        rest.replaceWith(other);
        rest = other;
      }
      const failed = b.state === 'failed';
      put(heard, failed ? this.trouble(b) : b.heard);
      put(rest, failed ? '' : b.rest);
      toggle(el, 'growing', b.state === 'growing');
      toggle(el, 'open', b.state === 'open');
      toggle(el, 'cut', cut);
      toggle(el, 'aside', failed);
      if (b.device) parts.push(b.device);
      if (cut) parts.push(b.ms > 0 ? say('cutAfter', { seconds: (b.ms / 1000).toFixed(1) }) : say('cut'));
      if (b.tools > 0) parts.push(say('tools', { n: b.tools }));
    }
    parts.push(this.time.format(b.at - this.room.skew));
    put(meta, parts.join(' · '));
    const why = el.querySelector('.why');
    if (why) {
      const r = this.room.rounds.get(b.message);
      why.hidden = !r?.decision;
      if (r?.decision) put(why.firstChild, say('why', { ms: Math.round(r.decision.waited_ms ?? 0) }));
      if (why.open) {
        while (why.children.length > 1) why.lastChild.remove();
        why.append(this.why(b));
      }
    }
    this.tell(el, b);
  }

  // tell has a screen reader say what is whole now, once, unless it is old.
  tell(el, b) {
    if (el.told || (b.kind === 'answer' && !['done', 'cut', 'failed'].includes(b.state))) return;
    el.told = true;
    if (Date.now() + this.room.skew - b.at > 60000) return;
    const lines = $('spoken');
    const line = make('p', '', `${el.querySelector('.who b').textContent}: ${el.querySelector('.heard').textContent}`);
    line.dir = 'auto';
    lines.append(line);
    while (lines.children.length > SPOKEN) lines.firstChild.remove();
  }

  trouble(b) {
    return b.words && this.clips?.[b.words] ? `${this.clips[b.words]} ${this.clips[b.then] ?? ''}`.trim() : b.reason ? `${say('failed')} ${b.reason}` : say('failed');
  }

  // reason puts why somebody speaks, or does not, into an element: in the person's language by its code, else in the words that came,
  // with names in place of ids.
  reason(el, of) {
    const [code, ...args] = Array.isArray(of?.because) ? of.because.map((x) => plain(x, 200)) : [];
    const text = Object.hasOwn(this.clips ?? {}, `why.${code}`) ? this.clips[`why.${code}`] : '';
    el.lang = text ? document.documentElement.lang : 'en';
    put(el, text ? this.filled(text, args) : this.named(plain(of?.reason, 400).replace(/^nobody: /, '')));
    return el;
  }

  filled(text, args) {
    return text.replace(/\{(\w+)\}/g, (all, gap) => {
      const i = args.findIndex((x, n) => n % 2 === 0 && x === gap);
      if (i < 0) return all;
      if (gap !== 'who' && gap !== 'by') return args[i + 1];
      return new Intl.ListFormat(document.documentElement.lang).format(args[i + 1].split(' ').slice(0, 12).map((id) => this.called(id)));
    });
  }

  called(id) {
    return id.startsWith('human:') ? say('person', { place: this.room.placeOf(id.slice(6)) }) : this.room.nameOf(id);
  }

  named(text) {
    let s = text;
    for (const c of this.room.companions.values()) s = s.replace(new RegExp(`(?<![\\p{L}\\p{N}_-])${RegExp.escape?.(c.id) ?? c.id.replace(/[^\p{L}\p{N}]/gu, '\\$&')}(?![\\p{L}\\p{N}_-])`, 'gu'), () => c.name);
    return s;
  }

  // why is the round that a bubble comes from: who wanted to speak how much, and what decided.
  why(b) {
    const d = this.room.rounds.get(b.message)?.decision;
    const box = make('div', 'round');
    if (!d) return box;
    box.append(this.reason(make('p', 'because'), d));
    const rows = make('ul', 'ballot');
    const all = new Set([...(d.order ?? []), ...(d.roster ?? []), ...(d.silent ?? []).map((s) => s.companion)]);
    for (const id of [...all].slice(0, 12)) rows.append(this.vote(d, id));
    box.append(rows);
    const how = [say('decidedIn', { ms: Math.round(d.waited_ms ?? 0) })];
    if (d.at_limit) how.push(say('atLimit'));
    if (d.extras?.length) how.push(say('extras', { names: d.extras.map((c) => this.room.nameOf(c)).join(', ') }));
    box.append(make('p', 'how', how.join(' · ')));
    return box;
  }

  vote(d, id) {
    const v = d.votes?.find((x) => x.from === id);
    const silent = d.silent?.find((x) => x.companion === id);
    const speaks = d.winner === id || d.extras?.includes(id);
    const layer = (speaks ? v?.layer : silent?.layer) || v?.layer || '';
    const row = make('li', speaks ? 'vote speaks' : 'vote');
    paint(row, id);
    const called = make('b', '', this.room.nameOf(id));
    called.dir = 'auto';
    const score = v ? v.importance.toFixed(1) : '–';
    row.append(make('p', 'line', make('span', 'dot'), called, make('span', 'chip', speaks ? say('speaks') : say('staysSilent')), layer ? make('span', `chip ${layer}`, say(`layer.${layer}`)) : '', make('span', 'score', score)));
    const terms = (v?.terms ?? []).filter((t) => Math.abs(t.value) >= 0.05).slice(0, 12);
    const up = terms.filter((t) => t.value > 0);
    const most = Math.max(10, up.reduce((n, t) => n + t.value, 0));
    const bar = make('div', 'bar');
    bar.setAttribute('role', 'img');
    bar.setAttribute('aria-label', terms.length ? terms.map((t) => `${term(t)} ${signed(t.value)}`).join(', ') : say('noTerms'));
    up.forEach((t, i) => {
      const part = make('span', `part p${i % 4}`);
      part.title = `${term(t)} ${signed(t.value)}`;
      set(part, 'width', `${(100 * t.value) / most}%`);
      bar.append(part);
    });
    const down = terms.filter((t) => t.value < 0).reduce((n, t) => n - t.value, 0);
    if (down > 0) {
      const minus = make('span', 'minus');
      set(minus, 'width', `${(100 * Math.min(down, most)) / most}%`);
      bar.append(minus);
    }
    const five = make('span', 'five');
    set(five, 'left', `${500 / most}%`);
    bar.append(five);
    row.append(bar);
    if (terms.length) row.append(make('p', 'terms', terms.map((t) => `${term(t)} ${signed(t.value)}`).join(' · ')));
    const why = this.reason(make('p', 'reason'), silent ?? v);
    why.dir = 'auto';
    if (!speaks || d.winner !== id) row.append(why);
    return row;
  }

  figures() {
    const ours = this.room.sounds; // of one press there is one figure: the page's where the page sounds, else the device's
    put($('silences').querySelector('span'), say(ours ? 'pressToSilenceHere' : 'pressToSilence'));
    this.strip($('silences'), ours ? this.room.ours : this.room.silences, LINE, 'quantiles', whole);
    this.strip($('firsts'), this.room.firsts, 0, 'quantilesSeconds', (ms) => (ms / 1000).toFixed(2));
  }

  // strip is a row of dots, the newest at the right, in the unit of a text of words.js.
  strip(el, list, line, text, unit) {
    const key = `${list === this.room.ours} ${list.length} ${list.at(-1)?.turn ?? ''} ${list.at(-1)?.ms}`;
    if (el.drawn === key) return;
    el.drawn = key;
    const strip = el.querySelector('.strip');
    const top = Math.max(line * 1.5, 1.15 * Math.max(0, ...list.map((f) => f.ms)));
    const label = list.length ? say(text, { p50: unit(quantile(list, 0.5)), p99: unit(quantile(list, 0.99)) }) : '–';
    put(el.querySelector('b'), label);
    strip.setAttribute('aria-label', `${el.querySelector('figcaption span').textContent}: ${list.length ? `${label} (${list.length})` : say('noneYet')}`);
    if (line > 0 && !strip.querySelector('.ten')) strip.append(make('span', 'ten', make('small', '', say('tenLine'))));
    if (line > 0) set(strip.querySelector('.ten'), 'bottom', `${(100 * line) / top}%`);
    let dots = strip.querySelectorAll('i');
    for (let i = dots.length; i < list.length; i++) strip.append(make('i'));
    dots = strip.querySelectorAll('i');
    dots.forEach((dot, i) => {
      const f = list[i];
      dot.hidden = !f;
      if (!f) return;
      set(dot, 'left', `${list.length > 40 ? 1 + (98 * i) / 99 : 2 + i * 2.4}%`);
      set(dot, 'bottom', `${(100 * f.ms) / top}%`);
      toggle(dot, 'own', f.own);
      toggle(dot, 'above', line > 0 && f.ms > line);
      toggle(dot, 'far', line > 0 && f.ms > PROMISE);
      dot.title = `${whole(f.ms)} ms${f.own ? ` (${say('thisPage', { ms: whole(f.output ?? 0) })})` : ''}`;
    });
  }
}

const term = (t) => (known(`term.${t.name}`) ? say(`term.${t.name}`) : plain(t.name, 30));
const signed = (x) => (x > 0 ? '+' : '−') + Math.abs(x).toFixed(1).replace(/\.0$/, '');

export function clockText(seconds) {
  const s = Math.round(seconds);
  const two = (n) => String(n).padStart(2, '0');
  return s >= 3600 ? `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}` : `${Math.floor(s / 60)}:${two(s % 60)}`;
}
