import { expect, it } from 'vitest'
import { startNode } from '../helpers/process.ts'

it('rejects wrong options of npm run timing', async () => {
  const rejected: [string[], string][] = [
    [['--rounds', 'abc'], '--rounds must be an integer from 1'],
    [['--rounds', '0'], '--rounds must be an integer from 1'],
    [['--seed', 'x'], '--seed must be an integer'],
  ]
  await Promise.all(
    rejected.map(async ([args, message]) => {
      const timing = startNode(['scripts/timing.mjs', ...args])
      expect(await timing.exited, timing.output).toBe(2)
      expect(timing.stderr).toContain(message)
    }),
  )
})
