import type { StartOrder } from '../../src/domain/effects.js';
import { failure, type Outcome, success } from '../../src/domain/outcome.js';
import type { Question, RunSignal } from '../../src/domain/run-signal.js';
import { type AgentKind, drawAgent } from './agent-kinds.js';
import { answerSomebody } from './operators.js';
import type { World } from './world.js';

/** The run that an agent belongs to. */
export interface AgentHost {
  readonly order: StartOrder;
  emit(signal: Exclude<RunSignal, { type: 'event' }>): void;
  next(delayMs: number, act: () => void): void;
  reaches(point: string): boolean;
  finish(outcome: Outcome): void;
  lookAfterTurn(): void;
}

/** An agent with one turn that behaves according to its kind. */
export class SimAgent {
  readonly #kind: AgentKind;
  readonly #threadId: string;
  #question: Question | null = null;

  constructor(
    private readonly world: World,
    private readonly host: AgentHost,
  ) {
    this.#kind = drawAgent(world);
    this.#threadId = host.order.resume?.threadId ?? `thread-${host.order.runId}`;
  }

  answer(questionId: string): void {
    if (this.#question?.id !== questionId) return;
    this.#question = null;
    this.host.emit({ type: 'question_closed', questionId });
    this.host.next(this.world.random.wait(10, 5_000), () => this.#moveAndEnd('Done'));
  }

  turn(): void {
    const { random } = this.world;
    this.host.emit({ type: 'session', threadId: this.#threadId, turnId: 'turn-1', turn: 1 });
    if (this.host.reaches('in turn')) return;
    if (random.chance(0.6)) this.#spend(random.int(10, 400));
    this.host.next(random.wait(50, 25_000), () => this.#act());
  }

  #act(): void {
    const { random, coverage, board, time } = this.world;
    const { id } = this.host.order.issue;
    switch (this.#kind) {
      case 'finishes':
        coverage.mark('agent: finishes its issue');
        return this.#moveAndEnd(random.chance(0.9) ? 'Done' : 'Cancelled');
      case 'moves_on':
        coverage.mark('agent: moves its issue elsewhere');
        return this.#moveAndEnd(random.pick(['Backlog', 'In Progress', 'Todo']));
      case 'changes':
        coverage.mark('agent: works on, issue changed');
        board.edit(id);
        return this.host.lookAfterTurn();
      case 'idles':
        coverage.mark('agent: good run, nothing changed');
        return this.host.lookAfterTurn();
      case 'crashes':
        coverage.mark('agent: crashes');
        return this.host.finish(failure('port_exit', 'the agent exited with 139'));
      case 'fails':
        coverage.mark('agent: turn fails');
        return this.host.finish(failure('turn_failed', 'the turn failed'));
      case 'silent':
        coverage.mark('agent: silent until stopped');
        return;
      case 'chatters':
        coverage.mark('agent: chatters');
        return this.#chatter(random.int(3, 12));
      case 'asks':
        coverage.mark('agent: asks');
        return this.#ask();
      case 'needs_input':
        coverage.mark('agent: ends because nobody may answer');
        return this.host.finish(failure('turn_input_required', 'may I?', { question: this.#newQuestion() }));
      case 'spends':
        coverage.mark('agent: spends tokens');
        this.#spend(random.int(1_000, 9_000));
        return this.host.next(random.wait(10, 5_000), () => this.host.finish(success(null)));
      case 'locked_out':
        coverage.mark('agent: service refuses the login');
        return this.host.finish(failure('agent_unauthorized', '401'));
      case 'out_of_quota':
        coverage.mark('agent: quota with reset');
        return this.host.finish(failure('agent_quota', '429', { resetAtMs: time.wallMs + random.int(1_000, 900_000) }));
      case 'unreachable':
        coverage.mark('agent: service out of reach');
        return this.host.finish(failure('agent_unreachable', 'no route to host'));
      case 'bad_prompt':
        coverage.mark('agent: prompt does not parse');
        return this.host.finish(failure('template_parse_error', 'line 3, column 1'));
    }
  }

  /** Uses the host tool: the tracker may show the move before the tool call returns. */
  #moveAndEnd(state: string): void {
    const { random, board } = this.world;
    this.host.emit({ type: 'host_calls', open: 1 });
    board.move(this.host.order.issue.id, state);
    this.host.next(random.wait(1, 4_000), () => {
      this.host.emit({ type: 'moved_issue', state });
      this.host.emit({ type: 'host_calls', open: 0 });
      this.host.next(random.wait(1, random.chance(0.1) ? 150_000 : 5_000), () => this.host.finish(success(null)));
    });
  }

  #chatter(left: number): void {
    const { random } = this.world;
    this.host.emit({ type: 'progress', openItems: random.int(0, 1) });
    this.host.next(random.wait(50, 20_000), () => {
      if (left > 0) return this.#chatter(left - 1);
      this.host.emit({ type: 'progress', openItems: 0 });
      this.host.finish(success(null));
    });
  }

  #ask(): void {
    this.#question = this.#newQuestion();
    this.host.emit({ type: 'asked', question: this.#question });
    if (this.host.reaches('asking')) return;
    const { random, time, traits, killer } = this.world;
    // A person answers this one at once; others are answered later, or never.
    if ((traits.has.operators || killer.waitsFor('answer_run')) && random.chance(0.5))
      time.after(random.wait(500, 60_000), () => answerSomebody(this.world));
  }

  #newQuestion(): Question {
    return { id: `q-${this.host.order.runId}`, kind: 'approval', text: 'may I?', fields: [] };
  }

  #spend(tokens: number): void {
    const input = this.world.laws.runBooks.spend(this.#threadId, this.host.order.issue.id, tokens);
    this.host.emit({ type: 'usage', threadId: this.#threadId, totals: { input, cached: 0, output: 1 } });
  }
}
