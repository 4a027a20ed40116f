import { oneOf, seconds, setting, text, textList } from '../setting-types.js';
import { variables } from './step-schema.js';

const textWithoutNul = textList.refine((args) => args.every((arg) => !arg.includes('\0')), 'must not contain a NUL');

/** Known types; a definition of another type is for somebody else and is skipped. */
export const EXECUTOR_TYPES = ['external', 'direct_agent'] as const;

/** The keys of one external executor: an entry of `executors`, or `spec` of a definition. */
export const executorShape = {
  executor_type: setting(oneOf(EXECUTOR_TYPES), 'external', 'Both are the same; direct_agent is the older name.'),
  command: setting(
    text,
    null,
    'The program: a path, from the folder of the definition on, or a name on PATH. No shell.',
  ),
  args: setting(textWithoutNul, [], 'Its arguments.'),
  env: setting(variables, {}, 'Variables of the program; $NAME stands for one of the daemon.'),
  model_flag: setting(text, null, 'Flag before the model of a step.'),
  timeout_seconds: setting(seconds, null, 'Time limit of a step that has none.'),
};
