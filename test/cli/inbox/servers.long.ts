import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { DurableInbox } from 'geohook/inbox'
import { createPostgresDuplicates, createPostgresInbox } from 'geohook/postgres'
import pg from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import {
  createFolder,
  geohook,
  type RunResult,
  startGeohook,
  withListener,
  withoutProgress,
} from '../../helpers/cli.ts'
import { fill, handleAll, ONE_ATTEMPT, payloads } from '../../helpers/dead-letters.ts'
import { KEY } from '../../helpers/deliver.ts'
import { UNKNOWN_ID } from '../../helpers/inboxes.ts'
import { createPrivatePostgres, findPostgres } from '../../helpers/private-postgres.ts'
import { describeWith, POSTGRES } from '../../helpers/services.ts'
import { deliveryWithId } from '../../inbox/deliveries.ts'

const folder = createFolder()
const name = `geohook_test_${randomUUID().replaceAll('-', '').slice(0, 16)}`

await describeWith(POSTGRES, (url) => {
  const inbox = createPostgresInbox({
    connectionString: url,
    schema: name,
    queue: 'parcels',
    ...ONE_ATTEMPT,
  })
  testCommands(inbox, url, ['--schema', name, '--queue', 'parcels'])

  it('refuses a missing schema or queue without creating it', async () => {
    const missing = `${name}_x`
    const result = await geohook(['inbox', 'stats', '--store', url, '--schema', missing])
    expect(result).toMatchObject({ code: 2, stdout: '' })
    expect(result.stderr).toContain('no inbox with that name in')
    expect(await schemas(url, missing)).toEqual([])
    const queue = await geohook(['inbox', 'stats', '--store', url, '--schema', name, '--queue', 'missing'])
    expect(queue).toMatchObject({ code: 2, stdout: '' })
  })

  it('init creates the tables, or prints SQL with which a role that may create none can use them', async () => {
    const [own, shared, role] = [`${name}_own`, `${name}_shared`, `${name}_role`]
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    onTestFinished(async () => {
      await client.query(`drop schema if exists ${own} cascade; drop schema if exists ${shared} cascade`)
      await client.query(`drop role if exists ${role}`)
      await client.end()
    })
    for (const _ of [1, 2])
      expect(await geohook(['inbox', 'init', '--store', url, '--schema', own])).toMatchObject({ code: 0 })
    expect(await geohook(['inbox', 'stats', '--store', url, '--schema', own])).toMatchObject({ code: 0 })

    await client.query(`create role ${role} login password 'x'`)
    const print = ['inbox', 'init', '--print-sql', '--role', role, '--schema', shared]
    const { stdout, code } = await geohook(print)
    expect(code).toBe(0)
    for (const _ of [1, 2]) await client.query(stdout)
    const address = new URL(url)
    Object.assign(address, { username: role, password: 'x' })
    const options = { connectionString: address.href, schema: shared }
    const [limited, duplicates] = [createPostgresInbox(options), createPostgresDuplicates(options)]
    expect(await limited.put(deliveryWithId(UNKNOWN_ID))).toBe('stored')
    expect(await limited.discard(UNKNOWN_ID)).toBe(true)
    expect(await duplicates.claim(UNKNOWN_ID)).toBe('claimed')
    await Promise.all([limited.close(), duplicates.close()])

    expect(await geohook(['inbox', 'init', '--print-sql'])).toMatchObject({ code: 2 })
    expect(await geohook(['inbox', 'init', '--store', 'inbox.db'])).toMatchObject({ code: 2 })
    expect((await geohook([...print.slice(0, -1), 'x; --'])).stderr).toContain('schema must be letters')
  })

  afterAll(async () => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(`drop schema if exists ${name} cascade`)
    await client.end()
  })
})

