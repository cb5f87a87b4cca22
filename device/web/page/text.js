// Text that somebody else has written, made harmless, and the texts of this page in the person's language.

import { words } from './words.js';

// What is not seen, or turns the direction of writing; the joiners of emoji and of Arabic and Indic words are left.
const unseen = /[\u00AD\u061C\u180E\u200B\u200E\u200F\u202A-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB\u{E0000}-\u{E007F}]/gu;
const breaks = /[\t\n\v\f\r\u0085\u2028\u2029 ]+/gu;
const controls = /[\u0000-\u001F\u007F-\u009F]+/gu;
const marks = /(\p{M}{8})\p{M}+/gu; // no script needs more upon one another

// plain is text on one line, of at most so many characters. It is shown by textContent, never as HTML.
export function plain(text, most = 4000) {
  const s = String(text ?? '').slice(0, 2 * most).replace(breaks, ' ').replace(controls, '\uFFFD').replace(unseen, '').replace(marks, '$1');
  const all = Array.from(s);
  return all.length > most ? all.slice(0, most - 1).join('') + '…' : s;
}

// name is how somebody or something is called.
export const name = (text) => plain(text, 40).trim();

// address is that of another device's page, as it says it; '' if it is none.
export const address = (text) => (/^https?:\/\/(\[[0-9a-f:]+\]|[a-z0-9.-]+):\d{1,5}\/$/.test(text) && text.length <= 128 ? text : '');

// language is the first of the person's that the table has, else the device's, else English.
export function language(wanted, fallback) {
  for (const tag of [...wanted, fallback]) {
    const code = String(tag ?? '').toLowerCase().split('-')[0];
    if (Object.hasOwn(words, code)) return code;
  }
  return 'en';
}

let table = words.en;

// speak has all texts from now on in a language of the table.
export function speak(code) {
  table = words[code];
}

// say is a text of the table, its {gaps} filled.
export function say(key, gaps = {}) {
  const text = table[key] ?? words.en[key];
  return text === undefined ? key : text.replace(/\{(\w+)\}/g, (all, gap) => (Object.hasOwn(gaps, gap) ? String(gaps[gap]) : all));
}

// known says whether the table has a text.
export const known = (key) => Object.hasOwn(table, key);
