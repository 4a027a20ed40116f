import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { exampleIssue } from './example-issue.js';
import type { NewFile } from './write-files.js';

const TEMPLATES = new URL('../../../templates/', import.meta.url);

/** Where the skill of the starter with steps is in a project. */
export const STARTER_SKILL = '.baton/capabilities/skill/leftovers';

export function starterSkill(): NewFile[] {
  return ['capability.yaml', 'run.mjs'].map((name) => ({
    path: `${STARTER_SKILL}/${name}`,
    text: shipped(`capabilities/skill/leftovers/${name}`),
  }));
}

/** Where the program between Baton and a tracker of one's own is in a project. */
const TRACKER_PROGRAM = 'tracker.mjs';
/** Where that program keeps its issues until it is rewritten. */
export const TRACKER_BOARD = 'board.json';

export function trackerProgram(label: string, hasRepository: boolean): NewFile[] {
  const { id, title, description } = exampleIssue(hasRepository);
  const issue = { id: '1', identifier: id, title, description, state: 'Todo', labels: [label] };
  const board = { states: ['Todo', 'In Progress', 'Done'], issues: [issue] };
  return [
    { path: TRACKER_PROGRAM, text: shipped('trackers/json-file.mjs') },
    { path: TRACKER_BOARD, text: `${JSON.stringify(board, null, 2)}\n` },
  ];
}

function shipped(name: string): string {
  return readFileSync(fileURLToPath(new URL(name, TEMPLATES)), 'utf8');
}
