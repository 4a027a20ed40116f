import { createHash } from 'node:crypto';
import type { Json } from '../domain/json.js';
import type { AllowedContent, AllowedPart, Workflow } from '../domain/workflow.js';
import { SETTINGS } from './schema.js';
import { canonical, entriesOf, formatValue, planParts } from './workflow-changes.js';

/*
 * An agent's branch may change WORKFLOW.md, and a person may check that branch out while a daemon reads the file. So every part that
 * decides what runs or what is allowed (`security` in the schema, the plan, the code files) changes only after a person allows it. All
 * other settings apply at once.
 */

/** What is stored when this content takes effect. */
export function allowedContent(workflow: Workflow, text: string, atMs: number): AllowedContent {
  return { path: workflow.path, hash: workflow.hash, parts: partsOf(workflow), text, atMs };
}

/** One line for each part that differs from the allowed content; none when this content may take effect. */
export function heldChanges(allowed: Pick<AllowedContent, 'hash' | 'parts'>, workflow: Workflow): string[] {
  if (allowed.hash === workflow.hash) return [];
  const [before, after] = [allowed.parts, partsOf(workflow)];
  return [...new Set([...Object.keys(after), ...Object.keys(before)])]
    .filter((key) => before[key]?.hash !== after[key]?.hash)
    .map((key) => describeChange(key, before[key], after[key]));
}

function describeChange(key: string, before: AllowedPart | undefined, after: AllowedPart | undefined): string {
  if (before === undefined) return `${key} added`;
  if (after === undefined) return `${key} removed`;
  if (before.hash === NONE) return after.shown === null ? `${key} added` : `${key}: none → ${after.shown}`;
  if (after.hash === NONE) return before.shown === null ? `${key} removed` : `${key}: ${before.shown} → none`;
  return before.shown === null || after.shown === null ? `${key} changed` : `${key}: ${before.shown} → ${after.shown}`;
}

const NONE = hashOf(null);

function partsOf(workflow: Workflow): { readonly [key: string]: AllowedPart } {
  const settings = SETTINGS.filter(({ security }) => security).flatMap((setting) => {
    const isHidden = setting.hidden === true || setting.secret === true;
    return Object.entries(entriesOf(workflow.config, setting)).map(([key, value]) => [key, partOf(value, isHidden)]);
  });
  const { 'files that it runs': files, ...plan } = planParts(workflow);
  const others = Object.entries(plan).map(([key, value]) => [key, partOf(value, true)]);
  const code = Object.entries(files ?? {}).map(([name, hash]) => [`file ${name}`, partOf(hash, true)]);
  return Object.fromEntries([...settings, ...others, ...code]) as { [key: string]: AllowedPart };
}

function partOf(value: Json, isHidden: boolean): AllowedPart {
  return { hash: hashOf(value), shown: isHidden || value === null ? null : formatValue(value) };
}

function hashOf(value: Json): string {
  return createHash('sha256').update(canonical(value)).digest('hex');
}
