import { expect, it } from 'vitest'

const { createLedger } = await import(new URL('../../scripts/soak/traffic/ledger.mjs', import.meta.url).href)

it('reports lost, repeated and forged deliveries, and forgets them', () => {
  const ledger = createLedger()
  for (const id of ['once', 'lost', 'twice']) ledger.acknowledge(id, 'Koa 3')
  ledger.handle(['once', 'twice'])
  ledger.handle(['twice', 'forged'])
  expect(ledger.settle()).toEqual([
    'Koa 3: delivery lost was acknowledged and handled 0 times',
    'Koa 3: delivery twice was acknowledged and handled 2 times',
    'delivery forged was handled 1 times, but not acknowledged',
  ])
  expect(ledger.settle()).toEqual([])
  expect(ledger.count).toBe(1)
})
