// @module-tag sqlite
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { geohook, parseStdout } from '../../helpers/cli.ts'
import { fill, handleAll, handleNamed, payloads } from '../../helpers/dead-letters.ts'
import { createInboxes, type FilledInbox, linesOf } from '../../helpers/inboxes.ts'

const { folder, withInbox } = createInboxes()

const MAP = 'Error: the map is away at line 2'
const ODD = 'it\'s "$HOME" `x` --dead'

/** Adds two dead letters of another change type to an inbox, with errors that differ in an id. */
async function addOdd({ inbox }: FilledInbox): Promise<string[]> {
  const ids: string[] = []
  for (const _ of [1, 2]) {
    ids.push(...(await fill(inbox, payloads(1, 'FeaturesUpdated'))))
    await handleAll(inbox, `${ODD} ${randomUUID()} \u202e dleh`)
  }
  return ids
}

describe.concurrent('geohook inbox errors', () => {
  it('groups dead letters, and prints commands for a shell that retry each group', () =>
    withInbox({ dead: 3 }, async (filled) => {
      const { run, inbox, path } = filled
      await addOdd(filled)
      const { groups, examined, dead } = parseStdout(await run('errors', '--json'))
      expect({ examined, dead }).toEqual({ examined: 5, dead: 5 })
      expect(groups).toMatchObject([{ error: MAP, count: 3 }, { count: 2 }])
      const lines = linesOf(await run('errors'))
      expect(lines).toEqual([
        expect.stringMatching(new RegExp(`^3 dead letters, \\S+Z to \\S+Z: ${MAP}$`)),
        `  geohook inbox retry --dead --error '${MAP}' --store ${path}`,
        expect.stringContaining(`: Error: ${ODD} * \\u{202e} dleh`),
        `  geohook inbox retry --dead --error 'Error: ${ODD.replace("'", "'\\''")} * ' --store ${path}`,
      ])
      for (const [line, result] of [
        [lines[3], '2 of 5 dead letters retried\n'],
        [lines[1], '3 of 3 dead letters retried\n'],
      ]) {
        const words = execFileSync('sh', ['-c', `printf '%s\\n' ${line}`])
          .toString()
          .trimEnd()
          .split('\n')
        expect((await geohook(words.slice(1))).stdout).toBe(result)
      }
      expect(await inbox.stats()).toMatchObject({ dead: 0, waiting: 5 })
      expect((await run('errors')).stdout).toBe('there are no dead letters\n')
    }))

  it('says that a command also retries other groups', () =>
    withInbox({ dead: 3 }, async ({ run, inbox }) => {
      await fill(inbox, payloads(1))
      await handleAll(inbox, '\u202e dleh')
      const lines = linesOf(await run('errors'))
      expect(lines).toHaveLength(5)
      expect(lines[3]).toContain(" --error 'Error: ' ")
      expect(lines[4]).toBe('  which also retries 3 dead letters with other errors')
    }))

  it('repeats how the store was given', () =>
    withInbox({ dead: 1 }, async ({ path }) => {
      const file = join(folder, 'the store.txt')
      writeFileSync(file, path)
      const command = `  geohook inbox retry --dead --error '${MAP}'`
      const errors = async (...args: string[]) =>
        linesOf(await geohook(['inbox', 'errors', ...args], { env: { GEOHOOK_INBOX: path, MINE: path } }))[1]
      expect(await errors()).toBe(command)
      expect(await errors('--store-env', 'MINE')).toBe(`${command} --store-env MINE`)
      expect(await errors('--store-file', file)).toBe(`${command} --store-file '${file}'`)
    }))
})

