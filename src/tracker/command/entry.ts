import type { TrackerEntry } from '../registry.js';
import { CommandTracker } from './tracker.js';
import { ProgramTalk } from './program.js';
import { commandSettings, DEFAULTS, KIND } from './settings.js';

/** For everyone whose tracker Baton does not know: a program that answers questions about it. */
export const commandTracker: TrackerEntry = {
  kind: KIND,
  defaults: DEFAULTS,
  create(options) {
    const { command, env, variables, timeoutMs, scope } = commandSettings(options);
    const mask = (text: string) => options.mask(text);
    const talk = new ProgramTalk({ start: () => options.start({ script: command, env }), timeoutMs, mask });
    return new CommandTracker({ talk, scope, variables, settings: () => options.settings(), mask });
  },
};
