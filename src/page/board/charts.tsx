import type { Stats } from '../../status/shapes/issue-shape.js';
import { dayLabel } from '../model/chart-scale.js';
import { counted, fullCount, shortCount } from '../model/numbers.js';
import { BarChart } from '../parts/bar-chart.js';
import { memo } from '../parts/memo.js';
import { useStats } from '../parts/use-stats.js';

/** What the last thirty days cost and brought. `moment` changes when it is worth asking again. */
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
      summary={`${shortCount(total)} in all`}
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

/** The same numbers for whoever does not see the bars, or wants them exactly. */
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
