/**
 * How much more work four times as much input makes: about 4 where work grows with the input, about 16 where it grows with its
 * square. Measured in CPU time of this process, the best of three, so a busy machine does not matter.
 */
export async function growthOf(work: (size: number) => Promise<() => unknown>, size: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  // A collection of garbage in one of two short measurements looks like growth. It does not happen three times.
  for (let round = 0; round < 3 && least > 6; round++)
    least = Math.min(least, (await leastCpu(work, 4 * size)) / (await leastCpu(work, size)));
  return least;
}

const ENOUGH_US = 10_000;

/** `work` prepares the measured function, which is repeated when one call is too short to measure. */
async function leastCpu(work: (size: number) => Promise<() => unknown>, size: number): Promise<number> {
  const all: number[] = [];
  for (let round = 0; round < 3; round++) {
    let total = 0;
    let times = 0;
    while (total < ENOUGH_US && times < 50) {
      const act = await work(size);
      const before = process.cpuUsage();
      await act();
      const { user, system } = process.cpuUsage(before);
      total += user + system;
      times += 1;
    }
    all.push(total / times);
  }
  return Math.min(...all);
}
