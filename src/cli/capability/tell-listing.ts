import { join } from 'node:path';
import { neutralise } from '../../text/neutralise.js';
import type { CapabilityListing, ListedCapability, ListedExecutor } from '../../status/capability-listing.js';
import { shorter } from '../invocation.js';
import type { Io } from '../io.js';

/** For a person: executors, capabilities and problems, a line each. */
export function tellListing({ executors, capabilities, problems }: CapabilityListing, io: Pick<Io, 'cwd'>): string {
  const parts = [
    part('Executors', executors.map(executorCells(io)), 'none: `baton capability create` makes one'),
    part('Capabilities', capabilities.map(capabilityCells), 'none: they lie in .baton/capabilities/<type>/<name>/'),
    ...(problems.length === 0
      ? []
      : [
          part(
            'Problems',
            problems.map(({ level, text }) => [level, text]),
            '',
          ),
        ]),
  ];
  return parts.join('\n');
}

const executorCells =
  ({ cwd }: Pick<Io, 'cwd'>) =>
  ({ name, version, types, source, dir, entry, entry_missing }: ListedExecutor): string[] => [
    `${name} ${version}`,
    types.join(', '),
    source,
    `${shorter(join(dir, entry), cwd)}${entry_missing ? '  (entry missing: build it)' : ''}`,
  ];

function capabilityCells({ type, name, source, executor, inputs }: ListedCapability): string[] {
  const wanted = inputs.map((input) => `${input.name}: ${input.type}${input.required ? '' : '?'}`);
  return [
    `${type}/${name}`,
    executor === null ? 'no executor' : `by ${executor}`,
    source,
    wanted.length === 0 ? 'no inputs' : wanted.join(', '),
  ];
}

function part(title: string, rows: readonly (readonly string[])[], none: string): string {
  const clean = rows.map((row) => row.map(neutralise));
  const widths = (clean[0] ?? []).map((_, column) => Math.max(...clean.map((row) => row[column]?.length ?? 0)));
  const lines = clean.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return `${title}\n${(lines.length === 0 ? [none] : lines).map((line) => `  ${line.trimEnd()}\n`).join('')}`;
}
