/** Files as Backlog.md 1.52.0 wrote them, byte for byte. */
export const FULL_TASK = `---
id: TASK-1
title: 'First: "quoted" #1 title'
status: In Progress
assignee:
  - '@sara'
  - '@bob'
created_date: '2026-11-16 04:25'
updated_date: '2026-11-16 04:26'
labels:
  - a
  - Bug
dependencies: []
priority: high
ordinal: 1000
---

## Description

<!-- SECTION:DESCRIPTION:BEGIN -->
Line one

## Heading
more
<!-- SECTION:DESCRIPTION:END -->

## Acceptance Criteria
<!-- AC:BEGIN -->
- [ ] #1 works
- [ ] #2 fast
<!-- AC:END -->

## Definition of Done
<!-- DOD:BEGIN -->
- [ ] #1 tests
<!-- DOD:END -->

## Implementation Plan

<!-- SECTION:PLAN:BEGIN -->
p
<!-- SECTION:PLAN:END -->

## Implementation Notes

<!-- SECTION:NOTES:BEGIN -->
nn
<!-- SECTION:NOTES:END -->

## Comments

<!-- COMMENTS:BEGIN -->
author: @bot
created: 2026-11-16 04:25
---
hello
world
---

created: 2026-11-16 04:26
---
second, no author
---
<!-- COMMENTS:END -->

## Final Summary

<!-- SECTION:FINAL_SUMMARY:BEGIN -->
sum
<!-- SECTION:FINAL_SUMMARY:END -->
`;

export const EMPTY_TASK = `---
id: TASK-2
title: Second
status: To Do
assignee: []
created_date: '2026-11-16 04:25'
labels: []
dependencies:
  - TASK-1
ordinal: 2000
---


`;

export const SUBTASK = `---
id: TASK-1.1
title: Child
status: To Do
assignee: []
created_date: '2026-11-16 04:25'
labels: []
dependencies: []
parent_task_id: TASK-1
ordinal: 3000
---


`;

export const DRAFT = `---
id: DRAFT-1
title: Draft one
status: Draft
assignee: []
created_date: '2026-11-16 04:25'
labels: []
dependencies: []
---


`;

export const CONFIG = `project_name: "demo"
default_status: "To Do"
statuses: ["To Do", "In Progress", "Review", "Done"]
labels: []
date_format: yyyy-mm-dd
max_column_width: 20
auto_open_browser: true
default_port: 6420
remote_operations: false
auto_commit: false
filesystem_only: false
bypass_git_hooks: false
check_active_branches: false
active_branch_days: 30
task_prefix: "task"
`;
