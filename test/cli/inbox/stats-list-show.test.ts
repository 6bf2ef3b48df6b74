// @module-tag sqlite
import { createReceiver } from 'geohook'
import { describe, expect, it } from 'vitest'
import { parseStdout } from '../../helpers/cli.ts'
import { fill, handleAll, handleNamed, payloads } from '../../helpers/dead-letters.ts'
import { deliver, KEY, payloadOf, signatureOf } from '../../helpers/deliver.ts'
import { createInboxes, linesOf, UNKNOWN_ID } from '../../helpers/inboxes.ts'

const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/
const { withInbox } = createInboxes()
const indent = (line: string): string => `  ${line}`

describe.concurrent('geohook inbox stats', () => {
  it('prints the number of deliveries in each state, and how long the oldest one has been waiting', () =>
    withInbox({ done: 1, dead: 2, unhandled: 1, waiting: 3 }, async ({ inbox, run }) => {
      const result = await run('stats')
      expect(result).toMatchObject({ code: 0, stderr: '' })
      const table = linesOf(result).map((line) => line.split(/ {2,}/))
      expect(table.slice(0, 6)).toEqual([
        ['state', 'deliveries'],
        ['waiting', '3'],
        ['active', '0'],
        ['done', '1'],
        ['dead', '2'],
        ['unhandled', '1'],
      ])
      const { oldest } = await inbox.stats()
      expect(linesOf(result)[6]).toMatch(
        new RegExp(`^oldest waiting: ${oldest?.toISOString()}, \\d+ (ms|s|min) ago$`),
      )
      expect(parseStdout(await run('stats', '--json'))).toEqual({
        waiting: 3,
        active: 0,
        done: 1,
        dead: 2,
        unhandled: 1,
        oldest: oldest?.toISOString(),
        age: expect.any(Number),
        paused: false,
      })
    }))

  it('prints no age for an empty inbox', () =>
    withInbox({}, async ({ run }) => {
      const counts = { waiting: 0, active: 0, done: 0, dead: 0, unhandled: 0, paused: false }
      expect(parseStdout(await run('stats', '--json'))).toEqual(counts)
      expect((await run('stats')).stdout).not.toContain('oldest')
    }))
})

describe.concurrent('geohook inbox list', () => {
  it('prints a table, oldest delivery first', () =>
    withInbox({ done: 1, dead: 1, unhandled: 1, waiting: 1 }, async (filled) => {
      const { run, done, dead, unhandled, waiting } = filled
      const [head, ...rows] = linesOf(await run('list'))
      expect(head).toMatch(/^id +state +attempts +received +next or end +service +change types +size +error$/)
      expect(rows.map((row) => row.split(/ {2,}/).slice(0, 3))).toEqual([
        [...done, 'done', '1'],
        [...dead, 'dead', '1'],
        [...unhandled, 'unhandled', '0'],
        [...waiting, 'waiting', '0'],
      ])
      expect(linesOf(await run('list', '--state', 'unhandled')).slice(1)).toEqual([
        expect.stringMatching(`^${unhandled} +unhandled `),
      ])
      const [, , , received, ended, types, size, error] = rows[1]?.split(/ {2,}/) ?? []
      expect(received).toMatch(TIME)
      expect(ended).toMatch(TIME)
      expect([types, Number(size) > 0]).toEqual(['FeaturesCreated', true])
      expect(error).toBe('Error: the map is away at line 2')
    }))

  it('applies --state, --limit and --after', () =>
    withInbox({ done: 1, dead: 3 }, async ({ run, inbox }) => {
      const { entries } = await inbox.list({ state: 'dead' })
      const first = parseStdout(await run('list', '--state', 'dead', '--limit', '2', '--json'))
      expect(first.entries).toEqual(JSON.parse(JSON.stringify(entries.slice(0, 2))))
      const text = linesOf(await run('list', '--state', 'dead', '--limit', '2'))
      expect(text.at(-1)).toBe(`there may be more: --after ${first.next}`)
      const rest = parseStdout(
        await run('list', '--state', 'dead', '--limit', '2', '--after', first.next, '--json'),
      )
      expect(rest).toEqual({ entries: JSON.parse(JSON.stringify(entries.slice(2))) })
    }))

  it('prints a row for each name of handlers, and cursors that a shell accepts', () =>
    withInbox({}, async ({ run, inbox }) => {
      const [id = ''] = await fill(inbox, payloads(1))
      await handleNamed(inbox, { '': undefined, erp: 'the ERP is away', mail: undefined })
      const [head, ...rows] = linesOf(await run('list'))
      expect(head).toMatch(/^id +handler +state +attempts /)
      expect(rows.map((row) => row.split(/ {2,}/).slice(1, 3))).toEqual([
        ['done', '1'],
        ['erp', 'dead'],
        ['mail', 'done'],
      ])
      expect(linesOf(await run('list', '--limit', '1')).at(-1)).toMatch(/--after \d+$/)
      const text = linesOf(await run('list', '--limit', '2')).at(-1)
      const [, cursor = ''] = /^there may be more: --after "(\d+ erp)"$/.exec(text ?? '') ?? []
      const rest = parseStdout(await run('list', '--after', cursor, '--json'))
      expect(rest.entries).toMatchObject([{ id, handler: 'mail', state: 'done' }])
      expect(await run('list', '--after', '1 ')).toMatchObject({ code: 2, stdout: '' })
    }))

  it('prints a message for an empty inbox', () =>
    withInbox({}, async ({ run }) => {
      expect(await run('list')).toEqual({ code: 0, stdout: 'no deliveries found\n', stderr: '' })
    }))
})

