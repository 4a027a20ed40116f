import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { restore } from '../../orchestrator/restore.js';
import { initialState } from '../../orchestrator/state.js';
import { cancelled } from '../../src/domain/outcome.js';
import { CountedCore, type Told } from './metrics-text.js';

const question = (id: string) => ({ id, kind: 'approval', text: 'May I?', fields: [] }) as const;
const DOWN = { ok: false, code: 'tracker_request', message: 'down' } as const;

/** Three runs and one more that waits, after a poll that took 200 ms. */
function working(): CountedCore {
  const core = new CountedCore({ agent: { maxConcurrentAgents: 3, maxTokensPerDay: 50_000 } });
  core.put('A', 'B', 'C', 'D', { id: 'G', blocked_by: [{ id: 'A', identifier: 'A', state: 'Todo' }] });
  core.send({ type: 'refresh_requested' });
  core.nowMs += 200;
  core.answerPoll();
  return core;
}

function values(told: Told, name: string): { [labels: string]: number } {
  const found = told.samples.filter((one) => one.name === name && one.value !== 0);
  return Object.fromEntries(found.map(({ labels, value }) => [Object.values(labels).join(' '), value]));
}

describe('counters', () => {
  test('runs by outcome and code, with how long they took', async () => {
    const core = working();

    core.nowMs += 10_000;
    core.exit('A');
    core.nowMs += 50_000;
    core.fail('B', 'turn_failed');
    core.exit('C', cancelled('operator'));

    const told = await core.look();
    expect(values(told, 'baton_runs_total')).toEqual({
      'success ': 1,
      'failed turn_failed': 1,
      'cancelled STOPPED_BY_OPERATOR': 1,
    });
    expect(values(told, 'baton_run_duration_seconds_sum')).toEqual({ success: 10, failed: 60, cancelled: 60 });
    expect(told.value('baton_run_duration_seconds_bucket{le="15",outcome="success"}')).toBe(1);
    expect(told.value('baton_run_duration_seconds_bucket{le="5",outcome="success"}')).toBe(0);
  });

  test('a run is counted once, however long its record waits to be stored', async () => {
    const core = working();
    core.storesAtOnce = false;

    core.exit('A');
    core.exit('B');
    core.tick();

    expect(values(await core.look(), 'baton_runs_total')).toEqual({ 'success ': 2 });
  });

  test('only a failure that leads to a retry is a retry', async () => {
    const core = working();

    core.exit('A');
    core.fail('B', 'turn_failed');
    core.fail('C', 'turn_input_required', { question: question('q') });

    expect((await core.look()).value('baton_retries_total')).toBe(1);
  });

  test('a stall is counted once, when its run is over', async () => {
    const core = working();
    core.signal('A', { type: 'phase', phase: 'agent' });
    core.advance(300_000);
    const before = await core.look();

    core.exit('A', cancelled('stalled'));

    const after = await core.look();
    expect([before.value('baton_stalls_total'), after.value('baton_stalls_total')]).toEqual([0, 1]);
    expect(after.value('baton_retries_total')).toBe(1);
    expect(values(after, 'baton_runs_total')).toEqual({ 'cancelled stall_timeout': 1 });
  });

  test('a stalled run that cannot be killed is a stall as well', async () => {
    const core = working();
    core.signal('A', { type: 'phase', phase: 'agent' });
    core.advance(300_000);

    core.send({ type: 'run_unkillable', runId: core.runId('A') });
    core.exit('A', cancelled('stalled'));

    expect((await core.look()).value('baton_stalls_total')).toBe(1);
  });

  test('questions and answers, each once, a late answer too', async () => {
    const core = working();
    const answer = (issueId: string, questionId: string) =>
      core.send({ type: 'answer_given', issueId, questionId, answer: { kind: 'accept' } });

    core.signal('A', { type: 'asked', question: question('q1') });
    core.signal('A', { type: 'asked', question: question('q1') });
    core.signal('B', { type: 'session', threadId: 't', turnId: 'u', turn: 1 });
    core.signal('B', { type: 'asked', question: question('q2') });
    answer('A', 'q1');
    answer('A', 'q1');
    answer('A', 'no such question');
    core.advance(600_000);
    core.exit('B', cancelled('input_timeout', { question: question('q2') }));
    const unanswered = await core.look();
    answer('B', 'q2');

    expect(core.standing('B')).toBe('waiting');
    expect(values(unanswered, 'baton_questions_asked_total')).toEqual({ approval: 2 });
    expect(values(unanswered, 'baton_questions_answered_total')).toEqual({ approval: 1 });
    expect(values(await core.look(), 'baton_questions_answered_total')).toEqual({ approval: 2 });
  });

  test('an answer that comes too late is not counted', async () => {
    const core = working();
    core.signal('A', { type: 'asked', question: question('q') });
    core.send({ type: 'stop_requested', issueId: 'A' });

    core.send({ type: 'answer_given', issueId: 'A', questionId: 'q', answer: { kind: 'accept' } });

    expect(values(await core.look(), 'baton_questions_answered_total')).toEqual({});
  });

  test('tokens, whatever threads they were spent on', async () => {
    const core = working();

    core.usage('A', 't1', 100, 20, 40);
    await core.look();
    core.usage('A', 't1', 150, 30, 60);
    core.usage('B', 't2', 1_000, 5);

    const told = await core.look();
    expect(values(told, 'baton_tokens_total')).toEqual({ input: 1_150, cached_input: 60, output: 35 });
    expect(told.value('baton_tokens_today')).toBe(1_150 - 60 + 35);
    expect(told.value('baton_tokens_today_limit')).toBe(50_000);
  });

  test('polls by result, with the time from order to answer', async () => {
    const core = working();

    core.send({ type: 'refresh_requested' });
    core.nowMs += 3_000;
    core.answerPoll({ candidates: DOWN });
    core.send({
      type: 'observed',
      observation: { seq: 99, asked: [], refresh: DOWN, candidates: DOWN, freeDiskMb: 1 },
    });

    const told = await core.look();
    expect(values(told, 'baton_polls_total')).toEqual({ 'ok ': 1, 'failed tracker_request': 1 });
    expect(told.value('baton_poll_duration_seconds_count')).toBe(2);
    expect(told.value('baton_poll_duration_seconds_sum')).toBeCloseTo(3.2);
    expect(told.value('baton_poll_duration_seconds_bucket{le="0.25"}')).toBe(1);
  });

  test('an old answer that comes when a poll is due is no poll', async () => {
    const core = working();
    core.nowMs += 60_000;

    core.send({
      type: 'observed',
      observation: { seq: 99, asked: [], refresh: DOWN, candidates: DOWN, freeDiskMb: 1 },
    });

    expect(core.state.poll.inFlightSeq).not.toBeNull();
    expect(values(await core.look(), 'baton_polls_total')).toEqual({ 'ok ': 1 });
  });

  test('a poll that is requested during another one is counted separately', async () => {
    const core = working();
    core.send({ type: 'refresh_requested' });
    core.send({ type: 'refresh_requested' });
    core.nowMs += 1_000;

    core.answerPoll();
    core.nowMs += 2_000;
    core.answerPoll();

    const told = await core.look();
    expect(values(told, 'baton_polls_total')).toEqual({ 'ok ': 3 });
    expect(told.value('baton_poll_duration_seconds_sum')).toBeCloseTo(3.2);
  });

  test('issues that left our hands: done, or handed over', async () => {
    const core = working();
    core.change('A', { state: 'Done' }).change('B', { state: 'In Review' });

    core.poll();
    core.exit('A', cancelled('terminal'));
    core.exit('B', cancelled('inactive'));

    expect(values(await core.look(), 'baton_issues_finished_total')).toEqual({ done: 1, handed_over: 1 });
  });

  test('a run that an earlier daemon left is counted but not timed, because its end is unknown', async () => {
    const { state: left } = working();
    const core = new CountedCore();
    core.state = restore(initialState(core.state.config, 'hash-1', 'second', 0), left, core.now.wallMs);
    core.nowMs += 86_400_000;

    core.begin();

    const told = await core.look();
    expect(values(told, 'baton_runs_total')).toEqual({ 'cancelled INTERRUPTED': 3 });
    expect(told.sum('baton_run_duration_seconds_count')).toBe(0);
  });

  test('an agent that talks changes no number', async () => {
    const core = working();
    const before = core.state;
    const told = await core.look();

    for (let n = 0; n < 1_000; n++) core.signal('A', { type: 'progress', openItems: n % 2 });

    expect(core.state).not.toBe(before);
    const numbers = ({ samples }: Told) =>
      samples.filter(({ name }) => name.startsWith('baton_') && !/loop/.test(name));
    expect(numbers(await core.look())).toEqual(numbers(told));
  });
});

