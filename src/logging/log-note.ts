import type { Logger } from 'pino';
import type { Note } from '../domain/effects.js';
import { cutText } from './cut-text.js';

/** It is there to be recognised, and somebody else wrote it. */
const MAX_TITLE = 120;

/** A decision of the core as a log line: its constant message, and fields in the spelling of logs. */
export function logNote(log: Logger, note: Note): void {
  const fields: { [key: string]: unknown } = {};
  for (const [key, value] of Object.entries(note.fields ?? {}))
    fields[snakeCase(key)] = key === 'title' && typeof value === 'string' ? cutText(value, MAX_TITLE) : value;
  // Identity last: no field of a note may pretend to be another issue or run.
  if (note.issueId !== undefined) fields.issue_id = note.issueId;
  if (note.identifier !== undefined) fields.issue_identifier = note.identifier;
  if (note.runId !== undefined) fields.run_id = note.runId;
  log[note.level](fields, note.message);
}

function snakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
