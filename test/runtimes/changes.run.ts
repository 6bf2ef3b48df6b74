import { afterAll, expect, inject, it } from 'vitest'
import { CASES } from '../changes/contract/cases.ts'
import { startRemote } from './remote.ts'
import { RUNTIMES, type Runtime } from './runtimes.ts'

type Remote = Awaited<ReturnType<typeof startRemote>>

const remotes = new Map<Runtime, Promise<Remote>>()
afterAll(async () => {
  for (const remote of remotes.values()) await (await remote).stop()
})

function remoteOf(runtime: Runtime): Promise<Remote> {
  const remote = remotes.get(runtime) ?? startRemote(runtime, inject('appFolder'))
  remotes.set(runtime, remote)
  return remote
}

// All runtimes run a case at the same time, because many cases wait for a second. These tests are not in a `describe`,
// because `contract/matrix.ts` prints each `describe` as a column of the contract.
it.each(CASES.map(({ name, run }) => [name, run] as const))(
  'geohook/changes in every runtime: %s',
  async (_, run) => {
    const results = await Promise.allSettled(
      RUNTIMES.map(async (runtime) => run((await remoteOf(runtime)).use)),
    )
    const failures = results.map((result, at) =>
      result.status === 'rejected' ? `${RUNTIMES[at]?.name}: ${result.reason}` : undefined,
    )
    expect(failures.filter(Boolean)).toEqual([])
  },
)
