import type { Issue } from '../../domain/issue.js';

/** An issue of which the tracker tells the least that it may. */
export const BARE_ISSUE: Issue = {
  id: '1',
  identifier: 'AB-1',
  title: 'A sample issue',
  description: null,
  priority: null,
  state: 'To Do',
  branch_name: null,
  url: null,
  assignee_id: null,
  author: null,
  labels: [],
  blocked_by: [],
  comments: [],
  dispatchable: true,
  held_back: null,
  native_ref: null,
  created_at: null,
  updated_at: null,
};

/** An issue with everything. */
export const SAMPLE_ISSUE: Issue = {
  ...BARE_ISSUE,
  description: 'What is to be done.',
  priority: 2,
  branch_name: 'ab-1-a-sample-issue',
  url: 'https://example.org/AB-1',
  assignee_id: 'someone',
  author: { login: 'someone', trusted: true },
  labels: ['baton'],
  blocked_by: [{ id: '2', identifier: 'AB-2', state: 'Done' }],
  comments: [{ author: 'someone', body: 'A remark.', created_at: '2026-01-01T00:00:00.000Z' }],
  native_ref: 'AB-1',
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
};
