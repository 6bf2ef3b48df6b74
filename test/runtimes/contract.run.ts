import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { CASES } from '../contract/cases/index.ts'
import type { Start } from '../contract/subject.ts'
import { RUNTIMES } from './runtimes.ts'
import { startThere } from './there.ts'

it('there is no runtime of those that are promised but in the matrix', () => {
  const names = RUNTIMES.map(({ name }) => name)
  for (const name of ['Node 20', 'Node 22', 'Node 24', 'Node 26', 'Bun', 'Deno', 'workerd']) {
    expect(names).toContain(name)
  }
})

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