describe.concurrent('the conditions of geohook inbox', () => {
  it('select deliveries to list, export, retry, discard and purge', () =>
    withInbox({ dead: 3, done: 2 }, async (filled) => {
      const { run, inbox, dead } = filled
      const odd = await addOdd(filled)
      const { entries } = parseStdout(await run('list', '--state', 'dead', '--error', 'map', '--json'))
      expect(entries.map(({ id }: { id: string }) => id)).toEqual(dead)
      expect(linesOf(await run('list', '--change-type', 'FeaturesUpdated'))).toHaveLength(3)

      const out = join(folder, 'selected')
      const exported = await run('export', '--dead', '--error', 'map', '--out', out)
      expect(linesOf(exported).at(-1)).toBe('3 of 5 dead letters exported')
      expect(readdirSync(out)).toHaveLength(3)

      expect(parseStdout(await run('retry', '--dead', '--older-than', '1h', '--json'))).toEqual({
        ...{ retried: 0, of: 5, refused: [] },
      })
      expect((await run('retry', '--dead', '--change-type', 'FeaturesUpdated')).stdout).toBe(
        '2 of 5 dead letters retried\n',
      )
      expect((await inbox.get(odd[0] ?? ''))?.state).toBe('waiting')
      const refused = await run('discard', '--dead', '--error', 'map')
      expect(refused.stderr).toContain('--dead discards the matching dead letters permanently')
      expect((await run('discard', '--dead', '--error', 'map', '--yes')).stdout).toBe(
        '3 of 3 dead letters discarded\n',
      )
      const purge = ['purge', '--state', 'done', '--newer-than', '1h', '--service']
      expect((await run(...purge, 'https://other.example')).stdout).toBe('0 of 2 done deliveries removed\n')
      expect(await inbox.stats()).toMatchObject({ dead: 0, waiting: 2, done: 2 })
    }))

  it('select the handlers of one name', () =>
    withInbox({}, async ({ run, inbox }) => {
      await fill(inbox, payloads(2))
      await handleNamed(inbox, { erp: 'the ERP is away', map: 'the map is away', mail: undefined })
      expect((await run('retry', '--dead', '--handler', 'erp')).stdout).toBe('2 of 4 dead letters retried\n')
      expect((await run('discard', '--dead', '--handler', 'map', '--yes')).stdout).toBe(
        '2 of 2 dead letters discarded\n',
      )
      expect((await run('rerun', '--done', '--handler', 'mail', '--yes')).stdout).toBe(
        '2 of 2 done deliveries rerun\n',
      )
      expect(await inbox.stats()).toMatchObject({ waiting: 4, dead: 0, done: 0 })
    }))

  it.each([
    [['retry', '0'.repeat(32), '--error', 'x'], '--error requires --dead or --unhandled'],
    [['export', '0'.repeat(32), '--handler', 'x'], '--handler requires --dead or --unhandled'],
    [['rerun', '0'.repeat(32), '--older-than', '1h'], '--older-than requires --done'],
    [['rerun', '--error', 'x'], 'give either ids or --done'],
    [['list', '--state', 'waiting', '--older-than', '1h'], 'olderThan'],
    [['retry', '--dead', '--error', ''], 'error'],
  ])('are refused where they make no sense: %j', (args, message) =>
    withInbox({}, async ({ run }) => {
      const result = await run(...args)
      expect(result).toMatchObject({ code: 2, stdout: '' })
      expect(result.stderr).toContain(message)
    }),
  )
})

describe.concurrent('done deliveries', () => {
  it('are handled again by geohook inbox rerun', () =>
    withInbox({ done: 3, dead: 1 }, async ({ run, inbox, done: [first = ''], dead }) => {
      const result = await run('rerun', first, ...dead)
      expect([result.code, ...linesOf(result)]).toEqual([
        1,
        `rerun ${first}`,
        `not rerun ${dead}: it is dead`,
        '1 delivery rerun, of 2',
      ])
      expect((await inbox.get(first))?.state).toBe('waiting')
      const refused = await run('rerun', '--done')
      expect(refused.stderr).toContain('--done handles all done deliveries again')
      expect(await run('rerun', '--done', '--yes')).toMatchObject({ stdout: '2 done deliveries rerun\n' })
      expect(await inbox.stats()).toMatchObject({ done: 0, waiting: 3, dead: 1 })
    }))

  it('are forgotten by geohook inbox discard, which says so', () =>
    withInbox({}, async ({ run, inbox }) => {
      const bodies = payloads(1)
      const [id = ''] = await fill(inbox, bodies)
      await handleAll(inbox)
      await fill(inbox, bodies)
      expect(await inbox.stats()).toMatchObject({ waiting: 0, done: 1 })
      expect(linesOf(await run('discard', id))).toEqual([
        `discarded ${id}`,
        '1 delivery discarded, of 1',
        expect.stringContaining('if one is sent again, the inbox stores and handles it'),
      ])
      await fill(inbox, bodies)
      expect(await inbox.stats()).toMatchObject({ waiting: 1, done: 0 })
    }))
})
