import { createChanges } from 'geohook/changes'
import { expect, it } from 'vitest'
import { DOCUMENT, startHostile } from './contract/hostile-server.ts'
import { toEvent } from './support.ts'

const URL = 'extractChanges?serverGens=[1,2]'

async function extract(queries: string[]) {
  const server = await startHostile({ extractChanges: DOCUMENT })
  const changes = createChanges({ origins: [server.origin] })
  const began = performance.now()
  const { layers } = await changes.of(queries.map((query) => toEvent(`${server.url}/${URL}${query}`)))
  expect(layers).toHaveLength(1)
  return { milliseconds: performance.now() - began, sent: server.got[0]?.all ?? '' }
}

it.each([
  ['the same long URL', Array(20_000).fill('&returnX=1'.repeat(500))],
  ['different URLs with different parameters', Array.from({ length: 20_000 }, (_, n) => `&return${n}=1`)],
])('reads many events with %s within seconds', async (_, queries) => {
  expect((await extract(queries)).milliseconds).toBeLessThan(5000)
})

it('does not filter the features of one event by the layerQueries of another', async () => {
  const query = `&layerQueries=${encodeURIComponent('{"0":{"where":"a=1"}}')}`
  const other = query.replace('1', '2')
  expect((await extract([query, query])).sent).toContain('layerQueries')
  for (const queries of [
    ['', query],
    [query, other],
  ])
    expect((await extract(queries)).sent).not.toContain('layerQueries')
})