describe('gauges', () => {
  test('each issue stands in one state, and the parked ones by their reason', async () => {
    const core = working();
    core.signal('A', { type: 'asked', question: question('q') });
    core.fail('B', 'turn_failed');
    core.fail('C', 'turn_input_required');
    core.nowMs += 60_000;

    const told = await core.look();

    expect(values(told, 'baton_issues')).toEqual({ asking: 1, retrying: 1, parked: 1, ready: 1, ineligible: 1 });
    expect(values(told, 'baton_issues_parked')).toEqual({ input_required: 1 });
    expect(told.samples.filter(({ name }) => name === 'baton_issues')).toHaveLength(6);
    expect(told.samples.filter(({ name }) => name === 'baton_issues_parked')).toHaveLength(8);
  });

  test('slots, and agents that are alive: a claim that is being stored has none yet', async () => {
    const core = working();
    const told = await core.look();
    const claiming = new CountedCore().put('A');
    claiming.storesAtOnce = false;
    claiming.poll();

    expect(told.value('baton_slots_taken')).toBe(3);
    expect(told.value('baton_slots_limit')).toBe(3);
    expect(told.value('baton_agents_alive')).toBe(3);
    expect((await claiming.look()).value('baton_slots_taken')).toBe(1);
    expect((await claiming.look()).value('baton_agents_alive')).toBe(0);
  });

  test('a hold has a series with its code while it lasts, and every source one without', async () => {
    const core = working();
    core.freeDiskMb = 1;
    core.poll();
    const held = await core.look();

    core.freeDiskMb = 100_000;
    core.poll();

    const free = await core.look();
    expect(values(held, 'baton_hold')).toEqual({ 'disk low_disk': 1 });
    expect(values(free, 'baton_hold')).toEqual({});
    for (const told of [held, free]) expect(told.samples.filter(({ name }) => name === 'baton_hold')).toHaveLength(6);
  });

  test('the age of the last good poll grows while polls fail, and from the start while none succeeded', async () => {
    const never = new CountedCore();
    never.nowMs += 40_000;
    const core = working();
    core.nowMs += 20_000;
    core.send({ type: 'refresh_requested' });
    core.answerPoll({ refresh: DOWN });

    expect((await never.look()).value('baton_poll_age_seconds')).toBe(40);
    expect((await core.look()).value('baton_poll_age_seconds')).toBe(20);
  });

  test('a pause, and no limit of tokens where there is none', async () => {
    const core = new CountedCore();
    const before = await core.look();

    core.send({ type: 'pause_requested' });

    expect(before.value('baton_paused')).toBe(0);
    expect((await core.look()).value('baton_paused')).toBe(1);
    expect(before.value('baton_tokens_today_limit')).toBeUndefined();
    expect(before.value(`baton_build_info{version="1.2.3",node="${process.versions.node}"}`)).toBe(1);
  });

  test('the delay of the event loop is measured since the last scrape', async () => {
    const core = new CountedCore();
    const worst = async () => (await core.look()).value('baton_event_loop_delay_seconds{quantile="1"}') ?? 0;
    await worst();

    // What it is late by is the time between two calls of the monitor: one must come before, one after.
    let late = 0;
    while (late < 0.2) {
      await turnsFor(30);
      const until = performance.now() + 300;
      while (performance.now() < until);
      await turnsFor(30);
      late = await worst();
    }

    await expect.poll(worst).toBeLessThan(0.2);
    core.metrics.close();
  });
});

