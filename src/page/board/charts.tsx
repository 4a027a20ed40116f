import { useEffect, useId, useState } from 'preact/hooks';
import type { Stats } from '../../api/schemas.js';
import { counted, formatTokens } from '../../text/format-numbers.js';
import { useSession } from '../components/session.js';
import { memo } from '../components/ticker.js';
import { getJson } from '../live/api.js';
import { dayLabel, scaleFor } from '../model/chart-scale.js';
import { fullCount } from '../model/numbers.js';

/** Charts of the last thirty days. They are read again when `moment` changes. */
export const Charts = memo(function Figures({ moment }: { readonly moment: string }) {
  const stats = useStats(moment);
  if (stats === null) return null;
  const isQuiet = stats.days.every(({ tokens, runs, done }) => tokens + runs + done === 0);
  return (
    <section class="charts" aria-labelledby="charts-title">
      <h2 id="charts-title">Last {counted(stats.days.length, 'day')}</h2>
      {isQuiet ? (
        <p class="calm">Nothing was run yet.</p>
      ) : (
        <>
          <TokensChart days={stats.days} />
          <RunsChart days={stats.days} />
          <DaysTable days={stats.days} />
        </>
      )}
    </section>
  );
}, 'Charts');

interface DaysProps {
  readonly days: Stats['days'];
}

function TokensChart({ days }: DaysProps) {
  const total = days.reduce((sum, { tokens }) => sum + tokens, 0);
  return (
    <BarChart
      title="Tokens per day"
      summary={`${formatTokens(total)} in all`}
      days={days.map(({ day }) => day)}
      series={[{ name: 'tokens', look: 'tokens', values: days.map(({ tokens }) => tokens) }]}
    />
  );
}

function RunsChart({ days }: DaysProps) {
  const done = days.reduce((sum, day) => sum + day.done, 0);
  const runs = days.reduce((sum, day) => sum + day.runs, 0);
  return (
    <BarChart
      title="Runs and issues done per day"
      summary={`${counted(runs, 'run')}, ${fullCount(done)} done`}
      days={days.map(({ day }) => day)}
      series={[
        { name: 'runs', look: 'runs', values: days.map((day) => day.runs) },
        { name: 'done', look: 'done', values: days.map((day) => day.done) },
      ]}
    />
  );
}

/** The same numbers as a table, for screen readers and for exact values. */
function DaysTable({ days }: DaysProps) {
  const busy = days.filter(({ tokens, runs, done }) => tokens + runs + done > 0).reverse();
  return (
    <details class="chart-table">
      <summary>As a table</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and must do so by keyboard too. */}
      <section class="scroll" aria-label="Numbers per day" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Day</th>
              <th scope="col">Tokens</th>
              <th scope="col">Runs</th>
              <th scope="col">Failed</th>
              <th scope="col">Done</th>
            </tr>
          </thead>
          <tbody>
            {busy.map((day) => (
              <tr key={day.day}>
                <th scope="row">{dayLabel(day.day)}</th>
                <td>{fullCount(day.tokens)}</td>
                <td>{fullCount(day.runs)}</td>
                <td>{fullCount(day.failed)}</td>
                <td>{fullCount(day.done)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}

interface Series {
  readonly name: string;
  readonly look: 'tokens' | 'runs' | 'done';
  readonly values: readonly number[];
}

interface BarChartProps {
  readonly title: string;
  readonly summary: string;
  readonly days: readonly string[];
  /** Several series overlap, the narrower one in front. */
  readonly series: readonly Series[];
}

const WIDTH = 300;
const HEIGHT = 90;
const LEFT = 34;
const TOP = 6;

/** Bars by day. */
function BarChart({ title, summary, days, series }: BarChartProps) {
  const id = useId();
  const { top, ticks } = scaleFor(series.flatMap(({ values }) => values));
  const step = (WIDTH - LEFT) / Math.max(1, days.length);
  const heightOf = (value: number) => (value / top) * (HEIGHT - TOP);
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{title}</span> <span class="faint">{summary}</span>
        {series.length > 1 ? <Legend series={series} /> : null}
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT + 16}`} role="img" aria-labelledby={id}>
        <title id={id}>{`${title}: ${summary}`}</title>
        {ticks.map((tick) => (
          <g key={tick}>
            <line class="grid" x1={LEFT} x2={WIDTH} y1={HEIGHT - heightOf(tick)} y2={HEIGHT - heightOf(tick)} />
            <text class="tick" x={LEFT - 5} y={HEIGHT - heightOf(tick) + 3} text-anchor="end">
              {formatTokens(tick)}
            </text>
          </g>
        ))}
        {days.map((day, at) => (
          <g key={day}>
            <title>{tipOf(day, series, at)}</title>
            <rect class="hit" x={LEFT + at * step} y="0" width={step} height={HEIGHT} />
            {series.map(({ look, values }, place) => {
              const width = step * (place === 0 ? 0.72 : 0.36);
              const height = heightOf(values[at] ?? 0);
              const x = LEFT + at * step + (step - width) / 2;
              return <rect key={look} class={`bar-${look}`} x={x} y={HEIGHT - height} width={width} height={height} />;
            })}
          </g>
        ))}
        <DayLabels days={days} step={step} />
      </svg>
    </figure>
  );
}

function DayLabels({ days, step }: { readonly days: readonly string[]; readonly step: number }) {
  const last = days.length - 1;
  return (
    <>
      {[0, last].map((at) => (
        <text
          key={at}
          class="tick"
          x={at === 0 ? LEFT : LEFT + (last + 1) * step}
          y={HEIGHT + 13}
          text-anchor={at === 0 ? 'start' : 'end'}
        >
          {at === last ? 'today' : dayLabel(days[at] ?? '')}
        </text>
      ))}
    </>
  );
}

function Legend({ series }: { readonly series: readonly Series[] }) {
  return (
    <span class="legend">
      {series.map(({ name, look }) => (
        <span key={look}>
          <svg viewBox="0 0 8 8" aria-hidden="true">
            <rect class={`bar-${look}`} width="8" height="8" />
          </svg>
          {name}
        </span>
      ))}
    </span>
  );
}

function tipOf(day: string, series: readonly Series[], at: number): string {
  return `${dayLabel(day)}: ${series.map(({ name, values }) => `${fullCount(values[at] ?? 0)} ${name}`).join(', ')}`;
}

/** Statistics of the last thirty days, read again when `moment` changes. `null`: not loaded yet. */
function useStats(moment: string): Stats | null {
  const { access } = useSession();
  const [stats, setStats] = useState<Stats | null>(null);
  // Runs again when `moment` changes.
  useEffect(() => {
    const asking = new AbortController();
    getJson<Stats>(access, 'api/v1/stats?days=30', asking.signal).then(setStats, () => {
      // On an error the old charts stay; the connection has its own banner.
    });
    return () => asking.abort();
  }, [access, moment]);
  return stats;
}
