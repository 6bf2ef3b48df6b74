// @module-tag sqlite
import { describe, expect, it } from 'vitest'
import { parseStdout } from '../../helpers/cli.ts'
import { createInboxes, linesOf } from '../../helpers/inboxes.ts'

const { withInbox } = createInboxes()

describe.concurrent('geohook inbox pause, resume and concurrency', () => {
  it('pause and resume an inbox, and stats shows it', () =>
    withInbox({ waiting: 1 }, async ({ inbox, run }) => {
      expect(await run('pause')).toMatchObject({ code: 0, stderr: '' })
      expect(await inbox.stats()).toMatchObject({ paused: true })
      expect(linesOf(await run('stats')).at(-1)).toBe('paused: workers take no deliveries')
      expect(parseStdout(await run('stats', '--json'))).toMatchObject({ paused: true })
      expect(parseStdout(await run('pause', '--json'))).toEqual({ paused: true })
      expect(await run('resume')).toEqual({ code: 0, stdout: 'resumed\n', stderr: '' })
      expect(await inbox.stats()).toMatchObject({ paused: false })
      expect((await run('stats')).stdout).not.toContain('paused')
      expect(parseStdout(await run('resume', '--json'))).toEqual({ paused: false })
    }))

  it('change the concurrency, and restore the default', () =>
    withInbox({}, async ({ inbox, run }) => {
      expect(await run('concurrency', '16')).toEqual({ code: 0, stdout: 'concurrency: 16\n', stderr: '' })
      expect(await inbox.stats()).toMatchObject({ concurrency: 16 })
      expect(linesOf(await run('stats')).at(-1)).toBe('concurrency: 16')
      expect(parseStdout(await run('stats', '--json'))).toMatchObject({ concurrency: 16 })
      expect(parseStdout(await run('concurrency', 'default', '--json'))).toEqual({ concurrency: null })
      expect(await inbox.stats()).not.toHaveProperty('concurrency')
    }))

  it.for([['0'], ['1001'], ['many'], []])('concurrency %s is a usage error', (args) =>
    withInbox({}, async ({ run }) => {
      expect(await run('concurrency', ...args)).toMatchObject({ code: 2, stdout: '' })
    }),
  )
})

describe.concurrent('geohook inbox stats --fail-on', () => {
  it('exits with 1 and names the conditions that are met', () =>
    withInbox({ done: 1, dead: 2, waiting: 1 }, async ({ run }) => {
      const failed = await run('stats', '--fail-on', 'dead=2,waiting=2,done=1')
      expect(failed).toMatchObject({ code: 1, stderr: '' })
      expect(linesOf(failed).slice(-2)).toEqual(['failed dead=2: it is 2', 'failed done=1: it is 1'])
      const json = await run('stats', '--json', '--fail-on', 'dead=1', '--fail-on', 'unhandled=1')
      expect(json.code).toBe(1)
      expect(parseStdout(json)).toMatchObject({ dead: 2, failed: ['dead=1'] })
    }))

  it('exits with 0 if no condition is met', () =>
    withInbox({ dead: 1 }, async ({ run }) => {
      const conditions = 'waiting=1,active=1,done=1,dead=2,unhandled=1,oldest=1'
      expect(await run('stats', '--fail-on', conditions)).toMatchObject({ code: 0 })
      const json = await run('stats', '--json', '--fail-on', conditions)
      expect([json.code, parseStdout(json).failed]).toEqual([0, []])
    }))

  it.for([
    ['oldest=300', 200, 0],
    ['oldest=300', 301, 1],
    ['oldest=5m', 200, 0],
    ['oldest=5m', 301, 1],
  ] as const)('%s with a delivery that has waited for %i s exits with %i', ([condition, age, code]) =>
    withInbox({ done: 1 }, async ({ inbox, run }) => {
      const [entry] = (await inbox.list()).entries
      const { delivery } = (await inbox.get(entry?.id ?? '')) ?? {}
      const receivedAt = new Date(Date.now() - age * 1_000)
      const id = 'a'.repeat(32)
      await inbox.put({ ...delivery, id, receivedAt, changeTypes: [], events: [] } as never)
      const result = await run('stats', '--fail-on', condition)
      expect(result.code).toBe(code)
      expect(result.stdout.includes(`failed ${condition}: it is 5 min`)).toBe(code === 1)
    }),
  )

  it.for([
    ['late=1'],
    ['dead'],
    ['dead=0'],
    ['dead=-1'],
    ['dead=1.5'],
    ['dead=5m'],
    ['oldest=0'],
    ['oldest=5y'],
    ['dead=1,'],
    [''],
  ] as const)('rejects %s', ([conditions]) =>
    withInbox({}, async ({ run }) => {
      const result = await run('stats', '--fail-on', conditions)
      expect(result).toMatchObject({ code: 2, stdout: '' })
      expect(result.stderr).toContain('conditions like dead=1,oldest=5m')
    }),
  )
})
