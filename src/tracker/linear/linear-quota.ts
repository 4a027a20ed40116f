import { numberIn, quotaIn, type ReadQuota } from '../http/limits.js';

const byRequests = quotaIn('x-ratelimit-requests-remaining', 'x-ratelimit-requests-reset', 'milliseconds');
const byPoints = quotaIn('x-ratelimit-complexity-remaining', 'x-ratelimit-complexity-reset', 'milliseconds');

/** What a request counts for at least, so that both limits can be told in points: one of them is never exceeded by keeping to the sum. */
const POINTS_PER_REQUEST = 200;

/** Linear counts requests, and what they ask for in points. Both are told in points, and the scarcer counts. */
export const linearQuota: ReadQuota = (headers, nowMs) => {
  const requests = byRequests(headers, nowMs);
  const points = byPoints(headers, nowMs);
  const cost = Math.max(POINTS_PER_REQUEST, numberIn(headers, 'x-complexity') ?? 0);
  const asPoints = requests && { ...requests, remaining: requests.remaining * POINTS_PER_REQUEST };
  const scarcer = points !== null && asPoints !== null && points.remaining < asPoints.remaining ? points : asPoints;
  const left = scarcer ?? points;
  return left && { ...left, cost };
};
