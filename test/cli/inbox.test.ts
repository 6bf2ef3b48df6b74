import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSqliteInbox } from 'geohook/sqlite'
import { describe, expect, it } from 'vitest'
import { createFolder, geohook, type Ran, withListener } from '../helpers/cli.ts'
import { fill, ONE_ATTEMPT, payloads, workOff } from '../helpers/dead-letters.ts'
import { KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'

const folder = createFolder()
const NOBODY = '0'.repeat(32)
const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/
let number = 0

/** What a test has in its inbox: ids by state. */
interface Filled {
  path: string
  inbox: ReturnType<typeof createSqliteInbox>
  done: string[]
  dead: string[]
  waiting: string[]
  /** Runs a command of `geohook inbox` over it. */
  run(...args: string[]): Promise<Ran>
}

/** An inbox with so many deliveries in each state. */
async function withInbox(
  counts: { done?: number; dead?: number; waiting?: number },
  use: (filled: Filled) => Promise<void>,
): Promise<void> {
  const path = join(folder.path, `inbox-${number++}.db`)
  const inbox = createSqliteInbox({ path, ...ONE_ATTEMPT })
  try {
    const done = await fill(inbox, payloads(counts.done ?? 0))
    await workOff(inbox)
    const dead = await fill(inbox, payloads(counts.dead ?? 0))
    await workOff(inbox, 'the map is away\n  at line 2')
    const waiting = await fill(inbox, payloads(counts.waiting ?? 0))
    const run = (...args: string[]): Promise<Ran> => geohook(['inbox', ...args, '--store', path])
    await use({ path, inbox, done, dead, waiting, run })
  } finally {
    await inbox.close()
  }
}

const lines = ({ stdout }: Ran): string[] => stdout.trimEnd().split('\n')
const json = ({ stdout }: Ran) => JSON.parse(stdout)

describe.concurrent('geohook inbox stats', () => {
  it('counts by state, and tells how long the oldest waits', () =>
    withInbox({ done: 1, dead: 2, waiting: 3 }, async ({ inbox, run }) => {
      const ran = await run('stats')
      expect(ran).toMatchObject({ code: 0, stderr: '' })
      const table = lines(ran).map((line) => line.split(/ {2,}/))
      expect(table.slice(0, 5)).toEqual([
        ['state', 'deliveries'],
        ['waiting', '3'],
        ['active', '0'],
        ['done', '1'],
        ['dead', '2'],
      ])
      const { oldest } = await inbox.stats()
      expect(lines(ran)[5]).toMatch(
        new RegExp(`^oldest waiting: ${oldest?.toISOString()}, \\d+ (s|min) ago$`),
      )
      expect(json(await run('stats', '--json'))).toEqual({
        waiting: 3,
        active: 0,
        done: 1,
        dead: 2,
        oldest: oldest?.toISOString(),
        age: expect.any(Number),
      })
    }))

  it('of an empty inbox tells of no age', () =>
    withInbox({}, async ({ run }) => {
      expect(json(await run('stats', '--json'))).toEqual({ waiting: 0, active: 0, done: 0, dead: 0 })
      expect((await run('stats')).stdout).not.toContain('oldest')
    }))
})

describe.concurrent('geohook inbox list', () => {
  it('is a table, those received first at the beginning', () =>
    withInbox({ done: 1, dead: 1, waiting: 1 }, async ({ run, done, dead, waiting }) => {
      const [head, ...rows] = lines(await run('list'))
      expect(head).toMatch(/^id +state +attempts +received +next or end +change types +size +error$/)
      expect(rows.map((row) => row.split(/ {2,}/).slice(0, 3))).toEqual([
        [...done, 'done', '1'],
        [...dead, 'dead', '1'],
        [...waiting, 'waiting', '0'],
      ])
      const [, , , received, ended, types, size, error] = rows[1]?.split(/ {2,}/) ?? []
      expect(received).toMatch(TIME)
      expect(ended).toMatch(TIME)
      expect([types, Number(size) > 0]).toEqual(['FeaturesCreated', true])
      expect(error).toBe('Error: the map is away at line 2')
    }))

  it('lists one state, in pages', () =>
    withInbox({ done: 1, dead: 3 }, async ({ run, inbox }) => {
      const { entries } = await inbox.list({ state: 'dead' })
      const first = json(await run('list', '--state', 'dead', '--limit', '2', '--json'))
      expect(first.entries).toEqual(JSON.parse(JSON.stringify(entries.slice(0, 2))))
      const text = lines(await run('list', '--state', 'dead', '--limit', '2'))
      expect(text.at(-1)).toBe(`there may be more: --after ${first.next}`)
      const rest = json(await run('list', '--state', 'dead', '--limit', '2', '--after', first.next, '--json'))
      expect(rest).toEqual({ entries: JSON.parse(JSON.stringify(entries.slice(2))) })
    }))

  it('says that there is nothing', () =>
    withInbox({}, async ({ run }) => {
      expect(await run('list')).toEqual({ code: 0, stdout: 'there are no deliveries\n', stderr: '' })
    }))
})

describe.concurrent('geohook inbox show', () => {
  it('tells everything about a dead letter', () =>
    withInbox({ dead: 1 }, async ({ run, inbox, dead: [id = ''] }) => {
      const item = await inbox.get(id)
      const body = Buffer.from(item?.delivery.rawBody ?? []).toString()
      const { code, stdout } = await run('show', id)
      expect(code).toBe(0)
      expect(stdout).toMatch(new RegExp(`^id +${id}\nstate +dead\nattempts +1\nreceived +${TIME.source}\n`))
      expect(stdout).toMatch(/\nprofile +service\nkey +number 1\ncontent type +application\/json\nsize +\d+ /)
      expect(stdout).toContain('error\n  ')
      expect(stdout).toContain('the map is away\n    at line 2\nheaders\n')
      expect(stdout).toContain(`\n  x-service: ${signatureOf(body)}\n`)
      expect(stdout.endsWith(`\nbody\n  ${body}\n`)).toBe(true)

      const shown = json(await run('show', id, '--json'))
      expect(shown).toMatchObject({
        id,
        state: 'dead',
        attempts: 1,
        profile: 'service',
        keyIndex: 0,
        text: body,
      })
      expect(shown.headers).toContainEqual(['x-service', signatureOf(body)])
      expect(Buffer.from(shown.body, 'base64').toString()).toBe(body)
    }))

  it('hides credentials, and cuts a long body', () =>
    withInbox({}, async ({ run, inbox }) => {
      const headers = {
        secret: 'GEHEIM-1',
        authorization: 'Basic GEHEIM-2',
        cookie: 'a=GEHEIM-3',
        'x-a': 'seen',
      }
      const body = JSON.stringify({ ...JSON.parse(payloadOf('FeaturesCreated')), text: 'ü'.repeat(20_000) })
      const [id = ''] = await fill(inbox, [body], headers)
      for (const mode of [[], ['--json']]) {
        const { stdout, code } = await run('show', id, ...mode)
        expect(code).toBe(0)
        expect(stdout).not.toContain('GEHEIM')
        expect(stdout.match(/\*\*\*/g)).toHaveLength(3)
        expect(stdout).toContain('seen')
        expect(stdout).not.toContain('\ufffd')
      }
      const { stdout } = await run('show', id)
      expect(stdout).toMatch(/\n {2}\(and \d+ bytes more; "geohook inbox export" has them\)\n$/)
      expect(stdout.length).toBeLessThan(18_000)
    }))

  it('ends with 1 for what is not there', () =>
    withInbox({}, async ({ run }) => {
      const ran = await run('show', NOBODY)
      expect(ran).toMatchObject({ code: 1, stdout: '' })
      expect(ran.stderr).toContain(`no: there is no delivery ${NOBODY} in the inbox\n`)
    }))
})

describe.concurrent.each([
  ['retry', 'retried', 'waiting'],
  ['discard', 'discarded', undefined],
] as const)('geohook inbox %s', (command, verb, after) => {
  it('does it with those that it can be done with, tells which not, and ends with 1', () =>
    withInbox({ done: 1, dead: 1, waiting: 1 }, async ({ run, inbox, done, dead, waiting }) => {
      const ran = await run(command, ...dead, ...done, NOBODY, ...waiting)
      expect(ran).toEqual({
        code: 1,
        stderr: '',
        stdout: [
          `${verb} ${dead}`,
          `not ${verb} ${done}: it is done`,
          `not ${verb} ${NOBODY}: it is not in the inbox`,
          `${verb} ${waiting}`,
          `2 deliveries ${verb}, of 4`,
          '',
        ].join('\n'),
      })
      for (const id of [...dead, ...waiting]) expect((await inbox.get(id))?.state).toBe(after)
      const again = await run(command, ...done, NOBODY, '--json')
      expect(again.code).toBe(1)
      expect(json(again)).toEqual({
        [verb]: 0,
        refused: [
          { id: done[0], state: 'done' },
          { id: NOBODY, state: null },
        ],
      })
    }))

  it('takes all dead letters with --dead, and no others', () =>
    withInbox({ done: 1, dead: 2, waiting: 1 }, async ({ run, inbox }) => {
      const all = command === 'discard' ? ['--dead', '--yes'] : ['--dead']
      expect(await run(command, ...all)).toEqual({ code: 0, stdout: `2 dead letters ${verb}\n`, stderr: '' })
      expect(await inbox.stats()).toMatchObject({ done: 1, dead: 0, waiting: after ? 3 : 1 })
      expect(json(await run(command, ...all, '--json'))).toEqual({ [verb]: 0, refused: [] })
      expect((await run(command, ...all)).stdout).toBe('there are no dead letters\n')
    }))
})

it('geohook inbox retry --dead takes 2,000 dead letters at once, which are handled then', async () => {
  await withInbox({ dead: 2_000 }, async ({ run, inbox }) => {
    const begun = performance.now()
    expect(json(await run('retry', '--dead', '--json'))).toEqual({ retried: 2_000, refused: [] })
    expect(performance.now() - begun).toBeLessThan(20_000)
    await workOff(inbox)
    expect(await inbox.stats()).toMatchObject({ done: 2_000, dead: 0, waiting: 0 })
  })
})

describe.concurrent('geohook inbox purge', () => {
  it('removes what has ended so long ago, and tells how many', () =>
    withInbox({ done: 2, dead: 1, waiting: 1 }, async ({ run, inbox }) => {
      expect((await run('purge', '--state', 'done', '--older-than', '7d')).stdout).toBe(
        '0 deliveries removed\n',
      )
      expect(await run('purge', '--state', 'done', '--older-than', '0s')).toEqual({
        code: 0,
        stdout: '2 deliveries removed\n',
        stderr: '',
      })
      expect(json(await run('purge', '--state', 'dead', '--json'))).toEqual({ removed: 1 })
      expect(await inbox.stats()).toMatchObject({ done: 0, dead: 0, waiting: 1 })
    }))
})

describe.concurrent('geohook inbox export', () => {
  it('writes a dead letter that replay sends again, and a receiver verifies', () =>
    withInbox({ dead: 2 }, async ({ run, inbox, path, dead }) => {
      const out = join(folder.path, 'captures')
      const ran = await run('export', ...dead, NOBODY, '--out', out)
      expect(ran.code).toBe(1)
      const names = readdirSync(out).sort()
      expect(names.map((name) => name.replace(/^.*-(\d{4}-.*)\.json$/, '$1')).sort()).toEqual(
        dead.map((id, index) => `000${index + 1}-${id}`),
      )
      expect(lines(ran).slice(2)).toEqual([
        ...dead.map((id) => `exported ${id}`),
        `not exported ${NOBODY}: it is not in the inbox`,
        '2 deliveries exported, of 3',
      ])
      const capture = JSON.parse(readFileSync(join(out, names[0] ?? ''), 'utf8'))
      expect(capture).toMatchObject({ method: 'POST', url: '/', outcome: { status: 202 } })

      const { listener } = await withListener(
        ['--key', KEY, '--count', '2', '--json'],
        async (url, { exited }) => {
          const replayed = await geohook(['replay', out, '--to', url])
          expect(replayed).toMatchObject({ code: 0, stderr: '' })
          await exited
        },
      )
      expect(listener.stdout.match(/"finding":"verified"/g)).toHaveLength(2)
      expect((await inbox.stats()).dead).toBe(2)

      const again = await geohook(['inbox', 'export', '--dead', '--out', out, '--store', path, '--json'])
      expect(again.code).toBe(2)
      expect(JSON.parse(again.stderr).error.message).toContain('a capture of that name is there already')
    }))

  it('prints one, which replay reads', () =>
    withInbox({ dead: 1 }, async ({ run, inbox, dead: [id = ''] }) => {
      const { code, stdout } = await run('export', id)
      expect(code).toBe(0)
      const rawBody = (await inbox.get(id))?.delivery.rawBody ?? []
      expect(JSON.parse(stdout).body).toBe(Buffer.from(rawBody).toString('base64'))
      await withListener(['--key', KEY], async (url) => {
        expect(await geohook(['replay', '-', '--to', url], { stdin: stdout })).toMatchObject({ code: 0 })
      })
      expect(await run('export', NOBODY)).toMatchObject({ code: 1, stdout: '' })
    }))

  it('exports all dead letters', () =>
    withInbox({ done: 1, dead: 3 }, async ({ run, dead }) => {
      const out = join(folder.path, 'all')
      const { exported, refused } = json(await run('export', '--dead', '--out', out, '--json'))
      expect(exported.map(({ id }: { id: string }) => id).sort()).toEqual([...dead].sort())
      expect(exported.map(({ file }: { file: string }) => file).sort()).toEqual(
        readdirSync(out)
          .sort()
          .map((name) => join(out, name)),
      )
      expect(refused).toEqual([])
    }))
})

describe('what a stranger has sent', () => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
  const DRAWING = /[\0-\x08\x0b-\x1f\x7f-\x9f\u202e\u2028]/

  it('draws nothing on a terminal, in no command', () =>
    withInbox({}, async ({ run, inbox }) => {
      const hostile = '\u001b]0;x\u0007\u202e\u2028\u009b31m\r\nid  state'
      const [id = ''] = await fill(inbox, payloads(1, hostile), {
        'x-hostile': 'a\u009b31mb',
      })
      await workOff(inbox, hostile)
      expect((await inbox.get(id))?.error).toContain('\u001b')
      for (const args of [['list'], ['show', id], ['export', id], ['retry', id]]) {
        for (const mode of [[], ['--json']]) {
          const { stdout, stderr, code } = await run(...args, ...mode)
          expect([args[0], code]).toEqual([args[0], 0])
          expect(stdout + stderr).not.toMatch(DRAWING)
        }
      }
      // In a table, each delivery is one line.
      expect(lines(await run('list'))).toHaveLength(2)
    }))
})