describe.concurrent('geohook inbox show', () => {
  it('prints a dead letter with its error, headers and body', () =>
    withInbox({ dead: 1 }, async ({ run, inbox, dead: [id = ''] }) => {
      const item = await inbox.get(id)
      const body = Buffer.from(item?.delivery.rawBody ?? []).toString()
      const { code, stdout } = await run('show', id)
      expect(code).toBe(0)
      expect(stdout).toMatch(new RegExp(`^id +${id}\nstate +dead\nattempts +1\nreceived +${TIME.source}\n`))
      expect(stdout).toMatch(/\nprofile +service\nkey +number 1\ncontent type +application\/json\nsize +\d+ /)
      expect(stdout).toMatch(new RegExp(`\nerror of attempt 1 ${TIME.source}\n  `))
      expect(stdout).toContain('the map is away\n    at line 2\nheaders\n')
      expect(stdout).toContain(`\n  x-service: ${signatureOf(body)}\n`)
      expect(stdout.endsWith(`\nbody\n  ${body}\n`)).toBe(true)

      const shown = parseStdout(await run('show', id, '--json'))
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

  it('prints what happened with the handlers of each name', () =>
    withInbox({}, async ({ run, inbox }) => {
      const [id = ''] = await fill(inbox, payloads(1))
      await handleNamed(inbox, { '': undefined, erp: 'the ERP is away', mail: undefined })
      const lines = linesOf(await run('show', id)).map((line) => line.replace(new RegExp(TIME, 'g'), 'TIME'))
      expect(lines.slice(0, lines.indexOf('headers'))).toEqual([
        `id            ${id}`,
        'received      TIME',
        'change types  FeaturesCreated',
        'profile       service',
        'key           number 1',
        'content type  application/json',
        expect.stringMatching('^size '),
        'handler without a name',
        ...['state         done', 'attempts      1', 'started       TIME', 'ended         TIME'].map(indent),
        'handler erp',
        ...['state         dead', 'attempts      1', 'started       TIME', 'ended         TIME'].map(indent),
        '  error of attempt 1 TIME',
        '    Error: the ERP is away',
        'handler mail',
        ...['state         done', 'attempts      1', 'started       TIME', 'ended         TIME'].map(indent),
      ])
      expect(parseStdout(await run('show', id, '--json'))).toMatchObject({
        ...{ id, handler: 'erp', state: 'dead' },
        fates: [{ state: 'done' }, { handler: 'erp', state: 'dead' }, { handler: 'mail', state: 'done' }],
      })
    }))

  it('prints the tenant of a delivery on one line', () =>
    withInbox({}, async ({ run, inbox }) => {
      const tenant = 'a\u2028state  done'
      const receiver = createReceiver({ signatureKey: () => ({ keys: KEY, tenant }), inbox })
      await deliver(receiver, payloadOf('FeaturesCreated'))
      const [entry] = (await inbox.list()).entries
      const id = entry?.id ?? ''
      expect((await run('show', id)).stdout).toMatch(
        /\nprofile +service\ntenant +a\S+state {2}done\nkey +number 1\n/,
      )
      expect(parseStdout(await run('show', id, '--json'))).toMatchObject({ tenant })
    }))

  it('redacts credentials, and truncates a long body', () =>
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
      expect(stdout).toMatch(/\n {2}\(and \d+ bytes more; "geohook inbox export" writes them\)\n$/)
      expect(stdout.length).toBeLessThan(18_000)
    }))

  it('exits with 1 for an unknown id', () =>
    withInbox({}, async ({ run }) => {
      const result = await run('show', UNKNOWN_ID)
      expect(result).toMatchObject({ code: 1, stdout: '' })
      expect(result.stderr).toContain(`error: delivery ${UNKNOWN_ID} not found in the inbox\n`)
    }))
})

describe('a hostile delivery', () => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for control characters
  const CONTROL = /[\0-\x08\x0b-\x1f\x7f-\x9f\u202e\u2028]/

  it('is printed by every command without control characters', () =>
    withInbox({}, async ({ run, inbox }) => {
      const hostile = '\u001b]0;x\u0007\u202e\u2028\u009b31m\r\nid  state'
      const [id = ''] = await fill(inbox, payloads(1, hostile), {
        'x-hostile': 'a\u009b31mb',
      })
      await handleAll(inbox, hostile)
      expect((await inbox.get(id))?.error).toContain('\u001b')
      for (const args of [['list'], ['show', id], ['export', id], ['retry', id]]) {
        for (const mode of [[], ['--json']]) {
          const { stdout, stderr, code } = await run(...args, ...mode)
          expect([args[0], code]).toEqual([args[0], 0])
          expect(stdout + stderr).not.toMatch(CONTROL)
        }
      }
      expect(linesOf(await run('list'))).toHaveLength(2)
    }))
})
