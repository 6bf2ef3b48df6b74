import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { CASES } from '../contract/cases/index.ts'
import type { Start } from '../contract/subject.ts'
import { startRemote } from './remote.ts'
import { RUNTIMES } from './runtimes.ts'

it('the matrix covers every supported runtime', () => {
  const names = RUNTIMES.map(({ name }) => name)
  for (const name of ['Node 20', 'Node 22', 'Node 24', 'Node 26', 'Bun', 'Deno', 'workerd']) {
    expect(names).toContain(name)
  }
})

for (const runtime of RUNTIMES) {
  describe(runtime.name, () => {
    let remote: { start: Start; stop(): Promise<void> } | undefined
    beforeAll(async () => {
      remote = await startRemote(runtime, inject('appFolder'))
    })
    afterAll(() => remote?.stop())
    for (const { name, run } of CASES)
      it(name, () => run((...args) => (remote as { start: Start }).start(...args)))
  })
}
