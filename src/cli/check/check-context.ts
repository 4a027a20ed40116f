import type { Containment } from '../../../runner/contain/process.js';
import type { Clock } from '../../domain/clock.js';
import type { Redactor } from '../../logging/redact.js';
import type { TrackerRegistry } from '../../tracker/registry.js';
import type { LoadedWorkflow } from '../../workflow/load-workflow.js';
import type { FrontMatter } from '../../workflow/parse-front-matter.js';
import type { KeyPath, Position } from '../../workflow/positions.js';
import type { Io } from '../io.js';

/** WORKFLOW.md as far as its text can be read, with or without valid settings. */
export interface WorkflowText {
  /** The file as findings name it. */
  readonly file: string;
  readonly lines: readonly string[];
  readonly frontMatter: FrontMatter;
  /** Where a setting stands, or the nearest section around it. */
  at(path: KeyPath): Position;
}

/** What the checks of a workflow with valid settings share. */
export interface CheckContext extends WorkflowText {
  readonly io: Io;
  readonly loaded: LoadedWorkflow;
  readonly registry: TrackerRegistry;
  readonly redactor: Redactor;
  readonly clock: Clock;
  /** How agents and hooks are started here. */
  readonly containment: Containment;
}
