// @module-tag sqlite
import { createSqliteInbox } from 'geohook/sqlite'
import { expect, it } from 'vitest'
import { openDatabase } from '../../helpers/sqlite.ts'
import { deliveryOf } from '../deliveries.ts'
import { useFolder } from './fixture.ts'

const fixture = useFolder()

/** A fixed time. */
const START = 1_700_000_000_000

it('the stored time follows the clock, at most half a second behind, and moves back with it', async () => {
  let now = START
  const inbox = fixture.keep(createSqliteInbox({ path: fixture.path, clock: () => now }))
  const stored: number[] = []
  for (const time of [0, 499, 500, 999, 1_000, 1_000, 999, 1_498, 1_499]) {
    now = START + time
    await inbox.put(deliveryOf())
    stored.push(latest() - START)
  }
  expect(stored).toEqual([0, 0, 500, 500, 1_000, 1_000, 999, 999, 1_499])
})

it('a clock that is set back moves waiting deliveries once, also if another inbox sees it', async () => {
  let now = START
  const open = () => fixture.keep(createSqliteInbox({ path: fixture.path, clock: () => now }))
  const [first, second] = [open(), open()]
  const delivery = deliveryOf()
  await first.put(delivery)
  await second.put(deliveryOf())
  now -= 10_000
  await first.put(deliveryOf())
  await second.put(deliveryOf())
  expect((await first.get(delivery.id))?.dueAt).toEqual(new Date(START - 10_000))
})

function latest(): number {
  const db = openDatabase(fixture.path)
  const row = db.prepare('SELECT latest FROM clock').get() as { latest: number }
  db.close()
  return row.latest
}
