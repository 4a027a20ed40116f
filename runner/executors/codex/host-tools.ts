import { BatonError } from '../../../src/domain/errors.js';
import { type Fields, textOf } from '../../../src/domain/fields.js';
import type { Issue } from '../../../src/domain/issue.js';
import type { HostTool } from '../../../src/domain/ports.js';
import { cutText } from './bound-data.js';
import type { Reporter } from './reporter.js';

/** Tools that the agent calls and the host carries out, bound to the run's own issue. Whatever goes wrong is an answer, not an end. */
export class HostTools {
  #open = 0;
  #limitedUntilMs: number | null = null;

  constructor(
    private readonly tools: readonly HostTool[],
    private readonly runId: string,
    private readonly reporter: Reporter,
    private readonly currentIssue: () => Issue,
  ) {}

  async call(method: string, params: Fields): Promise<object> {
    const name = textOf(params.tool) ?? '';
    const tool = this.tools.find((candidate) => candidate.name === name);
    if (!tool) {
      this.reporter.event('unsupported_tool_call', { method, data: { tool: name } });
      return toolReply(false, `There is no tool ${cutText(name, 100)}. Tools of this session: ${this.#names()}.`);
    }
    this.reporter.event('notification', { method, data: params });
    this.#tell(+1);
    try {
      const result = await tool.call(params.arguments, { issue: this.currentIssue(), runId: this.runId });
      if (result.movedTo !== undefined) this.reporter.signal({ type: 'moved_issue', state: result.movedTo });
      if (result.limitedUntilMs !== undefined) this.#limitedUntilMs = result.limitedUntilMs;
      else if (result.success) this.#limitedUntilMs = null;
      return toolReply(result.success, result.text);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.reporter.warning('a host tool failed', { tool: name, message });
      return toolReply(false, `${name} failed: ${message}`);
    } finally {
      this.#tell(-1);
    }
  }

  /**
   * Throws `tracker_rate_limited` where the last word of the tracker was that it will take no more: another turn would cost as much as this one and end like it. The run
   * goes on after the reset, on its thread.
   */
  endIfLimited(): void {
    const resetAtMs = this.#limitedUntilMs;
    if (resetAtMs === null) return;
    const message = 'the tracker limits our requests and refused what the agent asked for';
    throw new BatonError('tracker_rate_limited', message, { resetAtMs });
  }

  /** Before the first and after the last word about a move: others may see it before the tool returns. */
  #tell(difference: number): void {
    this.#open += difference;
    this.reporter.signal({ type: 'host_calls', open: this.#open });
  }

  #names(): string {
    return this.tools.length === 0 ? 'none' : this.tools.map((tool) => tool.name).join(', ');
  }
}

function toolReply(success: boolean, text: string): object {
  return { success, contentItems: [{ type: 'inputText', text }] };
}
