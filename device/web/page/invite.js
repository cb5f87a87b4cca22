// Another browser is let in: a link that counts once, its QR code for a telephone's camera, and how long it still counts.

import { $, clockText, put } from './draw.js';
import { plain, say } from './text.js';

const SVG = 'http://www.w3.org/2000/svg';
const QUIET = 4; // modules around the code (ISO/IEC 18004)

// picture is the QR code of rows of 0 and 1, as one path.
function picture(rows, label) {
  const svg = document.createElementNS(SVG, 'svg');
  const path = document.createElementNS(SVG, 'path');
  const size = rows.length + 2 * QUIET;
  let d = '';
  rows.forEach((row, y) => {
    for (const dark of row.matchAll(/1+/g)) d += `M${dark.index + QUIET} ${y + QUIET}h${dark[0].length}v1h-${dark[0].length}z`;
  });
  path.setAttribute('d', d);
  svg.setAttribute('viewBox', `0 0 ${size} ${size}`);
  svg.setAttribute('shape-rendering', 'crispEdges');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', label);
  svg.append(path);
  return svg;
}

// Invitation is the dialog. post asks the server for something, and gives null where that failed; trouble says why.
export class Invitation {
  constructor(post, trouble) {
    this.post = post;
    this.trouble = trouble;
    this.tries = 0;       // what comes of an earlier one is not shown
    this.timer = 0;
    for (const [id, only] of [['link-all', false], ['link-look', true]]) $(id).addEventListener('click', () => this.make(only));
    $('link-copy').addEventListener('click', () => this.copy());
    $('link-close').addEventListener('click', () => $('link').close());
    $('link').addEventListener('close', () => this.hide());
  }

  get open() {
    return $('link').open;
  }

  show() {
    this.hide();
    put($('link-text'), say('linkHow'));
    $('link').showModal();
  }

  // hide takes a link away; text says why.
  hide(text = '') {
    this.tries++;
    clearTimeout(this.timer);
    if ($('link-made').contains(document.activeElement)) $('link-all').focus();
    $('link-made').hidden = true;
    $('link-picture').replaceChildren();
    $('link-url').removeAttribute('href');
    for (const id of ['link-url', 'link-left', 'link-copied', 'link-note']) put($(id), '');
    put($('link-text'), text);
  }

  async make(only) {
    this.hide();
    const own = this.tries;
    const l = await this.post('link', { look: only });
    if (own !== this.tries || !this.open) return;
    if (!l) return put($('link-text'), this.trouble());
    const far = l.reach !== 'machine';
    put($('link-text'), far ? say('linkFor', { seconds: l.seconds }) : [say('linkMachine'), l.do && say('linkListen', { do: plain(l.do, 80) }), say('linkHere')].filter(Boolean).join(' '));
    if (far && l.picture?.length) $('link-picture').append(picture(l.picture, say('linkPicture')));
    if (/^https?:\/\//.test(l.url)) $('link-url').href = l.url;
    put($('link-url'), l.url);
    let note = '';
    if (l.reach === 'readable' && !only) note = say('linkPlain', { do: plain(l.do, 80) });
    if (l.authority) note = say('linkTrust', { page: plain(l.explained, 200), print: plain(l.authority, 200) });
    put($('link-note'), note);
    $('link-made').hidden = false;
    $('link').scrollTop = 0;
    this.count(own, l.id, performance.now() + 1000 * l.seconds);
  }

  // count looks each second at how long it still counts, and if it was used.
  async count(own, id, end) {
    const left = end - performance.now();
    if (left <= 0) return this.hide(say('linkOver'));
    put($('link-left'), say('linkLeft', { time: clockText(left / 1000) }));
    let state = 'out';
    try {
      const r = await fetch(`/api/link?id=${encodeURIComponent(id)}`, { cache: 'no-store' });
      if (r.ok) ({ state } = await r.json());
    } catch {
      // the device is away: the clock here goes on
    }
    if (own !== this.tries) return;
    if (state !== 'out') return this.hide(say(state === 'used' ? 'linkUsed' : 'linkOver'));
    this.timer = setTimeout(() => this.count(own, id, end), 1000);
  }

  // copy puts the link where the person can paste it; a browser that does not allow that leaves it marked.
  async copy() {
    try {
      await navigator.clipboard.writeText($('link-url').textContent);
      put($('link-copied'), say('copied'));
    } catch {
      getSelection().selectAllChildren($('link-url'));
      put($('link-copied'), say('marked'));
    }
  }
}
