import { createMetrics, type Metrics } from '../../src/api/metrics.js';
import { NO_TOTALS, type Totals, totalsAfter } from '../../src/api/totals.js';
import type { Config } from '../../src/domain/config.js';
import type { Effect } from '../../src/domain/effects.js';
import type { OrchestratorEvent } from '../../src/domain/events.js';
import type { DeepPartial } from '../support/builders.js';
import { Core } from '../support/core.js';

/** A core whose decisions are counted, in the order in which the loop makes them. */
export class CountedCore extends Core {
  totals: Totals = NO_TOTALS;
  readonly metrics: Metrics;
  storesAtOnce = true;

  constructor(overrides: DeepPartial<Config> = {}) {
    super(overrides);
    this.confirmsWrites = false;
    this.metrics = createMetrics({
      ...{ state: () => this.state, now: () => this.now, totals: () => this.totals },
      version: '1.2.3',
    });
  }

  override send(event: OrchestratorEvent): Effect[] {
    const before = this.state;
    const effects = super.send(event);
    this.totals = totalsAfter(this.totals, before, this.state);
    this.metrics.decided(event, before, this.state, this.now);
    const confirmed = effects.flatMap((effect) =>
      effect.type === 'persist' && this.storesAtOnce ? this.send({ type: 'persisted', seq: effect.seq }) : [],
    );
    return [...effects, ...confirmed];
  }

  async look(): Promise<Told> {
    return parseMetrics((await this.metrics.text()).text);
  }
}

export interface Told {
  readonly families: ReadonlyMap<string, { readonly help: string; readonly type: string }>;
  readonly samples: readonly Sample[];
  /** The value of a sample, by its name with its labels: `baton_issues{state="ready"}`. */
  value(key: string): number | undefined;
  /** All values of a name. */
  sum(name: string): number;
}

export interface Sample {
  readonly name: string;
  readonly labels: { readonly [name: string]: string };
  readonly key: string;
  readonly value: number;
}

/** Reads the text format of Prometheus, and throws at anything that is not in it. */
export function parseMetrics(text: string): Told {
  const families = new Map<string, { help: string; type: string }>();
  const samples: Sample[] = [];
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, word, name = '', rest = ''] = /^# (HELP|TYPE) (\w+) (.+)$/.exec(line) ?? [];
    if (word === 'HELP') families.set(name, { help: rest, type: '' });
    else if (word === 'TYPE') families.set(name, { help: families.get(name)?.help ?? '', type: rest });
    else samples.push(parseSample(line));
  }
  const values = new Map(samples.map(({ key, value }) => [key, value]));
  if (values.size !== samples.length) throw new Error('a sample is there twice');
  return {
    families,
    samples,
    value: (key) => values.get(key),
    sum: (name) => samples.filter((one) => one.name === name).reduce((sum, { value }) => sum + value, 0),
  };
}

function parseSample(line: string): Sample {
  const [, name, inside = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  const number = value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value);
  if (name === undefined || Number.isNaN(number)) throw new Error(`no sample: ${line}`);
  const pairs = [...inside.matchAll(/(\w+)="((?:[^"\\\n]|\\["\\n])*)",?/g)];
  if (pairs.map(([whole]) => whole).join('') !== inside) throw new Error(`no labels: ${line}`);
  const labels = Object.fromEntries(pairs.map(([, label, text]) => [label, text ?? '']));
  return { name, labels, key: inside === '' ? name : `${name}{${inside}}`, value: number };
}
