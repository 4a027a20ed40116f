import { CapabilityManager } from '../../runner/executors/capability/capability-manager.js';
import { discoverCapabilities } from '../../runner/executors/capability/definitions.js';
import { createClock } from '../clock.js';
import { findCapability } from '../domain/capabilities.js';
import { BatonError, type ErrorCode, scopeOf } from '../domain/errors.js';
import type { Json } from '../domain/json.js';
import { neutralise, neutraliseJson } from '../text/neutralise.js';
import type { Io } from './io.js';
import { withStepContext } from './capability/cli-step-context.js';
import { complain } from './capability/complain.js';
import { openSettings } from './capability/open-settings.js';
import { readParams } from './capability/read-params.js';

export interface RunCapabilityOptions {
  readonly type: string;
  readonly name: string;
  /** JSON. */
  readonly params?: string | undefined;
  /** `key=value` each. */
  readonly param: readonly string[];
  readonly workspace?: string | undefined;
  readonly timeoutMs: number | null;
  readonly workflow?: string | undefined;
}

/** Runs one capability to its end. 0: it has a result, 1: it failed, 2: it could not be called like this. */
export async function runCapability(options: RunCapabilityOptions, io: Io): Promise<number> {
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort('operator');
  for (const signal of SIGNALS) process.once(signal, interrupt);
  const clock = createClock();
  const manager = new CapabilityManager({
    discover: (projectDir) => discoverCapabilities({ projectDir, homeDir: io.homeDir }),
  });
  try {
    const workflow = await openSettings(options.workflow, io);
    const { type, name, timeoutMs } = options;
    const inputs = findCapability(await manager.index(workflow.dir), type, name)?.inputs ?? [];
    const params = readParams(options.params, options.param, inputs);
    const request = { workflow, workspace: options.workspace ?? '.', io, clock, signal: interrupted.signal };
    const end = await withStepContext(request, (context) =>
      manager.startCapability({ type, name, params, timeoutMs }, context),
    );
    if (end.state !== 'completed')
      return complain(new BatonError(end.code, end.message), isWrongCall(end.code) ? 2 : 1, io);
    if (end.additionalContext !== undefined)
      io.stderr.write(`additionalContext: ${neutralise(JSON.stringify(end.additionalContext))}\n`);
    io.stdout.write(printed(end.result));
    return 0;
  } catch (error) {
    return complain(error, 2, io);
  } finally {
    await manager.close();
    clock.close();
    for (const signal of SIGNALS) process.off(signal, interrupt);
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Nothing was started: it is the call, or what is installed, that has to change. */
function isWrongCall(code: ErrorCode): boolean {
  return code === 'INVALID_REQUEST' || scopeOf(code) === 'daemon';
}

/** JSON has no line breaks inside of its texts, so each line can be made harmless alone. */
function printed(result: Json): string {
  const lines = JSON.stringify(result, null, 2).split('\n');
  return `${lines.map(neutraliseJson).join('\n')}\n`;
}
