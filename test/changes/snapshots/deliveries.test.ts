import { createChanges, createSnapshots } from 'geohook/changes'
import { createMemoryRows } from 'geohook/inbox'
import { expect, it } from 'vitest'
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
  return { answers, compare }
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
