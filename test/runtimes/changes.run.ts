import { afterAll, inject, it } from 'vitest'
import { CASES } from '../changes/contract/cases.ts'
import type { Start } from '../changes/contract/subject.ts'
import { startRemote } from './remote.ts'
import { RUNTIMES } from './runtimes.ts'

const stops: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const stop of stops) await stop()
})

// These tests are not in a `describe`, because `contract/matrix.ts` prints each `describe` as a column of the contract.
for (const runtime of RUNTIMES) {
  let starting: Promise<Start> | undefined
  const start = async (): Promise<Start> => {
    const { use, stop } = await startRemote(runtime, inject('appFolder'))
    stops.push(stop)
    return use
  }
  for (const { name, run } of CASES) {
    it.concurrent(`geohook/changes in ${runtime.name}: ${name}`, async () => {
      starting ??= start()
      await run(await starting)
    })
  }
}
