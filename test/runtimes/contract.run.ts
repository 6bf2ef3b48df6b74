import { afterAll, beforeAll, describe, inject, it } from 'vitest'
import { CASES } from '../contract/cases/index.ts'
import type { Start } from '../contract/subject.ts'
import { RUNTIMES } from './runtimes.ts'
import { startThere } from './there.ts'

for (const runtime of RUNTIMES) {
  describe(runtime.name, () => {
    let there: { start: Start; stop(): Promise<void> } | undefined
    beforeAll(async () => {
      there = await startThere(runtime, inject('appFolder'))
    })
    afterAll(() => there?.stop())
    for (const { name, run } of CASES)
      it(name, () => run((...args) => (there as { start: Start }).start(...args)))
  })
}
