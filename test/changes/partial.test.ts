import { createChanges } from 'geohook/changes'
import { expect, it } from 'vitest'
import { type Reply, startHostile } from './contract/hostile-server.ts'
import { FAST } from './support.ts'

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

it('a document whose statusUrl is null is not a job', async () => {
  const server = await startHostile({ extractChanges: { statusUrl: null, edits: [{ id: 0 }] } })
  const changes = createChanges({ origins: [server.origin] })
  expect((await changes.of(server.event)).layers).toHaveLength(1)
})

it('a file that only names another file is malformed', async () => {
  const server = await startHostile({ file: WITH_FILE })
  const changes = createChanges({ origins: [server.origin], pollInterval: FAST })
  await expect(changes.of(server.event)).rejects.toMatchObject({ code: 'changes_malformed' })
})
