import type { StateView } from '../../api/schemas.js';
import { needsOf } from './needs-you.js';

/** How many there are of everything, in the words of the lists; what there is none of is left out, apart from what runs. */
export function countWords(view: StateView): string[] {
  const { counts } = view;
  const inLine = new Set(view.ready.map(({ issue_id }) => issue_id));
  const running = counts.running - counts.asking;
  const needs = needsOf(view);
  const words: readonly (readonly [number, string])[] = [
    [needs, needs === 1 ? 'needs you' : 'need you'],
    [running, 'running'],
    [counts.asking, 'asking'],
    [counts.ready, 'next'],
    [view.retrying.filter(({ issue_id }) => !inLine.has(issue_id)).length, 'waiting'],
    [view.parked.filter(({ question }) => question === null).length, 'parked'],
    [counts.done, 'done'],
  ];
  const isQuiet = running === 0 && counts.asking === 0;
  return words
    .filter(([count, word]) => count > 0 || (isQuiet && word === 'running'))
    .map(([n, word]) => `${n} ${word}`);
}
