import { startFakeJira } from '../../support/trackers/fake-jira.js';
import { trackerContract } from '../contract/tracker-contract.js';

trackerContract('jira', {
  start: startFakeJira,
  active: 'To Do',
  other: 'In Progress',
  terminal: 'Done',
  endpointKey: 'endpoint',
  tokenKey: 'api_token',
  rawTool: 'jira_rest',
  rawRead: (mark) => ({ method: 'GET', path: `/issue/ABC-1?fields=${mark}` }),
});
