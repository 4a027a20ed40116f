import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { NewFile } from './write-new.js';

const FOLDER = new URL('../../../templates/capabilities/skill/leftovers/', import.meta.url);

/** Where it is in a project. */
export const STARTER_SKILL = '.baton/capabilities/skill/leftovers';

/** The skill that the starter workflow with steps uses. */
export function starterSkill(): NewFile[] {
  return ['capability.yaml', 'run.mjs'].map((name) => ({
    path: `${STARTER_SKILL}/${name}`,
    text: readFileSync(fileURLToPath(new URL(name, FOLDER)), 'utf8'),
  }));
}
