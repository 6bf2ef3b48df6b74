import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, it } from 'vitest'
import { createFolder } from '../helpers/folder.ts'
import { startProgram } from '../helpers/process.ts'

const nodeOf = (version: number): string => join(import.meta.dirname, `node_modules/node${version}/bin/node`)

/** Runs `app/sqlite.ts` with the installed package and an inbox file in an empty folder. Returns the app's results. */
async function use(version: number): Promise<unknown> {
  const app = inject('appFolder')
  expect(existsSync(join(app, 'node_modules/better-sqlite3'))).toBe(false)
  const folder = createFolder()
  try {
    const started = startProgram(nodeOf(version), [join(app, 'sqlite.mjs'), folder.fileIn('inbox.db')])
    expect([await started.exited, started.output]).toEqual([0, expect.any(String)])
    return JSON.parse(started.stdout)
  } finally {
    await folder.remove()
  }
}

// These tests are not in a `describe`, because `contract/matrix.ts` prints each `describe` as a column of the contract.
it.each([22, 24, 26])(
  'the SQLite inbox and duplicate store work with node:sqlite of Node %d',
  async (version) => {
    expect(await use(version)).toEqual({
      statuses: [202, 202, 202, 200],
      attempts: ['Bad 1', 'Bad 2', 'Good 1', 'Late 1', 'Late 2'],
      waiting: 0,
      active: 0,
      done: 2,
      dead: 1,
      unhandled: 0,
      claims: ['claimed', 'busy', 'done'],
    })
  },
)

it('Node 20 without better-sqlite3 reports what to install', async () => {
  expect(await use(20)).toEqual({ error: expect.stringContaining('neither node:sqlite nor better-sqlite3') })
})

it.concurrent.each([22, 26])(
  'the tests of the SQLite inbox pass with node:sqlite of Node %d',
  { timeout: 120_000 },
  async (version) => {
    const root = join(import.meta.dirname, '../..')
    const files = [
      'contract/inbox/sqlite.test.ts',
      'inbox/sqlite/file.test.ts',
      'inbox/sqlite/transactions.test.ts',
      'inbox/sqlite/faults.test.ts',
    ]
    const started = startProgram(
      nodeOf(version),
      ['node_modules/vitest/vitest.mjs', 'run', '--project=node', ...files.map((file) => `test/${file}`)],
      {
        KEEP_BUILD: 'true', // both versions run at the same time
        NO_COLOR: '1',
        FORCE_COLOR: undefined,
        VITEST: undefined,
        VITEST_POOL_ID: undefined,
        VITEST_WORKER_ID: undefined,
      },
      { cwd: root },
    )
    expect([await started.exited, started.output]).toEqual([0, expect.stringMatching(/Test Files +4 passed/)])
  },
)
