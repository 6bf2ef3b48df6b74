// @module-tag sqlite
import type { Delivery } from 'geohook'
import { createSqliteInbox } from 'geohook/sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { createFolder } from '../../helpers/folder.ts'
import { openDatabase } from '../../helpers/sqlite.ts'
import { editOf } from '../deliveries.ts'

const changesUrl =
  'https://gis.example.com/rest/services/Parcels/FeatureServer/extractChanges?serverGens=[1,2]'

it('releases held deliveries that wait for no other, also if only workers without an order are left', async () => {
  const { fileIn, remove } = createFolder()
  const path = fileIn('inbox.db')
  const inbox = createSqliteInbox({ path })
  onTestFinished(() => inbox.close().then(remove))
  const events = [{ changesUrl }] as Delivery['events']
  const deliveries = [editOf(), editOf()].map((delivery) => ({ ...delivery, events }))
  for (const delivery of deliveries) await inbox.put(delivery)
  const db = openDatabase(path)
  db.exec('UPDATE task SET state = 5')
  db.close()
  const handled: string[] = []
  inbox.work({ handle: async ({ id }) => handled.push(id) })
  await until(async () => (await inbox.stats()).done === 2)
  expect(handled).toEqual(deliveries.map(({ id }) => id))
})
