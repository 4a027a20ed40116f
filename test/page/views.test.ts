import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import type { StateView } from '../../src/api/schemas.js';
import { expectAccessible, expectNoSidewaysScroll } from './axe.js';
import { openPage, screenshot } from './browser.js';
import { blockedIssue, runningIssue, timelineOf } from './sample-issue.js';
import { ago, emptyState, workingDay } from './sample-state.js';
import { type ScriptedServer, scriptedServer } from './scripted-server.js';

/** Everything that can be the matter with a daemon, at once. */
function troubledState(): StateView {
  const day = workingDay();
  const hold = {
    source: 'agent',
    code: 'agent_unauthorized',
    message: 'The model service refused the credentials (401)',
    action: 'Log in again.',
    since: ago(12),
    until: ago(-4),
    tries: 3,
  };
  return {
    ...day,
    running: [],
    asking: [],
    why_idle: `On hold (agent_unauthorized, next try at ${ago(-4)}): the model service refused the credentials; log in again.`,
    hold,
    holds: [hold],
    paused: { since: ago(30) },
    tokens_today: { spent: 39_500_000, limit: 40_000_000 },
    poll: {
      ...day.poll,
      health: 'failed',
      error: 'The tracker could not be reached: connect ECONNREFUSED',
      error_code: 'tracker_request',
      failing_since: ago(9),
      problems: ['backlog/tasks/task-7.md: no title', 'backlog/tasks/task-9.md: not UTF-8'],
      rate_limit: { remaining: 12, reset_at: ago(-20) },
    },
    workflow: {
      ...day.workflow,
      error: {
        code: 'workflow_parse_error',
        message: 'WORKFLOW.md:7:5 agent.max_turns must be a positive integer, got "many"',
        problems: [],
      },
      restart_required: ['server.port', 'workspace.root'],
    },
  };
}

interface View {
  readonly state: () => StateView;
  readonly path: string;
  /** When this is there, the view is. */
  readonly sign: string | RegExp;
  readonly token?: boolean;
  act?(page: Page): Promise<void>;
}

const VIEWS: { readonly [name: string]: View } = {
  board: { state: workingDay, path: '/', sign: 'Last 30 days' },
  locked: { state: workingDay, path: '/', sign: 'Open this page with a command', token: false },
  'board-empty': { state: emptyState, path: '/', sign: 'No issues in an active state.' },
  'board-troubled': { state: troubledState, path: '/', sign: 'The tracker cannot be read' },
  'board-stop-asked': {
    state: workingDay,
    path: '/',
    sign: 'Last 30 days',
    act: (page) => page.getByRole('button', { name: 'Stop SHOP-224' }).click(),
  },
  'board-unfolded': {
    state: workingDay,
    path: '/',
    sign: 'Last 30 days',
    async act(page) {
      await page.getByText('Not picked up').click();
      await page.getByText('As a table').click();
      await page.getByRole('radio', { name: 'Something else' }).check();
    },
  },
  help: {
    state: workingDay,
    path: '/',
    sign: 'Last 30 days',
    act: (page) => page.getByRole('button', { name: 'Keyboard shortcuts' }).click(),
  },
  'issue-running': {
    state: workingDay,
    path: '/#/issue/SHOP-231',
    sign: 'What happened',
    async act(page) {
      await page.getByText('hook before_run finished').click();
      await page.getByText('Already up to date.').waitFor();
    },
  },
  'issue-earlier-run': { state: workingDay, path: '/#/issue/SHOP-231?run=run-231-1', sign: 'context window exceeded' },
  'issue-not-picked-up': { state: workingDay, path: '/#/issue/SHOP-239', sign: '1 of 9 do not pass' },
  'issue-unknown': { state: workingDay, path: '/#/issue/NOPE-1', sign: /No issue NOPE-1 is claimed/ },
};

function addIssues({ script }: ScriptedServer): void {
  script.issues.set('SHOP-231', runningIssue);
  script.issues.set('SHOP-239', blockedIssue);
  script.timelines.set('SHOP-231', { timeline: timelineOf('run-SHOP-231', true), entryCount: 9 });
}

async function openView({ state, path, sign, token = true, act }: View, width: number): Promise<Page> {
  const server = await scriptedServer(state());
  addIssues(server);
  const page = await openPage(token ? server.openUrl : server.url, { width, height: 800, allowed: /404/ });
  await page.getByRole('heading', { level: 1 }).waitFor();
  if (path !== '/') await page.goto(`${server.url}${path}`);
  await page.getByText(sign).first().waitFor();
  await act?.(page);
  return page;
}

describe.each(Object.entries(VIEWS))('the view %s', (name, view) => {
  test('is accessible, in light and in dark', async () => {
    const page = await openView(view, 1280);

    await expectAccessible(page);
    await screenshot(page, `${name}-dark`);
    await page.emulateMedia({ colorScheme: 'light' });
    await screenshot(page, `${name}-light`);
  });

  test('fits on a phone without horizontal scrolling, and is accessible there', async () => {
    const page = await openView(view, 360);

    await expectNoSidewaysScroll(page);
    await screenshot(page, `${name}-phone`);
    await expectAccessible(page);
  });
});

test('an unreadable tracker is not shown as an empty board', async () => {
  const page = await openView({ state: troubledState, path: '/', sign: 'The tracker cannot be read' }, 1280);

  expect(await page.getByText('There may be issues that Baton does not see.').isVisible()).toBe(true);
  expect(await page.getByText('Log in again.', { exact: true }).isVisible()).toBe(true);
  expect(await page.getByText('The current WORKFLOW.md is not in effect').isVisible()).toBe(true);
  expect(await page.getByText(/in effect once no run is active: server.port, workspace.root/).isVisible()).toBe(true);
});

test('the picture of the README', async () => {
  const page = await openView({ state: workingDay, path: '/', sign: 'Last 30 days' }, 1280);
  await page.setViewportSize({ width: 1280, height: 1010 });

  await screenshot(page, 'page', { whole: false, isForReadme: true });
});
