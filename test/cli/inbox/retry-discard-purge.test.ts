// @module-tag sqlite
import { describe, expect, it } from 'vitest'
import { listAll } from '../../../src/cli/inbox/batch.ts'
import { parseStdout } from '../../helpers/cli.ts'
import { fill, handleAll, handleNamed, payloads } from '../../helpers/dead-letters.ts'
import { createInboxes, linesOf, UNKNOWN_ID } from '../../helpers/inboxes.ts'

const { withInbox } = createInboxes()

const FORGETS =
  'if one is sent again, the inbox stores and handles it, unless it keeps the delivery for other handlers'

describe.concurrent.each([
  ['retry', 'retried', 'waiting'],
  ['discard', 'discarded', undefined],
] as const)('geohook inbox %s', (command, verb, after) => {
  it('processes valid deliveries, prints why it refuses the others, and exits with 1', () =>
    withInbox({ done: 1, dead: 1, unhandled: 1, waiting: 1 }, async (filled) => {
      const { run, inbox, dead, unhandled, waiting } = filled
      const done = command === 'retry' ? filled.done : []
      const result = await run(command, ...dead, ...done, UNKNOWN_ID, ...unhandled, ...waiting)
      expect(result).toEqual({
        code: 1,
        stderr: '',
        stdout: [
          `${verb} ${dead}`,
          ...done.map((id) => `not ${verb} ${id}: it is done`),
          `not ${verb} ${UNKNOWN_ID}: it is not in the inbox`,
          `${verb} ${unhandled}`,
          `${verb} ${waiting}`,
          `3 deliveries ${verb}, of ${done.length + 4}`,
          ...(after ? [] : [FORGETS]),
          '',
        ].join('\n'),
      })
      for (const id of [...dead, ...unhandled, ...waiting]) expect((await inbox.get(id))?.state).toBe(after)
      const again = await run(command, ...done, UNKNOWN_ID, '--json')
      expect(again.code).toBe(1)
      expect(parseStdout(again)).toEqual({
        [verb]: 0,
        refused: [...done.map((id) => ({ id, state: 'done' })), { id: UNKNOWN_ID, state: null }],
      })
    }))

  it.each([
    ['dead', 'dead letters'],
    ['unhandled', 'unhandled deliveries'],
  ] as const)('processes all deliveries of a state, and no others, with --%s', (state, noun) =>
    withInbox({ done: 1, dead: 2, unhandled: 2, waiting: 1 }, async ({ run, inbox }) => {
      const all = command === 'discard' ? [`--${state}`, '--yes'] : [`--${state}`]
      expect(await run(command, ...all)).toEqual({ code: 0, stdout: `2 ${noun} ${verb}\n`, stderr: '' })
      const rest = { done: 1, dead: 2, unhandled: 2, waiting: after ? 3 : 1, [state]: 0 }
      expect(await inbox.stats()).toMatchObject(rest)
      expect(parseStdout(await run(command, ...all, '--json'))).toEqual({ [verb]: 0, refused: [] })
      expect((await run(command, ...all)).stdout).toBe(`there are no ${noun}\n`)
    }),
  )
})

