import { goalOf } from '../goals.mjs'
import { versionsOf } from '../lib/versions.mjs'
import { measureDeliveries } from '../mock/deliveries.mjs'
import { measureEdits } from '../mock/edits.mjs'
import { requireOnce } from '../mock/once.mjs'

/** @type {import('../lib/part.mjs').Run} */
export async function run({ smoke, say }) {
  const onceTable = await requireOnce(smoke ? 200 : 1000, 50)
  say('no delivery is lost or duplicated')
  const { table: deliveriesTable, results } = await measureDeliveries({ smoke })
  say('measuring edits')
  const { table: editsTable, points } = await measureEdits({ smoke })
  return {
    tables: [deliveriesTable, onceTable, editsTable],
    figures: { 'mock/deliveries': results.find(({ name }) => name === 'geohook').ratio },
    plots: [
      {
        name: 'mock',
        title: 'mock: deliveries per second relative to undici Pool.request',
        kind: 'bars',
        x: '',
        y: 'times as many',
        base: 1,
        goals: [{ y: goalOf('mock/deliveries') }],
        points: results.map(({ name, ratio: { median, low, high } }) => ({
          series: '50 at once',
          x: name,
          y: median,
          low,
          high,
        })),
      },
      {
        name: 'mock-edits',
        title: 'mock: one edit and one deletion, by number of webhooks',
        kind: 'lines',
        x: 'webhooks (log)',
        y: 'µs',
        logX: true,
        points,
      },
    ],
    versions: versionsOf(['undici', 'express']),
  }
}