describe('the text', () => {
  test('names help and type of every sample, and docs/metrics.md has a row for each', async () => {
    const core = working();
    core.fail('A', 'turn_failed');
    const page = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');

    const { families, samples } = await core.look();

    const rows = [...page.matchAll(/^\| `(\w+)`(?: `\{([\w, ]+)\}`)? \| (\w+) \| .+ \|$/gm)];
    const documented = rows.map(([, name, labels = '', type]) => [name, type, labels]);
    const labelsOf = (family: string) => {
      const own = samples.filter(({ name }) => name.replace(/_(bucket|sum|count)$/, '') === family || name === family);
      return [...new Set(own.flatMap(({ labels }) => Object.keys(labels)))].filter((label) => label !== 'le');
    };
    const told = [...families].map(([name, { type }]) => [name, type, labelsOf(name).join(', ')]);
    expect(documented.sort()).toEqual(told.sort());
    for (const { help } of families.values()) expect(help).toMatch(/\S/);
    const isTold = ({ name }: { name: string }) => families.has(name) || families.has(name.replace(/_[a-z]+$/, ''));
    expect(samples.filter((sample) => !isTold(sample))).toEqual([]);
  });

  test('two daemons in one process count for themselves', async () => {
    const [one, other] = [working(), working()];

    one.exit('A');

    expect((await one.look()).sum('baton_runs_total')).toBe(1);
    expect((await other.look()).sum('baton_runs_total')).toBe(0);
  });

  test('nothing is left at work after close', async () => {
    const before = process.getActiveResourcesInfo();
    const core = new CountedCore();
    await core.look();

    core.metrics.close();

    expect(await core.metrics.text()).toEqual({ text: '\n', type: 'text/plain; version=0.0.4; charset=utf-8' });
    expect(process.getActiveResourcesInfo().length).toBeLessThanOrEqual(before.length);
  });
});

/** Lets the loop turn, and whatever is due be done. */
async function turnsFor(ms: number): Promise<void> {
  const until = performance.now() + ms;
  while (performance.now() < until) await new Promise(setImmediate);
}
