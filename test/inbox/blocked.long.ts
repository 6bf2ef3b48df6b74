// @module-tag sqlite
import { writeFileSync } from 'node:fs'
import { createReceiver } from 'geohook'
import { expect, it, onTestFinished } from 'vitest'
import { until } from '../contract/inbox/fixture.ts'
import { KEY } from '../helpers/deliver.ts'
import { createFolder } from '../helpers/folder.ts'
import { startNode } from '../helpers/process.ts'
import { describeWith, POSTGRES } from '../helpers/services.ts'
import { editOf } from './deliveries.ts'
import type { PoisonStore } from './poison.ts'
import { createPostgresStore, createSqliteStore } from './poison-stores.ts'

const APP = new URL('./apps/blocked.mjs', import.meta.url).pathname
const WAIT = 2_000
const LOST = 'Error: another process has taken the delivery over'

function describeBlocked(name: string, create: () => PoisonStore | Promise<PoisonStore>): void {
  it(`in ${name}, a group does not begin if another process handled it while the event loop was blocked`, async () => {
    const store = await create()
    const folder = createFolder()
    const [block, resume] = [folder.fileIn('block'), folder.fileIn('resume')]
    const { inbox, entry, factory, options } = store
    const env = { ENTRY: entry, FACTORY: factory, OPTIONS: JSON.stringify(options) }
    const app = startNode([APP], { ...env, WAIT: String(WAIT), BLOCK: block, RESUME: resume })
    onTestFinished(async () => {
      await app.stop('SIGKILL')
      await inbox.close()
      await store.remove()
      await folder.remove()
    })

    // The first call loads modules, so a second call begins sooner.
    const first = editOf()
    await inbox.put(first)
    await app.printed(new RegExp(`handling ${first.id}`))
    await until(async () => (await inbox.stats()).done === 1)
    const deliveries = [editOf(), editOf(), editOf()]
    await Promise.all(deliveries.map((delivery) => inbox.put(delivery)))
    await until(async () => (await inbox.stats()).active === 3)
    writeFileSync(block, '')
    await app.printed(/blocked/)
    const workers = inbox.work(createReceiver({ signatureKey: KEY }).on('*', () => {}))
    await until(async () => (await inbox.stats()).done === 4)
    await workers.close()
    writeFileSync(resume, '')

    const last = editOf()
    await inbox.put(last)
    await app.printed(new RegExp(`handling .*${last.id}`))
    for (const { id } of deliveries) await app.printed(new RegExp(`failed ${id}`))
    const lines = app.stdout.trim().split('\n').slice(2)
    expect(lines.sort()).toEqual(
      [...deliveries.map(({ id }) => `failed ${id} ${LOST}`), `handling ${last.id}.`].sort(),
    )
  })
}

describeBlocked('SQLite', () => createSqliteStore(5))
await describeWith(POSTGRES, (url) => describeBlocked('PostgreSQL', () => createPostgresStore(url, 5)))
