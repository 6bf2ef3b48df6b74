// @module-tag sqlite
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { geohook, parseStdout, withListener } from '../../helpers/cli.ts'
import { fill, handleAll, handleNamed, payloads } from '../../helpers/dead-letters.ts'
import { KEY } from '../../helpers/deliver.ts'
import { createInboxes, linesOf, UNKNOWN_ID } from '../../helpers/inboxes.ts'

const { folder, withInbox } = createInboxes()

describe.concurrent('geohook inbox export', () => {
  it('writes dead letters as captures that replay can send and a receiver verifies', () =>
    withInbox({ dead: 2 }, async ({ run, inbox, dead }) => {
      const out = join(folder, 'captures')
      const result = await run('export', ...dead, UNKNOWN_ID, '--out', out)
      expect(result.code).toBe(1)
      const names = readdirSync(out).sort()
      const times = await Promise.all(dead.map(async (id) => (await inbox.get(id))?.receivedAt.toISOString()))
      expect(names).toEqual(
        dead.map((id, index) => `${times[index]?.replaceAll(':', '-')}-${id}.json`).sort(),
      )
      expect(linesOf(result).slice(2)).toEqual([
        ...dead.map((id) => `exported ${id}`),
        `not exported ${UNKNOWN_ID}: it is not in the inbox`,
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
    }))

  it('prints a single capture that replay can read', () =>
    withInbox({ dead: 1 }, async ({ run, inbox, dead: [id = ''] }) => {
      const { code, stdout } = await run('export', id)
      expect(code).toBe(0)
      const rawBody = (await inbox.get(id))?.delivery.rawBody ?? []
      expect(JSON.parse(stdout).body).toBe(Buffer.from(rawBody).toString('base64'))
      await withListener(['--key', KEY], async (url) => {
        expect(await geohook(['replay', '-', '--to', url], { stdin: stdout })).toMatchObject({ code: 0 })
      })
      expect(await run('export', UNKNOWN_ID)).toMatchObject({ code: 1, stdout: '' })
    }))

  it.each(['dead', 'unhandled'] as const)('exports all deliveries of a state with --%s', (state) =>
    withInbox({ done: 1, dead: 3, unhandled: 2 }, async ({ run, ...filled }) => {
      const out = join(folder, `all-${state}`)
      const { exported, refused } = parseStdout(await run('export', `--${state}`, '--out', out, '--json'))
      expect(exported.map(({ id }: { id: string }) => id).sort()).toEqual([...filled[state]].sort())
      expect(exported.map(({ file }: { file: string }) => file).sort()).toEqual(
        readdirSync(out)
          .sort()
          .map((name) => join(out, name)),
      )
      expect(refused).toEqual([])
    }),
  )

  it('writes one capture of a delivery that several handlers failed to handle', () =>
    withInbox({}, async ({ run, inbox }) => {
      const ids = await fill(inbox, payloads(2))
      await handleNamed(inbox, { erp: 'the ERP is away', map: 'the map is away', mail: undefined })
      const out = join(folder, 'several')
      const { exported, alreadyThere } = parseStdout(await run('export', '--dead', '--out', out, '--json'))
      expect(exported.map(({ id }: { id: string }) => id).sort()).toEqual([...ids].sort())
      expect(alreadyThere).toEqual([])
      expect(readdirSync(out)).toHaveLength(2)
    }))

  it('skips captures of an earlier export, and adds new dead letters', () =>
    withInbox({ dead: 2 }, async ({ run, inbox, dead }) => {
      const out = join(folder, 'twice')
      const first = parseStdout(await run('export', '--dead', '--out', out, '--json'))
      expect(first).toMatchObject({ alreadyThere: [] })
      const contents = () => readdirSync(out).map((name) => readFileSync(join(out, name), 'utf8'))
      const before = contents()
      expect(await run('export', '--dead', '--out', out)).toEqual({
        code: 0,
        stdout: '0 dead letters exported, 2 already there\n',
        stderr: '',
      })
      expect(contents()).toEqual(before)

      // The retry changes the position of the dead letter in the list.
      await inbox.retry(dead[0] ?? '')
      const [late = ''] = await fill(inbox, payloads(1))
      await handleAll(inbox, 'the map is still away')
      const again = await run('export', '--dead', '--out', out, '--json')
      expect(again.code).toBe(0)
      const { exported, alreadyThere } = parseStdout(again)
      expect(exported).toEqual([{ id: late, file: expect.stringContaining(late) }])
      const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1)
      expect(alreadyThere.sort(byId)).toEqual(first.exported.sort(byId))
      expect(readdirSync(out)).toHaveLength(3)

      const named = await run('export', late, UNKNOWN_ID, '--out', out)
      expect(named.code).toBe(1)
      expect(linesOf(named)).toEqual([
        `already there ${late}`,
        `not exported ${UNKNOWN_ID}: it is not in the inbox`,
        '0 deliveries exported, 1 already there, of 2',
      ])
    }))
})
