/** Does the work for each, `atOnce` at a time, answers in their order. After a failure nothing new is begun, and what was begun is waited for. */
export async function inParallel<In, Out>(
  items: readonly In[],
  atOnce: number,
  work: (item: In) => Promise<Out>,
): Promise<readonly Out[]> {
  const waiting = items.entries();
  const done: Out[] = [];
  let hasFailed = false;
  const worker = async () => {
    for (const [at, item] of waiting) {
      if (hasFailed) return;
      try {
        done[at] = await work(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const settled = await Promise.allSettled(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  const failed = settled.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
  return done;
}
