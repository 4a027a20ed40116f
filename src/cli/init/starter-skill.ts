import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { NewFile } from './write-new.js';

const FOLDER = new URL('../../../templates/capabilities/skill/leftovers/', import.meta.url);

/** The skill that the starter workflow with steps uses. */
export function starterSkill(): NewFile[] {
  return ['capability.yaml', 'run.mjs'].map((name) => ({
    path: `.baton/capabilities/skill/leftovers/${name}`,
    text: readFileSync(fileURLToPath(new URL(name, FOLDER)), 'utf8'),
  }));
}
