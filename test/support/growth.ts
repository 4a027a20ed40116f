/**
 * How much more work four times as much input makes: about 4 where work grows with the input, about 16 where it grows with its
 * square. Counted in time of this process on a core, the best of three, so that a busy machine has no say in it.
 */
export async function growthOf(work: (size: number) => Promise<() => unknown>, size: number): Promise<number> {
  const small = await leastCpu(work, size);
  const large = await leastCpu(work, 4 * size);
  return large / small;
}

const ENOUGH_US = 10_000;

/** `work` prepares what is to be measured, which is then done; again and again where once is too short to be told from noise. */
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
