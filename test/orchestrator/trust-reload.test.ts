import { describe, expect, test } from 'vitest';
import type { Config } from '../../src/domain/config.js';
import type { DeepPartial } from '../support/builders.js';
import { config } from '../support/builders.js';
import { Core, ofType, started } from '../support/core.js';

const STRANGER = { login: 'eve', trusted: true };

function reload(core: Core, overrides: DeepPartial<Config>): void {
  core.send({ type: 'config_changed', config: config(overrides), workflowHash: 'hash-2' });
}

describe('the trust rule changes while a read is in flight', () => {
  test.each<DeepPartial<Config>>([{ tracker: { trust: 'members' } }, { tracker: { trust: ['ann'] } }])(
    'what the answer calls trusted is read once more before it starts: %j',
    (change) => {
      const core = new Core({ tracker: { trust: 'anyone' } }).put({ id: 'A', author: STRANGER });
      core.send({ type: 'refresh_requested' });
      reload(core, change);

      const effects = core.answerPoll();

      expect(started(effects)).toEqual([]);
      core.change('A', { author: { login: 'eve', trusted: false } });
      expect(started(core.answerReads())).toEqual([]);
    },
  );

  test('the same holds for the read before a start', () => {
    const core = new Core({ tracker: { trust: 'anyone' }, agent: { maxConcurrentAgents: 1 } }).put('A', {
      id: 'B',
      author: STRANGER,
    });
    core.poll();
    core.exit('A');
    reload(core, { tracker: { trust: 'members' }, agent: { maxConcurrentAgents: 1 } });

    const effects = core.answerRead();

    expect(started(effects)).toEqual([]);
    expect(ofType(effects, 'read_issues')).toHaveLength(1);
  });

  test('an answer under the old rule stops no run; the next one applies the new rule', () => {
    const core = new Core({ tracker: { trust: 'anyone' } }).put({ id: 'A', author: STRANGER });
    core.poll();
    reload(core, { tracker: { trust: 'members' } });
    core.send({ type: 'refresh_requested' });
    reload(core, { tracker: { trust: 'anyone' } });
    core.change('A', { author: { login: 'eve', trusted: false } });

    expect(ofType(core.answerPoll(), 'stop_run')).toEqual([]);
    expect(ofType(core.poll(), 'stop_run')).toHaveLength(1);
  });

  test('another setting delays nothing', () => {
    const core = new Core({ tracker: { trust: 'anyone' } }).put({ id: 'A', author: STRANGER });
    core.send({ type: 'refresh_requested' });
    reload(core, { tracker: { trust: 'anyone' }, agent: { maxTurns: 7 } });

    expect(started(core.answerPoll())).toEqual(['A']);
  });
});
