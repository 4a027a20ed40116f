import type { PromptSource } from '../../domain/config.js';
import type { ErrorCode } from '../../domain/errors.js';
import type { JsonObject } from '../../domain/json.js';
import type { Position, Positions, Problem } from '../positions.js';

/** The front matter as the readers of `steps` and its kin see it. */
export interface PlanSource {
  readonly values: JsonObject;
  readonly positions: Positions;
  /** `WORKFLOW.md`, for messages. */
  readonly name: string;
  /** Absolute folder of the file. */
  readonly dir: string;
  readonly env: NodeJS.ProcessEnv;
  /** The body, or the built-in prompt. */
  readonly prompt: PromptSource;
}

/** Everything that is wrong or odd, gathered: a person sees all of it at once. */
export class Faults {
  readonly problems: Problem[] = [];
  readonly warnings: Problem[] = [];

  add(at: Position, text: string, code?: ErrorCode): void {
    this.problems.push({ at, text, ...(code === undefined ? {} : { code }) });
  }

  warn(at: Position, text: string): void {
    this.warnings.push({ at, text });
  }
}
