import { type Changes, createChanges } from 'geohook/changes'
import { createMemoryInbox } from 'geohook/inbox'
import { expect, it } from 'vitest'
import { startHostile } from './contract/hostile-server.ts'
import { toEvent } from './support.ts'

const GENERATIONS = [
  { id: 0, serverGen: 50 },
  { id: 1, serverGen: 60 },
]

/** Extracts a window after generation 10, and returns the generations that are stored afterwards. */
async function handle(query: string, layerServerGens: object[] = GENERATIONS): Promise<object> {
  const server = await startHostile({ extractChanges: { edits: [{ id: 0 }], layerServerGens } })
  const inbox = createMemoryInbox()
  await inbox.generations.replace(
    server.url,
    new Map([
      [0, 10],
      [1, 10],
    ]),
  )
  const functions: (() => unknown)[] = []
  const context = { onSuccess: (run: () => unknown) => void functions.push(run) }
  await createChanges({ origins: [server.origin], inbox }).of(
    toEvent(`${server.url}/extractChanges?${query}`),
    context,
  )
  for (const run of functions) await run()
  return Object.fromEntries(await inbox.generations.get(server.url))
}

it.each<[string, string, object, object[]?]>([
  ['layers that were not asked for are not raised', 'serverGens=10&layers=0', { 0: 50, 1: 10 }],
  ['a window raises no layer beyond the service', 'serverGens=[10,9000000000000000]', { 0: 60, 1: 60 }],
  ['a window raises its layers to its end', 'serverGens=[10,55]', { 0: 55, 1: 55 }],
  ['an answer without generations does not limit the end', 'serverGens=[10,70]', { 0: 70, 1: 70 }, []],
])('%s', async (_, query, expected, layerServerGens) => {
  expect(await handle(query, layerServerGens)).toEqual(expected)
})

it('raises no service if the extraction of another one fails', async () => {
  const good = await startHostile()
  const bad = await startHostile({ extractChanges: { error: { code: 400, message: 'no' } } })
  const functions: unknown[] = []
  const changes = createChanges({ origins: [good.origin, bad.origin], inbox: createMemoryInbox() })
  const context = { onSuccess: (run: () => unknown) => void functions.push(run) }
  await expect(changes.of([good.event, bad.event], context)).rejects.toMatchObject({
    code: 'changes_failed',
  })
  expect(functions).toEqual([])
})

it('reads very many layers', async () => {
  const edits = Array.from({ length: 130_000 }, () => ({ id: 0 }))
  const server = await startHostile({ extractChanges: { edits } })
  const changes: Changes = await createChanges({ origins: [server.origin] }).of(server.event)
  expect(changes.layers).toHaveLength(edits.length)
})
