import { type Fields, textOf } from '../domain/json.js';
import { shellWord } from '../domain/shell-word.js';
import type { DemoThread, Usage } from './demo-thread.js';

// The messages of the demo agent in the shapes of `codex app-server generate-ts`, 0.166.0.

const MODEL = 'demo';

/** `asked` are the parameters of the request. */
export function threadReply(thread: DemoThread, asked: Fields, nowMs: number) {
  const profile = textOf(asked.permissions);
  return {
    thread: {
      id: thread.id,
      sessionId: thread.id,
      forkedFromId: null,
      parentThreadId: null,
      preview: '',
      ephemeral: false,
      section: null,
      sectionEnteredAt: null,
      projectId: null,
      historyMode: 'legacy',
      modelProvider: MODEL,
      model: MODEL,
      reasoningEffort: null,
      createdAt: seconds(nowMs),
      updatedAt: seconds(nowMs),
      recencyAt: null,
      status: { type: 'idle' },
      path: null,
      cwd: thread.cwd,
      cliVersion: '0.0.0',
      originator: null,
      source: 'appServer',
      threadSource: null,
      agentNickname: null,
      agentRole: null,
      gitInfo: null,
      name: thread.name,
      turns: [],
    },
    model: MODEL,
    modelProvider: MODEL,
    serviceTier: null,
    disabledPluginIds: [],
    cwd: thread.cwd,
    instructionSources: [],
    // The demo agent runs only the commands of its own script, so it needs no sandbox to keep these promises.
    approvalPolicy: textOf(asked.approvalPolicy) ?? 'never',
    approvalsReviewer: 'user',
    sandbox: {
      type: 'workspaceWrite',
      writableRoots: [],
      networkAccess: false,
      excludeTmpdirEnvVar: true,
      excludeSlashTmp: true,
    },
    activePermissionProfile: profile === null ? null : { id: profile, extends: null },
    reasoningEffort: null,
  };
}

export type TurnStatus = 'inProgress' | 'completed' | 'interrupted' | 'failed';

export function turnShape(id: string, status: TurnStatus, beganMs: number, endedMs: number | null, message?: string) {
  return {
    id,
    rootTurnId: id,
    items: [],
    itemsView: 'notLoaded',
    status,
    error: message === undefined ? null : turnError(message),
    startedAt: seconds(beganMs),
    completedAt: endedMs === null ? null : seconds(endedMs),
    durationMs: endedMs === null ? null : endedMs - beganMs,
  };
}

export function turnError(message: string): object {
  return { message, codexErrorInfo: 'other', additionalDetails: null, misalignment: null };
}

export function messageItem(id: string, text: string, phase: 'commentary' | 'final_answer'): object {
  return { type: 'agentMessage', id, text, phase, memoryCitation: null, delivery: null, questions: null };
}

export function commandItem(id: string, command: string, cwd: string, result: CommandResult | null): object {
  return {
    type: 'commandExecution',
    id,
    pluginId: null,
    scriptPath: null,
    command: `bash -c ${shellWord(command)}`,
    cwd,
    processId: null,
    source: 'agent',
    status: result === null ? 'inProgress' : result.exitCode === 0 ? 'completed' : 'failed',
    commandActions: [{ type: 'unknown', command }],
    aggregatedOutput: result?.output ?? null,
    exitCode: result?.exitCode ?? null,
    durationMs: result?.durationMs ?? null,
  };
}

interface CommandResult {
  readonly exitCode: number;
  readonly output: string;
  readonly durationMs: number;
}

export function usageShape(total: Usage, last: Usage): object {
  const counts = (usage: Usage) => ({
    totalTokens: usage.inputTokens + usage.outputTokens,
    ...usage,
    cacheWriteInputTokens: 0,
    reasoningOutputTokens: 0,
  });
  return { total: counts(total), last: counts(last), modelContextWindow: 200_000 };
}

function seconds(ms: number): number {
  return Math.floor(ms / 1_000);
}
