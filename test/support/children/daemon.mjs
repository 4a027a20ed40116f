// A small daemon on the compiled runner, to be run as any user and killed.
//   node daemon.mjs <folder of the compiled runner> <JSON: { isolation, marker, hide, cwd, scripts, stay, limits }>
// Prints the kind of containment, then one JSON line per script: its output, status, stop result and reached limit. With `stay` it passes the
// output on and stays.
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, json] = process.argv.slice(2);
const order = JSON.parse(json);
const load = (name) => import(pathToFileURL(join(folder, 'runner/contain', name)).href);
const { detectContainment } = await load('detect-containment.js');
const { spawnContained } = await load('spawn-contained.js');
const { captureOutput } = await load('capture-output.js');

const clock = {
  now: () => ({
    wallMs: Date.now(),
    awakeMs: performance.now(),
    day: '2026-01-01',
    dayEndsAtMs: Number.POSITIVE_INFINITY,
  }),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

const detected = await detectContainment({ isolation: order.isolation, hide: order.hide, clock }).catch((error) => {
  console.log(JSON.stringify({ kind: error.code, reason: error.message }));
  process.exit(1);
});
const { RunLimits } = order.limits ? await load('run-limits.js') : {};
const warnings = [];
const limits = await RunLimits?.open(detected, (message, fields) => warnings.push({ message, ...fields }));
const containment = limits ? { ...detected, limits, hide: [...(detected.hide ?? []), ...limits.hide] } : detected;
console.log(JSON.stringify({ kind: containment.kind, reason: containment.reason, means: limits?.means }));
const { dev, ino } = lstatSync(order.cwd);
for (const [index, script] of order.scripts.entries()) {
  await limits?.begin(`${order.marker}-${index}`, order.limits);
  const contained = await spawnContained(
    {
      marker: `${order.marker}-${index}`,
      script,
      cwd: order.cwd,
      identity: { dev, ino },
      env: { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: order.cwd },
      unset: [],
      stdin: 'pipe',
    },
    containment,
  );
  if (order.stay) {
    contained.stdout.pipe(process.stdout);
  } else {
    const captured = await captureOutput(contained, { maxBytes: 10_000, clock, drainMs: 200 });
    const stop = await contained.stop();
    const reached = await limits?.end(`${order.marker}-${index}`);
    console.log(JSON.stringify({ ...captured, stop, reached, warnings: warnings.splice(0) }));
  }
}
