import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, type Registry } from 'prom-client';

/** The monitor asks to be called so often, and what it records is the time between two calls: this, and the delay on top. */
const RESOLUTION_MS = 10;
const QUANTILES = { '0.5': 50, '0.99': 99, '1': 100 } as const;

/**
 * The process of the daemon, under the names that every Prometheus knows. Made here and not by `collectDefaultMetrics`, which starts
 * observers that nothing can end.
 */
export class ProcessGauges {
  readonly #cpu: Counter;
  readonly #memory: Gauge;
  readonly #heap: Gauge;
  readonly #delay: Gauge<'quantile'>;
  #monitor: IntervalHistogram | null = null;
  #isClosed = false;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#cpu = new Counter({
      ...{ name: 'process_cpu_seconds_total', help: 'CPU time of the daemon itself, without its agents.' },
      registers,
    });
    const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
    this.#memory = gauge('process_resident_memory_bytes', 'Memory of the daemon itself, without its agents.');
    this.#heap = gauge('nodejs_heap_size_used_bytes', 'JavaScript objects of the daemon.');
    gauge('process_start_time_seconds', 'When the daemon was started.').set(performance.timeOrigin / 1_000);
    this.#delay = new Gauge({
      ...{
        name: 'baton_event_loop_delay_seconds',
        help: 'How late the daemon came to what was due, since the last look.',
      },
      ...{ labelNames: ['quantile'] as const, registers },
    });
  }

  tell(): void {
    const { user, system } = process.cpuUsage();
    this.#cpu.reset();
    this.#cpu.inc((user + system) / 1e6);
    const { rss, heapUsed } = process.memoryUsage();
    this.#memory.set(rss);
    this.#heap.set(heapUsed);
    this.#tellDelay();
  }

  close(): void {
    this.#monitor?.disable();
    this.#monitor = null;
    this.#isClosed = true;
  }

  /** The first look begins it: a daemon that nobody looks at need not wake up a hundred times a second. */
  #tellDelay(): void {
    const monitor = this.#monitor;
    for (const [quantile, percent] of Object.entries(QUANTILES)) {
      const ns = monitor && monitor.count > 0 ? monitor.percentile(percent) : 0;
      this.#delay.set({ quantile }, Math.max(0, ns / 1e6 - RESOLUTION_MS) / 1_000);
    }
    monitor?.reset();
    if (monitor || this.#isClosed) return;
    this.#monitor = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    this.#monitor.enable();
  }
}
