// @module-tag sqlite
import { createSqliteInbox } from 'geohook/sqlite'
import { describe, expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { openDatabase } from '../../helpers/sqlite.ts'
import { deliveryOf } from '../deliveries.ts'
import { useFolder } from './fixture.ts'

const fixture = useFolder()
const { keep } = fixture

describe('a damaged row', () => {
  const damages: [string, string, RegExp][] = [
    ['a head that is not JSON', "UPDATE content SET head = '{' WHERE seq = 2", /cannot be read.*JSON/],
    ['the head null', "UPDATE content SET head = 'null' WHERE seq = 2", /cannot be read/],
    ['no content', 'DELETE FROM content WHERE seq = 2', /cannot be read.*its bytes are missing/],
    ['a number as its body', 'UPDATE content SET body = 7 WHERE seq = 2', /its bytes are missing/],
  ]
  it.each(damages)('with %s becomes a dead letter, and the others are handled', async (_, sql, error) => {
    const troubles: unknown[] = []
    const dead: [string, number, string][] = []
    const inbox = keep(
      createSqliteInbox({
        path: fixture.path,
        attempts: 2,
        observer: {
          trouble: ({ error }) => troubles.push(error),
          dead: ({ delivery, attempt, error }) => dead.push([delivery.id, attempt, String(error)]),
        },
      }),
    )
    const deliveries = [deliveryOf(), deliveryOf(), deliveryOf()]
    for (const delivery of deliveries) await inbox.put(delivery)
    damage(sql)
    const handled: string[] = []
    inbox.work({ handle: async ({ id }) => void handled.push(id) }, { concurrency: 3 })
    await until(async () => (await inbox.stats()).dead === 1)
    await until(async () => (await inbox.stats()).done === 2)
    const [first, second, third] = deliveries.map(({ id }) => id)
    expect(handled).toEqual([first, third])
    expect(troubles).toEqual([])
    expect((await inbox.get(second ?? ''))?.error).toMatch(error)
    // A retry fails in the same way. After that, the dead letter can be discarded.
    expect(await inbox.retry(second ?? '')).toBe(true)
    await until(async () => (await inbox.stats()).dead === 1)
    await until(() => dead.length === 2)
    expect(dead).toEqual(Array(2).fill([second, 1, expect.stringMatching(error)]))
    expect(await inbox.discard(second ?? '')).toBe(true)
    expect(await inbox.stats()).toMatchObject({ waiting: 0, active: 0, done: 2, dead: 0 })
  })

  it.each(['x', '7', '{}', '[null]', '[["erp"]]', '[["erp",7]]'])(
    'of a worker, with the names %s, stops no other worker',
    async (names) => {
      const inbox = keep(createSqliteInbox({ path: fixture.path }))
      await inbox.ready()
      damage(`INSERT INTO worker VALUES ('damaged', '${names}', '[]', ${Date.now()})`)
      const troubles: unknown[] = []
      const observer = { trouble: ({ error }: { error: unknown }) => troubles.push(error) }
      const other = keep(createSqliteInbox({ path: fixture.path, observer }))
      await other.put(deliveryOf())
      other.work({ handle: async () => {} })
      await until(async () => (await other.stats()).done === 1 || troubles.length > 0)
      expect(troubles).toEqual([])
    },
  )

  it.each([
    ['a head that is not JSON', "UPDATE content SET head = '{' WHERE seq = 2", 10],
    ['no content', 'DELETE FROM content WHERE seq = 2', 0],
    ['a number as its body', 'UPDATE content SET body = 7 WHERE seq = 2', 0],
    ['change types that are not JSON', "UPDATE delivery SET types = 'x' WHERE seq = 2", 10],
    ['change types that are not a list', "UPDATE delivery SET types = '7' WHERE seq = 2", 10],
  ])('with %s is listed, and get() returns its readable parts', async (_, sql, length) => {
    const inbox = keep(createSqliteInbox({ path: fixture.path }))
    const deliveries = [deliveryOf(), deliveryOf(), deliveryOf()]
    for (const delivery of deliveries) await inbox.put(delivery)
    damage(sql)
    const { entries } = await inbox.list()
    expect(entries.map(({ id }) => id)).toEqual(deliveries.map(({ id }) => id))
    expect(entries[1]).toMatchObject({ state: 'waiting', changeTypes: [], size: 10 })
    const item = await inbox.get(deliveries[1]?.id ?? '')
    expect(item?.delivery.id).toBe(deliveries[1]?.id)
    expect(item?.delivery.rawBody).toEqual(new Uint8Array(length))
  })

  it('has no content type, headers and profile if its head is damaged', async () => {
    const inbox = keep(createSqliteInbox({ path: fixture.path }))
    const delivery = deliveryOf()
    await inbox.put(delivery)
    damage("UPDATE content SET head = '{'")
    const { id, rawBody, receivedAt } = delivery
    expect((await inbox.get(id))?.delivery).toEqual({
      ...{ id, rawBody, receivedAt },
      ...{ contentType: '', headers: {}, profile: '' },
    })
  })

  it('with an invalid due time is due immediately', async () => {
    const inbox = keep(createSqliteInbox({ path: fixture.path }))
    for (let i = 0; i < 2; i++) await inbox.put(deliveryOf())
    damage("UPDATE task SET due = 'x', attempts = 'x', token = 'x', alone = 'x' WHERE seq = 1")
    inbox.work({ handle: async () => {} })
    await until(async () => (await inbox.stats()).done === 2)
  })

  function damage(sql: string): void {
    const db = openDatabase(fixture.path)
    db.exec(sql)
    db.close()
  }
})