describe.concurrent.each([
  ['retry', 'retried', { handler: 'erp', state: 'waiting' }],
  ['discard', 'discarded', undefined],
] as const)('geohook inbox %s, for a delivery with several handlers', (command, verb, erp) => {
  const mail = { handler: 'mail', state: 'done' }
  const failed = { erp: 'the ERP is away', map: 'the map is away', mail: undefined }

  it('changes all handlers that are dead, and says why it refuses the rest', () =>
    withInbox({}, async ({ run, inbox }) => {
      const [id = '', other = ''] = await fill(inbox, payloads(2))
      await handleNamed(inbox, failed)
      expect(linesOf(await run(command, id))[0]).toBe(`${verb} ${id}`)
      const map = erp && { ...erp, handler: 'map' }
      expect((await inbox.get(id))?.fates).toMatchObject([erp, mail, map].filter(Boolean))
      expect((await inbox.get(other))?.state).toBe('dead')
      await inbox.discard(id)
      const why = command === 'retry' ? 'done' : 'not in the inbox'
      expect(linesOf(await run(command, id))[0]).toBe(`not ${verb} ${id}: it is ${why}`)
    }))

  it('changes only the handlers of --handler', () =>
    withInbox({}, async ({ run, inbox }) => {
      const [id = ''] = await fill(inbox, payloads(1))
      await handleNamed(inbox, failed)
      expect(await run(command, id, '--handler', 'erp')).toMatchObject({ code: 0, stderr: '' })
      const map = { handler: 'map', state: 'dead' }
      expect((await inbox.get(id))?.fates).toMatchObject([erp, mail, map].filter(Boolean))
      for (const [name, why, state] of [
        ...(command === 'retry' ? [['mail', 'it is done', 'done'] as const] : []),
        ['other', 'it is not in the inbox for this handler', null],
        ['', 'it is not in the inbox for this handler', null],
      ] as const) {
        const result = await run(command, id, '--handler', name)
        expect([result.code, linesOf(result)[0]]).toEqual([1, `not ${verb} ${id}: ${why}`])
        const refused = [{ id, state }]
        expect(parseStdout(await run(command, id, '--handler', name, '--json'))).toEqual({
          [verb]: 0,
          refused,
        })
      }
    }))

  it('changes the dead letters of all handlers with --dead', () =>
    withInbox({}, async ({ run, inbox }) => {
      await fill(inbox, payloads(2))
      await handleNamed(inbox, failed)
      const all = command === 'discard' ? ['--dead', '--yes'] : ['--dead']
      expect((await run(command, ...all)).stdout).toBe(`4 dead letters ${verb}\n`)
      expect(await inbox.stats()).toMatchObject({ dead: 0, waiting: erp ? 4 : 0, done: 2 })
    }))
})

it('geohook inbox retry --dead retries more dead letters than it lists at a time', async () => {
  await withInbox({ dead: 1_001 }, async ({ run, inbox }) => {
    expect(parseStdout(await run('retry', '--dead', '--json'))).toEqual({ retried: 1_001, refused: [] })
    expect(await inbox.stats()).toMatchObject({ dead: 0, waiting: 1_001 })
  })
})

describe.concurrent('geohook inbox purge', () => {
  it('removes deliveries that ended before --older-than, and prints their number', () =>
    withInbox({ done: 2, dead: 1, unhandled: 1, waiting: 1 }, async ({ run, inbox }) => {
      expect((await run('purge', '--state', 'done', '--older-than', '7d')).stdout).toBe(
        '0 deliveries removed\n',
      )
      expect(await run('purge', '--state', 'done', '--older-than', '0s')).toEqual({
        code: 0,
        stdout: '2 deliveries removed\n',
        stderr: '',
      })
      for (const state of ['dead', 'unhandled'])
        expect(parseStdout(await run('purge', '--state', state, '--json'))).toEqual({ removed: 1 })
      expect(await inbox.stats()).toMatchObject({ done: 0, dead: 0, unhandled: 0, waiting: 1 })
    }))
})

describe('listAll', () => {
  it('yields dead letters that appear between passes, and none twice', () =>
    withInbox({ dead: 3 }, async ({ inbox, dead }) => {
      const letters = listAll(inbox, { state: 'dead' })
      expect((await letters.next()).value?.sort()).toEqual([...dead].sort())
      const died = await fill(inbox, payloads(2))
      await handleAll(inbox, 'the map is still away')
      expect((await letters.next()).value?.sort()).toEqual([...died].sort())
      expect(await letters.next()).toEqual({ done: true, value: undefined })
    }))

  it('stops after ten passes if new dead letters keep appearing', () =>
    withInbox({}, async ({ inbox }) => {
      let passes = 0
      const fillAgain = async (): Promise<void> => {
        await fill(inbox, payloads(1))
        await handleAll(inbox, 'the map is away')
      }
      await fillAgain()
      for await (const ids of listAll(inbox, { state: 'dead' })) {
        expect(ids).toHaveLength(1)
        passes++
        await fillAgain()
      }
      expect(passes).toBe(10)
    }))
})
