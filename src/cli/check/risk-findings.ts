import type { Json } from '../../domain/json.js';
import type { CheckContext } from './check-context.js';
import { type Finding, reporter } from './finding.js';

/** Settings that are valid, and that a person should have chosen knowingly. */
export function riskFindings({ file, at, loaded }: CheckContext): Finding[] {
  const report = reporter('Workflow', file);
  const { tracker, codex, runtime, agent } = loaded.workflow.config;
  const findings: Finding[] = [];
  const warn = (code: string, path: string[], message: string, advice: string) =>
    findings.push(report('warning', code, at(path), message, advice));

  if (tracker.requiredLabels.length === 0) {
    const message = 'no tracker.required_labels: every issue in an active state is started, whoever wrote it';
    warn(
      'no_label_gate',
      ['tracker', 'required_labels'],
      message,
      'Name a label that people put on what Baton may do.',
    );
  } else if (tracker.requiredLabels.some((label) => label === '')) {
    const message = 'tracker.required_labels holds a blank label, which no issue has: nothing is ever started';
    warn('blank_label', ['tracker', 'required_labels'], message, 'Write the label, or remove the blank one.');
  }
  const sandbox = 'Use workspace-write, and do what needs more in hooks.';
  if (isFullAccess(codex.threadSandbox)) {
    const message = 'codex.thread_sandbox is danger-full-access: whatever an issue makes the agent do, it does as you';
    warn('full_access', ['codex', 'thread_sandbox'], message, sandbox);
  }
  if (isFullAccess(codex.turnSandboxPolicy)) {
    const message = 'codex.turn_sandbox_policy gives full access: whatever an issue makes the agent do, it does as you';
    warn('full_access', ['codex', 'turn_sandbox_policy'], message, sandbox);
  }
  if (codex.onApprovalRequest === 'accept') {
    const message = 'codex.on_approval_request is accept: every request of the agent to leave its sandbox is granted';
    warn('accepts_all', ['codex', 'on_approval_request'], message, 'Use decline, or ask to have a person answer.');
  }
  if (runtime.env === 'inherit') {
    const message =
      'runtime.env is inherit: agents and hooks see every variable of the daemon but the tracker’s secrets';
    warn('env_inherit', ['runtime', 'env'], message, 'Use allowlist, and name what they need in runtime.env_allow.');
  }
  if (agent.maxTokensPerIssue === null && agent.maxTokensPerDay === null) {
    const message = 'there is no token budget: an agent that never ends its work costs without limit';
    warn(
      'no_budget',
      ['agent', 'max_tokens_per_issue'],
      message,
      'Set agent.max_tokens_per_issue or max_tokens_per_day.',
    );
  }
  return findings;
}

/** The words of both settings: `danger-full-access`, `{ type: dangerFullAccess }`. */
function isFullAccess(setting: Json): boolean {
  const isMap = typeof setting === 'object' && setting !== null && !Array.isArray(setting);
  const word = isMap ? (setting as { readonly [key: string]: Json }).type : setting;
  return typeof word === 'string' && word.replace(/[-_\s]/g, '').toLowerCase() === 'dangerfullaccess';
}
