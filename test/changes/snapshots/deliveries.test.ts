import { createReceiver, type HandleOptions } from 'geohook'
import { createChanges, createSnapshots, type LayerComparison } from 'geohook/changes'
import { createMemoryRows } from 'geohook/inbox'
import { expect, it } from 'vitest'
import { KEY } from '../../helpers/deliver.ts'
import { toEvent } from '../support.ts'
import { runHistory } from './deliveries.ts'
import { ID, rowOf, SERVICE } from './support.ts'

it.each([
  { seed: 1, lost: 0, work: 'one' },
  { seed: 2, lost: 0.3, work: 'coalesce' },
  { seed: 3, lost: 0.3, work: 'four' },
] as const)('a history with lost, late and repeated deliveries is exact: %o', async (history) => {
  expect(await runHistory(history)).toMatchObject({ wrong: [] })
})

/** A feature that was deleted at generation 15 and returned at 25, and a function that compares a window in an attempt. */
function start() {
  const answers = { current: 30, features: {} as object }
  const fetch = async () =>
    Response.json({
      layerServerGens: [{ id: 0, serverGen: answers.current }],
      edits: [{ id: 0, features: answers.features }],
    })
  const changes = createChanges({ origins: [new URL(SERVICE).origin], fetch })
  const snapshots = createSnapshots({ store: createMemoryRows() })
  /** @returns a function that ends the attempt with success */
  async function compare(window: string, features: object) {
    answers.features = features
    const functions: (() => unknown)[] = []
    const context = { onSuccess: (run: () => unknown) => void functions.push(run) }
    const event = toEvent(`${SERVICE}/extractChanges?serverGens=${window}`)
    const [layer] = await snapshots.compare(await changes.of(event, context), context)
    return {
      kinds: layer?.features.map(({ kind }) => kind),
      async succeed() {
        for (const run of functions) await run()
      },
    }
  }
  const receiver = createReceiver({ signatureKey: KEY }).on('*', async (event, _, context) => {
    layers = await snapshots.compare(await changes.of(event, context), context)
  })
  let layers: LayerComparison[] = []
  /** Compares a window in a receiver, in an attempt that succeeds. */
  async function handle(window: string, current: number, features: object, context: HandleOptions = {}) {
    Object.assign(answers, { current, features })
    const changesUrl = `${SERVICE}/extractChanges?serverGens=${window}`
    const payload = { changesUrl, events: [{ eventType: 'FeaturesEdited', when: Date.now() }] }
    const rawBody = new TextEncoder().encode(JSON.stringify(payload))
    const members = { contentType: 'application/json', headers: {}, receivedAt: new Date() }
    await receiver.handle({ id: '0'.repeat(32), rawBody, profile: 'service', ...members }, context)
    return layers[0]?.features
  }
  return { answers, compare, handle }
}

const returned = { adds: [rowOf({ OBJECTID: 8 })] }
const deleted = { deleteIds: [ID] }

it('an old deletion does not remove a feature that has returned', async () => {
  const { compare } = start()
  const later = await compare('[20,30]', returned)
  await later.succeed()
  const earlier = await compare('[10,20]', deleted)
  expect([later.kinds, earlier.kinds]).toEqual([['add'], []])
})

it('an old deletion does not hide a feature of an extraction that was made earlier', async () => {
  const { answers, compare } = start()
  answers.current = 40
  const first = await compare('[10,20]', deleted)
  await first.succeed()
  answers.current = 35
  const second = await compare('[20,30]', returned)
  expect([first.kinds, second.kinds]).toEqual([['delete'], ['add']])
})

it('a rerun reports its features again, as they were last handled', async () => {
  const { handle } = start()
  const [oak, ash] = [rowOf({ name: 'oak' }), rowOf({ name: 'ash' })]
  const [id, rerun] = [ID.toLowerCase(), { rerun: true } as const]
  await handle('[10,20]', 20, { adds: [oak] })
  await handle('[20,30]', 30, { updates: [ash] })
  // Another attempt can have handled a newer state since this extraction.
  const added = { id, kind: 'add', before: ash, after: ash, changed: [], moved: false }
  expect(await handle('[10,20]', 20, { adds: [oak] }, rerun)).toEqual([added])
  expect(await handle('[10,20]', 20, deleted, rerun)).toEqual([])
  await handle('[30,40]', 40, deleted)
  expect(await handle('[10,35]', 40, deleted, rerun)).toEqual([{ id, kind: 'delete' }])
  expect(await handle('[10,20]', 20, { adds: [oak] }, rerun)).toEqual([])
  expect(await handle('[10,35]', 40, deleted)).toEqual([])
})
