import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createReceiver } from 'geohook'
import type { DurableInbox } from 'geohook/inbox'
import { createPostgresInbox } from 'geohook/postgres'
import { createSqliteInbox } from 'geohook/sqlite'
import { expect, it, onTestFinished, vi } from 'vitest'
import { describePostgres } from '../../contract/inbox/postgres.ts'
import { createFolder, startProcess } from '../../helpers/cli.ts'
import { ONE_ATTEMPT } from '../../helpers/dead-letters.ts'
import { KEY } from '../../helpers/deliver.ts'
import { editOf } from '../../inbox/deliveries.ts'

/** The times also hold for 100,000, but filling the inbox takes too long then. */
const COUNT = 20_000
const [A, B, C] = [6_667, 6_667, 6_666]
const KINDS = ['the map is away', 'HTTP 503 from https://erp.example.com/orders/*', 'no room for it']

/** Fills an inbox with dead letters of three kinds. */
async function fillWithDead(inbox: DurableInbox): Promise<void> {
  for (let stored = 0; stored < COUNT; stored += 1_000)
    await Promise.all(Array.from({ length: 1_000 }, () => inbox.put(editOf())))
  let number = 0
  const receiver = createReceiver({ signatureKey: KEY, inbox, observer: { failed() {} } }).on('*', () => {
    const id = number++
    throw new Error(KINDS[id % 3]?.replace('*', `${10_000 + id}`))
  })
  const workers = inbox.work(receiver, { concurrency: 1_000 })
  await vi.waitUntil(async () => (await inbox.stats()).dead === COUNT, { timeout: 300_000, interval: 200 })
  await workers.close()
}

/** Does what an operator does after an outage, in under ten commands and a minute. */
async function operate(inbox: DurableInbox, store: string[], out: string): Promise<void> {
  const times: string[] = []
  let total = 0
  const run = async (...args: string[]): Promise<string> => {
    const started = performance.now()
    const geohook = startProcess(['inbox', ...args, ...store])
    const code = await geohook.exited
    const milliseconds = Math.round(performance.now() - started)
    expect([code, geohook.stderr.replace(/^.* \(\d+ s\)\n/gm, '')]).toEqual([0, ''])
    times.push(`${milliseconds} ms: geohook inbox ${args.join(' ')}`)
    total += milliseconds
    return geohook.stdout.trimEnd()
  }
  expect(await run('stats', '--json')).toContain(`"dead": ${COUNT}`)
  const errors = await run('errors')
  for (const [index, kind] of KINDS.entries())
    expect(errors).toMatch(
      new RegExp(`${[A, B, C][index]} dead letters, .*: Error: ${kind.replace('*', '\\*')}\n`),
    )
  expect(
    (await run('list', '--state', 'dead', '--error', 'the map', '--limit', '3')).split('\n'),
  ).toHaveLength(5)
  expect(await run('retry', '--dead', '--error', 'the map is away')).toBe(
    `${A} of ${COUNT} dead letters retried`,
  )
  expect(await run('export', '--dead', '--error', 'HTTP 503', '--out', out)).toMatch(
    new RegExp(`\n${B} of ${COUNT - A} dead letters exported$`),
  )
  expect(await run('discard', '--dead', '--error', 'no room for it', '--yes')).toBe(
    `${C} of ${COUNT - A} dead letters discarded`,
  )
  await run('stats')
  console.info([...times, `${total} ms in all`].join('\n'))
  expect(readdirSync(out)).toHaveLength(B)
  expect(await inbox.stats()).toMatchObject({ waiting: A, dead: B, done: 0 })
  expect(total).toBeLessThan(60_000)
}

const folder = createFolder()

it('an operator sorts out dead letters in SQLite', { tags: ['sqlite'] }, async () => {
  const path = join(folder.path, 'inbox.db')
  const inbox = createSqliteInbox({ path, ...ONE_ATTEMPT })
  onTestFinished(() => inbox.close())
  await fillWithDead(inbox)
  await operate(inbox, ['--store', path], join(folder.path, 'sqlite'))
})

await describePostgres(({ connectionString, schema }) => {
  it('an operator sorts out dead letters in PostgreSQL', async () => {
    const inbox = createPostgresInbox({ connectionString, schema, ...ONE_ATTEMPT })
    onTestFinished(() => inbox.close())
    await fillWithDead(inbox)
    await operate(inbox, ['--store', connectionString, '--schema', schema], join(folder.path, 'postgres'))
  })
})