const programs = findPostgres()
it.skipIf(!programs && process.env.CI !== 'true')(
  'geohook inbox ui survives a crash of its store without any output, and stops while it is away',
  async () => {
    const server = await createPrivatePostgres(programs ?? '')
    onTestFinished(() => server.remove())
    await server.start()
    const inbox = createPostgresInbox({ connectionString: server.url, observer: { trouble() {} } })
    await fill(inbox, payloads(1))
    await inbox.close()
    const ui = startGeohook(['inbox', 'ui', '--port', '0', '--store', server.url])
    onTestFinished(async () => void (await ui.stop()))
    const [, url = ''] = await ui.printed(/(http:\/\/[\d.]+:\d+)\//)
    const stream = await fetch(`${url}/live`)
    await server.kill()
    const page = await fetch(url)
    expect(page.status).toBe(503)
    expect(await page.text()).toContain('The store of the inbox is unreachable')
    expect(await ui.stop()).toBe(0)
    await stream.body?.cancel().catch(() => {})
    expect(withoutProgress(ui.stderr)).toBe('')
  },
)

async function schemas(connectionString: string, name: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return (await client.query('select 1 from pg_namespace where nspname = $1', [name])).rows
  } finally {
    await client.end()
  }
}

/** Tests the `geohook inbox` commands on one inbox. */
function testCommands(inbox: DurableInbox, store: string, options: string[]): void {
  let dead: string[] = []
  beforeAll(async () => {
    await fill(inbox, payloads(2))
    await handleAll(inbox)
    dead = await fill(inbox, payloads(20))
    await handleAll(inbox, 'the map is away')
  })
  afterAll(() => inbox.close())

  const run = (...args: string[]): Promise<RunResult> =>
    geohook(['inbox', ...args, ...options], { env: { GEOHOOK_INBOX: store } })
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(...args, '--json')
    expect(stderr).toBe('')
    return { code, ...JSON.parse(stdout) }
  }

  it('prints, exports, retries, discards and purges deliveries', async () => {
    expect(await json('stats')).toEqual({
      ...{ code: 0, waiting: 0, active: 0, done: 2, dead: 20, unhandled: 0 },
      paused: false,
    })
    const first = await json('list', '--state', 'dead', '--limit', '12')
    const rest = await json('list', '--state', 'dead', '--limit', '12', '--after', first.next)
    const listed = [...first.entries, ...rest.entries].map(({ id }: { id: string }) => id)
    expect(listed.sort()).toEqual([...dead].sort())
    expect((await run('list', '--limit', '3')).stdout.trimEnd().split('\n')).toHaveLength(5)

    const [id = ''] = dead
    expect((await run('show', id)).stdout).toContain('the map is away')
    const { stdout: capture } = await run('export', id)
    await withListener(['--key', KEY], async (url) => {
      expect(await geohook(['replay', '-', '--to', url], { stdin: capture })).toMatchObject({ code: 0 })
    })
    expect(
      (await json('export', '--dead', '--out', join(folder.path, options[0] ?? ''))).exported,
    ).toHaveLength(20)

    const [done] = (await json('list', '--state', 'done')).entries
    expect(await json('retry', done.id, UNKNOWN_ID)).toMatchObject({
      code: 1,
      refused: [{ state: 'done' }, { id: UNKNOWN_ID, state: null }],
    })
    const errors = await geohook(['inbox', 'errors', '--store', store, ...options])
    expect(errors.stdout).toContain(`--error 'Error: the map is away' --store … ${options.join(' ')}\n`)
    expect(await json('discard', id)).toEqual({ code: 0, discarded: 1, refused: [] })
    expect(await json('retry', '--dead')).toEqual({ code: 0, retried: 19, refused: [] })
    expect(await inbox.stats()).toMatchObject({ waiting: 19, dead: 0, done: 2 })
    await handleAll(inbox, 'the map is still away')
    expect(await json('discard', '--dead', '--yes')).toEqual({ code: 0, discarded: 19, refused: [] })
    expect(await json('purge', '--state', 'done', '--older-than', '1h')).toEqual({ code: 0, removed: 0 })
    expect(await json('purge', '--state', 'done')).toEqual({ code: 0, removed: 2 })
  })
}
