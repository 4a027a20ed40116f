/** A file of a new folder of issues; `path` is relative to that folder. */
export interface BacklogFile {
  readonly path: string;
  readonly text: string;
}

/** An issue that does not exist yet. */
export interface NewTask {
  readonly id: string;
  readonly title: string;
  readonly priority: 'high' | 'medium' | 'low';
  readonly labels: readonly string[];
  readonly dependencies: readonly string[];
  readonly description: string;
}

/** In the format of Backlog.md 1.52, so that its command line and its board work with the folder. */
export function newBacklog(project: string, tasks: readonly NewTask[], nowMs: number): BacklogFile[] {
  return [
    { path: 'config.yml', text: settings(project) },
    ...tasks.map((task, index) => ({
      path: `tasks/${task.id.toLowerCase()} - ${task.title.replace(/[^A-Za-z0-9]+/g, '-')}.md`,
      text: taskText(task, (index + 1) * 1_000, nowMs),
    })),
  ];
}

// Without git, because Backlog.md would read issues from the branches of agents.
function settings(project: string): string {
  return `project_name: ${JSON.stringify(project)}
default_status: "To Do"
statuses: ["To Do", "In Progress", "Done"]
labels: []
date_format: yyyy-mm-dd
max_column_width: 20
auto_open_browser: true
default_port: 6420
remote_operations: false
auto_commit: false
filesystem_only: true
bypass_git_hooks: false
check_active_branches: false
active_branch_days: 30
task_prefix: "task"
`;
}

function taskText(task: NewTask, ordinal: number, nowMs: number): string {
  return `---
id: ${task.id}
title: ${task.title}
status: To Do
assignee: []
created_date: '${new Date(nowMs).toISOString().slice(0, 16).replace('T', ' ')}'
labels:${yamlList(task.labels)}
dependencies:${yamlList(task.dependencies)}
priority: ${task.priority}
ordinal: ${ordinal}
---

## Description

<!-- SECTION:DESCRIPTION:BEGIN -->
${task.description}
<!-- SECTION:DESCRIPTION:END -->
`;
}

function yamlList(entries: readonly string[]): string {
  return entries.length === 0 ? ' []' : entries.map((entry) => `\n  - ${JSON.stringify(entry)}`).join('');
}
