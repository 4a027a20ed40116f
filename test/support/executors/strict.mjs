// Rejects envelopes with unknown fields.
import { readFileSync } from 'node:fs';

const KNOWN = ['schemaVersion', 'activity', 'input', 'skills', 'memory', 'job', 'task'];
const members = Object.keys(JSON.parse(readFileSync(0, 'utf8')));
process.exitCode = members.sort().join() === KNOWN.sort().join() ? 0 : 1;
