import { createChanges } from 'geohook/changes'
import { expect, it } from 'vitest'
import { type Reply, startHostile } from './contract/hostile-server.ts'
import { FAST, toEvent } from './support.ts'

const json =
  (answer: (origin: string) => object): Reply =>
  (res, origin) =>
    res.end(JSON.stringify(answer(origin)))

/** A document whose edits are in the file. */
const WITH_FILE = json((origin) => ({
  transportType: 'esriTransportTypeUrl',
  responseType: 'esriDataChangesResponseTypeEdits',
  resultUrl: `${origin}/file`,
}))

let polls = 0
const running = json((origin) =>
  polls++ === 0
    ? { status: 'ExportChanges', edits: [] }
    : { status: 'Completed', edits: [], resultUrl: `${origin}/file` },
)

it.each<[string, Record<string, Reply>]>([
  ['an answer at once that names a file', { extractChanges: WITH_FILE }],
  ['a job that lists edits while it runs', { status: running }],
])('%s is not the whole document', async (_, replies) => {
  const server = await startHostile(replies)
  const changes = createChanges({ origins: [server.origin], pollInterval: FAST })
  expect((await changes.of(server.event)).layers).toMatchObject([{ deletes: { ids: ['A'] } }])
})

it.each([null, ''])('a document whose statusUrl is %j is not a job', async (statusUrl) => {
  const server = await startHostile({ extractChanges: { statusUrl, edits: [{ id: 0 }] } })
  const changes = createChanges({ origins: [server.origin] })
  expect((await changes.of(server.event)).layers).toHaveLength(1)
})

it('a file that only names another file is malformed', async () => {
  const server = await startHostile({ file: WITH_FILE })
  const changes = createChanges({ origins: [server.origin], pollInterval: FAST })
  await expect(changes.of(server.event)).rejects.toMatchObject({ code: 'changes_malformed' })
})

it('a job without edits needs no file', async () => {
  const status = {
    status: 'Completed',
    responseType: 'esriDataChangesResponseTypeNoEdits',
    resultUrl: '',
    layerServerGens: [{ id: 0, serverGen: 7 }],
  }
  const server = await startHostile({ status })
  const changes = createChanges({ origins: [server.origin], pollInterval: FAST })
  expect(await changes.of(server.event)).toEqual({
    layers: [],
    layerServerGens: [{ service: server.url, id: 0, serverGen: 7 }],
  })
})

it('waits for another state if the state of a job is not text', async () => {
  let polls = 0
  const status: Reply = (res) =>
    res.end(
      JSON.stringify(
        polls++ === 0
          ? { status: { toString: 1 } }
          : { status: 'Completed', resultUrl: `${server.origin}/file` },
      ),
    )
  const server = await startHostile({ status })
  const changes = createChanges({ origins: [server.origin], pollInterval: FAST })
  expect((await changes.of(server.event)).layers).toHaveLength(1)
})

it('takes the ids of deleted features from their rows if there are no others', async () => {
  const deletes = [{ attributes: { objectid: 7, globalid: '{A}' } }, { attributes: { OBJECTID: 8 } }]
  const server = await startHostile({ extractChanges: { edits: [{ id: 0, features: { deletes } }] } })
  const changes = createChanges({ origins: [server.origin] })
  expect((await changes.of(server.event)).layers).toMatchObject([{ deletes: { ids: ['{A}', '8'] } }])
})

it('reads odd members of attachments as missing', async () => {
  const odd = { toString: 1, valueOf: 1 }
  const adds = [
    { attachmentId: odd, size: odd, name: odd, url: odd },
    // Found by fuzzing: too large for a number.
    { attachmentId: '1e400', size: '1e400', name: '' },
  ]
  const server = await startHostile({ extractChanges: { edits: [{ id: 0, attachments: { adds } }] } })
  const changes = createChanges({ origins: [server.origin] })
  const [layer] = (await changes.of(server.event)).layers
  expect(layer?.attachments.adds).toMatchObject(adds.map(() => ({ attachmentId: 0, size: 0, name: '' })))
})

it.each([null, undefined, { cause: null }, Object.create(null)])(
  'a function fetch that rejects with %o is changes_unavailable',
  async (thrown) => {
    const changes = createChanges({
      origins: ['https://gis.example.com'],
      pollInterval: FAST,
      fetch: () => Promise.reject(thrown),
    })
    const event = toEvent(
      'https://gis.example.com/rest/services/P/FeatureServer/extractChanges?serverGens=[1,2]',
    )
    await expect(changes.of(event)).rejects.toMatchObject({ code: 'changes_unavailable' })
  },
)

it('extracts each version of the data separately', async () => {
  const server = await startHostile({ extractChanges: { edits: [] } })
  const changes = createChanges({ origins: [server.origin] })
  const event = (query: string) => toEvent(`${server.url}/extractChanges?${query}`)
  await changes.of([event('serverGens=[1,2]&gdbVersion=A'), event('serverGens=[2,3]&gdbVersion=B')])
  const asked = server.got.map(({ all }) => new URLSearchParams(all.split(' ').at(-1)))
  expect(asked.map((fields) => [fields.get('serverGens'), fields.get('gdbVersion')])).toEqual([
    ['[1,2]', 'A'],
    ['[2,3]', 'B'],
  ])
})
