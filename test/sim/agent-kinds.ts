import type { World } from './world.js';

/** The behaviour of the agent of one run, unless it is stopped first. */
export type AgentKind =
  | 'finishes'
  | 'moves_on'
  | 'changes'
  | 'idles'
  | 'crashes'
  | 'fails'
  | 'silent'
  | 'chatters'
  | 'asks'
  | 'needs_input'
  | 'spends'
  | 'locked_out'
  | 'out_of_quota'
  | 'unreachable'
  | 'bad_prompt';

/** How it reacts to a stop. */
export type StopKind = 'prompt' | 'slow' | 'outlives_kill';

const KINDS: readonly (readonly [number, AgentKind])[] = [
  [20, 'finishes'],
  [6, 'moves_on'],
  [10, 'changes'],
  [12, 'idles'],
  [9, 'crashes'],
  [9, 'fails'],
  [6, 'silent'],
  [5, 'chatters'],
  [7, 'asks'],
  [3, 'needs_input'],
  [7, 'spends'],
];

export function drawAgent({ random, moods, isCalm, traits, killer }: World): AgentKind {
  if (isCalm) return 'finishes';
  if (moods.service !== 'fine' && random.chance(0.8)) return moods.service;
  if (killer.waitsFor('answer_run', 'asking') && random.chance(0.4)) return 'asks';
  const kind = random.weighted(KINDS, 'finishes');
  if (traits.agents === 'good' && random.chance(0.7)) return 'finishes';
  return kind;
}

export function drawStop({ random, isCalm }: World): StopKind {
  if (isCalm) return 'prompt';
  return random.weighted(
    [
      [78, 'prompt'],
      [15, 'slow'],
      [7, 'outlives_kill'],
    ],
    'prompt',
  );
}
