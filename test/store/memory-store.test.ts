import { expect, test } from 'vitest';
import { createMemoryStore } from '../support/memory-store.js';
import { describeStore } from './store-contract.js';
import { change, parked } from './stored-samples.js';

describeStore('the store in memory', async () => createMemoryStore());

test('the store in memory starts with the given state', async () => {
  const first = createMemoryStore();
  await first.write(change({ claims: { A: parked('A') } }));

  expect(await createMemoryStore(await first.load()).load()).toEqual(await first.load());
});
