// Which series shows which leak of leaks.mjs, and whether each was caught.
export const LEAKED_SERIES = {
  descriptor: 'open descriptors',
  timer: 'timers',
  'process-listener': 'listeners on process',
  'emitter-listener': 'listeners on all emitters',
  'abort-listener': 'listeners on all signals',
  child: 'child processes',
  heap: 'heap after collection, MB',
  promise: 'promises',
};

export function printSelfTest({ series }) {
  const results = Object.entries(LEAKED_SERIES).map(([leak, name]) => {
    const { isBad, values } = series.find((one) => one.name === name);
    console.log(`${isBad ? 'caught' : 'MISSED'}  ${leak.padEnd(18)} ${name}: ${values.join(' ')}`);
    return isBad;
  });
  const passed = results.filter(Boolean).length;
  console.log(`${passed} passed, ${results.length - passed} failed`);
  return passed === results.length;
}
