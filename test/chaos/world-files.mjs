/** Where an issue lies in the folder of its trial. */
export function taskFile(issue) {
  return `backlog/tasks/${issue.toLowerCase()} - Work.md`;
}

export function taskText(issue) {
  return `---\nid: ${issue}\ntitle: Work of ${issue}\nstatus: To Do\n---\n\n## Description\n\nWork.\n`;
}

/** Short intervals, and no limit that parks an issue, so a parked issue is a violation. */
export function workflowText({ dir, plan }) {
  const words = (script) => `bash '${dir}/scripts/${script}' '${dir}'`;
  const hook = words('hook.sh');
  const settings = {
    tracker: { kind: 'local', provider: { path: './backlog' } },
    polling: { interval_ms: 100 },
    workspace: { root: 'work', min_free_mb: 1 },
    hooks: { after_create: hook, before_run: hook, after_run: hook, before_remove: hook, timeout_ms: 60_000 },
    agent: {
      max_concurrent_agents: plan.concurrency,
      max_turns: 1,
      max_retry_backoff_ms: plan.backoffMs,
      max_attempts: 0,
      max_runs_without_progress: 0,
      on_input_timeout: plan.onInputTimeout,
    },
    codex: {
      command: words('agent.sh'),
      read_timeout_ms: 30_000,
      stall_timeout_ms: plan.stallMs,
      on_approval_request: plan.asks ? 'ask' : 'decline',
    },
    runtime: { isolation: plan.isolation, shutdown_timeout_ms: 20_000 },
  };
  return `---\n${JSON.stringify(settings, null, 1)}\n---\n{{ issue.title }}\n`;
}
