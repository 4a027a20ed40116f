import { startFakeLinear } from '../../support/trackers/fake-linear.js';
import { trackerContract } from '../contract/tracker-contract.js';

trackerContract('linear', {
  start: startFakeLinear,
  active: 'Todo',
  other: 'In Progress',
  terminal: 'Done',
  endpointKey: 'endpoint',
  tokenKey: 'api_key',
  rawTool: 'linear_graphql',
  rawRead: (mark) => ({ query: 'query Q($text: String) { viewer { id } }', variables: { text: mark } }),
});
