// @module-tag sqlite
import { describe, expect, it } from 'vitest'
import { listAll } from '../../../src/cli/inbox/batch.ts'
import { parseStdout } from '../../helpers/cli.ts'
import { fill, handleAll, payloads } from '../../helpers/dead-letters.ts'
import { createInboxes, UNKNOWN_ID } from '../../helpers/inboxes.ts'

const { withInbox } = createInboxes()

describe.concurrent.each([
  ['retry', 'retried', 'waiting'],
  ['discard', 'discarded', undefined],
] as const)('geohook inbox %s', (command, verb, after) => {
  it('processes valid deliveries, prints why it refuses the others, and exits with 1', () =>
    withInbox({ done: 1, dead: 1, unhandled: 1, waiting: 1 }, async (filled) => {
      const { run, inbox, done, dead, unhandled, waiting } = filled
      const result = await run(command, ...dead, ...done, UNKNOWN_ID, ...unhandled, ...waiting)
      expect(result).toEqual({
        code: 1,
        stderr: '',
        stdout: [
          `${verb} ${dead}`,
          `not ${verb} ${done}: it is done`,
          `not ${verb} ${UNKNOWN_ID}: it is not in the inbox`,
          `${verb} ${unhandled}`,
          `${verb} ${waiting}`,
          `3 deliveries ${verb}, of 5`,
          '',
        ].join('\n'),
      })
      for (const id of [...dead, ...unhandled, ...waiting]) expect((await inbox.get(id))?.state).toBe(after)
      const again = await run(command, ...done, UNKNOWN_ID, '--json')
      expect(again.code).toBe(1)
      expect(parseStdout(again)).toEqual({
        [verb]: 0,
        refused: [
          { id: done[0], state: 'done' },
          { id: UNKNOWN_ID, state: null },
        ],
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
      const letters = listAll(inbox, 'dead')
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
      for await (const ids of listAll(inbox, 'dead')) {
        expect(ids).toHaveLength(1)
        passes++
        await fillAgain()
      }
      expect(passes).toBe(10)
    }))
})
