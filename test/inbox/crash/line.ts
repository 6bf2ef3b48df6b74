import type { NamesVerdict, Verdict } from './check.ts'
import type { GroupVerdict } from './check-groups.ts'
import type { OrderVerdict } from './check-order.ts'
import type { Run } from './run.ts'

/** Formats the figures of a run in one line. */
export function toLine(
  { engine, seed, kills, receivers = 1, serverKills = 0 }: Run,
  verdict: Verdict | GroupVerdict | NamesVerdict | OrderVerdict,
): string {
  const { sent, acknowledged, handled, doubled, lost, faults } = verdict
  const figures = {
    seed,
    kills,
    ...(receivers > 1 && { receivers }),
    ...(serverKills > 0 && { 'server kills': serverKills }),
    sent,
    acknowledged,
    handled,
    doubled,
    ...('calls' in verdict && {
      calls: verdict.calls,
      'largest group': verdict.largest,
      'groups handled again': verdict.repeated,
    }),
    ...('fates' in verdict && {
      fates: verdict.fates,
      'failed attempts': verdict.failures,
      'dead letters': verdict.dead,
    }),
    ...('waited' in verdict && { waited: verdict.waited }),
    lost: lost.length,
    faults: faults.length,
  }
  return `${engine}: ${Object.entries(figures)
    .map(([name, figure]) => `${name} ${figure}`)
    .join(', ')}`
}
